#include "plugins/preemption/victim_book.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "plugins/framework/gang_ask.h"
#include "plugins/framework/priority.h"

namespace tephra {
namespace {

// What the task holds, its devices' share included.
Resources HoldingsOf(const TaskClass& cls, const Slices& slices,
                     std::vector<DeviceCharge>& scratch) {
  Resources holds = cls.demand;
  if (!cls.needs_devices()) return holds;
  holds[kGpu] = holds[kGpuMemory] = 0;
  DeviceCharges(cls, slices, scratch);
  for (const DeviceCharge& charge : scratch) {
    holds[kGpu] += charge.compute;
    holds[kGpuMemory] += charge.memory_mib;
  }
  return holds;
}

// The end of the victims from `begin` on that are of one job.
std::size_t EndOfJob(std::span<const VictimRef> victims, std::size_t begin) {
  std::size_t end = begin;
  while (end < victims.size() && victims[end].candidate == victims[begin].candidate) ++end;
  return end;
}

bool Disabled(const EngineConfig& config, std::string_view action) {
  const auto& names = config.disabled_actions;
  return std::find(names.begin(), names.end(), action) != names.end();
}

}  // namespace

Toll Candidate::toll() const {
  Toll all{Toll::kGang, 0, 0};
  for (const Victim& victim : victims) {
    if (!victim.gone) all += {0, 1, victim.cost};
  }
  return all;
}

VictimBook::VictimBook(const Workbench& later, const Policies& policies)
    : later_(later), policies_(policies), shares_(policies.share->Of(snapshot().books())) {
  const Books& books = snapshot().books();
  reclaim_ = !Disabled(books.config, "reclaim");
  preempt_ = !Disabled(books.config, "preempt");
  scarce_.resize(shares_.share.size() + 1);
  for (std::size_t q = 0; q < shares_.share.size(); ++q) {
    const QueueId up = books.queues.parent(QueueId(q));
    KindSet& scarce = up.valid() ? scarce_[up.index()] : scarce_.back();
    for (Kind k = 0; k < kMaxKinds; ++k) {
      const std::int64_t share = shares_.share[q][k];
      if (share != Share::kNotShared && share < shares_.demand[q][k]) scarce |= KindSet{1} << k;
    }
  }
  std::vector<DeviceCharge> scratch;
  for (std::size_t j = 0; j < books.jobs.size(); ++j) {
    const JobRow& job = books.jobs[j];
    if (!job.live || !job.preemptible || job.held() > 0 || job.counted() == 0) continue;
    Candidate candidate;
    candidate.job = JobId(j);
    // Of a gang that lacks members already nothing is to spare.
    const bool whole = job.satisfied();
    candidate.surplus = whole ? job.counted() - job.min_member : 0;
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      const RoleRow& role = job.roles[r];
      candidate.role_surplus.push_back(whole ? role.counted - role.min : 0);
      for (const TaskId id : role.tasks) {
        const TaskRow& task = books.tasks[id.index()];
        // A binding that is under way comes out first.
        if (task.phase == TaskPhase::kAssumed) candidate.whole = false;
        if (task.phase != TaskPhase::kRunning) continue;
        const auto cost = policies.victims->Cost(snapshot(), shares_, id);
        if (!cost.has_value() || !books.hardware.present(task.node)) {
          candidate.whole = false;
          continue;
        }
        candidate.victims.push_back(
            {id, r, *cost, HoldingsOf(books.classes[task.cls], task.slices, scratch)});
      }
    }
    if (candidate.victims.empty()) continue;
    candidate.left = static_cast<std::uint32_t>(candidate.victims.size());
    if (!candidate.whole && candidate.surplus == 0) continue;
    candidates_.push_back(std::move(candidate));
  }
  // By what they are and not by where State keeps them, so that a resync decides the same.
  std::sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
    return books.jobs[a.job.index()].uid < books.jobs[b.job.index()].uid;
  });
  for (std::uint32_t c = 0; c < candidates_.size(); ++c) by_job_[candidates_[c].job] = c;
}

void VictimBook::Placed(JobId job) {
  const auto known = by_job_.find(job);
  if (known == by_job_.end()) return;
  Candidate& candidate = candidates_[known->second];
  candidate.left = 0;
  for (Candidate::Victim& victim : candidate.victims) victim.gone = true;
}

std::int64_t VictimBook::OwnOf(Ground ground, QueueId queue, Kind kind) const {
  const std::int64_t share = shares_.share[queue.index()][kind];
  if (ground == Ground::kShare) return share;
  const QueueTree& queues = snapshot().queues();
  if (!queues.present(queue)) return 0;
  const Resources& deserved = queues.spec(queue).deserved;
  if (deserved.NonZero() == 0) return 0;
  if (deserved[kind] == 0) return share;
  // Of promises that cannot all be kept each has its part.
  return share == Share::kNotShared ? deserved[kind] : std::min(share, deserved[kind]);
}

