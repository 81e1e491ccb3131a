#include "engine/run_history.h"

#include <algorithm>
#include <cmath>

#include <absl/container/inlined_vector.h>

#include "engine/octaves.h"
#include "topology/base/hash.h"

namespace tephra {
namespace {

constexpr double kKept = 0.9;

// Before any job ended, a stated run time may be off by a factor of e, either way.
constexpr double kFirstSquares = 2.08;

// The keys of the groups of a job, the largest group first.
absl::InlinedVector<std::uint64_t, 7> KeysOf(const RunSubject& job) {
  const bool stated = job.stated > 0;
  const auto key = [stated](std::uint64_t level, std::uint64_t of) {
    return Mix(2 * level + (stated ? 1 : 0), of);
  };
  const auto size = static_cast<std::uint64_t>(job.size);
  const auto run = static_cast<std::uint64_t>(job.stated);
  const std::uint64_t user = Mix(job.queue.value, HashOf(job.user));
  const std::uint64_t program = Mix(user, HashOf(job.program));
  absl::InlinedVector<std::uint64_t, 7> keys = {key(0, 0), key(1, job.queue.value), key(2, user),
                                                key(3, Mix(user, size))};
  if (stated) keys.push_back(key(4, Mix(user, run)));
  if (!job.program.empty()) keys.push_back(key(5, program));
  if (stated || !job.program.empty()) keys.push_back(key(6, Mix(program, Mix(size, run))));
  return keys;
}

// To eighths of an octave, so that jobs that are alike have equal estimates; at least `least`.
double Rounded(double octaves, double least) {
  const double eighths = std::floor(octaves * 8 + 0.5);
  return (eighths < least * 8 ? eighths + 1 : eighths) / 8;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool Separates(char c) { return c == '-' || c == '_' || c == '.'; }

}  // namespace

std::string ProgramOf(std::string_view job_name, std::string_view image) {
  // Parts with a digit at the end of the name tell runs apart: a date, a number, a random suffix.
  std::string_view stem = job_name;
  while (!stem.empty()) {
    std::size_t at = stem.size();
    while (at > 0 && !Separates(stem[at - 1]) && stem[at - 1] != '/') --at;
    const std::string_view part = stem.substr(at);
    if (std::none_of(part.begin(), part.end(), IsDigit) && !part.empty()) break;
    if (at == 0 || stem[at - 1] == '/') {  // the whole name
      while (!stem.empty() && IsDigit(stem.back())) stem.remove_suffix(1);
      break;
    }
    stem = stem.substr(0, at - 1);
  }
  if (stem.empty() && image.empty()) return {};
  return std::string(stem) + '\n' + std::string(image);
}

const RunHistory::Group* RunHistory::Find(std::uint64_t key) const {
  for (const Groups* groups : {&recent_, &older_}) {
    if (const auto found = groups->find(key); found != groups->end()) return &found->second;
  }
  return nullptr;
}

void RunHistory::Ended(const RunSubject& job, DurationMs run) {
  const auto stated = static_cast<double>(std::max<DurationMs>(job.stated, 1));
  const double octaves = Octaves(static_cast<double>(std::max<DurationMs>(run, 1)) / stated);
  for (const std::uint64_t key : KeysOf(job)) {
    const auto [at, fresh] = recent_.try_emplace(key);
    Group& group = at->second;
    if (fresh) {
      if (const auto old = older_.find(key); old != older_.end()) group = old->second;
    }
    group.jobs = group.jobs * kKept + 1;
    group.sum = group.sum * kKept + octaves;
    group.squares = group.squares * kKept + octaves * octaves;
  }
  if (recent_.size() < kMostGroups / 2) return;
  older_ = std::move(recent_);
  recent_.clear();
}

DurationMs RunHistory::Predict(const RunSubject& job) const {
  // As if one job before had the mean and the squares that larger groups say.
  double weight = job.stated > 0 ? 1 : 0, mean = 0, squares = kFirstSquares;
  for (const std::uint64_t key : KeysOf(job)) {
    const Group* group = Find(key);
    if (group == nullptr) continue;
    mean = (group->sum + weight * mean) / (group->jobs + weight);
    squares = (group->squares + weight * squares) / (group->jobs + weight);
    weight = 1;
  }
  if (weight == 0) return 0;
  const double octaves = Rounded(mean + std::sqrt(std::max(squares - mean * mean, 0.0)), mean);
  if (job.stated == 0) return Times(1, octaves);
  return octaves >= 0 ? job.stated : Times(static_cast<double>(job.stated), octaves);
}

}  // namespace tephra
