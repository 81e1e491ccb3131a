#include "engine/ledger.h"

#include <map>

#include "topology/base/check.h"

namespace tephra {

void Ledger::Begin(const Snapshot& snapshot) {
  snapshot_ = &snapshot;
  log_.clear();
  if (basis_ != Basis::kEmpty) {
    occupancy_.CopyChanges(snapshot.hardware(), snapshot.occupancy());
    if (basis_ == Basis::kLater) {
      for (const TaskId task : snapshot.books().releasing) {
        if (snapshot.hardware().present(snapshot.task(task).node)) Free(task);
      }
    }
    return;
  }
  occupancy_.Grow(snapshot.facts());
  const Hardware& hardware = snapshot.hardware();
  if (hardware_seen_ == hardware.version()) return;
  hardware_seen_ = hardware.version();
  spec_seen_.resize(hardware.slots());
  for (std::size_t n = 0; n < hardware.slots(); ++n) {
    const NodeId node(n);
    const std::uint32_t seen = hardware.present(node) ? hardware.spec_version(node) : 0;
    if (spec_seen_[n] == seen) continue;
    spec_seen_[n] = seen;
    occupancy_.ResetNode(snapshot.facts(), node);
  }
}

void Ledger::Charge(ClassId cls, QueueId queue, const Placement& placement) {
  Apply(cls, queue, placement, +1);
  log_.push_back({cls, queue, placement, +1});
}

void Ledger::Free(TaskId id) {
  const TaskRow& task = snapshot_->task(id);
  const QueueId queue = task.job.valid() ? snapshot_->job(task.job).queue : QueueId();
  log_.push_back({task.cls, queue, {id, task.node, task.slices}, -1});
  Apply(task.cls, queue, log_.back().placement, -1);
}

void Ledger::Discharge(ClassId cls, QueueId queue, const Placement& placement) {
  log_.push_back({cls, queue, placement, -1});
  Apply(cls, queue, placement, -1);
}

void Ledger::RollBackTo(std::size_t mark) {
  TEPHRA_CHECK_OP(mark, <=, log_.size());
  while (log_.size() > mark) {
    const Entry& entry = log_.back();
    Apply(entry.cls, entry.queue, entry.placement, -entry.sign);
    log_.pop_back();
  }
}

void Ledger::Uncharge(ClassId cls, QueueId queue, const Placement& placement) {
  Apply(cls, queue, placement, -1);
}

void Ledger::Apply(ClassId cls, QueueId queue, const Placement& placement, int sign) {
  // No queue holds anything in an empty cluster.
  const Holder holder =
      basis_ == Basis::kEmpty ? Holder(QueueId()) : Holder(queue, IsProtected(placement.task));
  occupancy_.Charge(facts(), snapshot_->cls(cls), holder, placement.node, placement.slices, sign);
}

bool Ledger::IsProtected(TaskId id) const {
  if (!id.valid()) return false;
  const JobId job = snapshot_->task(id).job;
  return job.valid() && snapshot_->job(job).is_protected();
}

std::vector<TaskId> Ledger::FreedSince(std::size_t mark) const {
  std::map<TaskId, int> sums;
  for (std::size_t i = mark; i < log_.size(); ++i) sums[log_[i].placement.task] += log_[i].sign;
  std::vector<TaskId> freed;
  for (const auto& [task, sum] : sums) {
    if (sum < 0) freed.push_back(task);
  }
  return freed;
}

std::vector<Placement> Ledger::Since(std::size_t mark) const {
  std::vector<Placement> placements;
  placements.reserve(log_.size() - mark);
  for (std::size_t i = mark; i < log_.size(); ++i) {
    if (log_[i].sign > 0) placements.push_back(log_[i].placement);
  }
  return placements;
}

}  // namespace tephra