bool VictimBook::Under(QueueId queue, QueueId top) const {
  while (queue.valid() && queue != top) queue = snapshot().queues().parent(queue);
  return queue.valid();
}

Rights VictimBook::RightsOf(const GangAsk& ask, Ground ground) const {
  const Resources asked = LeastDemand(snapshot(), ask);
  Rights rights;
  rights.ground = ground;
  rights.queue = ask.queue;
  rights.priority = PriorityOf(snapshot(), snapshot().job(ask.job));
  rights.kinds = asked.NonZero();
  const QueueTree& queues = snapshot().queues();
  if (!reclaim_ || !queues.present(ask.queue)) return rights;
  if (ground == Ground::kPromise) rights.kinds &= queues.spec(ask.queue).deserved.NonZero();
  if (rights.kinds == 0) return rights;
  for (QueueId up = ask.queue; up.valid() && up.index() < shares_.share.size();
       up = queues.parent(up)) {
    const Resources& holds = later_.ledger().occupancy().queue_total(up);
    Resources owed;
    for (KindSet kinds = asked.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const std::int64_t own = OwnOf(ground, up, k);
      if (own != Share::kNotShared) owed[k] = std::max<std::int64_t>(holds[k] + asked[k] - own, 0);
    }
    // It may go beyond its own for as much as it gives up itself.
    Resources within;
    for (std::size_t c = 0; owed.NonZero() != 0 && c < candidates_.size(); ++c) {
      if (!Under(snapshot().job(candidates_[c].job).queue, up)) continue;
      for (const Candidate::Victim& victim : candidates_[c].victims) {
        if (MayTake(rights, candidates_[c], victim)) within.Add(victim.holds);
      }
    }
    for (KindSet kinds = owed.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      if (within[k] >= owed[k]) continue;
      rights.over = up;
      rights.over_kind = k;
      rights.over_share = OwnOf(ground, up, k);
      rights.over_holds = holds[k];
      rights.over_asked = asked[k];
      return rights;
    }
    rights.owed.push_back(owed);
    ++rights.levels;
  }
  return rights;
}

KindSet VictimBook::CountBeside(const Rights& rights, QueueId queue) const {
  if (rights.ground == Ground::kPromise) return rights.kinds;
  const QueueId up = snapshot().queues().parent(queue);
  return rights.kinds & (up.valid() ? scarce_[up.index()] : scarce_.back());
}

bool VictimBook::SideOf(const Rights& rights, QueueId victim, std::vector<QueueId>& side,
                        std::size_t* level) const {
  side.clear();
  const QueueTree& queues = snapshot().queues();
  for (QueueId at = victim; at.valid(); at = queues.parent(at)) {
    if (!queues.present(at) || !queues.spec(at).reclaimable || !queues.cycle(at).empty()) {
      return false;
    }
    side.push_back(at);
    QueueId mine = rights.queue;
    for (std::size_t l = 0; mine.valid(); ++l, mine = queues.parent(mine)) {
      if (mine == at) return false;  // one is above the other: they share what it has
      if (queues.parent(mine) != queues.parent(at)) continue;
      if (level != nullptr) *level = l;
      // Who is served first is not made to serve others, but where that was promised to them.
      const bool served_first = queues.spec(at).priority > queues.spec(mine).priority;
      return l < rights.levels && (rights.ground == Ground::kPromise || !served_first);
    }
  }
  return false;
}

