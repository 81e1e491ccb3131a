// RecentPods: which shapes of pods with GPUs have come recently, for scores that look ahead at
// those to come.
//
// A pod counts when it is first asked for; a pod that is created again after an eviction does not.
// Once the counts pass kWindow all are halved, so what came long ago fades. The list that scores
// are given changes only when half as many pods more have come, or when the shapes have shifted,
// for every rating made with it is lost then. What has come is what was reported to this engine:
// after a restart, the pods there are. One owner thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/config.h"
#include "queue/task_class.h"

namespace tephra {

class RecentPods {
 public:
  static constexpr std::int64_t kEnough = 10;      // pods before there is a list at all
  static constexpr std::int64_t kWindow = 20000;   // pods
  static constexpr std::size_t kMostShapes = 128;  // on the list
  static constexpr std::int64_t kGiven = 100;      // pods that a configured list counts as

  void Came(const TaskClass& cls, std::int64_t pods);
  // Brings the list up to date, between cycles. True: it is another one.
  bool Settle();
  // Empty until kEnough have come; the shapes that ask for most GPUs first.
  const std::vector<ExpectedPod>& expected() const { return expected_; }
  // The first 512 pods with GPUs of a configured list, as if kGiven had come, and expected().
  std::vector<ExpectedPod> ExpectedWith(const std::vector<ExpectedPod>& given) const;
  std::uint64_t version() const { return version_; }

 private:
  // CPU in milli-cores, rounded up to half a core; devices; per mille of each; models.
  using Shape = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::vector<std::string>>;
  using Counts = std::map<Shape, std::int64_t>;

  void Fade();
  void Forget();
  std::vector<Counts::value_type> Foremost() const;  // the shapes that ask for most GPUs first
  bool Shifted(const Counts& now) const;

  Counts counts_;
  std::int64_t total_ = 0;
  std::int64_t until_look_ = kEnough;  // pods that may still come before the list is looked at
  Counts listed_;                      // what expected_ was made of
  std::int64_t listed_total_ = 0;      // pods that had come then
  std::vector<ExpectedPod> expected_;
  std::uint64_t version_ = 0;
};

}  // namespace tephra
