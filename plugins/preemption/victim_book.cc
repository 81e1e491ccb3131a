#include "plugins/preemption/victim_book.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "plugins/framework/gang_ask.h"
#include "plugins/framework/holdings.h"
#include "plugins/framework/priority.h"

namespace tephra {
namespace {

std::span<const JobId> PlacedIn(const Books& books, QueueId queue) {
  if (queue.index() >= books.placed.size()) return {};
  return books.placed[queue.index()];
}

// Whether a job of the queue has a lower priority and may go for one that has this.
bool AnybodyBelow(const Snapshot& snapshot, QueueId queue, const Precedence& rank) {
  if (!snapshot.config().enables("preempt")) return false;
  // What waiting adds to a job's priority only makes it higher.
  const auto& jobs = snapshot.books().queue_priorities[queue.index()];
  if (jobs.empty()) return false;
  const std::int64_t lowest = jobs.begin()->first;
  if (lowest < rank.priority) return true;
  return lowest == rank.priority && PreemptsByLeft(snapshot.config()) &&
         std::ranges::any_of(PlacedIn(snapshot.books(), queue), [&](JobId job) {
           return PrecedenceOf(snapshot, snapshot.job(job)) < rank;
         });
}

// What the last of a gang hold when `surplus` of its tasks, those that hold most, have gone.
Resources LeastOf(std::vector<Resources>& parts, std::int32_t surplus) {
  Resources least;
  const auto last = static_cast<std::size_t>(
      std::max<std::int64_t>(static_cast<std::int64_t>(parts.size()) - surplus, 0));
  for (Kind k = 0; k < kMaxKinds; ++k) {
    std::nth_element(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(last), parts.end(),
                     [k](const Resources& a, const Resources& b) { return a[k] < b[k]; });
    for (std::size_t i = 0; i < last; ++i) least[k] += parts[i][k];
  }
  return least;
}

}  // namespace

bool AnybodyBeside(const Snapshot& snapshot, QueueId queue) {
  const auto& jobs = snapshot.books().queue_priorities;
  for (std::size_t q = 0; q < jobs.size(); ++q) {
    if (jobs[q].empty() || q == queue.index()) continue;
    if (snapshot.occupancy().queue_total(QueueId(q)).NonZero() != 0) return true;
  }
  return false;
}

bool AnybodyFor(const Snapshot& snapshot, const GangAsk& ask) {
  return AnybodyBelow(snapshot, ask.queue, PrecedenceOf(snapshot, snapshot.job(ask.job))) ||
         (snapshot.config().enables("reclaim") && AnybodyBeside(snapshot, ask.queue));
}

// The end of the victims from `begin` on that are of one job.
std::size_t EndOfJob(std::span<const VictimRef> victims, std::size_t begin) {
  std::size_t end = begin;
  while (end < victims.size() && victims[end].candidate == victims[begin].candidate) ++end;
  return end;
}

Toll Candidate::toll() const {
  Toll all{Toll::kGang, 0, 0};
  for (const Victim& victim : victims) {
    if (!victim.gone) all += {0, 1, victim.cost};
  }
  return all;
}

const QueueBook& VictimBook::queues() const {
  if (!queues_) queues_.emplace(later_);
  return *queues_;
}

bool VictimBook::AnyFor(const Rights& rights) const {
  return AnybodyBelow(snapshot(), rights.queue, rights.rank) || queues().AnyLender(rights);
}

const std::vector<Candidate>& VictimBook::candidates() {
  for (std::size_t q = 0; q < snapshot().books().placed.size(); ++q) ToList(QueueId(q));
  return List();
}

// Where nothing is reclaimed others than its own queue's go for nobody.
const std::vector<Candidate>& VictimBook::CandidatesFor(QueueId queue) {
  if (snapshot().config().enables("reclaim")) return candidates();
  ToList(queue);
  return List();
}

void VictimBook::ToList(QueueId queue) {
  if (!listed_.insert(queue).second) return;
  const std::span<const JobId> placed = PlacedIn(snapshot().books(), queue);
  to_list_.insert(to_list_.end(), placed.begin(), placed.end());
}

const std::vector<Candidate>& VictimBook::List() {
  if (to_list_.empty()) return candidates_;
  const Books& books = snapshot().books();
  std::vector<JobId> jobs = std::move(to_list_);
  to_list_.clear();
  // By what they are and not by where State keeps them, so that a resync decides the same.
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
    return books.jobs[a.index()].uid < books.jobs[b.index()].uid;
  });
  std::size_t c = candidates_.size();
  for (const JobId job : jobs) {
    if (!placed_.contains(job)) AddCandidate(job);
  }
  for (; c < candidates_.size(); ++c) {
    by_job_[candidates_[c].job] = static_cast<std::uint32_t>(c);
  }
  return candidates_;
}

