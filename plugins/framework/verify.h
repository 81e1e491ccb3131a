// Verifier: checks each decision against the Snapshot's truth, without the Ledger's help, before
// anyone acts on it. It demands that a decision makes no violated bound worse, for lowered quotas,
// lost GPUs and foreign pods legitimately start over-committed. Evictions it takes in one form
// only: a gang that a failed binding broke gives back its own tasks.
//
// It looks only at the rows that the plan touches, and stands between cycles only to keep its
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/framework/plan.h"
#include "plugins/framework/snapshot.h"

namespace tephra {

class Verifier {
 public:
  // A new plan on this Snapshot, which must outlive it.
  void Begin(const Snapshot& snapshot);
  // Empty if the decision holds beside those accepted before it; else what is wrong, with numbers.
  std::string Check(const Decision& decision);

 private:
  struct Row {
    std::uint64_t plan = 0;  // the plan it was copied for
    NodeRow node;
    std::vector<DeviceRow> devices;
  };

  std::string CheckPlacement(const Decision& decision, const Placement& placement);
  std::string CheckSlices(const TaskClass& cls, const Placement& placement, Row& row);
  std::string CheckMinimum(const Decision& decision);
  std::string CheckUnwinding(const Decision& decision);
  std::string CheckQueue(const Decision& decision);
  std::string CheckKept(const Decision& decision);
  void Take(const TaskClass& cls, const Placement& placement, int sign);
  void TakeClaims(QueueId queue, const Resources& amount, int sign);
  Row& RowOf(NodeId node);
  BoundedCount& CountOf(LimitId limit, std::uint32_t domain);

  const Snapshot* snapshot_ = nullptr;
  std::uint64_t plan_ = 0;
  std::vector<Row> rows_;                 // by NodeId
  std::vector<std::uint64_t> placed_in_;  // by TaskId: the plan that placed or evicted it
  std::unordered_map<std::uint64_t, BoundedCount> limit_counts_;  // by limit and domain
  std::unordered_map<std::uint64_t, std::int32_t> counted_;       // by job and role
  std::unordered_map<QueueId, Resources> queue_extra_;
  // Beside the Snapshot's: what each queue itself and the claims right under it hold more, by how
  // much its own claim is larger, and the sums of the top.
  struct Claim {
    Resources holds, claims;
  };
  std::unordered_map<QueueId, Claim> claim_extra_;
  Claim top_extra_;
  std::vector<DeviceCharge> scratch_;
};

}  // namespace tephra