bool VictimBook::Over(Ground ground, QueueId queue, KindSet kinds) const {
  const Resources& holds = later_.ledger().occupancy().queue_total(queue);
  for (; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    const std::int64_t own = OwnOf(ground, queue, k);
    if (own == Share::kNotShared || holds[k] <= own) return false;
  }
  return true;
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
    if (SideOf(rights, queue, side, &level)) levels = std::max(levels, level + 1);
  }
  QueueId mine = rights.queue;
  for (std::size_t l = 0; l < levels; ++l, mine = snapshot().queues().parent(mine)) {
    Resources owed = rights.owed[l];
    if (owed.NonZero() == 0) continue;
    for (const VictimRef ref : victims) {
      if (Under(snapshot().job(candidates_[ref.candidate].job).queue, mine)) {
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
    if (queue == last || queue == rights.queue || !SideOf(rights, queue, side)) continue;
    last = queue;
    for (const QueueId at : side) {
      rights.others[at] = later_.ledger().occupancy().queue_total(at);
    }
  }
}

bool VictimBook::MayTake(const Rights& rights, const Candidate& candidate,
                         const Candidate::Victim& victim) const {
  if (victim.gone) return false;
  const JobRow& job = snapshot().job(candidate.job);
  if (job.queue == rights.queue) return preempt_ && PriorityOf(snapshot(), job) < rights.priority;
  if (rights.levels == 0) return false;
  std::vector<QueueId> side;
  if (!SideOf(rights, job.queue, side)) return false;
  const KindSet kinds = CountBeside(rights, side.back()) & victim.holds.NonZero();
  return kinds != 0 && std::all_of(side.begin(), side.end(), [&](QueueId queue) {
           return Over(rights.ground, queue, kinds);
         });
}

bool VictimBook::MayAllGo(const Rights& rights, const std::vector<VictimRef>& victims) const {
  struct Loss {
    Resources sum, largest;
    KindSet kinds = 0;
  };
  std::map<QueueId, Loss> losses;
  std::map<std::string, std::int32_t> drawn;
  std::vector<QueueId> side;
  for (std::size_t i = 0; i < victims.size();) {
    // What goes of one job, if it goes whole, goes at once.
    const Candidate& candidate = candidates_[victims[i].candidate];
    const std::size_t end = EndOfJob(victims, i);
    const bool broken = Breaks(std::span(victims).subspan(i, end - i));
    Resources sum, largest;
    for (; i < end; ++i) {
      const Candidate::Victim& victim = at(victims[i]);
      sum.Add(victim.holds);
      largest = Resources::Max(largest, victim.holds);
      for (const std::string& budget : snapshot().task(victim.task).disruption_budgets) {
        ++drawn[budget];
      }
    }
    if (broken) largest = sum;
    const JobRow& job = snapshot().job(candidate.job);
    if (job.queue == rights.queue) continue;
    if (!SideOf(rights, job.queue, side)) return false;
    const KindSet kinds = CountBeside(rights, side.back());
    for (const QueueId queue : side) {
      Loss& loss = losses[queue];
      loss.sum.Add(sum);
      loss.largest = Resources::Max(loss.largest, largest);
      loss.kinds = kinds;
    }
  }
  for (const auto& [queue, loss] : losses) {
    const Resources& holds = rights.others.at(queue);
    for (KindSet kinds = loss.kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      if (loss.sum[k] == 0) continue;
      const std::int64_t own = OwnOf(rights.ground, queue, k);
      if (own == Share::kNotShared || holds[k] - loss.sum[k] + loss.largest[k] <= own) return false;
    }
  }
  const auto& allowed = snapshot().books().disruption_budgets;
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
    if (c != last && !SideOf(rights, queue, side)) continue;
    last = c;
    top = side.back();
    if ((CountBeside(rights, top) >> kind & 1) == 0) {
      most += sum;
      continue;
    }
    Side& beside = sides[top];
    beside.sum += sum;
    beside.largest = std::max(beside.largest, sum);
  }
  for (const auto& [queue, beside] : sides) {
    const std::int64_t over =
        later_.ledger().occupancy().queue_total(queue)[kind] - OwnOf(rights.ground, queue, kind);
    most += std::min(beside.sum, std::max<std::int64_t>(over, 0) + beside.largest);
  }
  return most;
}

bool VictimBook::AnyBeside(QueueId queue) const {
  return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
    return snapshot().job(candidate.job).queue != queue;
  });
}

std::vector<KindSet> VictimBook::OverIn(const Rights& rights) const {
  std::vector<KindSet> over(rights.levels == 0 ? 0 : shares_.share.size());
  for (std::size_t q = 0; q < over.size(); ++q) {
    const Resources& holds = later_.ledger().occupancy().queue_total(QueueId(q));
    for (KindSet kinds = rights.kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      if (holds[k] > OwnOf(rights.ground, QueueId(q), k)) over[q] |= KindSet{1} << k;
    }
  }
  return over;
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

void VictimBook::Evicted(const std::vector<VictimRef>& victims) {
  for (std::size_t i = 0; i < victims.size();) {
    Candidate& candidate = candidates_[victims[i].candidate];
    const std::size_t end = EndOfJob(victims, i), count = end - i;
    for (std::size_t k = i; k < end; ++k) {
      const Candidate::Victim& victim = at(victims[k]);
      for (const std::string& budget : snapshot().task(victim.task).disruption_budgets) {
        ++drawn_[budget];
      }
      --candidate.role_surplus[victim.role];
      --candidate.surplus;
    }
    for (; i < end; ++i) candidate.victims[victims[i].victim].gone = true;
    candidate.left -= static_cast<std::uint32_t>(count);
  }
}

}  // namespace tephra