std::optional<std::int64_t> VictimBook::PriceOf(TaskId task) {
  return price_ ? price_(task)
                : later_.policies().victims->Cost(snapshot(), queues().shares(), task);
}

void VictimBook::AddCandidate(JobId id) {
  const JobRow& job = snapshot().job(id);
  const std::int32_t counted = job.counted();
  if (!job.live || job.keeps_room() || counted == 0) return;
  Candidate candidate;
  candidate.job = id;
  candidate.rank = PrecedenceOf(snapshot(), job);
  // Of a gang that lacks members already nothing is to spare, and one with groups goes whole.
  const bool whole = job.satisfied() && job.groups.empty();
  candidate.surplus = whole ? counted - job.min_member : 0;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    candidate.role_surplus.push_back(whole ? role.counted - role.min : 0);
    for (const TaskId task_id : role.tasks) {
      const TaskRow& task = snapshot().task(task_id);
      // A binding that is under way comes out first.
      if (task.phase == TaskPhase::kAssumed) candidate.whole = false;
      if (task.phase != TaskPhase::kRunning) continue;
      const auto cost = PriceOf(task_id);
      if (!cost.has_value() || !snapshot().hardware().present(task.node)) {
        candidate.whole = false;
        continue;
      }
      candidate.victims.push_back(
          {task_id, r, *cost,
           HoldingsOf(snapshot().hardware(), snapshot().cls(task.cls), task.node, task.slices)});
    }
  }
  if (candidate.victims.empty()) return;
  candidate.left = static_cast<std::uint32_t>(candidate.victims.size());
  if (!candidate.whole && candidate.surplus == 0) return;
  candidates_.push_back(std::move(candidate));
}

void VictimBook::Placed(JobId job) {
  placed_.insert(job);
  const auto known = by_job_.find(job);
  if (known == by_job_.end()) return;
  Candidate& candidate = candidates_[known->second];
  candidate.left = 0;
  for (Candidate::Victim& victim : candidate.victims) victim.gone = true;
}

Rights VictimBook::RightsOf(const GangAsk& ask, Ground ground) {
  const Resources asked = LeastDemand(snapshot(), ask);
  Rights rights;
  rights.ground = ground;
  rights.queue = ask.queue;
  rights.rank = PrecedenceOf(snapshot(), snapshot().job(ask.job));
  rights.kinds = asked.NonZero();
  const KindSet models = rights.kinds & snapshot().books().kinds.model_kinds();
  std::int64_t of_models = 0;
  for (KindSet kinds = models; kinds != 0; kinds &= kinds - 1) {
    of_models += asked[static_cast<Kind>(std::countr_zero(kinds))];
  }
  if (of_models == asked[kGpu]) rights.models = models;
  const QueueTree& tree = snapshot().queues();
  if (!snapshot().config().enables("reclaim") || !tree.present(ask.queue)) return rights;
  // What it was promised is judged by that; of what it was not, it may have its share.
  if (ground == Ground::kPromise) rights.kinds &= tree.spec(ask.queue).deserved.NonZero();
  const auto own_of = [&](QueueId queue, Kind kind) {
    const bool judged = (rights.kinds >> kind & 1) != 0;
    return queues().OwnOf(judged ? ground : Ground::kShare, queue, kind);
  };
  if (rights.kinds == 0) return rights;
  for (QueueId up = ask.queue; up.valid() && up.index() < queues().shares().share.size();
       up = tree.parent(up)) {
    const Resources& holds = queues().holds(up);
    Resources owed;
    for (KindSet kinds = asked.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const std::int64_t own = own_of(up, k);
      if (own != Share::kNotShared) owed[k] = std::max<std::int64_t>(holds[k] + asked[k] - own, 0);
    }
    // It may go beyond its own for as much as it gives up itself.
    Resources within;
    if (owed.NonZero() != 0 && AnyFor(rights)) {
      for (const Candidate& candidate : candidates()) {
        if (!queues().Under(snapshot().job(candidate.job).queue, up)) continue;
        for (const Candidate::Victim& victim : candidate.victims) {
          if (MayTake(rights, candidate, victim)) within.Add(victim.holds);
        }
      }
    }
    for (KindSet kinds = owed.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      if (within[k] >= owed[k]) continue;
      rights.over = up;
      rights.over_kind = k;
      rights.over_share = own_of(up, k);
      rights.over_holds = holds[k];
      rights.over_asked = asked[k];
      return rights;
    }
    rights.owed.push_back(owed);
    ++rights.levels;
  }
  return rights;
}

