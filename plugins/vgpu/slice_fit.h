// SliceFit: answers the Fit question for whole devices and for slices in each sharing mode.
// README.md has the rule and its limits. Immutable; any thread.
#pragma once

#include <functional>

#include "engine/policy.h"

namespace tephra {

class SliceFit final : public Fit {
 public:
  // `score` says which device is better. It must outlive this object.
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
