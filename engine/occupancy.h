// Occupancy: the columns that a charge moves, and the one function that moves them. State holds
// the true one, the Ledger a standing copy to try things on.
//
// All amounts are integers and a charge with the opposite sign restores every column exactly.
// One owner thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/change_log.h"
#include "queue/device_room.h"
#include "queue/queue_tree.h"
#include "queue/task_class.h"
#include "topology/hardware.h"

namespace tephra {

// Tasks on a node by GPU size: [0] fractions of one device, [k] k whole devices (15: or more).
using GpuTaskCounts = std::array<std::uint16_t, 16>;
// The index of a class in GpuTaskCounts, or -1 for a class without devices.
int GpuSizeOf(const TaskClass& cls);

struct NodeRow {
  Resources free;
  GpuTaskCounts gpu_tasks{};
  std::uint32_t touches = 0;  // makes a row differ whose amounts did not (Touch)

  bool operator==(const NodeRow&) const = default;
};

// The unchanged half of a cluster, by reference.
struct Facts {
  const Hardware& hardware;
  const QueueTree& queues;
  const ClassTable& classes;
};

// How many more tasks of the class its limit [i] allows on the node. `held`: in the node's domain.
std::int32_t LeftOf(const Facts& facts, const TaskClass& cls, std::size_t i, const BoundedCount& held,
                    NodeId node);

// One node as policies see it: what it is and what is free on it now.
struct NodeView {
  NodeId id;
  const NodeSpec& spec;
  const Resources& capacity;
  const NodeRow& row;
  std::span<const DeviceRow> devices;
  bool mixed_models;
  std::span<const KindSet> model_kinds = {};       // as Hardware::model_kinds
  const GpuSets* gpu_sets = nullptr;               // as Hardware::gpu_sets
  std::span<const MigPlacements* const> mig = {};  // as Hardware::mig
  bool usual_modes = false;                        // as Hardware::usual_modes

  DeviceState device(std::size_t index) const { return device(index, devices[index]); }
  // The same in another state.
  DeviceState device(std::size_t index, const DeviceRow& as) const {
    return {spec.devices[index], index < mig.size() ? mig[index] : nullptr, as};
  }
};

// Whether the class may have that one of the node's devices, as it names or excludes some.
bool MayHave(const NodeView& view, const TaskClass& cls, std::size_t device);
// Whether it may, and the device in the state of `row` can give the share.
bool CanTake(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
             std::size_t device, const DeviceRow& row);

// A copy of one node's columns to try things on.
class NodeTrial {
 public:
  explicit NodeTrial(const NodeView& node)
      : node_(node), row_(node.row), devices_(node.devices.begin(), node.devices.end()) {}
  // As Occupancy::Charge does to the node.
  void Charge(const TaskClass& cls, const Slices& slices, int sign);
  NodeView view() const {
    return {node_.id,           node_.spec,        node_.capacity, row_,      devices_,
            node_.mixed_models, node_.model_kinds, node_.gpu_sets, node_.mig, node_.usual_modes};
  }

 private:
  NodeView node_;
  NodeRow row_;
  std::vector<DeviceRow> devices_;
  std::vector<DeviceCharge> scratch_;
};

// Whose a charge is.
struct Holder {
  // NOLINTNEXTLINE(google-explicit-constructor): as a rule the queue is all that matters
  Holder(QueueId queue, bool is_protected = false) : queue(queue), is_protected(is_protected) {}

  QueueId queue;              // invalid: none
  bool is_protected = false;  // JobRow::is_protected
};

class Occupancy {
 public:
  // Rows for all slots, queues and limits that the facts know; new ones are empty.
  void Grow(const Facts& facts);
  // REQUIRES: no task is charged on the node. Free becomes its capacity, or nothing if absent.
  void ResetNode(const Facts& facts, NodeId node);
  // Empties the rows of the node's devices, which may be about to move. REQUIRES: as ResetNode.
  void ClearDevices(const Hardware& hardware, NodeId node);
  // `sign` is +1 or -1. A slice of a device that the node no longer has is not counted.
  void Charge(const Facts& facts, const TaskClass& cls, Holder holder, NodeId node,
              const Slices& slices, int sign);
  // Jobs of the queue that hold so much became protected; with sign -1, no longer are.
  void Protect(const QueueTree& queues, QueueId queue, const Resources& amount, int sign);
  // Names the node as changed although no amount moved.
  void Touch(NodeId node);
  // A queue has come, without any under it. False where that is not enough to bring the totals up
  // to date: it holds something already, or is the first that is guaranteed anything.
  bool AddEmptyQueue(const QueueTree& queues, QueueId id);
  // Totals along the tree, from what each queue holds itself; after the tree changed.
  void RollUpQueues(const QueueTree& queues);

