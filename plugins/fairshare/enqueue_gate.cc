#include "plugins/fairshare/enqueue_gate.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tephra {
namespace {

Resources Everything() {
  Resources all;
  all.amount.fill(kMaxSum);
  return all;
}

// Saturates at the largest integer.
std::int64_t PerMille(std::int64_t amount, std::int64_t permille) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (amount / 1000 >= kMost / permille - 1) return kMost;
  return amount / 1000 * permille + amount % 1000 * permille / 1000;
}

class OpenGate final : public Gate {
 public:
  OpenGate(const Snapshot& snapshot, std::int32_t overcommit)
      : snapshot_(snapshot),
        most_(RealCapabilities(snapshot.queues())),
        claimed_(snapshot.queues().size()),
        used_(snapshot.hardware().total()),
        missing_(snapshot.books().inqueue.missing()) {
    const std::vector<Resources>& claimed = snapshot.books().inqueue.claimed();
    for (std::size_t q = 0; q < claimed.size(); ++q) Count(QueueId(q), claimed[q]);
    for (Kind k = 0; k < kMaxKinds; ++k) {
      total_[k] = PerMille(snapshot.hardware().total()[k], overcommit);
    }
    used_.Add(snapshot.occupancy().free_total(), -1);
  }

  std::optional<Reason> Ask(JobId id) override {
    const JobRow& job = snapshot_.job(id);
    const Resources asked = ClaimOf(snapshot_.books(), job).minimum;
    std::optional<Reason> no;  // of the highest level that denies it
    for (QueueId up = job.queue; up.valid(); up = snapshot_.queues().parent(up)) {
      const Resources& claimed = claimed_[up.index()];
      const std::optional<Kind> kind = Beyond(claimed, asked, most_[up.index()]);
      if (!kind) continue;
      no = No(asked, *kind, most_[up.index()], claimed);
      no->queue = snapshot_.queues().spec(up).name;
    }
    if (no) return no;
    Resources taken = used_;
    if (const auto kind = Beyond(taken.Add(missing_), asked, total_)) {
      Reason reason = No(asked, *kind, total_, used_);
      reason.kept = missing_[*kind];
      return reason;
    }
    Count(job.queue, asked);
    missing_.Add(asked);
    return std::nullopt;
  }

 private:
  void Count(QueueId queue, const Resources& amount) {
    for (QueueId up = queue; up.valid(); up = snapshot_.queues().parent(up)) {
      claimed_[up.index()].Add(amount);
    }
  }

  // The first requested kind that is not sufficient.
  static std::optional<Kind> Beyond(const Resources& taken, const Resources& asked,
                                    const Resources& most) {
    for (KindSet kinds = asked.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      if (taken[k] + asked[k] > most[k]) return k;
    }
    return std::nullopt;
  }

  static Reason No(const Resources& asked, Kind kind, const Resources& limit,
                   const Resources& used) {
    Reason reason;
    reason.obstacle = Obstacle::kGate;
    reason.binding = kind;
    reason.limit = limit[kind];
    reason.used = used[kind];
    reason.asked = asked[kind];
    return reason;
  }

  const Snapshot& snapshot_;
  const std::vector<Resources> most_;  // by QueueId
  std::vector<Resources> claimed_;     // by QueueId, with the queues under each
  Resources total_;                    // with overcommitment
  Resources used_;
  Resources missing_;
};

}  // namespace

std::vector<Resources> RealCapabilities(const QueueTree& queues) {
  std::vector<Resources> most(queues.size()), guaranteed(queues.size());
  std::vector<bool> known(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const QueueId up = queues.parent(QueueId(q));
    const bool counts = up.valid() && queues.present(QueueId(q));
    if (counts) guaranteed[up.index()].Add(queues.spec(QueueId(q)).guarantee);
  }
  std::vector<QueueId> path;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    for (QueueId at(q); at.valid() && !known[at.index()]; at = queues.parent(at)) {
      path.push_back(at);
    }
    for (; !path.empty(); path.pop_back()) {
      const QueueId at = path.back(), up = queues.parent(at);
      const QueueSpec& spec = queues.spec(at);
      Resources& here = most[at.index()];
      here = Everything();
      for (Kind k = 0; k < kMaxKinds; ++k) {
        if (up.valid() && most[up.index()][k] < kMaxSum) {
          const std::int64_t left = most[up.index()][k] - guaranteed[up.index()][k];
          here[k] = std::max<std::int64_t>(left, 0) + spec.guarantee[k];
        }
        const bool limited = queues.present(at) && (spec.limited_kinds >> k & 1) != 0;
        if (limited) here[k] = std::min(here[k], spec.limit[k]);
      }
      known[at.index()] = true;
    }
  }
  return most;
}

std::unique_ptr<Gate> VolcanoGate::Open(const Snapshot& snapshot) const {
  return std::make_unique<OpenGate>(snapshot, overcommit_);
}

}  // namespace tephra
