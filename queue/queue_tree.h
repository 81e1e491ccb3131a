// QueueTree: the teams' queues and what each was promised, in Volcano's words (capability is the
// limit). One owner thread.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.h"
#include "topology/base/status.h"
#include "topology/resources.h"

namespace tephra {

enum class QueueState : std::uint8_t { kOpen, kClosing, kClosed };

// What becomes of the jobs behind one that cannot start: they are tried, or wait behind it.
enum class Dequeue : std::uint8_t { kTraverse, kFifo };

struct QueueSpec {
  std::string name;
  std::string parent;  // empty: directly under the root
  std::int32_t weight = 1;
  std::int32_t priority = 0;  // among queues within their shares the higher is served first
  // Kinds outside limited_kinds are unlimited. kGpu is the sum over models, per mille; a kind of
  // one model counts that alone.
  Resources limit;
  KindSet limited_kinds = 0;
  // Kept for the queue alone, idle or not.
  Resources guarantee;
  // What it is to have when it asks for it; idle parts are lent to others.
  Resources deserved;
  bool reclaimable = true;  // others may take back what it holds above its share
  Dequeue dequeue = Dequeue::kTraverse;
  QueueState state = QueueState::kOpen;

  bool operator==(const QueueSpec&) const = default;
};

class QueueTree {
 public:
  // Replaces the queue of that name or adds it. INVALID_ARGUMENT, with the names, for an empty
  // name, a weight below 1, an amount below zero or too large, fewer GPUs promised than of their
  // models; the tree is then unchanged. Who is promised models and not kGpu itself is promised the
  // sum of them. A parent that is not known yet is awaited: until it comes the queue counts as a
  // top one.
  absl::Status Upsert(const QueueSpec& spec, const ResourceKinds& kinds = {});
  // Jobs that name it wait from then on; its usage stays in the books until they end.
  void Remove(const std::string& name);

  QueueId Find(const std::string& name) const;  // invalid when not (or no longer) there
  // The id of a name, reserved on first sight, so that usage has a row before its queue is known.
  QueueId Reserve(const std::string& name);
  bool present(QueueId id) const { return rows_[id.index()].present; }
  const QueueSpec& spec(QueueId id) const { return rows_[id.index()].spec; }
  QueueId parent(QueueId id) const { return rows_[id.index()].parent; }
  std::size_t size() const { return rows_.size(); }

  // Parents of the queue form a cycle: "a -> b -> a". Empty otherwise. Each queue on the cycle
  // counts as a top one, and no job starts in it or below it.
  const std::string& cycle(QueueId id) const { return rows_[id.index()].cycle; }
  // Whether any queue names it as its parent.
  bool has_heirs(const std::string& name) const {
    const auto it = under_.find(name);
    return it != under_.end() && !it->second.empty();
  }
  // Whether any queue is guaranteed anything.
  bool guarantees() const { return guarantees_ > 0; }
  // Queues that are guaranteed, or have promised to those under them, more than they can give, by
  // name, each with what is wrong. No job of theirs is kept waiting for it; but where they are full
  // nobody gets more than its own guarantee.
  struct Overdraft {
    QueueId queue;
    std::string what;  // "guarantee: 12 GPU to ..., expected at most ..."
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
  void LinkAnew(const std::string& name);
  void LinkAll();
  void Count(const Row& row, int sign);

  std::vector<Row> rows_;
  std::unordered_map<std::string, QueueId> by_name_;
  std::unordered_map<std::string, std::vector<QueueId>> under_;  // present ones, by their parent
  bool cycles_ = false;
  int guarantees_ = 0;  // queues with one
};

}  // namespace tephra
