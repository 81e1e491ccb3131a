#include "plugins/preemption/move_search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/framework/entitled.h"
#include "plugins/framework/gang_ask.h"
#include "plugins/framework/holdings.h"
#include "plugins/framework/workbench.h"
#include "plugins/preemption/relief_search.h"
#include "plugins/preemption/victim_book.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

using Fits = VictimSearch::Fits;

// To give tasks back one by one takes a try of all that are left for each: 64 of them take
// 64 * 65 / 2, a tenth of the default budget of placements.
constexpr std::size_t kMostTried = 64;

class MoveRelief final : public Relief {
 public:
  MoveRelief(Workbench& later, const Consolidation& config)
      : later_(later),
        config_(config),
        book_(later, [this](TaskId task) { return PriceOf(task); }),
        search_(later, book_, config.budget) {
    moves_left_ = MovesLeft(snapshot().books());
    // Whom others asked to leave may not show in the budgets yet.
    for (const TaskId id : snapshot().books().releasing) {
      if (snapshot().task(id).evicting) book_.Draw(id);
    }
  }

  void Placed(JobId job) override {
    book_.Placed(job);
    reach_.reset();
    if (job == asked_) moves_left_ -= static_cast<std::int32_t>(answered_);
  }
  void Evicted(TaskId task) override { book_.Draw(task); }

  Answer MakeRoom(const GangAsk& ask) override {
    Ledger& ledger = later_.ledger();
    mark_ = ledger.mark();
    steps_at_once_ = 0;
    asked_ = ask.job;
    answered_ = 0;
    Answer answer;
    const Resources least = LeastDemand(snapshot(), ask);
    answer.gain = least[kGpu] * (config_.horizon_ms / kSecondMs);
    ReliefSearch::Reach& reach = ReachNow();
    answer.anybody = !reach.takeable.empty();
    const Entitlement& entitlement = *later_.policies().entitlement;
    if (!answer.anybody || entitlement.Deny(ledger, ask.job, least, Resources{})) return answer;
    GangAsk where = ask;
    VictimSearch::Answer found = search_.Run(RulesFor(nullptr), reach, where, answer.steps);
    if (found.found && !Worth(found.victims, answer.gain)) {
      GangAsk elsewhere = ask;
      VictimSearch::Answer cheaper =
          search_.Run(RulesFor(&answer.gain), reach, elsewhere, answer.steps);
      if (cheaper.found) found = std::move(cheaper), where = elsewhere;
    }
    if (!found.found) {
      answer.outcome = found.exact ? Outcome::kImpossible : Outcome::kUnknown;
      return answer;
    }
    for (const VictimRef ref : found.victims) ledger.Free(book_.at(ref).task);
    TEPHRA_CHECK(Place(where, true) == Fits::kYes);
    answer.fewest = found.exact;
    Tell(found.victims, answer);
    return answer;
  }

 private:
  const Snapshot& snapshot() const { return later_.ledger().snapshot(); }

  // What a move of the task loses; none: it is not to be moved. One without a GPU counts for a
  // tenth of one.
  std::optional<std::int64_t> PriceOf(TaskId id) const {
    const TaskRow& task = snapshot().task(id);
    const JobRow& job = snapshot().job(task.job);
    // It has to come again as what it is, and its gang whole.
    if (!job.movable || job.quarantined || !job.satisfied()) return std::nullopt;
    if (task.cls != job.roles[task.role].cls) return std::nullopt;
    if (!later_.policies().victims->Cost(snapshot(), Share::Answer{}, id)) return std::nullopt;
    const std::int64_t gpu = std::max<std::int64_t>(snapshot().cls(task.cls).demand[kGpu], 100);
    const TimeMs since = std::max(task.started, task.checkpointed);
    const TimeMs lost = std::max<TimeMs>(snapshot().now() - since, 0) + config_.restart_cost_ms;
    return gpu * std::min<std::int64_t>(lost / kSecondMs, kMostVictimCost / gpu);
  }

  ReliefSearch::Reach& ReachNow() {
    if (reach_) return *reach_;
    reach_.emplace();
    const auto& candidates = book_.candidates();
    for (std::uint32_t c = 0; c < candidates.size(); ++c) {
      for (std::uint32_t v = 0; v < candidates[c].victims.size(); ++v) {
        const Candidate& candidate = candidates[c];
        const Candidate::Victim& victim = candidate.victims[v];
        const bool goes = candidate.whole || candidate.role_surplus[victim.role] > 0;
        if (goes && !victim.gone) reach_->Add(book_, {c, v});
      }
    }
    return *reach_;
  }

