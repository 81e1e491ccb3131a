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

// Index of a kind in every Resources vector. The first five are the same in every cluster.
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

// A kind of this name with a model behind it, "gpu.H100", counts the devices of that model alone,
// in per mille as kGpu does, which counts them too. What a node has of it, and a task holds,
// follows from devices; nobody asks for it but by the model.
inline constexpr std::string_view kModelPrefix = "gpu.";
using ModelKinds = std::map<std::string, Kind>;  // by model

// How large an amount may be, so that no sum of them passes the 2^63 of its integer.
//
// One amount of a node or of a whole pod: 2^50, a PiB where it counts bytes. A sum over the
// cluster then holds 2^13 nodes of that size, or 8 million of the TiB that the largest have.
constexpr std::int64_t kMaxAmount = std::int64_t{1} << 50;
// What a job asks for in all, or a queue may hold: 2^60, a million pods of a TiB each.
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

  // The kind of that name, made on first sight. RESOURCE_EXHAUSTED names the kind and the limit,
  // INVALID_ARGUMENT a model kind without a model.
  absl::StatusOr<Kind> Intern(std::string_view name);
  const std::string& Name(Kind kind) const { return names_[kind]; }
  int size() const { return static_cast<int>(names_.size()); }
  // Those that count the devices of one model.
  const ModelKinds& models() const { return models_; }
  KindSet model_kinds() const { return model_kinds_; }
  bool CountsModel(Kind kind) const { return (model_kinds_ >> kind & 1) != 0; }

 private:
  std::vector<std::string> names_;
  ModelKinds models_;
  KindSet model_kinds_ = 0;
};

// An amount as a person writes it: "12 CPU", "64 GiB", "2.5 GPU", "16 A100 GPU".
std::string AmountText(const ResourceKinds& kinds, Kind kind, std::int64_t amount);

}  // namespace tephra