bool VictimBook::Covers(const Rights& rights, const std::vector<VictimRef>& victims) const {
  std::size_t levels = 0;  // up to which it reclaims
  std::vector<QueueId> side;
  QueueId last;
  for (const VictimRef ref : victims) {
    const QueueId queue = snapshot().job(candidates_[ref.candidate].job).queue;
    if (queue == last || queue == rights.queue) continue;
    last = queue;
    std::size_t level = 0;
    if (queues().SideOf(rights, queue, side, &level)) levels = std::max(levels, level + 1);
  }
  QueueId mine = rights.queue;
  for (std::size_t l = 0; l < levels; ++l, mine = snapshot().queues().parent(mine)) {
    Resources owed = rights.owed[l];
    if (owed.NonZero() == 0) continue;
    for (const VictimRef ref : victims) {
      if (queues().Under(snapshot().job(candidates_[ref.candidate].job).queue, mine)) {
        owed.Add(at(ref).holds, -1);
      }
    }
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if (rights.owed[l][k] > 0 && owed[k] > 0) return false;
    }
  }
  return true;
}

void VictimBook::Weigh(Rights& rights, const std::vector<VictimRef>& takeable) const {
  std::vector<QueueId> side;
  QueueId last;
  for (const VictimRef ref : takeable) {
    const QueueId queue = snapshot().job(candidates_[ref.candidate].job).queue;
    if (queue == last || queue == rights.queue || !queues().SideOf(rights, queue, side)) continue;
    last = queue;
    for (const QueueId at : side) rights.others[at] = queues().holds(at);
    rights.judged[queue] = queues().Judged(rights, side);
  }
}

bool VictimBook::MayTake(const Rights& rights, const Candidate& candidate,
                         const Candidate::Victim& victim) const {
  if (victim.gone) return false;
  const QueueId queue = snapshot().job(candidate.job).queue;
  if (queue == rights.queue) return preempts() && candidate.rank < rights.rank;
  if (rights.levels == 0) return false;
  std::vector<QueueId> side;
  if (!queues().SideOf(rights, queue, side)) return false;
  const KindSet kinds = queues().Judged(rights, side) & victim.holds.NonZero();
  return kinds != 0 && std::all_of(side.begin(), side.end(), [&](QueueId at) {
           return queues().OverIn(rights.ground, at, kinds) == kinds;
         });
}

bool VictimBook::MayAllGo(const Rights& rights, const std::vector<VictimRef>& victims) const {
  struct Loss {
    Resources sum, largest;
    KindSet kinds = 0;
  };
  std::map<QueueId, Loss> losses;
  std::vector<QueueId> side;
  for (std::size_t i = 0; i < victims.size();) {
    // Of a job that goes whole its minimum goes at once, when those beyond it have gone.
    const Candidate& candidate = candidates_[victims[i].candidate];
    const std::size_t end = EndOfJob(victims, i);
    const bool broken = Breaks(std::span(victims).subspan(i, end - i));
    std::vector<Resources> parts;
    Resources sum, largest;
    for (; i < end; ++i) {
      const Candidate::Victim& victim = at(victims[i]);
      sum.Add(victim.holds);
      largest = Resources::Max(largest, victim.holds);
      if (broken) parts.push_back(victim.holds);
    }
    if (broken) largest = Resources::Max(largest, LeastOf(parts, candidate.surplus));
    const JobRow& job = snapshot().job(candidate.job);
    if (job.queue == rights.queue) continue;
    if (!queues().SideOf(rights, job.queue, side)) return false;
    for (const QueueId queue : side) {
      Loss& loss = losses[queue];
      loss.sum.Add(sum);
      loss.largest = Resources::Max(loss.largest, largest);
      loss.kinds |= rights.judged.at(job.queue);
    }
  }
  for (const auto& [queue, loss] : losses) {
    const Resources& holds = rights.others.at(queue);
    for (KindSet kinds = loss.kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      if (loss.sum[k] == 0) continue;
      const std::int64_t own = queues().OwnOf(rights.ground, queue, k);
      if (own == Share::kNotShared || holds[k] - loss.sum[k] + loss.largest[k] <= own) return false;
    }
  }
  return WithinBudgets(victims);
}