  NodeView View(const Hardware& hardware, NodeId node) const {
    return {node,
            hardware.spec(node),
            hardware.capacity(node),
            nodes_[node.index()],
            std::span<const DeviceRow>(devices_.data() + hardware.first_device(node),
                                       hardware.device_count(node)),
            hardware.mixed_models(node),
            hardware.model_kinds(node),
            hardware.gpu_sets(node),
            hardware.mig(node),
            hardware.usual_modes(node)};
  }
  const NodeRow& node(NodeId id) const { return nodes_[id.index()]; }
  // Free on all nodes present. Over-committed nodes count below zero, over-committed devices as
  // nothing.
  const Resources& free_total() const { return free_total_; }
  // Held by the queue and everything under it.
  const Resources& queue_total(QueueId id) const { return queue_total_[id.index()]; }
  const Resources& queue_own(QueueId id) const { return queue_own_[id.index()]; }
  // Of the total, what jobs hold that are not preemptible.
  const Resources& queue_protected(QueueId id) const { return protected_total_[id.index()]; }
  // Held by tasks of no queue.
  const Resources& outside_queues() const { return outside_queues_; }
  // Room that no other queue may use: what the queue and those under it hold, or are guaranteed
  // where that is more; level by level. REQUIRES: some queue is guaranteed something.
  const Resources& queue_claim(QueueId id) const { return queue_claims_[id.index()].total; }
  // What the claims of the top queues are above what they hold: room that stays free.
  const Resources& kept_free() const { return kept_free_; }
  // What the claim of the queue would be if it held `more` itself. `more` may be below zero.
  std::int64_t ClaimWith(const QueueTree& queues, QueueId id, Kind kind, std::int64_t more) const;
  // Tasks of the limit's group in the domain.
  const BoundedCount& limit_count(LimitId limit, std::uint32_t domain) const;
  // How many more tasks of the class its limits leave on the node; a large number where none does.
  std::int32_t LimitRoom(const Facts& facts, const TaskClass& cls, NodeId node) const;

  const ChangeLog<NodeId>& node_log() const { return node_log_; }
  const ChangeLog<LimitId>& limit_log() const { return limit_log_; }

  // Takes over from `truth` the rows that its logs name since the last call.
  void CopyChanges(const Hardware& hardware, const Occupancy& truth);
  // The counts and rows alone, logs left out.
  bool SameColumns(const Occupancy& other) const;

 private:
  void ChargeClaims(const QueueTree& queues, QueueId queue, const Resources& amount, int sign,
                    KindSet kinds);
  void CopyNode(const Hardware& hardware, const Occupancy& truth, NodeId node);

  using Counts = std::unordered_map<std::uint32_t, BoundedCount>;  // by domain; none is empty

  std::vector<NodeRow> nodes_;
  std::vector<DeviceRow> devices_;
  Resources free_total_;
  Resources outside_queues_;
  std::vector<Resources> queue_own_;
  std::vector<Resources> queue_total_;
  std::vector<Resources> protected_own_, protected_total_;
  struct Claim {
    Resources total;
    Resources under;  // the sum of the totals of the queues right under it

    bool operator==(const Claim&) const = default;
  };
  std::vector<Claim> queue_claims_;  // empty while no queue is guaranteed anything
  Resources kept_free_;
  std::vector<Counts> limits_;
  std::vector<DeviceCharge> scratch_;

  ChangeLog<NodeId> node_log_;
  ChangeLog<QueueId> queue_log_;
  ChangeLog<LimitId> limit_log_;
  std::uint64_t nodes_read_ = 0, queues_read_ = 0, limits_read_ = 0;
};

}  // namespace tephra
