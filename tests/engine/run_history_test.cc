#include "engine/run_history.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

constexpr DurationMs kMinuteMs = 60 * kSecondMs, kHourMs = 60 * kMinuteMs;

RunSubject Of(std::string user, DurationMs stated = 0, std::string program = {}) {
  return {QueueId(std::size_t{1}), std::move(user), std::move(program), 8000, stated};
}

TEST_CASE("Without earlier jobs, a run time is as its owner stated") {
  const RunHistory history;
  CHECK(history.Predict(Of("ann")) == 0);
  CHECK(history.Predict(Of("ann", kHourMs)) == kHourMs);
}

TEST_CASE("Owners whose estimates are exact keep them exactly") {
  RunHistory history;
  for (const DurationMs run : {7 * kMinuteMs, kHourMs, 31 * kHourMs}) history.Ended(Of("ann", run), run);
  CHECK(history.Predict(Of("ann", 12'345)) == 12'345);
  CHECK(history.Predict(Of("ann", kHourMs)) == kHourMs);
}

TEST_CASE("The estimate of an owner who overstates goes down, and never above what is stated") {
  RunHistory history;
  DurationMs before = 8 * kHourMs;
  for (int job = 0; job < 20; ++job) {
    history.Ended(Of("ann", 8 * kHourMs), kHourMs);
    const DurationMs now = history.Predict(Of("ann", 8 * kHourMs));
    CHECK(now <= before);
    CHECK(now >= kHourMs);
    before = now;
  }
  CHECK(before < kHourMs * 12 / 10);
  history.Ended(Of("ann", kHourMs), 40 * kHourMs);
  CHECK(history.Predict(Of("ann", kHourMs)) <= kHourMs);
}

TEST_CASE("A user whose run times vary gets a longer estimate than one whose run times do not") {
  RunHistory history;
  for (int job = 0; job < 20; ++job) {
    history.Ended(Of("even"), kHourMs);
    history.Ended(Of("uneven"), job % 2 == 0 ? 4 * kHourMs : kHourMs / 4);  // the same mean octave
  }
  const DurationMs even = history.Predict(Of("even")), uneven = history.Predict(Of("uneven"));
  CHECK(even < kHourMs * 13 / 10);
  CHECK(uneven > 3 * kHourMs);
}

TEST_CASE("A program says more than its user, a user more than all others") {
  RunHistory history;
  for (int job = 0; job < 10; ++job) {
    history.Ended(Of("ann", 0, "train\n"), 10 * kHourMs);
    history.Ended(Of("ann", 0, "test\n"), kMinuteMs);
    history.Ended(Of("ben"), kMinuteMs);
  }
  CHECK(history.Predict(Of("ann", 0, "train\n")) > 5 * kHourMs);
  CHECK(history.Predict(Of("ann", 0, "test\n")) < 20 * kMinuteMs);
  CHECK(history.Predict(Of("ben")) < 5 * kMinuteMs);
  CHECK(history.Predict(Of("new")) > 0);
}

TEST_CASE("Groups that gained no job lately go when there are too many") {
  RunHistory history;
  for (int job = 0; job < 20; ++job) history.Ended(Of("ann"), kHourMs);
  const DurationMs known = history.Predict(Of("ann"));
  for (std::size_t user = 0; user < RunHistory::kMostGroups; ++user) {
    history.Ended(Of("user " + std::to_string(user)), kSecondMs);
  }
  CHECK(history.Predict(Of("ann")) < known / 10);  // as any new user
}

TEST_CASE("Names of jobs of one program differ in numbers at their end") {
  CHECK(ProgramOf("team/train-20261125-3", "") == "team/train\n");
  CHECK(ProgramOf("team/train-x7f9k", "pytorch:2") == "team/train\npytorch:2");
  CHECK(ProgramOf("llama-7b-sft_12.1", "") == "llama-7b-sft\n");
  CHECK(ProgramOf("resnet50", "") == "resnet\n");
  CHECK(ProgramOf("28475", "") == "");
  CHECK(ProgramOf("28475", "pytorch") == "\npytorch");
  CHECK(ProgramOf("", "") == "");
  CHECK(ProgramOf("---", "") == "");
}

}  // namespace
}  // namespace tephra
