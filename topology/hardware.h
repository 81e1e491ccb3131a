// Hardware: the half of the cluster that seldom changes: every node's description, its devices,
// and its place among the others.
//
// NodeIds are stable slots; a name gets its old slot back when the node returns. Ranks follow the
// fabric, and in it the byte order of names, and settle every tie, so that decisions do not depend
// on the order in which nodes became known. One owner thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.h"
#include "topology/fabric.h"
#include "topology/gpu_sets.h"
#include "topology/mig.h"
#include "topology/node.h"

namespace tephra {

class Hardware {
 public:
  // REQUIRES: no charge is outstanding on the node (State detaches its tasks around a change).
  // `models`: those that are counted by themselves.
  NodeId Upsert(const NodeSpec& spec, const ModelKinds& models = {});
  void Remove(NodeId id);

  // The slot of a name, reserved on first sight: tasks may name a node before it is known.
  NodeId Reserve(const std::string& name);
  NodeId Find(const std::string& name) const;  // invalid when not (or no longer) present

  std::size_t slots() const { return nodes_.size(); }
  bool present(NodeId id) const { return nodes_[id.index()].present; }
  const NodeSpec& spec(NodeId id) const { return nodes_[id.index()].spec; }
  // Allocatable, with kGpu, kGpuMemory and the kinds of models summed over healthy devices.
  const Resources& capacity(NodeId id) const { return nodes_[id.index()].capacity; }
  std::size_t first_device(NodeId id) const { return nodes_[id.index()].first_device; }
  std::size_t device_count(NodeId id) const { return nodes_[id.index()].spec.devices.size(); }
  std::size_t device_rows() const { return device_rows_; }
  // Nodes of one number are alike to every rule that does not name a host: same labels but for the
  // hostname, same taints, same device models, all schedulable or none.
  std::uint32_t likeness(NodeId id) const { return nodes_[id.index()].likeness; }
  std::uint32_t likenesses() const { return static_cast<std::uint32_t>(likeness_.size()); }
  // Its devices are of more than one model, or may be used in different ways.
  bool mixed_models(NodeId id) const { return nodes_[id.index()].mixed_models; }
  // Every device of it may be had whole and in fractions, of which there is no most.
  bool usual_modes(NodeId id) const { return nodes_[id.index()].usual_modes; }
  // By device, the kind that counts its model, in a set of its own: 0 where none does. Empty where
  // that is so for all of them.
  const std::vector<KindSet>& model_kinds(NodeId id) const {
    return nodes_[id.index()].model_kinds;
  }
  // Which of its devices to take together; null where their links are not known.
  const GpuSets* gpu_sets(NodeId id) const { return nodes_[id.index()].gpu_sets.get(); }
  // By device, where MIG instances may lie on it, null where it is not cut by MIG; empty where that
  // is so for all of them.
  const std::vector<const MigPlacements*>& mig(NodeId id) const { return nodes_[id.index()].mig; }
  // Another number each time the node's description changes; never 0 for a node present.
  std::uint32_t spec_version(NodeId id) const { return nodes_[id.index()].spec_version; }

  // REQUIRES: ValidateDomain is OK.
  void UpsertDomain(const DomainSpec& spec);
  void RemoveDomain(const std::string& name);
  const std::map<std::string, DomainSpec>& domain_specs() const { return domain_specs_; }
  // As of the last Settle().
  const Fabric& fabric() const { return fabric_; }

  // Nodes present, in the order of the fabric: those near each other side by side, and by name
  // where it tells none apart. Settle() after changes, before any rank is read.
  void Settle();
  std::uint32_t rank(NodeId id) const { return nodes_[id.index()].rank; }
  const std::vector<NodeId>& ranked() const { return ranked_; }

  // Grows with every change; order_version only when a node came or went or a domain changed, for
  // then ranks shift, or when likenesses were numbered anew.
  std::uint64_t version() const { return version_; }
  std::uint64_t order_version() const { return order_version_; }

  // Sums over present nodes.
  const Resources& total() const { return total_; }

  // Domains: the values of a topology key, numbered as they come. The hostname key numbers nodes.
  static constexpr std::uint32_t kNoDomain = 0xffffffffu;
  // Starts to follow the key; idempotent.
  void FollowKey(const std::string& key);
  // REQUIRES: the key is followed. kNoDomain where the node lacks the label.
  std::uint32_t domain(const std::string& key, NodeId id) const;

 private:
  struct Node {
    NodeSpec spec;
    Resources capacity;
    std::vector<KindSet> model_kinds;
    std::shared_ptr<const GpuSets> gpu_sets;
    std::vector<const MigPlacements*> mig;
    std::size_t first_device = 0;
    std::size_t device_room = 0;  // rows set aside from first_device on
    std::uint32_t rank = 0;
    std::uint32_t spec_version = 0;
    std::uint32_t likeness = 0;
    bool present = false;
    bool mixed_models = false;
    bool usual_modes = false;
  };
  struct Key {
    std::unordered_map<std::string, std::uint32_t> values;
    std::vector<std::uint32_t> by_node;
  };
  void PlaceInDomains(NodeId id);
  void NumberLikeness(Node& node);
  void RenumberLikenesses();

  std::vector<Node> nodes_;
  std::unordered_map<std::string, NodeId> by_name_;
  std::unordered_map<std::string, std::uint32_t> likeness_;  // by what the rules look at
  std::map<std::string, DomainSpec> domain_specs_;           // by name
  Fabric fabric_;
  std::vector<NodeId> ranked_;
  std::unordered_map<std::string, Key> keys_;
  SharedGpuSets gpu_sets_;
  SharedMigPlacements mig_;
  Resources total_;
  std::size_t device_rows_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t order_version_ = 0;
  bool settled_ = true;
};

}  // namespace tephra
