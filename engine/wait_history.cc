#include "engine/wait_history.h"

#include <algorithm>
#include <cmath>

#include "engine/octaves.h"
#include "topology/base/hash.h"

namespace tephra {
namespace {

// Waits that are short against this count as alike.
constexpr DurationMs kAlike = 60 * kSecondMs;
constexpr int kFirstOctave = 15, kBinsPerOctave = 8;  // 2^15 ms are less than kAlike

// If a group has more waits, each counts half.
constexpr double kMostWaits = 256;
// As how many waits the larger groups count in a group.
constexpr double kLarger = 32;
// How many starts are to be before an interval, and after it. Short waits are many and near each
// other, long waits are few and far apart: with these tails an interval is shorter than with equal
// tails. Together they are less than one in ten, because an interval is judged only when it ends: in
// a burst, jobs get intervals before the first of them is judged.
constexpr double kBefore = 0.01, kAfter = 0.08;

// Margins, in bins.
constexpr double kStep = 0.4;
constexpr double kLeastMargin = -16, kMostMargin = 64;

}  // namespace

std::array<std::uint64_t, 4> WaitHistory::KeysOf(const WaitSubject& subject) {
  const std::uint64_t all = (subject.again ? 2 : 0) + (subject.gpus ? 1 : 0);
  const std::uint64_t work = Mix(all, static_cast<std::uint64_t>(subject.work_octave));
  const std::uint64_t size = Mix(work, static_cast<std::uint64_t>(subject.size_octave));
  return {Mix(0, all), Mix(1, work), Mix(2, size), Mix(3, Mix(size, subject.queue.value))};
}

std::size_t WaitHistory::BinOf(DurationMs wait) {
  const double octaves = Octaves(static_cast<double>(std::max<DurationMs>(wait, 0) + kAlike));
  const double bin = std::floor((octaves - kFirstOctave) * kBinsPerOctave);
  return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(kBins - 1)));
}

DurationMs WaitHistory::EdgeOf(std::size_t bin, double up) {
  const double octaves =
      kFirstOctave + (static_cast<double>(bin) + up) / kBinsPerOctave;
  return std::max<DurationMs>(Times(1, std::clamp(octaves, 0.0, kMostOctaves)) - kAlike, 0);
}

const WaitHistory::Group* WaitHistory::Find(std::uint64_t key) const {
  for (const Groups* groups : {&recent_, &older_}) {
    if (const auto found = groups->find(key); found != groups->end()) return &found->second;
  }
  return nullptr;
}

void WaitHistory::Started(const WaitSubject& subject, DurationMs wait) {
  const std::size_t bin = BinOf(wait);
  for (const std::uint64_t key : KeysOf(subject)) {
    const auto [at, fresh] = recent_.try_emplace(key);
    Group& group = at->second;
    if (fresh) {
      if (const auto old = older_.find(key); old != older_.end()) group = old->second;
    }
    ++group.bins[bin];
    ++group.waits;
    if (group.waits <= kMostWaits) continue;
    group.waits /= 2;
    for (double& count : group.bins) count /= 2;
  }
  if (recent_.size() < kMostGroups / 2) return;
  older_ = std::move(recent_);
  recent_.clear();
}

void WaitHistory::Judge(double& margin, bool missed, double aim) {
  margin += kStep * ((missed ? 1 : 0) - aim);
  margin = std::clamp(margin, kLeastMargin, kMostMargin);
}

void WaitHistory::JudgeLow(bool before) { Judge(low_margin_, before, kBefore); }
void WaitHistory::JudgeHigh(bool after) { Judge(high_margin_, after, kAfter); }

std::optional<WaitHistory::Interval> WaitHistory::Predict(const WaitSubject& subject,
                                                          DurationMs waited) const {
  Bins mixed{};
  double least = 0, larger = 0;  // the waits of the largest group; what larger groups count
  for (const std::uint64_t key : KeysOf(subject)) {
    const Group* group = Find(key);
    if (group == nullptr) continue;
    if (larger == 0) least = group->waits;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      mixed[bin] = (group->bins[bin] + larger * mixed[bin]) / (group->waits + larger);
    }
    larger = kLarger;
  }
  if (least < kLeastWaits) return std::nullopt;
  // Of the waits that are at least as long.
  const std::size_t first = waited > 0 ? BinOf(waited) : 0;
  double all = 0;
  for (std::size_t bin = first; bin < kBins; ++bin) all += mixed[bin];
  if (all * least < 1) return std::nullopt;
  std::size_t low = first, high = kBins - 1;
  for (double before = mixed[low]; before <= all * kBefore; before += mixed[low]) ++low;
  for (double after = mixed[high]; after <= all * kAfter; after += mixed[high]) --high;
  // Margins are whole bins, rounded outwards.
  const Interval found = {EdgeOf(low, -std::ceil(low_margin_)),
                          EdgeOf(high + 1, std::ceil(high_margin_))};
  return Interval{std::max(found.low, waited), std::max({found.high, found.low, waited})};
}

}  // namespace tephra
