// Resources: an integer vector over the cluster's resource kinds, so that undo is exact.
//
// Units: CPU in milli-cores, host memory in bytes, pods as a count, GPU compute in per mille of a
// device, GPU memory in MiB; an extended resource in the unit its owner counts it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

// Index of a kind in every Resources vector. The first five kinds are the same in every cluster.
using Kind = std::uint8_t;
constexpr Kind kCpu = 0;
constexpr Kind kMemory = 1;
constexpr Kind kPods = 2;
constexpr Kind kGpu = 3;
constexpr Kind kGpuMemory = 4;
constexpr Kind kFirstExtendedKind = 5;

// Two cache lines a node. A Kubernetes node seldom advertises ten kinds; the 17th is refused by
// name (ResourceKinds::Intern).
constexpr int kMaxKinds = 16;

// A set of kinds, one bit each.
using KindSet = std::uint32_t;

constexpr std::int64_t kWholeGpu = 1000;
constexpr std::int64_t kMiB = 1 << 20;  // in bytes

// A kind with this prefix and a model, "gpu.H100", counts only the devices of that model, in per
// mille; kGpu counts them, too. The amounts of nodes and tasks follow from their devices: pods
// request a model and not this kind.
inline constexpr std::string_view kModelPrefix = "gpu.";
using ModelKinds = std::map<std::string, Kind>;  // by model

// The largest amounts, so that no sum exceeds a 64-bit integer.
//
// One amount of a node or a pod: 2^50, which is a PiB of bytes. A sum over the cluster holds 2^13
// such nodes, or 8 million nodes with a TiB.
constexpr std::int64_t kMaxAmount = std::int64_t{1} << 50;
// The request of a whole job, or the limit of a queue: 2^60, a million pods with a TiB each.
constexpr std::int64_t kMaxSum = std::int64_t{1} << 60;
// The memory of one device or slice: 2^30 MiB, a PiB. Sums of it are 64 bits wide.
constexpr std::int32_t kMaxDeviceMib = std::int32_t{1} << 30;

struct Resources {
  std::array<std::int64_t, kMaxKinds> amount{};

  std::int64_t& operator[](Kind kind) { return amount[kind]; }
  std::int64_t operator[](Kind kind) const { return amount[kind]; }
  bool operator==(const Resources&) const = default;

  Resources& Add(const Resources& other, std::int64_t times = 1) {
    for (int k = 0; k < kMaxKinds; ++k) amount[k] += times * other.amount[k];
    return *this;
  }
  // Only the kinds in the set; the others of `other` must be zero.
  Resources& AddKinds(const Resources& other, std::int64_t times, KindSet kinds) {
    for (; kinds != 0; kinds &= kinds - 1) {
      const int k = std::countr_zero(kinds);
      amount[k] += times * other.amount[k];
    }
    return *this;
  }
  // The larger amount of each kind.
  static Resources Max(const Resources& a, const Resources& b) {
    Resources most;
    for (int k = 0; k < kMaxKinds; ++k) most.amount[k] = std::max(a.amount[k], b.amount[k]);
    return most;
  }
  // The kinds with an amount other than zero.
  KindSet NonZero() const {
    KindSet kinds = 0;
    for (int k = 0; k < kMaxKinds; ++k) kinds |= static_cast<KindSet>(amount[k] != 0) << k;
    return kinds;
  }
};

// The names of the cluster's resource kinds, in the spelling of Kubernetes.
class ResourceKinds {
 public:
  ResourceKinds();

  // The kind of that name, made on first use. RESOURCE_EXHAUSTED names the kind and the limit,
  // INVALID_ARGUMENT a model kind without a model.
  absl::StatusOr<Kind> Intern(std::string_view name);
  const std::string& Name(Kind kind) const { return names_[kind]; }
  int size() const { return static_cast<int>(names_.size()); }
  // The kinds that count the devices of one model.
  const ModelKinds& models() const { return models_; }
  KindSet model_kinds() const { return model_kinds_; }
  bool CountsModel(Kind kind) const { return (model_kinds_ >> kind & 1) != 0; }

 private:
  std::vector<std::string> names_;
  ModelKinds models_;
  KindSet model_kinds_ = 0;
};

// An amount with its unit: "12 CPUs", "64 GiB memory", "1 GPU", "2.5 GPUs", "16 A100 GPUs".
std::string AmountText(const ResourceKinds& kinds, Kind kind, std::int64_t amount);
// A part of a whole, with the unit once where it is a count: "19 of 32 GPUs".
std::string PartText(const ResourceKinds& kinds, Kind kind, std::int64_t part, std::int64_t whole);
// The kind in the plural: "CPUs", "memory", "GPUs", "A100 GPUs".
std::string KindText(const ResourceKinds& kinds, Kind kind);

}  // namespace tephra
