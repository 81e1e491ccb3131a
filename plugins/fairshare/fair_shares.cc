#include "plugins/fairshare/fair_shares.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "plugins/fairshare/water_fill.h"

namespace tephra {

namespace {

// Whether some of the capacity is left after all demand is met.
bool AllServed(const std::vector<FillQueue>& fill, const std::vector<double>& amounts,
               double capacity) {
  double given = 0;
  for (std::size_t q = 0; q < fill.size(); ++q) {
    if (fill[q].parent == FillQueue::kTop) given += amounts[q];
  }
  return given < capacity - 0.5;
}

// What the jobs of each queue hold and ask for.
std::vector<Resources> DemandOf(const Books& books) {
  std::vector<Resources> demand(books.queues.size());
  // The mean memory of a whole device.
  const Resources& total = books.hardware.total();
  const std::int64_t gpus = std::max<std::int64_t>(total[kGpu] / kWholeGpu, 1);
  const std::int64_t gpu_memory = total[kGpuMemory] / gpus;
  for (std::size_t q = 0; q < demand.size(); ++q) {
    demand[q] = books.occupancy.queue_own(QueueId(q));
    if (q < books.queue_pending.size()) {
      demand[q].Add(books.queue_pending[q].amount);
      demand[q][kGpuMemory] += books.queue_pending[q].whole_gpus * gpu_memory;
    }
  }
  return demand;
}

std::vector<Resources> SharesOf(const Books& books, const std::vector<Resources>& demand) {
  const QueueTree& queues = books.queues;
  std::vector<Resources> shares(queues.size());
  for (Resources& share : shares) share.amount.fill(Share::kNotShared);
  Resources shared = books.hardware.total();
  shared.Add(books.occupancy.outside_queues(), -1);
  shared = Resources::Max(shared, Resources{});
  KindSet asked = 0;
  for (const Resources& of_queue : demand) asked |= of_queue.NonZero();
  // A quota of GPUs covers the memory of these GPUs, so memory needs no shares of its own.
  Resources quotas;
  KindSet limited_kinds = 0;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    if (!queues.present(QueueId(q))) continue;
    const QueueSpec& spec = queues.spec(QueueId(q));
    quotas.Add(spec.guarantee).Add(spec.deserved);
    limited_kinds |= spec.limited_kinds;
  }
  if (quotas[kGpu] > 0 && quotas[kGpuMemory] == 0) asked &= ~(1u << kGpuMemory);
  // Only models that a queue names now count.
  asked &= ~(books.kinds.model_kinds() & ~(quotas.NonZero() | limited_kinds));
  std::vector<FillQueue> fill(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const QueueId up = queues.parent(QueueId(q));
    fill[q].parent = up.valid() ? static_cast<std::int32_t>(up.value) : FillQueue::kTop;
    fill[q].weight = queues.spec(QueueId(q)).weight;
  }
  const FillTree tree(fill);
  PastUsage past;
  std::vector<Spent> spent;
  if (books.usage.on()) {
    past.weight = static_cast<double>(books.config.usage_weight_permille) / 1000;
    past.endless_ms = books.usage.endless_ms();
    for (std::size_t q = 0; q < queues.size(); ++q) spent.push_back(books.usage.Of(QueueId(q)));
  }
  for (; asked != 0; asked &= asked - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(asked));
    const bool any_quota = quotas[k] > 0 || (limited_kinds >> k & 1) != 0;
    for (std::size_t q = 0; q < queues.size(); ++q) {
      fill[q].guarantee = fill[q].deserved = 0;
      fill[q].limit = std::numeric_limits<double>::infinity();
      fill[q].demand = static_cast<double>(demand[q][k]);
      if (any_quota && queues.present(QueueId(q))) {
        const QueueSpec& spec = queues.spec(QueueId(q));
        fill[q].guarantee = static_cast<double>(spec.guarantee[k]);
        fill[q].deserved = static_cast<double>(spec.deserved[k]);
        if ((spec.limited_kinds >> k & 1) != 0) fill[q].limit = static_cast<double>(spec.limit[k]);
      }
      if (!spent.empty()) fill[q].usage = spent[q][k];
    }
    const std::vector<double> amounts = WaterFill(tree, fill, static_cast<double>(shared[k]), past);
    if (books.kinds.CountsModel(k) && AllServed(fill, amounts, static_cast<double>(shared[k]))) {
      continue;
    }
    for (std::size_t q = 0; q < queues.size(); ++q) shares[q][k] = std::llround(amounts[q]);
  }
  return shares;
}

