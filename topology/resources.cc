#include "topology/resources.h"

#include <cstdio>

namespace tephra {
namespace {

// At most three digits behind the point, and no trailing zeros.
std::string Decimal(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string Binary(double bytes, double first_unit) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = bytes * first_unit;
  int unit = 0;
  while (value >= 1024 && unit < 5) value /= 1024, ++unit;
  return Decimal(value) + " " + kUnits[unit];
}

// How much of a kind a reader counts as one.
std::int64_t UnitOf(const ResourceKinds& kinds, Kind kind) {
  if (kind == kCpu) return 1000;
  return kind == kGpu || kinds.CountsModel(kind) ? kWholeGpu : 1;
}

std::string NumberText(const ResourceKinds& kinds, Kind kind, std::int64_t amount) {
  if (kind == kMemory) return Binary(static_cast<double>(amount), 1);
  if (kind == kGpuMemory) return Binary(static_cast<double>(amount), 1024.0 * 1024.0);
  return Decimal(static_cast<double>(amount) / static_cast<double>(UnitOf(kinds, kind)));
}

}  // namespace

ResourceKinds::ResourceKinds() : names_{"cpu", "memory", "pods", "gpu", "gpu-memory"} {}

absl::StatusOr<Kind> ResourceKinds::Intern(std::string_view name) {
  for (std::size_t k = 0; k < names_.size(); ++k) {
    if (names_[k] == name) return static_cast<Kind>(k);
  }
  if (names_.size() == kMaxKinds) {
    return absl::ResourceExhaustedError("resource kind \"" + std::string(name) +
                                        "\" is one too many: the engine counts at most " +
                                        std::to_string(kMaxKinds) + " kinds in a cluster");
  }
  const auto kind = static_cast<Kind>(names_.size());
  if (name.substr(0, kModelPrefix.size()) == kModelPrefix) {
    const std::string model(name.substr(kModelPrefix.size()));
    if (model.empty()) {
      return absl::InvalidArgumentError("resource kind \"" + std::string(name) +
                                        "\": names no GPU model, expected one behind the point");
    }
    models_.emplace(model, kind);
    model_kinds_ |= KindSet{1} << kind;
  }
  names_.emplace_back(name);
  return kind;
}

// "GPU" for 1 and for a part of one, "GPUs" for all other amounts.
std::string AmountText(const ResourceKinds& kinds, Kind kind, std::int64_t amount) {
  const std::string number = NumberText(kinds, kind, amount);
  if (kind == kMemory || kind == kGpuMemory) return number + " " + KindText(kinds, kind);
  const std::int64_t one = UnitOf(kinds, kind);
  const bool singular = amount > 0 && amount <= one;
  std::string unit = KindText(kinds, kind);
  const bool counted = kind < kFirstExtendedKind || kinds.CountsModel(kind);
  if (singular && counted) unit.pop_back();
  return number + " " + unit;
}

std::string PartText(const ResourceKinds& kinds, Kind kind, std::int64_t part, std::int64_t whole) {
  return NumberText(kinds, kind, part) + " of " + AmountText(kinds, kind, whole);
}

std::string KindText(const ResourceKinds& kinds, Kind kind) {
  switch (kind) {
    case kCpu:
      return "CPUs";
    case kMemory:
      return "memory";
    case kPods:
      return "pods";
    case kGpu:
      return "GPUs";
    case kGpuMemory:
      return "GPU memory";
    default:
      if (!kinds.CountsModel(kind)) return kinds.Name(kind);
      return kinds.Name(kind).substr(kModelPrefix.size()) + " GPUs";
  }
}

}  // namespace tephra
