// Verifier: checks each decision against the Snapshot's truth, without the Ledger's help, before
// anyone acts on it. It demands that a decision makes no violated bound worse, for lowered quotas,
// lost GPUs and foreign pods legitimately start over-committed. A gang that starts at once has to
// fit beside all that is there; one that starts after evictions, beside what will be left.
//
// It looks only at the rows that the plan touches, and stands between cycles only to keep its
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/plan.h"
#include "engine/snapshot.h"

namespace tephra {

class Verifier {
 public:
  // A new plan on this Snapshot, which must outlive it.
  void Begin(const Snapshot& snapshot);
  // The plan has decisions that count on what is on its way out. REQUIRES: before the first Check
  // of one of them; those accepted before were checked without.
  void LookAhead();
  // Empty if the decision holds beside those accepted before it; else what is wrong, with numbers.
  std::string Check(const Decision& decision);
  // The same for places of tasks of one job that an accepted decision evicts: they run there next.
  std::string CheckPlaces(const Decision& decision, const std::vector<Placement>& places);

 private:
  struct Row {
    std::uint64_t plan = 0;  // the plan it was copied for
    NodeRow node;
    std::vector<DeviceRow> devices;
  };
  struct Claim {
    Resources holds, claims;
  };
  // The rows as the decisions accepted so far leave them.
  struct Side {
    std::vector<Row> rows;                                         // by NodeId
    std::unordered_map<std::uint64_t, BoundedCount> limit_counts;  // by limit and domain
    std::unordered_map<QueueId, Resources> queue_extra;
    std::unordered_map<QueueId, Resources> protected_extra;  // of that, by jobs that are not preemptible
    // Beside the Snapshot's: what each queue itself and the claims right under it hold more, by how
    // much its own claim is larger, and the sums of the top.
    std::unordered_map<QueueId, Claim> claim_extra;
    Claim top_extra;
    Resources free_extra;  // free on all nodes, over-committed devices counted as nothing

    void Begin(std::size_t nodes);
    // All that the plan has changed on the other. REQUIRES: nothing was changed here.
    void Follow(const Side& other, std::uint64_t plan);
  };

  // What a side had more of than the Snapshot before a decision, by level from its queue up: only
  // what the decision makes worse is held against it.
  struct Before {
    std::vector<Resources> queue_extra, protected_extra, claims;
    Resources top_claims;
  };

  static std::string Numbers(std::int64_t a, std::int64_t b);  // "3 of 8"
  static std::uint64_t PairKey(std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
  }
  Before BeforeOf(Side& side, QueueId queue) const;
  std::string CheckStart(const Decision& decision);
  std::string CheckPlacement(Side& side, const Decision& decision, const Placement& placement);
  std::string CheckPlace(Side& side, const Placement& placement);
  std::string CheckSlices(const TaskClass& cls, const Placement& placement, Row& row);
  static std::string CheckDevice(const DeviceHardware& hardware, const DeviceRow& row,
                                 const DeviceCharge& charge, std::uint32_t user_id);
  std::string CheckMinimum(const Decision& decision);
  std::string CheckLocality(JobId job, const std::vector<Placement>& placements);
  std::string CheckNear(JobId job, const std::vector<Placement>& placements,
                        const Locality& locality, std::uint32_t group);
  std::string CheckUnwinding(const Decision& decision);
  std::string CheckUnhealthy(const Decision& decision) const;
  std::string CheckIncomplete(const Decision& decision) const;
  std::string CheckVictims(const Decision& decision);
  std::string CheckMoves(const Decision& decision, const std::map<JobId, Before>& before,
                         std::size_t& taken);
  std::string CheckMove(const Placement& move);
  std::string CheckQueue(Side& side, const Before& before, JobId job);
  std::string CheckDeserved(Side& side, const Before& before, JobId job) const;
  std::string CheckKept(Side& side, const Before& before, const Decision& decision);
  void Take(Side& side, TaskId task, NodeId node, const Slices& slices, int sign);
  void TakeBoth(TaskId task, NodeId node, const Slices& slices, int sign);
  // Whether the decision leaves all that is reserved for its job.
  bool Leaves(const Decision& decision) const;
  void Leave(JobId job);
  void Restore(JobId job);
  bool LeaveReserved(TaskId task);
  void TakeReserved(TaskId task, int sign);
  void TakeClaims(Side& side, QueueId queue, const Resources& amount, int sign);
  Row& RowOf(Side& side, NodeId node);
  BoundedCount& CountOf(Side& side, LimitId limit, std::uint32_t domain);

  const Snapshot* snapshot_ = nullptr;
  std::uint64_t plan_ = 0;
  Side now_;            // beside all that is there
  Side later_;          // without what is on its way out, the plan's own victims too
  bool ahead_ = false;  // later_ is kept
  std::vector<std::uint64_t> placed_in_;  // by TaskId: the plan that placed or evicted it
  std::unordered_map<std::uint64_t, std::int32_t> counted_;  // by job and role, beside the Snapshot
  std::map<JobId, std::vector<TaskId>> left_;  // jobs that left the reserved room of these tasks
  std::vector<DeviceCharge> scratch_;
};

}  // namespace tephra
