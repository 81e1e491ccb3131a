// Hardware: the part of the cluster that seldom changes: the nodes with their devices, and the
// order of the nodes.
//
// NodeIds are stable slots: a node that returns gets its old slot. Ranks follow the fabric, and
// names in byte order within it. Ranks settle every tie, so decisions do not depend on the order in
// which nodes became known. Owned by State. One owner thread.
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
  // `models`: models with a kind of their own.
  NodeId Upsert(const NodeSpec& spec, const ModelKinds& models = {});
  void Remove(NodeId id);

  // The slot of a name, made on first use, because tasks may name a node before it is known.
  NodeId Reserve(const std::string& name);
  NodeId Find(const std::string& name) const;  // invalid if the node is not present (any more)

  std::size_t slots() const { return nodes_.size(); }
  bool present(NodeId id) const { return nodes_[id.index()].present; }
  const NodeSpec& spec(NodeId id) const { return nodes_[id.index()].spec; }
  // Allocatable resources, with kGpu, kGpuMemory and the kinds of models over healthy devices.
  const Resources& capacity(NodeId id) const { return nodes_[id.index()].capacity; }
  std::size_t first_device(NodeId id) const { return nodes_[id.index()].first_device; }
  std::size_t device_count(NodeId id) const { return nodes_[id.index()].spec.devices.size(); }
  std::size_t device_rows() const { return device_rows_; }
  // Nodes with equal numbers are equal to every rule that names no host: equal labels but for the
  // hostname, equal taints, equal device models, equally schedulable.
  std::uint32_t likeness(NodeId id) const { return nodes_[id.index()].likeness; }
  std::uint32_t likenesses() const { return static_cast<std::uint32_t>(likeness_.size()); }
  // Whether its devices differ in model or in how they may be shared.
  bool mixed_models(NodeId id) const { return nodes_[id.index()].mixed_models; }
  // Whether each of its devices allows whole use and any number of fractions.
  bool usual_modes(NodeId id) const { return nodes_[id.index()].usual_modes; }
  // By device, a set with the kind that counts its model; 0 if there is no such kind. Empty if no
  // device has one.
  const std::vector<KindSet>& model_kinds(NodeId id) const {
    return nodes_[id.index()].model_kinds;
  }
  // Which of its devices to take together; null if their links are unknown.
  const GpuSets* gpu_sets(NodeId id) const { return nodes_[id.index()].gpu_sets.get(); }
  // By device, the possible places of MIG instances; null if the device is not partitioned by MIG.
  // Empty if no device is.
  const std::vector<const MigPlacements*>& mig(NodeId id) const { return nodes_[id.index()].mig; }
  // A new number for each change of the node; never 0 for a present node.
  std::uint32_t spec_version(NodeId id) const { return nodes_[id.index()].spec_version; }

  // REQUIRES: ValidateDomain is OK.
  void UpsertDomain(const DomainSpec& spec);
  void RemoveDomain(const std::string& name);
  const std::map<std::string, DomainSpec>& domain_specs() const { return domain_specs_; }
  // As of the last Settle().
  const Fabric& fabric() const { return fabric_; }

  // The present nodes in the order of the fabric: near nodes are adjacent, then by name. REQUIRES:
  // Settle() after changes, before any rank is read.
  void Settle();
  std::uint32_t rank(NodeId id) const { return nodes_[id.index()].rank; }
  const std::vector<NodeId>& ranked() const { return ranked_; }

  // version grows with every change. order_version grows only when ranks shift, because a node was
  // added or removed or a domain changed, and when likenesses get new numbers.
  std::uint64_t version() const { return version_; }
  std::uint64_t order_version() const { return order_version_; }

  // Sums over present nodes.
  const Resources& total() const { return total_; }

  // Label domains: the values of a topology key, numbered on first use. The hostname key numbers
  // nodes, and with kClusterKey all nodes are domain 0.
  static constexpr std::uint32_t kNoDomain = 0xffffffffu;
  // Starts to index the key; idempotent.
  void FollowKey(const std::string& key);
  // REQUIRES: the key is indexed. kNoDomain if the node lacks the label.
  std::uint32_t domain(const std::string& key, NodeId id) const;

 private:
  struct Node {
    NodeSpec spec;
    Resources capacity;
    std::vector<KindSet> model_kinds;
    std::shared_ptr<const GpuSets> gpu_sets;
    std::vector<const MigPlacements*> mig;
    std::size_t first_device = 0;
    std::size_t device_room = 0;  // rows reserved from first_device on
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
