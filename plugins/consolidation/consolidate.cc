#include "plugins/consolidation/consolidate.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "engine/entitled.h"
#include "engine/gang_ask.h"
#include "engine/missing.h"

namespace tephra {
namespace {

constexpr TimeMs kMinuteMs = 60 * kSecondMs;
constexpr TimeMs kDayMinutes = 24 * 60;

// A search tries thousands of placements where an ask takes one look: of gangs for which there is
// room in pieces the first few in a cycle, as long as they leave something of the budget.
constexpr int kMostSearches = 4;

TimeMs MinuteOfDay(TimeMs now) {
  const TimeMs minute = now / kMinuteMs % kDayMinutes;
  return minute < 0 ? minute + kDayMinutes : minute;
}

class Pass {
 public:
  explicit Pass(Cycle& cycle)
      : cycle_(cycle),
        config_(cycle.snapshot().config().moves),
        moves_left_(MovesLeft(cycle.snapshot().books())) {}

  void Run() {
    HelpWaiting(Waiting());
    if (on() && moves_left_ > 0 && WithinWindows(config_.windows, cycle_.snapshot().now())) PlaceVictims();
  }

 private:
  bool on() const { return config_.mode == MoveSettings::Mode::kOn; }

  void HelpWaiting(const std::vector<std::size_t>& waiting) {
    if (waiting.empty()) return;
    if (const auto why = HeldBack()) {
      for (const std::size_t d : waiting) Say(d, *why);
      return;
    }
    int searches = 0;
    for (const std::size_t d : waiting) {
      if (searches == kMostSearches || steps_ > config_.budget) return;
      const JobId job = cycle_.plan().decisions[d].job;
      const GangAsk ask = MissingMinimum(cycle_.snapshot(), job);
      if (!InPieces(ask)) continue;
      ++searches;
      Help(ask, d);
    }
  }

  // Victims that find room elsewhere keep it. All jobs had their turn, so no job waits for that room, unless a
  // start is reserved there for later.
  void PlaceVictims() {
    const bool reserved = !cycle_.snapshot().books().reserved_starts.empty() ||
                          std::any_of(cycle_.plan().decisions.begin(), cycle_.plan().decisions.end(),
                                      [](const Decision& one) { return one.verdict == Verdict::kReserve; });
    if (reserved) return;
    for (std::size_t d = 0; d < cycle_.plan().decisions.size(); ++d) {
      const Decision& decision = cycle_.plan().decisions[d];
      if (decision.verdict != Verdict::kStartAfterEviction || !decision.moves.empty()) continue;
      std::vector<JobId> jobs;
      for (const TaskId task : decision.evictions) {
        const JobId job = cycle_.snapshot().task(task).job;
        if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) jobs.push_back(job);
      }
      for (const JobId job : jobs) PlaceVictim(job, d);
    }
  }

  // Places the minimum of a job that lost it by that decision.
  void PlaceVictim(JobId id, std::size_t d) {
    const Snapshot& snapshot = cycle_.snapshot();
    const JobRow& job = snapshot.job(id);
    if (!job.movable || !job.groups.empty() || job.quarantined) return;
    const std::vector<TaskId>& evicted = cycle_.plan().decisions[d].evictions;
    const std::set<TaskId> gone(evicted.begin(), evicted.end());
    GangAsk ask;
    ask.job = id;
    ask.queue = job.queue;
    std::int32_t sum = 0;
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      RoleAsk role{r, job.roles[r].cls, job.roles[r].min, {}};
      for (const TaskId task : job.roles[r].tasks) {
        const TaskRow& row = snapshot.task(task);
        if (gone.contains(task) && row.cls == role.cls) role.tasks.push_back(task);
      }
      if (static_cast<std::int32_t>(role.tasks.size()) < role.least) return;
      sum += static_cast<std::int32_t>(role.tasks.size());
      if (!role.tasks.empty()) ask.roles.push_back(std::move(role));
    }
    ask.least = std::max(job.min_member, std::accumulate(ask.roles.begin(), ask.roles.end(), 0,
                                                         [](std::int32_t all, const RoleAsk& role) { return all + role.least; }));
    if (sum < ask.least || job.counted() != sum || ask.least > moves_left_) return;
    LocateAlone(snapshot, ask);
    Ledger& later = cycle_.later().bench().ledger();
    const std::size_t mark = later.mark();
    Attempt attempt(later);
    const Entitled tried = PlaceEntitled(cycle_.later().bench(), ask, [&](const GangAsk& trial) {
      return cycle_.policies().placer->Place(cycle_.later().bench(), trial);
    });
    if (tried.answer.outcome != Placer::Outcome::kPlaced || tried.denied) return;
    if (cycle_.GoOnElsewhere(d, later.Since(mark), attempt)) moves_left_ -= ask.least;
  }

  // Whose turn it was that wait for room, in the order of their turns.
  std::vector<std::size_t> Waiting() const {
    std::vector<std::size_t> waiting;
    for (std::size_t d = 0; d < cycle_.plan().decisions.size(); ++d) {
      const Decision& decision = cycle_.plan().decisions[d];
      const JobRow& job = cycle_.snapshot().job(decision.job);
      if (decision.part == Part::kMinimum && decision.verdict == Verdict::kWait &&
          IsRoom(decision.reason->obstacle) && decision.evictions.empty() && job.evicts &&
          !job.keeps_room() && job.made_room_at != cycle_.snapshot().books().news) {
        waiting.push_back(d);
      }
    }
    return waiting;
  }