// What each queue is guaranteed or deserves by itself.
std::vector<Resources> StatedOf(const QueueTree& queues) {
  std::vector<Resources> stated(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q) {
    if (!queues.present(QueueId(q))) continue;
    const QueueSpec& spec = queues.spec(QueueId(q));
    stated[q] = Resources::Max(spec.guarantee, spec.deserved);
  }
  return stated;
}

// The same, as far as the queue has a use for it. If queues under one come to more than it has
// itself, each gets the same part of its amount.
std::vector<Resources> PartsAbove(const QueueTree& queues, const std::vector<Resources>& stated,
                                  const std::vector<Resources>& demand) {
  std::vector<FillQueue> parents(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const QueueId up = queues.parent(QueueId(q));
    if (up.valid()) parents[q].parent = static_cast<std::int32_t>(up.value);
  }
  const std::vector<std::int32_t> down = FillTree(parents).down();
  std::vector<Resources> claims = stated, under(queues.size());  // of it, and of the queues under it
  for (auto it = down.rbegin(); it != down.rend(); ++it) {
    const auto q = static_cast<std::size_t>(*it);
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if (stated[q][k] == 0) claims[q][k] = under[q][k];
      claims[q][k] = std::min(claims[q][k], demand[q][k]);
    }
    if (parents[q].parent != FillQueue::kTop) {
      under[static_cast<std::size_t>(parents[q].parent)].Add(claims[q]);
    }
  }
  for (const std::int32_t at : down) {
    const auto q = static_cast<std::size_t>(at);
    if (parents[q].parent == FillQueue::kTop) continue;
    const auto up = static_cast<std::size_t>(parents[q].parent);
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if (under[up][k] <= claims[up][k]) continue;
      claims[q][k] = static_cast<std::int64_t>(static_cast<__int128>(claims[q][k]) * claims[up][k] /
                                               under[up][k]);
    }
  }
  for (std::size_t q = 0; q < queues.size(); ++q) {
    for (Kind k = 0; k < kMaxKinds; ++k) claims[q][k] = std::min(claims[q][k], stated[q][k]);
  }
  return claims;
}

}  // namespace

std::vector<Resources> FairShares::SharesOf(const Books& books) {
  return tephra::SharesOf(books, DemandOf(books));
}

Share::Answer FairShares::Of(const Books& books) const {
  const QueueTree& queues = books.queues;
  const std::vector<Resources> demand = DemandOf(books);
  std::vector<Resources> shares = tephra::SharesOf(books, demand);
  // The demand of a queue counts for each queue above it, too.
  std::vector<Resources> with_heirs = demand;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    for (QueueId up = queues.parent(QueueId(q)); up.valid(); up = queues.parent(up)) {
      with_heirs[up.index()].Add(demand[q]);
    }
  }
  const std::vector<Resources> quotas = StatedOf(queues);
  const std::vector<Resources> quotas_above = PartsAbove(queues, quotas, with_heirs);
  std::vector<Resources> own = shares, own_above = shares;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if (own[q][k] == kNotShared) continue;
      own[q][k] = std::max(own[q][k], std::min(quotas[q][k], with_heirs[q][k]));
      own_above[q][k] = std::max(own_above[q][k], quotas_above[q][k]);
    }
  }
  return {std::move(shares), std::move(own), std::move(own_above), std::move(with_heirs)};
}

std::int64_t DominantPart(const Resources& holds, const Resources& share) {
  constexpr double kMillion = 1e6;
  double part = 0;
  for (Kind k = 0; k < kMaxKinds; ++k) {
    if (holds[k] <= 0 || share[k] == Share::kNotShared) continue;
    if (share[k] <= 0) return kNoShare;
    const double here = static_cast<double>(holds[k]) / static_cast<double>(share[k]) * kMillion;
    part = std::max(part, here);
  }
  return std::llround(std::min(part, 1e18));
}

}  // namespace tephra