bool VictimBook::WithinBudgets(const std::vector<VictimRef>& victims) const {
  const auto& allowed = snapshot().books().disruption_budgets;
  if (allowed.empty()) return true;
  std::map<std::string, std::int32_t> drawn;
  for (const VictimRef ref : victims) {
    for (const std::string& budget : snapshot().task(at(ref).task).disruption_budgets) {
      ++drawn[budget];
    }
  }
  return std::all_of(drawn.begin(), drawn.end(), [&](const auto& one) {
    const auto budget = allowed.find(one.first);
    if (budget == allowed.end()) return true;
    const auto before = drawn_.find(one.first);
    return one.second + (before == drawn_.end() ? 0 : before->second) <= budget->second;
  });
}

std::int64_t VictimBook::MostOf(const Rights& rights, const std::vector<VictimRef>& takeable,
                                Kind kind) const {
  struct Side {
    std::int64_t sum = 0, largest = 0;
  };
  std::int64_t most = 0;
  std::map<QueueId, Side> sides;  // by the highest queue on the victims' side
  std::vector<QueueId> side;
  std::uint32_t last = ~0u;
  QueueId top;
  for (std::size_t i = 0; i < takeable.size();) {
    const std::uint32_t c = takeable[i].candidate;
    std::int64_t sum = 0;
    for (; i < takeable.size() && takeable[i].candidate == c; ++i) {
      if (!at(takeable[i]).gone) sum += at(takeable[i]).holds[kind];
    }
    const QueueId queue = snapshot().job(candidates_[c].job).queue;
    if (queue == rights.queue) {
      most += sum;
      continue;
    }
    if (c != last && !queues().SideOf(rights, queue, side)) continue;
    last = c;
    top = side.back();
    if ((rights.judged.at(queue) >> kind & 1) == 0) {
      most += sum;
      continue;
    }
    Side& beside = sides[top];
    beside.sum += sum;
    beside.largest = std::max(beside.largest, sum);
  }
  for (const auto& [queue, beside] : sides) {
    const std::int64_t over =
        queues().holds(queue)[kind] - queues().OwnOf(rights.ground, queue, kind);
    most += std::min(beside.sum, std::max<std::int64_t>(over, 0) + beside.largest);
  }
  return most;
}

bool VictimBook::Breaks(std::span<const VictimRef> of_one) const {
  const Candidate& candidate = candidates_[of_one[0].candidate];
  if (of_one.size() > static_cast<std::size_t>(candidate.surplus)) return true;
  std::vector<std::int32_t> left = candidate.role_surplus;
  return std::any_of(of_one.begin(), of_one.end(),
                     [&](VictimRef ref) { return --left[at(ref).role] < 0; });
}

Toll VictimBook::TollOf(std::span<const VictimRef> victims) const {
  Toll toll;
  for (std::size_t i = 0; i < victims.size();) {
    const std::size_t end = EndOfJob(victims, i);
    if (Breaks(victims.subspan(i, end - i))) toll.gangs += Toll::kGang;
    for (; i < end; ++i) toll += {0, 1, at(victims[i]).cost};
  }
  return toll;
}

void VictimBook::Draw(TaskId task) {
  for (const std::string& budget : snapshot().task(task).disruption_budgets) ++drawn_[budget];
}

void VictimBook::Evicted(const std::vector<VictimRef>& victims) {
  for (std::size_t i = 0; i < victims.size();) {
    Candidate& candidate = candidates_[victims[i].candidate];
    const std::size_t end = EndOfJob(victims, i), count = end - i;
    for (std::size_t k = i; k < end; ++k) {
      const Candidate::Victim& victim = at(victims[k]);
      Draw(victim.task);
      --candidate.role_surplus[victim.role];
      --candidate.surplus;
    }
    for (; i < end; ++i) candidate.victims[victims[i].victim].gone = true;
    candidate.left -= static_cast<std::uint32_t>(count);
  }
}

}  // namespace tephra
