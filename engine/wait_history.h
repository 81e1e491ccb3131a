// WaitHistory: how long jobs waited for their start. It predicts between which times the next job
// starts. Kept by PendingStarts.
//
// A wait belongs to four groups: all waits; waits with as much work ahead; these of jobs of the same
// size; and these of the same queue. Each group has a histogram of waits, and recent waits count
// more. A prediction mixes the histograms from the largest group to the smallest: a group counts by
// its number of waits, and the larger groups count as kLarger waits. The interval goes from the 1 %
// quantile to the 92 % quantile.
//
// Waits come in bursts and drift, so quantiles of the past hold fewer starts than they should. So
// each end of the interval has a margin, which grows with each start beyond that end and shrinks with
// each other start (Gibbs and Candes, "Adaptive conformal inference under distribution shift", NeurIPS
// 2021). In the long run 1 % of the starts are before the interval and 8 % after it, whatever the
// waits are.
//
// A value; all operations are exact or rounded in one way, so equal histories are equal bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <absl/container/flat_hash_map.h>

#include "topology/base/ids.h"
#include "topology/base/time.h"

namespace tephra {

// What is known of a wait when it begins.
struct WaitSubject {
  QueueId queue;
  bool again = false;           // the job ran before
  bool gpus = false;            // its size and the work are in GPUs, not in cores
  std::int8_t size_octave = 0;  // number of binary digits of its GPUs or cores
  std::int8_t work_octave = 0;  // the same of the work ahead, in GPU-seconds or core-seconds

  bool operator==(const WaitSubject&) const = default;
};

class WaitHistory {
 public:
  // The most groups that are kept. If there are more, groups that gained no wait lately go.
  static constexpr std::size_t kMostGroups = std::size_t{1} << 12;
  // An interval needs as many waits.
  static constexpr double kLeastWaits = 20;

  // From the begin of the wait.
  struct Interval {
    DurationMs low = 0, high = 0;

    bool operator==(const Interval&) const = default;
  };
  // When a job starts that has waited for so long; none: too few waits were as long.
  std::optional<Interval> Predict(const WaitSubject& subject, DurationMs waited) const;

  void Started(const WaitSubject& subject, DurationMs wait);
  // A predicted interval was judged: whether the job started before it, or not within it.
  void JudgeLow(bool before);
  void JudgeHigh(bool after);

 private:
  // In eighths of an octave of the wait and one minute, from 2^kFirstOctave ms on.
  static constexpr std::size_t kBins = 200;
  using Bins = std::array<double, kBins>;
  struct Group {
    double waits = 0;
    Bins bins{};
  };
  using Groups = absl::flat_hash_map<std::uint64_t, Group>;

  static std::array<std::uint64_t, 4> KeysOf(const WaitSubject& subject);
  static std::size_t BinOf(DurationMs wait);
  // Where the bin begins, moved up by so many bins.
  static DurationMs EdgeOf(std::size_t bin, double up);
  const Group* Find(std::uint64_t key) const;
  static void Judge(double& margin, bool missed, double aim);

  Groups recent_, older_;
  double low_margin_ = 0, high_margin_ = 0;  // in bins, outwards
};

}  // namespace tephra