  // `gain`: those alone that are worth it; null: whatever makes room.
  ReliefSearch::Rules RulesFor(const std::int64_t* gain) {
    ReliefSearch::Rules rules;
    rules.sets.may_all_go = [this, gain](const std::vector<VictimRef>& victims) {
      return book_.WithinBudgets(victims) && (gain == nullptr || Worth(victims, *gain));
    };
    rules.sets.covers = [](const std::vector<VictimRef>&) { return true; };
    rules.fits = [this](const GangAsk& ask) { return Place(ask, false); };
    rules.hopeless = [this](const GangAsk& ask) {
      // Who moves takes as much elsewhere as it leaves.
      const Resources asked = LeastDemand(snapshot(), ask);
      return later_.ledger().occupancy().free_total()[kGpu] < asked[kGpu];
    };
    rules.most_tried = kMostTried;
    return rules;
  }

  // Of a set that is, so is each part.
  bool Worth(const std::vector<VictimRef>& victims, std::int64_t gain) const {
    std::int64_t cost = 0;
    for (const VictimRef ref : victims) cost += book_.at(ref).cost;
    return cost < gain && static_cast<std::int64_t>(victims.size()) <= moves_left_;
  }

  // The gang, and all who were freed for it beside it, on the ledger, which is left as it was
  // unless `keep` and they fit.
  Fits Place(const GangAsk& ask, bool keep) {
    Ledger& ledger = later_.ledger();
    const std::vector<GangAsk> movers = MoversOf(ledger.FreedSince(mark_));
    Attempt attempt(ledger);
    if (OneByOne(ask, movers)) {
      if (keep) attempt.Keep();
      return Fits::kYes;
    }
    const Fits fits = AllAtOnce(ask, movers);
    if (keep && fits == Fits::kYes) attempt.Keep();
    return fits;
  }

  // What each job asks that has to move all these tasks, those first that are hardest to place.
  std::vector<GangAsk> MoversOf(const std::vector<TaskId>& freed) const {
    std::map<JobId, std::set<TaskId>> jobs;
    for (const TaskId task : freed) jobs[snapshot().task(task).job].insert(task);
    std::vector<GangAsk> movers;
    for (const auto& [job, tasks] : jobs) movers.push_back(MoverOf(job, tasks));
    const auto key = [&](const GangAsk& ask) {
      std::tuple<std::int32_t, std::int64_t> hardest;
      for (const RoleAsk& role : ask.roles) {
        const TaskClass& cls = snapshot().cls(role.cls);
        hardest = std::max(hardest, std::make_tuple(cls.whole_gpus, cls.demand[kGpu]));
      }
      return hardest;
    };
    std::sort(movers.begin(), movers.end(), [&](const GangAsk& a, const GangAsk& b) {
      const auto of_a = key(a), of_b = key(b);
      return of_a != of_b ? of_a > of_b : snapshot().job(a.job).uid < snapshot().job(b.job).uid;
    });
    return movers;
  }

