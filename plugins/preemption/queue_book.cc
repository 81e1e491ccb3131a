#include "plugins/preemption/queue_book.h"

#include <algorithm>
#include <bit>

namespace tephra {

QueueBook::QueueBook(const Workbench& later)
    : later_(later), shares_(later.policies().share->Of(later.ledger().snapshot().books())) {
  scarce_.resize(shares_.share.size() + 1);
  for (std::size_t q = 0; q < shares_.share.size(); ++q) {
    const QueueId up = queues().parent(QueueId(q));
    KindSet& scarce = up.valid() ? scarce_[up.index()] : scarce_.back();
    for (Kind k = 0; k < kMaxKinds; ++k) {
      const std::int64_t share = shares_.share[q][k];
      if (share != Share::kNotShared && share < shares_.demand[q][k]) scarce |= KindSet{1} << k;
    }
  }
}

std::int64_t QueueBook::OwnOf(Ground ground, QueueId queue, Kind kind) const {
  if (ground == Ground::kShare) return shares_.own[queue.index()][kind];
  return queues().present(queue) ? queues().spec(queue).deserved[kind] : 0;
}

std::int64_t QueueBook::OwnOf(const Rights& rights, QueueId queue, Kind kind) const {
  const QueueId up = queues().parent(queue);
  const bool beside = !up.valid() || Under(rights.queue, up);
  if (rights.ground != Ground::kShare || beside) return OwnOf(rights.ground, queue, kind);
  return shares_.own_above[queue.index()][kind];
}

bool QueueBook::Under(QueueId queue, QueueId top) const {
  return top.valid() && queues().Under(queue, top);
}

KindSet QueueBook::Scarce(const Rights& rights, const std::vector<QueueId>& side) const {
  if (rights.ground == Ground::kDeserved) {
    // A queue that deserves the requested models reclaims these models. Then GPUs of any model need
    // not count: a victim's queue may get other GPUs for the GPUs that it deserves.
    const bool by_model = rights.models != 0 && (rights.models & ~rights.kinds) == 0;
    return by_model ? rights.kinds & ~(KindSet{1} << kGpu) : rights.kinds;
  }
  const QueueId up = queues().parent(side.back());
  return rights.kinds & (up.valid() ? scarce_[up.index()] : scarce_.back());
}

KindSet QueueBook::Judged(const Rights& rights, const std::vector<QueueId>& side) const {
  KindSet kinds = Scarce(rights, side);
  if (rights.ground == Ground::kShare) return kinds;
  for (const QueueId queue : side) kinds = OverIn(rights, queue, kinds);
  return kinds;
}

bool QueueBook::SideOf(const Rights& rights, QueueId victim, std::vector<QueueId>& side,
                       std::size_t* level) const {
  side.clear();
  for (QueueId at = victim; at.valid(); at = queues().parent(at)) {
    if (!queues().present(at) || !queues().spec(at).reclaimable || !queues().cycle(at).empty()) {
      return false;
    }
    side.push_back(at);
    QueueId mine = rights.queue;
    for (std::size_t l = 0; mine.valid(); ++l, mine = queues().parent(mine)) {
      if (mine == at) return false;  // one queue is above the other, so they share its resources
      if (queues().parent(mine) != queues().parent(at)) continue;
      if (level != nullptr) *level = l;
      return l < rights.levels;
    }
  }
  return false;
}

std::size_t QueueBook::LevelsInQuota(QueueId queue, const Resources& asked) const {
  std::size_t levels = 0;
  for (; queue.valid() && queues().present(queue); queue = queues().parent(queue), ++levels) {
    const Resources quota =
        Resources::Max(queues().spec(queue).deserved, queues().spec(queue).guarantee);
    const KindSet kinds = asked.NonZero() & quota.NonZero();
    if (kinds == 0) break;
    bool within = true;
    for (KindSet rest = kinds; rest != 0; rest &= rest - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(rest));
      within = within && holds(queue)[k] + asked[k] <= quota[k];
    }
    if (!within) break;
  }
  return levels;
}

KindSet QueueBook::OverIn(const Rights& rights, QueueId queue, KindSet kinds) const {
  KindSet over = 0;
  for (; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    const std::int64_t own = OwnOf(rights, queue, k);
    if (own != Share::kNotShared && holds(queue)[k] > own) over |= KindSet{1} << k;
  }
  return over;
}

std::vector<KindSet> QueueBook::OverIn(const Rights& rights) const {
  std::vector<KindSet> over(rights.levels == 0 ? 0 : shares_.share.size());
  for (std::size_t q = 0; q < over.size(); ++q) {
    over[q] = OverIn(rights, QueueId(q), rights.kinds);
  }
  return over;
}

bool QueueBook::AnyBorrower(const Rights& rights) const {
  if (rights.levels == 0) return false;
  const auto& jobs = later_.ledger().snapshot().books().queue_priorities;
  std::vector<QueueId> side;
  for (std::size_t q = 0; q < jobs.size(); ++q) {
    if (jobs[q].empty() || !SideOf(rights, QueueId(q), side)) continue;
    KindSet over = Judged(rights, side);
    for (const QueueId queue : side) over = OverIn(rights, queue, over);
    if (over != 0) return true;
  }
  return false;
}

}  // namespace tephra
