#include "plugins/preemption/move_search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/entitled.h"
#include "engine/gang_ask.h"
#include "engine/holdings.h"
#include "engine/unsaved_work.h"
#include "engine/workbench.h"
#include "plugins/preemption/victim_book.h"
#include "plugins/preemption/victim_selector.h"

namespace tephra {
namespace {

using Fits = VictimSearch::Fits;

// The search gives tasks back one by one and tries the rest each time: 64 tasks take 64 * 65 / 2
// tries, a tenth of the default budget.
constexpr std::size_t kMostTried = 64;

class MoveSelection final : public VictimSelection {
 public:
  MoveSelection(Workbench& later, const MoveSettings& config)
      : later_(later),
        config_(config),
        book_(
            later, [this](TaskId task) { return PriceOf(task); }, [this](TaskId task) { return WaitOf(task); }),
        search_(later, book_, config.budget) {
    moves_left_ = MovesLeft(snapshot().books());
    // Evictions that are under way may not show in the disruption budgets yet.
    for (const TaskId id : snapshot().books().releasing) {
      if (snapshot().task(id).evicting) book_.Draw(id);
    }
  }

  void Placed(JobId job) override {
    book_.Placed(job);
    pool_.reset();
    if (job == asked_) moves_left_ -= static_cast<std::int32_t>(answered_);
  }
  void Evicted(TaskId task) override {
    book_.Placed(snapshot().task(task).job);
    pool_.reset();
    book_.Draw(task);
  }

  Answer MakeRoom(const GangAsk& ask) override {
    Ledger& ledger = later_.ledger();
    mark_ = ledger.mark();
    steps_at_once_ = 0;
    asked_ = ask.job;
    answered_ = 0;
    Answer answer;
    const Resources least = LeastDemand(snapshot(), ask);
    answer.gain = least[kGpu] * (config_.horizon_ms / kSecondMs);
    VictimSelector::Pool& pool = CurrentPool();
    answer.any_candidate = !pool.allowed.empty();
    const Entitlement& entitlement = *later_.policies().entitlement;
    if (!answer.any_candidate) return answer;
    if (entitlement.Deny(ledger, ask.job, least, Resources{})) return answer;
    GangAsk where = ask;
    VictimSearch::Answer found = search_.Run(RulesFor(nullptr), pool, where, answer.steps);
    if (found.found && !Worth(found.victims, answer.gain)) {
      GangAsk elsewhere = ask;
      VictimSearch::Answer cheaper =
          search_.Run(RulesFor(&answer.gain), pool, elsewhere, answer.steps);
      if (cheaper.found) found = std::move(cheaper), where = elsewhere;
    }
    if (!found.found) {
      answer.outcome = found.exact ? Outcome::kImpossible : Outcome::kUnknown;
      return answer;
    }
    Attempt attempt(ledger);
    for (const VictimRef ref : found.victims) ledger.Free(book_.at(ref).task);
    // The search proved that this set fits. The repeat gets the steps that the proof had.
    steps_at_once_ = 0;
    if (Place(where, true) != Fits::kYes) {
      answer.outcome = Outcome::kUnknown;
      return answer;
    }
    attempt.Keep();
    answer.fewest = found.exact;
    WriteMoves(found.victims, answer);
    return answer;
  }

 private:
  const Snapshot& snapshot() const { return later_.ledger().snapshot(); }

  // The cost of migrating the task; none: the task must stay. A task without a GPU counts for a
  // tenth of a GPU.
  std::optional<std::int64_t> PriceOf(TaskId id) const {
    const TaskRow& task = snapshot().task(id);
    const JobRow& job = snapshot().job(task.job);
    // The task must be created again with the same template, and its gang must be complete.
    if (!job.movable || job.quarantined || !job.satisfied()) return std::nullopt;
    if (task.cls != job.roles[task.role].cls) return std::nullopt;
    if (!later_.policies().victims->Cost(snapshot(), Share::Answer{}, id)) return std::nullopt;
    return CostOf(id, UnsavedWork(snapshot(), task, snapshot().now()) + config_.restart_cost_ms);
  }

  // What it costs that the task waits while other tasks of its gang migrate; none: it migrates, too.
  std::optional<std::int64_t> WaitOf(TaskId id) const {
    const TaskRow& task = snapshot().task(id);
    if (!snapshot().job(task.job).restarts_by_task) return std::nullopt;
    return CostOf(id, config_.restart_cost_ms);
  }

  std::int64_t CostOf(TaskId id, DurationMs lost) const {
    const std::int64_t gpu = std::max<std::int64_t>(snapshot().cls(snapshot().task(id).cls).demand[kGpu], 100);
    return gpu * std::min<std::int64_t>(lost / kSecondMs, kMostVictimCost / gpu);
  }

  VictimSelector::Pool& CurrentPool() {
    if (pool_) return *pool_;
    pool_.emplace();
    const auto& candidates = book_.candidates();
    for (std::uint32_t c = 0; c < candidates.size(); ++c) {
      for (std::uint32_t v = 0; v < candidates[c].victims.size(); ++v) {
        const Candidate& candidate = candidates[c];
        const Candidate::Victim& victim = candidate.victims[v];
        const bool goes = candidate.whole || candidate.role_surplus[victim.role] > 0;
        if (goes && !victim.evicted) pool_->Add(book_, {c, v});
      }
    }
    return *pool_;
  }