  GangAsk MoverOf(JobId id, const std::set<TaskId>& tasks) const {
    const JobRow& job = snapshot().job(id);
    GangAsk ask;
    ask.job = id;
    ask.queue = job.queue;
    std::int32_t running = 0;
    const auto add = [&](std::uint32_t r) {
      RoleAsk role{r, job.roles[r].cls, 0, {}};
      for (const TaskId task : job.roles[r].tasks) {
        if (snapshot().task(task).phase == TaskPhase::kRunning) ++running;
        if (tasks.contains(task)) role.tasks.push_back(task);
      }
      role.least = static_cast<std::int32_t>(role.tasks.size());
      ask.least += role.least;
      if (role.least > 0) ask.roles.push_back(std::move(role));
    };
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      if (job.roles[r].group == kNoGroup) add(r);
    }
    for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
      GroupAsk group;
      group.group = g;
      group.first_role = ask.roles.size();
      const std::int32_t before = ask.least;
      for (const std::uint32_t r : job.groups[g].roles) add(r);
      group.end_role = ask.roles.size();
      group.least = ask.least - before;
      if (group.least > 0) ask.groups.push_back(group);
    }
    if (ask.least == running) {
      LocateAnew(snapshot(), ask);
    } else {
      Locate(snapshot(), {}, ask);
    }
    return ask;
  }

  // Each as it would be placed by itself.
  bool OneByOne(const GangAsk& ask, const std::vector<GangAsk>& movers) {
    Attempt attempt(later_.ledger());
    const auto placed = [&](const GangAsk& one) {
      const Entitled tried = PlaceEntitled(later_, one, [&](const GangAsk& trial) {
        return later_.policies().placer->Place(later_, trial);
      });
      return tried.answer.outcome == Placer::Outcome::kPlaced && !tried.denied;
    };
    const bool all = placed(ask) && std::all_of(movers.begin(), movers.end(), placed) && MayHold();
    if (all) attempt.Keep();
    return all;
  }

  // All of them as one gang, exactly. What has to be near something is not placed that way, and
  // proves nothing.
  Fits AllAtOnce(const GangAsk& ask, const std::vector<GangAsk>& movers) {
    const auto free = [](const GangAsk& one) { return !one.tied() && one.groups.empty(); };
    if (!free(ask) || !std::all_of(movers.begin(), movers.end(), free)) return Fits::kUnknown;
    if (steps_at_once_ > config_.budget) return Fits::kUnknown;
    GangAsk all = ask;
    static_cast<Nearness&>(all) = Nearness{};
    for (const GangAsk& mover : movers) {
      for (const RoleAsk& role : mover.roles) {
        const auto alike = std::find_if(
            all.roles.begin() + static_cast<std::ptrdiff_t>(ask.roles.size()), all.roles.end(),
            [&](const RoleAsk& other) { return other.cls == role.cls; });
        if (alike == all.roles.end()) {
          all.roles.push_back(role);
        } else {
          alike->least += role.least;
          alike->tasks.insert(alike->tasks.end(), role.tasks.begin(), role.tasks.end());
        }
      }
      all.least += mover.least;
    }
    Ledger& ledger = later_.ledger();
    std::vector<Placement> placements;
    {
      Attempt attempt(ledger);
      const std::size_t mark = ledger.mark();
      const Placer::Answer answer = later_.policies().placer->Place(later_, all);
      steps_at_once_ += answer.steps;
      if (answer.outcome == Placer::Outcome::kImpossible) return Fits::kNo;
      if (answer.outcome != Placer::Outcome::kPlaced) return Fits::kUnknown;
      placements = ledger.Since(mark);
    }
    Attempt attempt(ledger);  // each for its own queue
    for (const Placement& placement : placements) {
      const TaskRow& task = snapshot().task(placement.task);
      ledger.Charge(task.cls, snapshot().job(task.job).queue, placement);
    }
    if (!MayHold()) return Fits::kUnknown;
    attempt.Keep();
    return Fits::kYes;
  }

  // Whether the queues may hold what was placed since the search began.
  bool MayHold() const {
    const Ledger& ledger = later_.ledger();
    std::map<JobId, Resources> taken;
    for (const Placement& placement : ledger.Since(mark_)) {
      const TaskRow& task = snapshot().task(placement.task);
      taken[task.job].Add(HoldingsOf(snapshot().hardware(), snapshot().cls(task.cls),
                                     placement.node, placement.slices));
    }
    return std::all_of(taken.begin(), taken.end(), [&](const auto& one) {
      return !later_.policies().entitlement->Deny(ledger, one.first, Resources{}, one.second);
    });
  }

  // REQUIRES: the victims are freed, and charged where they go on. Who would go on where it is
  // stays.
  void Tell(const std::vector<VictimRef>& victims, Answer& answer) {
    std::map<TaskId, Placement> to;
    for (Placement& placement : later_.ledger().Since(mark_)) {
      to[placement.task] = std::move(placement);
    }
    std::vector<VictimRef> moved;
    for (std::size_t i = 0; i < victims.size();) {
      const std::size_t end = EndOfJob(victims, i);
      const bool stays =
          std::all_of(victims.begin() + static_cast<std::ptrdiff_t>(i),
                      victims.begin() + static_cast<std::ptrdiff_t>(end), [&](VictimRef ref) {
                        const TaskRow& task = snapshot().task(book_.at(ref).task);
                        const Placement& place = to.at(book_.at(ref).task);
                        return place.node == task.node && place.slices == task.slices;
                      });
      for (; i < end; ++i) {
        if (!stays) moved.push_back(victims[i]);
      }
    }
    for (const VictimRef ref : moved) {
      answer.victims.push_back(book_.at(ref).task);
      answer.moves.push_back(to.at(book_.at(ref).task));
    }
    const Toll toll = book_.TollOf(moved);
    answer.gangs = static_cast<std::int32_t>(toll.gangs / Toll::kGang);
    answer.cost = toll.cost;
    answer.outcome = Outcome::kPlaced;
    answered_ = moved.size();
  }

  Workbench& later_;
  const Consolidation config_;
  VictimBook book_;
  ReliefSearch search_;
  std::optional<ReliefSearch::Reach> reach_;
  std::size_t mark_ = 0;  // of the ledger, when the search began
  std::int64_t steps_at_once_ = 0;
  std::int32_t moves_left_ = 0;
  JobId asked_;               // last
  std::size_t answered_ = 0;  // moves for it
};

}  // namespace

bool MoveSearch::Possible(const Snapshot& snapshot, const GangAsk&) const {
  return config_.mode != Consolidation::Mode::kOff && snapshot.books().movable_jobs > 0;
}

std::unique_ptr<Relief> MoveSearch::Begin(Workbench& later) const {
  return std::make_unique<MoveRelief>(later, config_);
}

}  // namespace tephra
