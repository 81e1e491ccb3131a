#include "plugins/fairshare/water_fill.h"

#include <algorithm>
#include <numeric>

#include <Eigen/Core>

namespace tephra {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

// The level t with sum(min(room, weight * t)) = amount; endless if the rooms hold no more than
// that. REQUIRES: a weight is above 0 if its room is.
double WaterLevel(const Eigen::ArrayXd& weights, const Eigen::ArrayXd& rooms, double amount) {
  if (rooms.sum() <= amount) return kEndless;
  double first_full = kEndless, rising = 0;  // `rising`: the sum of the weights that are not full yet
  for (Eigen::Index i = 0; i < rooms.size(); ++i) {
    if (rooms[i] <= 0) continue;
    first_full = std::min(first_full, rooms[i] / weights[i]);
    rising += weights[i];
  }
  if (first_full * rising >= amount) return std::max(0.0, amount / rising);
  std::vector<std::int32_t> order;  // by the level at which each one is full
  for (Eigen::Index i = 0; i < rooms.size(); ++i) {
    if (rooms[i] > 0) order.push_back(static_cast<std::int32_t>(i));
  }
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const double full_a = rooms[a] / weights[a], full_b = rooms[b] / weights[b];
    return full_a != full_b ? full_a < full_b : a < b;
  });
  double left = amount;
  for (const std::int32_t i : order) {
    const double full = rooms[i] / weights[i];
    if (full * rising >= left) return std::max(0.0, left / rising);
    left -= rooms[i];
    rising -= weights[i];
  }
  return kEndless;
}

// One step: adds what is left to `have`, up to `until`, in proportion to the weights.
void Pour(const Eigen::ArrayXd& weights, const Eigen::ArrayXd& until, double& left,
          Eigen::ArrayXd& have) {
  const Eigen::ArrayXd room = (until - have).max(0);
  if (left <= 0 || !(room > 0).any()) return;
  const double level = WaterLevel(weights, room, left);
  const Eigen::ArrayXd poured =
      level == kEndless ? room : Eigen::ArrayXd(room.min((weights * level).eval()));
  have += poured;
  left = std::max(0.0, left - poured.sum());
}

// Changes the weights of queues with demand, by their past usage.
void Reweigh(const PastUsage& past, double amount, const Eigen::ArrayXd& cap,
             const Eigen::ArrayXd& used, Eigen::ArrayXd& weights) {
  const Eigen::ArrayXd takes_part = (cap > 0).cast<double>();
  const double weight_sum = (weights * takes_part).sum();
  const double used_sum = (used * takes_part).sum();
  if (weight_sum <= 0 || used_sum <= 0) return;
  const double measure = std::max(used_sum, amount * past.endless_ms);
  const Eigen::ArrayXd part = weights / weight_sum;
  weights = (part + past.weight * (part * (used_sum / measure) - used / measure)).max(part / 100);
}

}  // namespace

FillTree::FillTree(const std::vector<FillQueue>& queues) : first_(queues.size() + 2) {
  const auto slot = [&](const FillQueue& queue) {
    return queue.parent == FillQueue::kTop ? queues.size()
                                           : static_cast<std::size_t>(queue.parent);
  };
  for (const FillQueue& queue : queues) ++first_[slot(queue) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  members_.resize(queues.size());
  std::vector<std::int32_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t q = 0; q < queues.size(); ++q) {
    members_[static_cast<std::size_t>(next[slot(queues[q])]++)] = static_cast<std::int32_t>(q);
  }
  const auto top = Under(queues.size());
  down_.assign(top.begin(), top.end());
  down_.reserve(queues.size());
  for (std::size_t i = 0; i < down_.size(); ++i) {
    const auto under = Under(static_cast<std::size_t>(down_[i]));
    down_.insert(down_.end(), under.begin(), under.end());
  }
}

std::vector<double> WaterFill(const FillTree& tree, const std::vector<FillQueue>& queues,
                              double capacity, const PastUsage& past) {
  const std::vector<std::int32_t>& down = tree.down();
  // The usable amounts and the quotas of each queue with its child queues, from the leaves up.
  Eigen::ArrayXd use(queues.size()), guarantee(queues.size()), deserved(queues.size());
  Eigen::ArrayXd used(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const auto i = static_cast<Eigen::Index>(q);
    use[i] = queues[q].demand;
    used[i] = queues[q].usage;
    guarantee[i] = deserved[i] = 0;
  }
  for (auto it = down.rbegin(); it != down.rend(); ++it) {
    const FillQueue& queue = queues[static_cast<std::size_t>(*it)];
    use[*it] = std::min(use[*it], queue.limit);
    // Guarantees of child queues count for their parent, too; what they deserve does if the parent
    // says nothing.
    guarantee[*it] = std::max(guarantee[*it], queue.guarantee);
    if (queue.deserved > 0) deserved[*it] = queue.deserved;
    deserved[*it] = std::max(deserved[*it], guarantee[*it]);
    if (queue.parent == FillQueue::kTop) continue;
    use[queue.parent] += use[*it];
    used[queue.parent] += used[*it];
    guarantee[queue.parent] += std::min(guarantee[*it], use[*it]);
    deserved[queue.parent] += std::min(deserved[*it], use[*it]);
  }

  std::vector<double> shares(queues.size());
  const bool any_quota = (guarantee > 0).any() || (deserved > 0).any();
  Eigen::ArrayXd cap, weight, spent, have;
  const auto fill = [&](std::size_t at, double amount, double own_demand, double own_used) {
    const std::span<const std::int32_t> members = tree.Under(at);
    const auto count = static_cast<Eigen::Index>(members.size());
    const Eigen::Index own = own_demand > 0 ? 1 : 0;
    for (Eigen::ArrayXd* const array : {&cap, &weight, &spent}) array->resize(count + own);
    for (Eigen::Index i = 0; i < count; ++i) {
      const std::int32_t q = members[static_cast<std::size_t>(i)];
      cap[i] = use[q];
      weight[i] = queues[static_cast<std::size_t>(q)].weight;
      spent[i] = used[q];
    }
    if (own > 0) cap[count] = own_demand, weight[count] = 1, spent[count] = own_used;
    if (past.weight > 0) Reweigh(past, amount, cap, spent, weight);
    have.setZero(count + own);
    double left = amount;
    if (any_quota) {
      // By guarantee, and by what is deserved. In proportion to the quota, so that a small demand is
      // not cut before a large one.
      for (const Eigen::ArrayXd* const of : {&guarantee, &deserved}) {
        Eigen::ArrayXd quota = Eigen::ArrayXd::Zero(count + own), usable = quota;
        for (Eigen::Index i = 0; i < count; ++i) {
          const std::int32_t q = members[static_cast<std::size_t>(i)];
          quota[i] = (*of)[q];
          usable[i] = std::min((*of)[q], use[q]);
        }
        Pour((quota - have).max(0).eval(), usable, left, have);
      }
    }
    Pour(weight, cap, left, have);
    for (Eigen::Index i = 0; i < count; ++i) {
      shares[static_cast<std::size_t>(members[static_cast<std::size_t>(i)])] = have[i];
    }
  };
  fill(queues.size(), capacity, 0, 0);
  for (const std::int32_t q : down) {
    const auto at = static_cast<std::size_t>(q);
    if (!tree.Under(at).empty()) fill(at, shares[at], queues[at].demand, queues[at].usage);
  }
  return shares;
}

}  // namespace tephra