  // `gain`: only sets that cost less than this; null: any set that makes room.
  VictimSelector::Rules RulesFor(const std::int64_t* gain) {
    VictimSelector::Rules rules;
    rules.sets.may_evict_all = [this, gain](const std::vector<VictimRef>& victims) {
      return book_.WithinBudgets(victims) && (gain == nullptr || Worth(victims, *gain));
    };
    rules.sets.covers = [](const std::vector<VictimRef>&) { return true; };
    rules.fits = [this](const GangAsk& ask) { return Place(ask, false); };
    rules.hopeless = [this](const GangAsk& ask) {
      // A task that migrates uses as much elsewhere.
      const Resources asked = LeastDemand(snapshot(), ask);
      return later_.ledger().occupancy().free_total()[kGpu] < asked[kGpu];
    };
    rules.most_tried = kMostTried;
    return rules;
  }

  // If a set is worth it, so is each part of it.
  bool Worth(const std::vector<VictimRef>& victims, std::int64_t gain) const {
    const std::int64_t cost = book_.CostOf(victims).sum;
    return cost < gain && static_cast<std::int64_t>(victims.size()) <= moves_left_;
  }

  // Places the gang and the tasks that were freed for it on the ledger. Leaves the ledger as it
  // was, unless `keep` and all of them fit.
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

  // One request per job that must move tasks, the hardest to place first.
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
    const auto add_group = [&](const auto& again, std::uint32_t g) -> void {
      const std::size_t at = ask.groups.size();
      GroupAsk group;
      group.group = g;
      group.first_role = ask.roles.size();
      const std::int32_t before = ask.least;
      ask.groups.push_back(group);
      for (const std::uint32_t r : job.groups[g].roles) add(r);
      for (const std::uint32_t inner : job.groups[g].groups) again(again, inner);
      group.end_role = ask.roles.size();
      group.end_group = ask.groups.size();
      group.least = ask.least - before;
      ask.groups[at] = group;
      if (group.least == 0) ask.groups.pop_back();
    };
    for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
      if (job.groups[g].parent == kNoGroup) add_group(add_group, g);
    }
    if (ask.least == running) {
      LocateAlone(snapshot(), ask);
    } else {
      Locate(snapshot(), {}, ask);
    }
    return ask;
  }

  // Places each job separately.
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

  // Places all of them as one gang, with the exact search. Jobs with locality cannot be placed that
  // way, so for them the answer is unknown.
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

  // Whether the queues are entitled to what was placed since the search began.
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

  // Writes the migrations to the answer. Jobs whose tasks would stay where they are do not migrate, nor do
  // such tasks of a job whose tasks may go alone.
  // REQUIRES: the victims are freed, and charged to their new places.
  void WriteMoves(const std::vector<VictimRef>& victims, Answer& answer) {
    std::map<TaskId, Placement> to;
    for (Placement& placement : later_.ledger().Since(mark_)) {
      to[placement.task] = std::move(placement);
    }
    const auto stays = [&](VictimRef ref) {
      const TaskRow& task = snapshot().task(book_.at(ref).task);
      const Placement& place = to.at(book_.at(ref).task);
      return place.node == task.node && place.slices == task.slices;
    };
    std::vector<VictimRef> moved;
    for (std::size_t i = 0; i < victims.size();) {
      const auto of_job = std::span(victims).subspan(i, EndOfJob(victims, i) - i);
      i += of_job.size();
      if (std::all_of(of_job.begin(), of_job.end(), stays)) continue;
      const bool alone = book_.of(of_job.front()).alone;
      std::copy_if(of_job.begin(), of_job.end(), std::back_inserter(moved),
                   [&](VictimRef ref) { return !alone || !stays(ref); });
    }
    for (const VictimRef ref : moved) {
      answer.victims.push_back(book_.at(ref).task);
      answer.moves.push_back(to.at(book_.at(ref).task));
    }
    const EvictionCost cost = book_.CostOf(moved);
    answer.gangs = static_cast<std::int32_t>(cost.gangs / EvictionCost::kGang);
    answer.cost = cost.sum;
    answer.outcome = Outcome::kPlaced;
    answered_ = moved.size();
  }

  Workbench& later_;
  const MoveSettings config_;
  VictimBook book_;
  VictimSelector search_;
  std::optional<VictimSelector::Pool> pool_;
  std::size_t mark_ = 0;  // of the ledger, when the search began
  std::int64_t steps_at_once_ = 0;
  std::int32_t moves_left_ = 0;
  JobId asked_;               // the job of the last request
  std::size_t answered_ = 0;  // migrations for it
};

}  // namespace

bool MoveSearch::Enabled(const EngineConfig& config) const {
  return config.moves.mode != MoveSettings::Mode::kOff;
}

bool MoveSearch::Possible(const Snapshot& snapshot, const GangAsk&) const {
  return config_.mode != MoveSettings::Mode::kOff && snapshot.books().movable_jobs > 0;
}

// Room on any node may take a task that moves.
bool MoveSearch::HelpsAnywhere(const Books& books) const {
  return config_.mode != MoveSettings::Mode::kOff && books.movable_jobs > 0;
}

Wakes::Helped MoveSearch::HelpedBy(const Books& books, const std::vector<JobId>& movable) const {
  if (config_.mode == MoveSettings::Mode::kOff) return nullptr;
  const bool any = std::any_of(movable.begin(), movable.end(), [&](JobId id) {
    const JobRow& job = books.jobs[id.index()];
    return job.live && job.preemptible && job.movable && books.queues.present(job.queue);
  });
  if (!any) return nullptr;
  return [](const JobRow&) { return true; };
}

std::unique_ptr<VictimSelection> MoveSearch::Begin(Workbench& later) const {
  return std::make_unique<MoveSelection>(later, config_);
}

}  // namespace tephra
