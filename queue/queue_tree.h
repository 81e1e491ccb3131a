// QueueTree: the queues with their quotas, in the terms of Volcano (capability is the limit). Owned
// by State. One owner thread.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.h"
#include "topology/base/status.h"
#include "topology/base/time.h"
#include "topology/resources.h"

namespace tephra {

enum class QueueState : std::uint8_t { kOpen, kClosing, kClosed };

// Whether jobs behind a job that cannot start are tried, or wait.
enum class Dequeue : std::uint8_t { kTraverse, kFifo };

// The longest eviction delay: 10,000 days, as the longest duration of a setting.
constexpr DurationMs kMostEvictionDelayMs = DurationMs{10'000} * 24 * 3600 * kSecondMs;

struct QueueSpec {
  std::string name;
  std::string parent;  // empty: directly under the root
  std::int32_t weight = 1;
  std::int32_t priority = 0;  // among queues within their shares, the higher goes first
  // Kinds outside limited_kinds have no limit. kGpu is the sum over models, in per mille; the kind
  // of a model counts only that model.
  Resources limit;
  KindSet limited_kinds = 0;
  // Reserved for the queue, idle or not.
  Resources guarantee;
  // The amount that the queue gets on demand. Idle parts are lent to other queues.
  Resources deserved;
  bool reclaimable = true;  // other queues may reclaim what it uses above its share
  Dequeue dequeue = Dequeue::kTraverse;
  // How long a job waits before tasks are evicted for it, at least. Holds for the queues below, too.
  DurationMs eviction_delay_ms = 0;
  QueueState state = QueueState::kOpen;

  bool operator==(const QueueSpec&) const = default;
};

class QueueTree {
 public:
  // Replaces the queue of that name or adds it. INVALID_ARGUMENT, with the names, for an empty
  // name, a weight below 1, an amount below zero or too large, or fewer GPUs than the sum of their
  // models; the tree is then unchanged. If only models are set, kGpu becomes their sum. While the
  // parent is unknown, the queue counts as a top queue.
  absl::Status Upsert(const QueueSpec& spec, const ResourceKinds& kinds = {});
  // Jobs in this queue stay pending from now on. The usage of its running jobs stays counted.
  void Remove(const std::string& name);

  QueueId Find(const std::string& name) const;  // invalid if the queue does not exist (any more)
  // The id of a name, made on first use, so that usage has a row before its queue is known.
  QueueId Reserve(const std::string& name);
  bool present(QueueId id) const { return rows_[id.index()].present; }
  const QueueSpec& spec(QueueId id) const { return rows_[id.index()].spec; }
  // Whether its jobs may have to wait behind each other.
  bool InOrder(QueueId id) const { return present(id) && spec(id).dequeue == Dequeue::kFifo; }
  QueueId parent(QueueId id) const { return rows_[id.index()].parent; }
  // Whether the queue is `top` or under it. All are under an invalid one.
  bool Under(QueueId queue, QueueId top) const {
    while (queue.valid() && queue != top) queue = parent(queue);
    return queue == top;
  }
  // Whether the queue or a queue above it has a limit.
  bool limited(QueueId id) const;
  std::size_t size() const { return rows_.size(); }

  // The cycle of parents above the queue, "a -> b -> a"; empty if there is none. Each queue on the
  // cycle counts as a top queue, and no job starts in it or below it.
  const std::string& cycle(QueueId id) const { return rows_[id.index()].cycle; }
  // Whether the queue has child queues.
  bool has_children(const std::string& name) const {
    const auto it = under_.find(name);
    return it != under_.end() && !it->second.empty();
  }
  // The kinds of which the queue, or a queue with the same parent, deserves something.
  KindSet deserved_beside(QueueId id) const;
  // The longest eviction delay of the queue and the queues above it.
  DurationMs EvictionDelay(QueueId id) const;
  // Whether any queue has an eviction delay.
  bool delays() const { return delays_ > 0; }
  // Whether any queue has a guarantee.
  bool guarantees() const { return guarantees_ > 0; }
  // Queues whose guarantee, or the guarantees of whose child queues, exceed what the queue can
  // give, by name, with the problem. Their jobs still start. But when such a queue is full, each
  // child gets at most its own guarantee.
  struct Overdraft {
    QueueId queue;
    std::string what;  // "guarantee: 12 GPUs to ..., expected at most ..."
  };
  std::vector<Overdraft> Overdrawn(const ResourceKinds& kinds) const;

 private:
  struct Row {
    QueueSpec spec;
    QueueId parent;
    bool present = false;
    std::string cycle;
  };
  bool EndsAbove(QueueId id) const;
  void Relink(const std::string& name);
  void LinkAll();
  void Count(const Row& row, int sign);
  void CollectDeserved();

  std::vector<Row> rows_;
  std::unordered_map<std::string, QueueId> by_name_;
  std::unordered_map<std::string, std::vector<QueueId>> under_;  // present queues, by parent
  bool cycles_ = false;
  int guarantees_ = 0;  // queues with a guarantee
  int deserving_ = 0;   // queues that deserve something
  int delays_ = 0;      // queues with an eviction delay
  std::vector<KindSet> deserved_under_;  // by QueueId of the parent, last: the top queues
};

}  // namespace tephra
