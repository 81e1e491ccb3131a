// SliceFit: the Fit question for devices, whole and in the parts that each mode of sharing knows.
// See README.md for the rule and what it ignores.
#pragma once

#include <functional>

#include "plugins/framework/policy.h"

namespace tephra {

class SliceFit final : public Fit {
 public:
  // `score` says which device is better and must outlive this.
  explicit SliceFit(const Score& score) : score_(score) {}

  Answer Check(const NodeView&, const TaskClass&, std::int32_t limit_room) const override;
  Slices Choose(const NodeView&, const TaskClass&, std::uint64_t draw) const override;
  std::int32_t Copies(const NodeView&, const TaskClass&, std::int32_t limit_room) const override;
  bool Holds(const NodeView&, const TaskClass&, const Slices&,
             std::int32_t limit_room) const override;
  std::vector<Slices> Options(const NodeView&, const TaskClass&) const override;

 private:
  const Score& score_;
};

}  // namespace tephra