  // Why nothing is moved for any gang now, and when that ends.
  std::optional<Moving> HeldBack() const {
    if (!on()) return std::nullopt;
    const TimeMs now = cycle_.snapshot().now();
    if (!WithinWindows(config_.windows, now)) {
      cycle_.AskAgain(NextWindow(config_.windows, now));
      return Moving::kWindow;
    }
    if (moves_left_ > 0) return std::nullopt;
    AskWhenMovesCome();
    return Moving::kBudget;
  }

  void AskWhenMovesCome() const {
    const auto& moves = cycle_.snapshot().books().moves;
    if (on() && !moves.empty()) cycle_.AskAgain(moves.front().first + kMovesWindowMs);
  }

  // Moving other jobs adds no room to the cluster. A gang that needs no GPU gains nothing.
  bool InPieces(const GangAsk& ask) {
    const Resources asked = LeastDemand(cycle_.snapshot(), ask);
    return asked[kGpu] > 0 && cycle_.later().ledger().occupancy().free_total()[kGpu] >= asked[kGpu];
  }

  void Say(std::size_t d, Moving moving) {
    Decision no = cycle_.plan().decisions[d];
    Reason reason = no.reason;
    reason.moving = moving;
    no.reason = std::move(reason);
    cycle_.Replace(d, std::move(no));
  }

  void Help(const GangAsk& ask, std::size_t d) {
    Ledger& later = cycle_.later().bench().ledger();
    VictimSelection& moves = cycle_.later().relocation();
    const std::size_t mark = later.mark();
    Attempt attempt(later);
    const VictimSelection::Answer answer = moves.MakeRoom(ask);
    steps_ += answer.steps;
    if (!answer.any_candidate) return;
    if (answer.outcome != VictimSelection::Outcome::kPlaced) return Say(d, Moving::kNoPlan);
    if (answer.victims.empty()) return;
    const auto with = [&](Reason reason, Moving moving) {
      reason.moving = moving;
      reason.moved = static_cast<std::int64_t>(answer.victims.size());
      reason.jobs_moved = JobsOf(answer.victims);
      reason.gain_gpu_s = answer.gain / static_cast<std::int64_t>(kWholeGpu);
      reason.cost_gpu_s = answer.cost / static_cast<std::int64_t>(kWholeGpu);
      reason.moves_left = moves_left_;
      return reason;
    };
    const auto tell = [&](Moving moving) {
      Decision no = cycle_.plan().decisions[d];
      no.reason = with(no.reason, moving);
      cycle_.Replace(d, std::move(no));
    };
    if (answer.cost >= answer.gain) return tell(Moving::kCost);
    if (static_cast<std::int64_t>(answer.victims.size()) > moves_left_) {
      AskWhenMovesCome();
      return tell(Moving::kBudget);
    }
    Decision decision{ask.job, Part::kMinimum, Verdict::kStartAfterEviction, {}, {}, {}, {}};
    Reason reason;
    reason.obstacle = Obstacle::kReleasing;
    reason.evicted = static_cast<std::int64_t>(answer.victims.size());
    reason.gangs_broken = answer.gangs;
    reason.fewest = answer.fewest;
    decision.reason = with(std::move(reason), on() ? Moving::kDone : Moving::kProposed);
    decision.evictions = answer.victims;
    decision.moves = answer.moves;
    for (Placement& placement : later.Since(mark)) {
      if (cycle_.snapshot().task(placement.task).job == ask.job) {
        decision.placements.push_back(std::move(placement));
      }
    }
    if (!on()) {
      tell(Moving::kProposed);
      return cycle_.Propose(std::move(decision));
    }
    const auto moved = static_cast<std::int32_t>(decision.moves.size());
    if (cycle_.Replace(d, std::move(decision), &attempt)) moves_left_ -= moved;
  }

  std::int64_t JobsOf(const std::vector<TaskId>& tasks) const {
    std::set<JobId> jobs;
    for (const TaskId task : tasks) jobs.insert(cycle_.snapshot().task(task).job);
    return static_cast<std::int64_t>(jobs.size());
  }

  Cycle& cycle_;
  const MoveSettings& config_;
  std::int32_t moves_left_;
  std::int64_t steps_ = 0;  // of all searches
};

}  // namespace

bool WithinWindows(const std::vector<DailyWindow>& windows, TimeMs now) {
  const TimeMs minute = MinuteOfDay(now);
  return windows.empty() || std::any_of(windows.begin(), windows.end(), [&](DailyWindow window) {
           return window.begin_min <= window.end_min
                      ? window.begin_min <= minute && minute < window.end_min
                      : window.begin_min <= minute || minute < window.end_min;
         });
}

TimeMs NextWindow(const std::vector<DailyWindow>& windows, TimeMs now) {
  const TimeMs minute = MinuteOfDay(now);
  TimeMs least = kDayMinutes;
  for (const DailyWindow& window : windows) {
    least = std::min(least, (window.begin_min - minute + kDayMinutes) % kDayMinutes);
  }
  return (now / kMinuteMs + least) * kMinuteMs;
}

void Consolidate::Run(Cycle& cycle) const {
  const Books& books = cycle.snapshot().books();
  if (books.config.moves.mode == MoveSettings::Mode::kOff) return;
  if (books.movable_jobs == 0) return;
  Pass(cycle).Run();
}

}  // namespace tephra
