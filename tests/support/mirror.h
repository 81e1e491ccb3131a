// Mirror: the facts that an engine received, in the plainest form, with the effects of its plans.
// It judges a plan by the laws: nothing over-committed, all or none, and (by the oracle) a start
// exactly if a placement exists.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/event.h"
#include "tests/support/named_plan.h"
#include "tests/support/room.h"

namespace tephra {

struct MirrorTask {
  // kReserved: pending, with reserved room that victims still have to leave.
  TaskPhase phase = TaskPhase::kPending;
  std::string uid;  // empty while no pod is known
  std::string node;
  Slices slices;
  PodTemplate pod;  // that it was started with
  TimeMs assumed_at = 0;
  int assumed_by = 0;  // the plan
  Part assumed_part = Part::kMinimum;
  bool evicting = false;
  std::string evicted_for = {};
  // While the task migrates: the node that is reserved for it. Empty: none.
  std::string reserved_node = {};
  Slices reserved_slices = {};
  TimeMs terminates_by = 0;
  bool stuck = false;  // kReleasing, and no job waits for its room
};

struct MirrorRole {
  int min = 0;
  PodTemplate pod;
  std::vector<MirrorTask> tasks;
};

struct MirrorJob {
  JobSpec spec;
  std::map<std::string, MirrorRole> roles;
  bool broken = false;  // by a binding that failed, and not whole since
};

class Mirror {
 public:
  // REQUIRES: the engine accepted the event, and its version is the newest of its object.
  void Apply(const Event& event);
  void Expire(TimeMs now, DurationMs timeout);

  enum class Judge {
    kSoundness,  // every placement holds, minimums are met, limits of queues too
    kExactness,  // and each gang starts exactly if it can; REQUIRES: no queue limits, no refusals
  };
  // Follows the plan decision by decision. Empty, or the first law that it breaks.
  std::string Follow(const NamedPlan& plan, TimeMs now, Judge judge);
  // Decisions that ended for lack of search budget, and all decisions.
  int searches_ended() const { return searches_ended_; }
  int asked() const { return asked_; }

  // What the gang asks for to reach its minimum; false where too few of its tasks are pending.
  bool Missing(const MirrorJob& job, GangWish& wish) const;
  bool Satisfied(const MirrorJob& job) const;
  // The job's roles that are of the group; empty: of none.
  std::vector<const MirrorRole*> RolesOf(const MirrorJob& job, const std::string& group) const;
  // Tasks of the group and of the groups inside it that count; empty: of the job.
  int CountedIn(const MirrorJob& job, const std::string& group) const;
  // Whether the minimums of the group count with those of what it is in: of an elastic one once it
  // has begun.
  bool Needs(const MirrorJob& job, const GroupSpec& group) const;
  // Whether every minimum of the group, or of the job, is met.
  bool IsWhole(const MirrorJob& job, const std::string& group, int least) const;
  // What the group, or the job, lacks; false: too few tasks ask.
  struct MirrorLack {
    int tasks = 0, asking = 0;
  };
  bool AddMissing(const MirrorJob& job, const std::string& group, int min_member, MirrorLack& lack,
                  GangWish& wish) const;
  Room Now() const { return Taken(&masks_); }
  Room Empty() const { return Room(nodes_, nullptr, models_); }
  // What the task holds where it is.
  Resources Amounts(const MirrorTask& task) const;
  // The task's reservation, as if it were a task.
  static MirrorTask ReservationOf(const MirrorRole& role, const MirrorTask& task);

  const std::map<std::string, MirrorJob>& jobs() const { return jobs_; }
  const std::map<std::string, NodeSpec>& nodes() const { return nodes_; }
  const std::map<std::string, QueueSpec>& queues() const { return queues_; }
  // Empty, or the queue that the job, which took so much and would take `more`, takes over what it
  // deserves. Of a job that is preemptible: always empty.
  std::string CheckDeserved(const std::string& job, const Resources& taken,
                            const Resources& more = {}) const;
  // Migrations that were executed.
  int moves() const { return moves_; }
  const Room::Masks& masks() const { return masks_; }
  // GPU models that queues may name, once they are declared.
  const ModelKinds& models() const { return models_; }

 private:
  void Fold(const Event& event);
  Room Taken(const Room::Masks* masks) const;
  void Mend();
  std::string FollowVictims(const NamedDecision& decision, TimeMs now, const MirrorJob& job);
  std::string FollowMoves(const NamedDecision& decision, Room& room, Room& left);
  // Whether a task in this phase counts, as things are or as they will be.
  bool Counts(const MirrorTask& task) const {
    return HoldsRoom(task.phase) && !(ahead_ && task.phase == TaskPhase::kReleasing && !task.stuck);
  }
  // Tasks that terminate for too long are stuck.
  void NoteStuck(TimeMs now);
  std::string FollowEvictions(const NamedDecision& decision, TimeMs now, MirrorJob& job);
  std::string FollowOne(const NamedDecision& decision, TimeMs now, Judge judge, Room& room);
  std::string CheckNo(const NamedDecision& decision, const MirrorJob& job, const GangWish& wish,
                      const Room& room) const;
  std::string CheckQueues(const std::string& job, const Resources& taken) const;
  std::string CheckLeftWaiting(const Room& room) const;
  std::string CheckKept(const std::string& job, const Resources& taken) const;
  bool BehindAnother(const NamedDecision& decision, const MirrorJob& job) const;
  Resources Claim(const std::string& queue) const;
  Resources Holds(const MirrorJob& job) const;
  bool Open(const std::string& queue) const;
  bool HasHeirs(const std::string& queue) const;
  static void Resize(const MirrorJob& job, MirrorRole& role, std::size_t replicas,
                     std::map<std::string, MirrorTask>& left_over);

  std::map<std::string, NodeSpec> nodes_;
  std::map<std::string, QueueSpec> queues_;
  std::map<std::string, MirrorJob> jobs_;
  std::map<std::string, MirrorTask> pods_;  // by uid; foreign, or left over when a job went
  Room::Masks masks_;
  ModelKinds models_;
  DurationMs stuck_pod_timeout_ms_ = EngineConfig().stuck_pod_timeout_ms;
  int plans_ = 0;
  bool ahead_ = false;  // terminating tasks count as gone
  int searches_ended_ = 0, asked_ = 0, moves_ = 0;
};

}  // namespace tephra
