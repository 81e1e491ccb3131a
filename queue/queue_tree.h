// QueueTree: the teams' queues and what each was promised, in Volcano's words (capability is the
// limit). One owner thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.h"
#include "topology/base/status.h"
#include "topology/resources.h"

namespace tephra {

enum class QueueState : std::uint8_t { kOpen, kClosing, kClosed };

struct QueueSpec {
  std::string name;
  std::string parent;  // empty: directly under the root
  std::int32_t weight = 1;
  std::int32_t priority = 0;
  // Kinds outside limited_kinds are unlimited. kGpu is the sum over models, per mille.
  Resources limit;
  KindSet limited_kinds = 0;
  QueueState state = QueueState::kOpen;

  bool operator==(const QueueSpec&) const = default;
};

class QueueTree {
 public:
  // Replaces the queue of that name or adds it. INVALID_ARGUMENT, with the names, for an empty
  // name, a weight below 1, a limit below zero or too large, or a cycle of parents; the tree is
  // then unchanged. A parent that is not known yet is awaited: until it comes the queue counts as
  // a top one.
  absl::Status Upsert(const QueueSpec& spec);
  // Jobs that name it wait from then on; its usage stays in the books until they end.
  void Remove(const std::string& name);

  QueueId Find(const std::string& name) const;  // invalid when not (or no longer) there
  // The id of a name, reserved on first sight, so that usage has a row before its queue is known.
  QueueId Reserve(const std::string& name);
  bool present(QueueId id) const { return rows_[id.index()].present; }
  const QueueSpec& spec(QueueId id) const { return rows_[id.index()].spec; }
  QueueId parent(QueueId id) const { return rows_[id.index()].parent; }
  std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    QueueSpec spec;
    QueueId parent;
    bool present = false;
  };
  void Relink();

  std::vector<Row> rows_;
  std::unordered_map<std::string, QueueId> by_name_;
};

}  // namespace tephra
