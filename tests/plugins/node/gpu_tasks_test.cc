// A driver that does not answer holds up its own GPU alone.
#include "plugins/node/binding/gpu_tasks.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

#include "plugins/node/background_call.h"
#include "plugins/node/nvml/call_watch.h"

namespace tephra::node {
namespace {

using std::chrono::milliseconds;

GpuTasks::Clock::time_point In(int ms) { return GpuTasks::Clock::now() + milliseconds(ms); }

// Work that hangs until it is let go.
struct Hanging {
  std::atomic<bool> over = false;
  GpuTasks::Work Work() {
    return [this] {
      while (!over) std::this_thread::sleep_for(milliseconds(2));
      return absl::FailedPreconditionError("done at last");
    };
  }
};

constexpr auto kFine = [] { return absl::OkStatus(); };

TEST_CASE("GpuTasks: a GPU whose work hangs keeps its tasks waiting, and no other GPU") {
  Hanging hanging;
  GpuTasks tasks;
  const auto first = tasks.Start({"A", "B"}, "binding pod a", hanging.Work(), In(1000));
  const absl::Status late = tasks.Wait(first, In(50));
  CHECK(absl::IsUnavailable(late));
  CHECK(late.message().find("binding pod a has run for ") == 0);
  CHECK(tasks.Wait(tasks.Start({"C"}, "binding pod c", kFine, In(1000)), In(5000)).ok());
  const auto second = tasks.Start({"B", "C"}, "binding pod b", kFine, In(100));
  const absl::Status busy = tasks.Wait(second, In(5000));
  CHECK(absl::IsUnavailable(busy));
  CHECK(busy.message().find("its GPU is busy: binding pod a has run for ") == 0);
  CHECK(tasks.Hung(milliseconds(1)) == "binding pod a");
  CHECK_FALSE(tasks.Hung(milliseconds(60'000)).has_value());
  hanging.over = true;
  CHECK(tasks.Wait(first, In(5000)).message() == "done at last");
  CHECK(tasks.Wait(tasks.Start({"A"}, "binding pod d", kFine, In(1000)), In(5000)).ok());
  CHECK_FALSE(tasks.Hung(milliseconds(0)).has_value());
}

TEST_CASE("GpuTasks: tasks of one GPU run one after the other") {
  GpuTasks tasks;
  std::atomic<int> running = 0, most = 0, done = 0;
  std::vector<std::shared_ptr<GpuTasks::Task>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(tasks.Start({"A", std::to_string(i)}, "task", [&] {
      most = std::max<int>(most, ++running);
      std::this_thread::sleep_for(milliseconds(1));
      --running;
      ++done;
      return absl::OkStatus();
    }, In(60'000)));
  }
  for (const auto& task : all) CHECK(tasks.Wait(task, In(60'000)).ok());
  CHECK(most == 1);
  CHECK(done == 20);
}

TEST_CASE("BackgroundCall: a call that hangs is not waited for, and its value comes later") {
  std::atomic<bool> hangs = false;
  std::atomic<int> calls = 0;
  BackgroundCall<int> call([&] {
    const int number = ++calls;
    while (hangs) std::this_thread::sleep_for(milliseconds(2));
    return number;
  });
  CHECK(call.Ask(In(5000)) == 1);
  hangs = true;
  CHECK_FALSE(call.Ask(In(30)).has_value());
  static_cast<void>(call.Take());
  CHECK_FALSE(call.Take().has_value());
  hangs = false;
  CHECK(call.Ask(In(5000)).value_or(0) >= 2);
}

TEST_CASE("CallWatch: the oldest call that runs too long is named") {
  CallWatch watch;
  CHECK_FALSE(watch.Hung(milliseconds(0)).has_value());
  {
    const CallWatch::Running first(watch, "nvmlFirst"), second(watch, "nvmlSecond");
    std::this_thread::sleep_for(milliseconds(5));
    CHECK(watch.Hung(milliseconds(1)) == "nvmlFirst");
    CHECK_FALSE(watch.Hung(milliseconds(60'000)).has_value());
  }
  CHECK_FALSE(watch.Hung(milliseconds(0)).has_value());
}

}  // namespace
}  // namespace tephra::node
