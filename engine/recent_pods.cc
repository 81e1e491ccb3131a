#include "engine/recent_pods.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace tephra {
namespace {

constexpr std::int64_t kCpuStep = 500;
constexpr std::size_t kMostKept = 512;  // shapes that are counted
// The list is looked at after so many pods, or a part of all that count where that is more.
constexpr std::int64_t kLookEvery = RecentPods::kEnough, kLookPart = 16;
// By how much of all GPUs asked for the shapes have to differ.
constexpr double kShift = 0.1;

template <class Counts>
double GpusOf(const typename Counts::value_type& entry) {
  return static_cast<double>(entry.second) * std::get<1>(entry.first) * std::get<2>(entry.first);
}

template <class Counts>
double AllGpus(const Counts& counts) {
  double all = 0;
  for (const auto& entry : counts) all += GpusOf<Counts>(entry);
  return all;
}

}  // namespace

void RecentPods::Came(const TaskClass& cls, std::int64_t pods) {
  if (!cls.needs_devices() || pods <= 0) return;
  const DeviceRequest most = LargestAsk(cls);
  if (most.compute == 0) return;
  const std::int64_t cpu = (cls.demand[kCpu] + kCpuStep - 1) / kCpuStep * kCpuStep;
  std::vector<std::string> models = cls.pod.constraints.device_models;
  std::sort(models.begin(), models.end());
  pods = std::min(pods, kWindow);
  counts_[{cpu, most.count, most.compute, std::move(models)}] += pods;
  total_ += pods;
  until_look_ -= pods;
  if (total_ > kWindow) Fade();
  if (counts_.size() > kMostKept) Forget();
}

void RecentPods::Fade() {
  total_ = 0;
  for (auto& [shape, count] : counts_) total_ += count /= 2;
  std::erase_if(counts_, [](const auto& entry) { return entry.second == 0; });
}

// The rarest go, half of what is kept.
void RecentPods::Forget() {
  std::vector<std::pair<std::int64_t, Shape>> by_count;
  for (const auto& [shape, count] : counts_) by_count.emplace_back(count, shape);
  std::sort(by_count.begin(), by_count.end());
  by_count.resize(by_count.size() - kMostKept / 2);
  for (const auto& [count, shape] : by_count) {
    counts_.erase(shape);
    total_ -= count;
  }
}

bool RecentPods::Settle() {
  if (until_look_ > 0) return false;
  until_look_ = std::max(kLookEvery, total_ / kLookPart);
  const std::vector<Counts::value_type> foremost = Foremost();
  Counts now(foremost.begin(), foremost.end());
  const bool grown = total_ * 2 >= listed_total_ * 3;
  if (now.empty() || (!grown && !Shifted(now))) return false;
  listed_total_ = total_;
  listed_ = std::move(now);
  std::int64_t pods = 0;
  for (const auto& [shape, count] : foremost) pods += count;
  expected_.clear();
  for (const auto& [shape, count] : foremost) {
    const auto& [cpu, devices, compute, models] = shape;
    expected_.push_back(
        {cpu, devices, compute, models, static_cast<double>(count) / static_cast<double>(pods)});
  }
  ++version_;
  return true;
}

std::vector<ExpectedPod> RecentPods::ExpectedWith(const std::vector<ExpectedPod>& given) const {
  std::vector<ExpectedPod> all;
  double shares = 0;
  for (const ExpectedPod& pod : given) {
    if (pod.devices <= 0 || pod.compute <= 0 || all.size() == kMostKept) continue;
    all.push_back(pod);
    shares += pod.share;
  }
  if (shares <= 0) return expected_;
  const double part = 1 / static_cast<double>(kGiven + listed_total_);
  for (ExpectedPod& pod : all) pod.share *= kGiven * part / shares;
  for (ExpectedPod pod : expected_) {
    pod.share *= static_cast<double>(listed_total_) * part;
    all.push_back(std::move(pod));
  }
  return all;
}

std::vector<RecentPods::Counts::value_type> RecentPods::Foremost() const {
  std::vector<std::pair<double, const Counts::value_type*>> order;
  for (const auto& entry : counts_) order.emplace_back(-GpusOf<Counts>(entry), &entry);
  const std::size_t most = std::min(kMostShapes, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                    [](const auto& a, const auto& b) {
                      return std::tie(a.first, a.second->first) <
                             std::tie(b.first, b.second->first);
                    });
  std::vector<Counts::value_type> foremost;
  for (std::size_t i = 0; i < most; ++i) foremost.push_back(*order[i].second);
  return foremost;
}

// Half the sum of the differences between the shares of the GPUs asked for.
bool RecentPods::Shifted(const Counts& now) const {
  const double all_now = AllGpus(now), all_then = AllGpus(listed_);
  if (all_then <= 0) return true;
  double apart = 0;
  for (const auto& entry : now) {
    const auto then = listed_.find(entry.first);
    const double before = then == listed_.end() ? 0 : GpusOf<Counts>(*then) / all_then;
    apart += std::abs(GpusOf<Counts>(entry) / all_now - before);
  }
  for (const auto& entry : listed_) {
    if (!now.contains(entry.first)) apart += GpusOf<Counts>(entry) / all_then;
  }
  return apart / 2 > kShift;
}

}  // namespace tephra
