// Ranking: for one class of tasks, every node by how good it is, kept current from the ledger's
// log of changed rows. So a task is one look at the top, and a charge costs one question a class,
// whatever the size of the cluster. A node on which the class fits is rated when it is first in
// question: most classes of a long queue never are.
//
// Everything here is derived: dropping it changes no decision.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/max_tree.h"
#include "engine/policy.h"
#include "engine/sum_tree.h"

namespace tephra {

class Ranking {
 public:
  // Nodes (of those within) by what keeps a task of the class off them.
  std::array<std::int32_t, kMisfits> NodesByMisfit(RankSpan within = {}) const;
  // The best node that fits; invalid if none does. Ties as configured.
  NodeId Best(const Snapshot& snapshot, std::uint64_t draw, RankSpan within = {}) const;
  // The node that comes nearest, whether it fits or not; invalid if none is even eligible.
  NodeId Nearest(const Snapshot& snapshot, RankSpan within = {}) const;
  bool Fits(std::uint32_t rank) const { return tree_.at(rank) >= 0; }
  // What keeps a task of the class off the node of that rank.
  Misfit misfit(std::uint32_t rank) const { return misfit_[rank]; }
  // How good the node of that rank is; below zero: the class does not fit there.
  MaxTree::Value rating(std::uint32_t rank) const;
  // Upper bound on how many tasks of the class fit on the nodes within together, and on one.
  // REQUIRES: Rankings::WithRoom gave it.
  std::int64_t room(RankSpan within = {}) const;
  std::int32_t copies(std::uint32_t rank) const { return copies_[rank]; }

 private:
  friend class Rankings;
  void Follow(const Ledger& ledger, const TaskClass& cls, ClassId id, const Policies& policies);
  void FollowRoom(const Ledger& ledger, const TaskClass& cls, const Policies& policies);
  void Rebuild(const Ledger& ledger, const TaskClass& cls, ClassId id, const Policies& policies);
  MaxTree::Value Evaluate(const Ledger& ledger, const TaskClass& cls, ClassId id,
                          const Policies& policies, NodeId node);
  Misfit Eligibility(const Ledger& ledger, const TaskClass& cls, ClassId id, NodeId node);
  Misfit ByLikeness(const Snapshot& snapshot, const TaskClass& cls, NodeId node);
  bool LimitsMoved(const Ledger& ledger, const TaskClass& cls, std::uint64_t& read) const;
  std::pair<MaxTree::Value, std::size_t> TopOf(RankSpan within) const;
  std::pair<MaxTree::Value, std::size_t> BestIn(RankSpan within) const;
  void RateNode(std::uint32_t rank) const;
  void ForgetRatings();
  std::int64_t CappedRoom(const Ledger& ledger, const TaskClass& cls, RankSpan within) const;

  // By rank; below zero: does not fit. A rating comes in when it is first asked for.
  mutable MaxTree tree_;
  std::vector<Misfit> misfit_;            // by rank
  std::vector<Misfit> eligible_;          // by rank
  std::vector<std::uint32_t> spec_seen_;  // by rank: what eligible_ was read from
  std::vector<Misfit> by_likeness_;       // eligibility by Hardware::likeness; kAbsent: not asked
  bool names_hosts_ = false;
  std::vector<std::int32_t> copies_;  // by rank
  SumTree copies_in_;                 // the same, for sums
  std::array<std::int32_t, kMisfits> by_misfit_{};
  std::int64_t room_ = 0;  // sum of copies_, capped by wider domains' limits
  bool capped_ = false;    // there are such limits
  // What was followed last.
  const Ledger* ledger_ = nullptr;
  const TaskClass* cls_ = nullptr;
  const Policies* policies_ = nullptr;

  const Mask* mask_ = nullptr;  // while following; null: none, or not known
  bool masked_ = false;         // the class names one
  std::uint64_t mask_serial_ = 0, mask_seen_ = 0;
  std::uint64_t room_mask_serial_ = 0, room_mask_seen_ = 0;

  std::uint32_t generation_ = 0;    // of the class
  std::uint64_t ratings_seen_ = 0;  // Rankings::ratings_
  std::uint64_t order_seen_ = 0, rows_seen_ = 0, limits_seen_ = 0;
  std::uint64_t room_order_seen_ = 0, room_rows_seen_ = 0, room_limits_seen_ = 0;
  std::uint64_t used_ = 0;  // for forgetting the least recently used
};

// The rankings of all classes asked about, over one ledger.
class Rankings {
 public:
  // REQUIRES: the ledger has begun on the same snapshot. Policies of an unchanged config answer
  // alike, so rankings outlive the cycle.
  void Begin(const Ledger& ledger, const Policies& policies);

  // Current as of the ledger's last charge. `without`: as GangAsk has it; such rankings last for
  // one cycle.
  const Ranking& For(ClassId cls, KindSet without = 0);
  const Ranking& WithRoom(ClassId cls, KindSet without = 0);  // the same, and room() current too
  // The class, kept off the devices of these models.
  const TaskClass& ClassOf(ClassId cls, KindSet without = 0);
  const Ledger& ledger() const { return *ledger_; }
  const Policies& policies() const { return *policies_; }
  // The score has changed. Where a class fits does not depend on it.
  void ForgetRatings() { ++ratings_; }

 private:
  struct Narrowed {
    TaskClass cls;
    Ranking ranking;
  };
  Narrowed* Narrow(ClassId cls, KindSet without);
  void Follow(Ranking& ranking, const TaskClass& cls, ClassId id);

  const Ledger* ledger_ = nullptr;
  const Policies* policies_ = nullptr;
  std::vector<std::unique_ptr<Ranking>> rankings_;  // by ClassId
  std::map<std::pair<ClassId, KindSet>, Narrowed> narrowed_;
  std::uint64_t config_seen_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t ratings_ = 0;  // how often the score has changed
};

}  // namespace tephra
