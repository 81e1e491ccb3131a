#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "engine/gang_ask.h"
#include "engine/priority.h"
#include "engine/unsaved_work.h"
#include "plugins/preemption/victim_book.h"

namespace tephra {
namespace {

// What is left of a gang after its `surplus` largest tasks are evicted, for each kind separately.
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

Rights VictimBook::RightsOf(JobId job, const Resources& asked, Ground ground, bool reclaims) {
  Rights rights;
  rights.ground = ground;
  rights.queue = snapshot().job(job).queue;
  rights.rank = PrecedenceOf(snapshot(), snapshot().job(job));
  rights.kinds = asked.NonZero();
  const KindSet models = rights.kinds & snapshot().books().kinds.model_kinds();
  std::int64_t of_models = 0;
  for (KindSet kinds = models; kinds != 0; kinds &= kinds - 1) {
    of_models += asked[static_cast<Kind>(std::countr_zero(kinds))];
  }
  if (of_models == asked[kGpu]) rights.models = models;
  const QueueTree& tree = snapshot().queues();
  if (!reclaims || !snapshot().config().enables("reclaim") || !tree.present(rights.queue)) {
    return rights;
  }
  // Kinds that the queue deserves are judged by that amount, other kinds by the fair share.
  if (ground == Ground::kDeserved) rights.kinds &= tree.spec(rights.queue).deserved.NonZero();
  const auto own_of = [&](QueueId queue, Kind kind) {
    const bool judged = (rights.kinds >> kind & 1) != 0;
    return queues().OwnOf(judged ? ground : Ground::kShare, queue, kind);
  };
  if (rights.kinds == 0) return rights;
  rights.in_quota = queues().LevelsInQuota(rights.queue, asked);
  rights.quota_limit = later_.policies().worth->LimitFor(snapshot(), job, asked, true);
  rights.share_limit = later_.policies().worth->LimitFor(snapshot(), job, asked, false);
  for (QueueId up = rights.queue; up.valid() && up.index() < queues().shares().share.size();
       up = tree.parent(up)) {
    const Resources& holds = queues().holds(up);
    Resources owed;
    for (KindSet kinds = asked.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const std::int64_t own = own_of(up, k);
      if (own != Share::kNotShared) owed[k] = std::max<std::int64_t>(holds[k] + asked[k] - own, 0);
    }
    // The queue may exceed its share by as much as victims under it release.
    Resources within;
    if (owed.NonZero() != 0 && up == rights.queue) {
      // Jobs of the queues under it share its resources.
      within = LowerJobsHold(up, rights.rank);
    } else if (owed.NonZero() != 0 && AnyVictimFor(rights)) {
      for (const Candidate& candidate : candidates()) {
        if (!queues().Under(snapshot().job(candidate.job).queue, up)) continue;
        for (const Candidate::Victim& victim : candidate.victims) {
          if (MayEvict(rights, candidate, victim)) within.Add(victim.holds);
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
  std::size_t levels = 0;  // how many levels up the victims reach
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

void VictimBook::Weigh(Rights& rights, const std::vector<VictimRef>& allowed) const {
  std::vector<QueueId> side;
  QueueId last;
  for (const VictimRef ref : allowed) {
    const QueueId queue = snapshot().job(candidates_[ref.candidate].job).queue;
    if (queue == last || queue == rights.queue || !queues().SideOf(rights, queue, side)) continue;
    last = queue;
    for (const QueueId at : side) rights.others[at] = queues().holds(at);
    rights.judged[queue] = queues().Judged(rights, side);
  }
}

bool VictimBook::MayEvict(const Rights& rights, const Candidate& candidate,
                          const Candidate::Victim& victim) const {
  if (victim.evicted) return false;
  const QueueId queue = snapshot().job(candidate.job).queue;
  if (queue == rights.queue) return preempts() && candidate.rank < rights.rank;
  if (rights.levels == 0) return false;
  std::vector<QueueId> side;
  if (!queues().SideOf(rights, queue, side)) return false;
  const KindSet judged = queues().Judged(rights, side);
  KindSet kinds = judged & victim.holds.NonZero();
  // A task that holds nothing scarce goes with its gang, never alone: a launcher without a GPU protects no worker.
  if (candidate.surplus == 0 && (queues().Scarce(rights, side) & victim.holds.NonZero()) == 0) {
    kinds = judged & candidate.kinds;
  }
  return kinds != 0 && std::all_of(side.begin(), side.end(), [&](QueueId at) {
           return queues().OverIn(rights, at, kinds) == kinds;
         });
}

const LossLimit& VictimBook::LimitFor(const Rights& rights, const Candidate& candidate) const {
  static const LossLimit kNoLimit;
  if (rights.quota_limit.none() && rights.share_limit.none()) return kNoLimit;
  const QueueId queue = snapshot().job(candidate.job).queue;
  std::vector<QueueId> side;
  std::size_t level = 0;
  if (queue == rights.queue || !queues().SideOf(rights, queue, side, &level)) return kNoLimit;
  return level < rights.in_quota ? rights.quota_limit : rights.share_limit;
}

std::optional<ExcessLoss> VictimBook::ExcessOf(const Rights& rights, VictimRef ref) const {
  const Candidate& candidate = of(ref);
  const LossLimit& limit = LimitFor(rights, candidate);
  const std::int64_t loss = candidate.surplus > 0 ? at(ref).loss : candidate.loss();
  const TimeMs end = snapshot().task(at(ref).task).expected_end;
  const DurationMs left = std::max<DurationMs>(end - snapshot().now(), 0);
  if (limit.Allows(loss, left)) return std::nullopt;
  const bool in_time = left == 0 || loss <= limit.per_second * (left / kSecondMs);
  TimeMs again_at = in_time ? limit.CoversAt(snapshot().now(), loss) : limit.none_from;
  const TimeMs saves = NextCheckpoint(snapshot(), snapshot().task(at(ref).task));
  if (saves > 0 && saves < again_at) {
    std::int64_t then = 0;
    for (const Candidate::Victim& victim : candidate.victims) {
      if (victim.evicted || (candidate.surplus > 0 && victim.task != at(ref).task)) continue;
      then += later_.policies().worth->LossOf(snapshot(), victim.task, saves);
    }
    if (limit.CoversAt(snapshot().now(), then) <= saves) again_at = saves;
  }
  return ExcessLoss{loss, limit.most, limit.since, limit.none_from, again_at};
}

std::optional<ExcessLoss> VictimBook::ExcessOf(const Rights& rights,
                                           const std::vector<VictimRef>& victims) const {
  std::int64_t in_quota = 0, shared = 0;
  for (const VictimRef ref : victims) {
    const LossLimit& limit = LimitFor(rights, of(ref));
    if (!limit.none()) (&limit == &rights.quota_limit ? in_quota : shared) += at(ref).loss;
  }
  const bool share = shared > rights.share_limit.most;
  const std::int64_t loss = share ? shared : in_quota;
  const LossLimit& limit = share ? rights.share_limit : rights.quota_limit;
  if (loss <= limit.most) return std::nullopt;
  return ExcessLoss{loss, limit.most, limit.since, limit.none_from, limit.CoversAt(snapshot().now(), loss)};
}

LeastLosses VictimBook::LeastLossesOf(const Rights& rights,
                                      const std::vector<VictimRef>& allowed) const {
  std::vector<LeastLosses::Part> parts;
  bool limited = false;
  for (std::size_t i = 0; i < allowed.size();) {
    const Candidate& candidate = of(allowed[i]);
    const bool counts = !LimitFor(rights, candidate).none();
    limited = limited || counts;
    const bool whole = candidate.surplus == 0;
    for (const std::size_t end = EndOfJob(allowed, i), begin = i; i < end; ++i) {
      const Candidate::Victim& victim = at(allowed[i]);
      if (!whole || i == begin) parts.push_back({0, 0});
      if (counts) parts.back().loss += victim.loss;
      parts.back().gpus += victim.holds[kGpu];
    }
  }
  return limited ? LeastLosses(std::move(parts)) : LeastLosses();
}

std::optional<ExcessLoss> VictimBook::ExcessOf(const Rights& rights, const LeastLosses& losses,
                                               std::int64_t gpus) const {
  LossLimit limit = std::max(rights.quota_limit, rights.share_limit);  // of the higher `most`
  limit.none_from = std::min(rights.quota_limit.none_from, rights.share_limit.none_from);
  const std::int64_t least = losses.Of(gpus);
  if (least <= limit.most) return std::nullopt;
  return ExcessLoss{least, limit.most, limit.since, limit.none_from,
                    limit.CoversAt(snapshot().now(), least)};
}

bool VictimBook::MayEvictAll(const Rights& rights, const std::vector<VictimRef>& victims) const {
  struct Loss {
    Resources sum, largest;
    KindSet kinds = 0;
  };
  std::map<QueueId, Loss> losses;
  std::vector<QueueId> side;
  for (std::size_t i = 0; i < victims.size();) {
    // A job that is broken loses its surplus first, and then its minimum at once.
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
      const std::int64_t own = queues().OwnOf(rights, queue, k);
      if (own == Share::kNotShared || holds[k] - loss.sum[k] + loss.largest[k] <= own) return false;
    }
  }
  return WithinBudgets(victims);
}

std::int64_t VictimBook::MostOf(const Rights& rights, const std::vector<VictimRef>& allowed,
                                Kind kind) const {
  struct Side {
    std::int64_t sum = 0, largest = 0;
  };
  std::int64_t most = 0;
  std::map<QueueId, Side> sides;  // by the top queue of the victims' side
  std::vector<QueueId> side;
  std::uint32_t last = ~0u;
  QueueId top;
  for (std::size_t i = 0; i < allowed.size();) {
    const std::uint32_t c = allowed[i].candidate;
    std::int64_t sum = 0;
    for (; i < allowed.size() && allowed[i].candidate == c; ++i) {
      if (!at(allowed[i]).evicted) sum += at(allowed[i]).holds[kind];
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
        queues().holds(queue)[kind] - queues().OwnOf(rights, queue, kind);
    most += std::min(beside.sum, std::max<std::int64_t>(over, 0) + beside.largest);
  }
  return most;
}

}  // namespace tephra
