// What was used in the past: what queues and users are charged, and what is remembered of it.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "engine/state.h"

namespace tephra {
namespace {

// A record is kept where one object takes a MiB, in a text that spends more on each name and
// number.
constexpr std::size_t kMostMemoryBytes = 256 << 10;
constexpr std::size_t kBytesOfAmount = 24, kBytesOfAccount = 16;

std::vector<RememberedAmount> Named(const ResourceKinds& kinds, const Spent& spent) {
  std::vector<RememberedAmount> named;
  for (int k = 0; k < kinds.size(); ++k) {
    if (spent[k] > 0) named.push_back({kinds.Name(static_cast<Kind>(k)), spent[k]});
  }
  return named;
}

std::size_t BytesOf(const std::vector<RememberedAmount>& amounts) {
  std::size_t bytes = kBytesOfAccount;
  for (const RememberedAmount& amount : amounts) bytes += amount.kind.size() + kBytesOfAmount;
  return bytes;
}

absl::Status CheckAmounts(const std::string& where, const std::vector<RememberedAmount>& amounts) {
  for (const RememberedAmount& amount : amounts) {
    if (std::isfinite(amount.spent) && amount.spent >= 0) continue;
    return absl::InvalidArgumentError(where + ": spent: " + amount.kind + ": " +
                                      std::to_string(amount.spent) + ", expected at least 0");
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const Memory& memory) {
  if (memory.version != kMemoryVersion) {
    return absl::InvalidArgumentError("memory: version: " + std::to_string(memory.version) +
                                      ", expected " + std::to_string(kMemoryVersion));
  }
  if (memory.half_life_ms <= 0) {
    return absl::InvalidArgumentError(
        "memory: half_life_ms: " + std::to_string(memory.half_life_ms) + ", expected above 0");
  }
  for (const RememberedQueue& queue : memory.queues) {
    if (queue.queue.empty()) return absl::InvalidArgumentError("memory: queue: empty");
    const std::string where = "memory: queue \"" + queue.queue + "\"";
    TEPHRA_RETURN_IF_ERROR(CheckAmounts(where, queue.spent));
    for (const RememberedUser& user : queue.users) {
      TEPHRA_RETURN_IF_ERROR(CheckAmounts(where + ": user \"" + user.user + "\"", user.spent));
    }
  }
  return absl::OkStatus();
}

// A kind that is not declared is not shared.
Spent ByKind(const ResourceKinds& kinds, const std::vector<RememberedAmount>& amounts) {
  Spent spent{};
  for (const RememberedAmount& amount : amounts) {
    for (int k = 0; k < kinds.size(); ++k) {
      if (kinds.Name(static_cast<Kind>(k)) == amount.kind) spent[k] = amount.spent;
    }
  }
  return spent;
}

}  // namespace

// The half-life may be another one; from off on, what is held now counts from now on.
void State::FollowUsage() {
  const bool was_on = rows().usage.on();
  rows().usage.SetHalfLife(rows().config.usage_half_life_ms);
  if (was_on || !rows().usage.on()) return;
  for (const TaskRow& task : rows().tasks) {
    if (!task.job.valid() || !HoldsRoom(task.phase) || !rows().hardware.present(task.node))
      continue;
    const JobRow& job = rows().jobs[task.job.index()];
    rows().usage.Hold(job.queue, job.user, table_.HeldBy(task));
  }
}

void State::AdvanceUsage(TimeMs now) {
  Usage& usage = rows().usage;
  const bool first = !usage.begun();
  usage.Advance(now);
  if (first && usage.recalled_at().has_value()) {
    // What runs has run since the memory, or since its start if that is later.
    for (const TaskRow& task : rows().tasks) {
      if (!task.job.valid() || !HoldsRoom(task.phase) || task.started <= 0) continue;
      if (!rows().hardware.present(task.node)) continue;
      const JobRow& job = rows().jobs[task.job.index()];
      usage.Spend(job.queue, job.user, table_.HeldBy(task),
                  std::max(*usage.recalled_at(), task.started));
    }
  }
  if (!usage.Sweep()) return;
  memory_due_ = true;
  // Shares move with what is used, though nothing else may have changed.
  if (!rows().waiting.empty()) table_.wake_ups().capacity().Anywhere();
}

Memory State::Remember() const {
  const Usage& usage = books().usage;
  Memory memory;
  memory.at = usage.now();
  memory.half_life_ms = usage.half_life_ms();
  struct Entry {
    double weight;  // the largest part of the cluster
    QueueId queue;
    const std::string* user;  // null: the queue's own
    std::vector<RememberedAmount> spent;
    std::size_t bytes;
  };
  std::vector<Entry> entries;
  const Resources& total = books().hardware.total();
  const auto enter = [&](QueueId queue, const std::string* user, const Spent& spent) {
    double weight = 0;
    for (int k = 0; k < kMaxKinds; ++k) {
      if (total.amount[k] <= 0) continue;
      weight = std::max(weight, spent[k] / static_cast<double>(total.amount[k]));
    }
    std::vector<RememberedAmount> named = Named(books().kinds, spent);
    if (named.empty()) return;
    const std::size_t bytes =
        BytesOf(named) + (user == nullptr ? books().queues.spec(queue).name : *user).size();
    entries.push_back({weight, queue, user, std::move(named), bytes});
  };
  for (std::size_t q = 0; q < usage.rows().size(); ++q) {
    const QueueId queue(q);
    enter(queue, nullptr, usage.Of(queue));
    for (const auto& [user, account] : usage.rows()[q].users) {
      enter(queue, &user, usage.Of(queue, user));
    }
  }
  const auto name = [&](const Entry& entry) -> const std::string& {
    return books().queues.spec(entry.queue).name;
  };
  static const std::string kOwn;
  const auto rank = [&](const Entry& e) {
    return std::tuple(-e.weight, e.user != nullptr, std::cref(name(e)),
                      std::cref(e.user == nullptr ? kOwn : *e.user));
  };
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    const auto [wa, ua, na, sa] = rank(a);
    const auto [wb, ub, nb, sb] = rank(b);
    if (wa != wb) return wa < wb;
    if (ua != ub) return ua < ub;
    return na.get() != nb.get() ? na.get() < nb.get() : sa.get() < sb.get();
  });
  std::size_t bytes = 0;
  std::map<std::string, RememberedQueue> kept;
  for (Entry& entry : entries) {
    bytes += entry.bytes;
    if (bytes > kMostMemoryBytes) break;
    RememberedQueue& queue = kept[name(entry)];
    if (entry.user == nullptr) {
      queue.spent = std::move(entry.spent);
    } else {
      queue.users.push_back({*entry.user, std::move(entry.spent)});
    }
  }
  for (auto& [of, queue] : kept) {
    queue.queue = of;
    std::sort(queue.users.begin(), queue.users.end(),
              [](const RememberedUser& a, const RememberedUser& b) { return a.user < b.user; });
    memory.queues.push_back(std::move(queue));
  }
  return memory;
}

absl::Status State::On(const MemoryRestored& fact) {
  TEPHRA_RETURN_IF_ERROR(CheckMemory(fact.memory));
  Usage& usage = rows().usage;
  if (!usage.on() || !usage.BeginRecall(fact.memory.at)) return absl::OkStatus();
  for (const RememberedQueue& one : fact.memory.queues) {
    const QueueId queue = rows().queues.Reserve(one.queue);
    usage.Recall(queue, ByKind(rows().kinds, one.spent));
    for (const RememberedUser& user : one.users) {
      usage.Recall(queue, user.user, ByKind(rows().kinds, user.spent));
    }
  }
  rows().occupancy.Grow(rows().facts());
  table_.wake_ups().capacity().Anywhere();
  return absl::OkStatus();
}

}  // namespace tephra
