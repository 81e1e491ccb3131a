// Readers of the openb trace (alibaba/clusterdata, cluster-trace-gpu-v2023) and of the arrival
// orders of the FGD experiment on it.
//
// A pod list in file order is streamed; with an order, which names rows at will, its pods are kept
// in 40 bytes each and a job is made when its turn comes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulations/arrivals.h"
#include "simulations/traces/pod_shapes.h"
#include "topology/base/status.h"
#include "topology/node.h"

namespace tephra {

// Columns sn, cpu_milli, memory_mib, gpu, model; 1,001 pods a node as in the experiment.
absl::StatusOr<std::vector<NodeSpec>> ReadOpenbNodes(const std::string& path);

struct OpenbPod {
  std::string name;
  std::int64_t cpu = 0;     // milli-cores
  std::int64_t memory = 0;  // bytes
  std::int32_t gpus = 0;
  std::int32_t compute = 0;  // per mille of each, at most 1000; 0 without GPUs
  std::uint32_t models = 0;  // index into OpenbPods::models
};

struct OpenbPods {
  std::vector<OpenbPod> pods;
  std::vector<std::string> models = {""};  // "A|B" as in gpu_spec

  std::vector<ExpectedPod> Expected() const;
};

// Columns name, cpu_milli, memory_mib, num_gpu, gpu_milli and, where there is one, gpu_spec.
// `known_models`: a gpu_spec that names another is a fault.
absl::StatusOr<OpenbPods> ReadOpenbPods(const std::string& path,
                                        const std::set<std::string>& known_models);

struct OpenbOrder {
  std::vector<std::uint32_t> pods;            // rows of the pod list; one that repeats is a clone
  std::map<std::string, std::int64_t> nodes;  // name and key
};

// The number of pods, that many rows, the number of nodes, that many names with their key.
// `rows` is the length of the pod list.
absl::StatusOr<OpenbOrder> ReadOpenbOrder(const std::string& path, std::size_t rows);

// The experiment settles ties by the smallest "key-name", so nodes get these as names.
absl::Status RenameByOrder(const std::string& order_path, const OpenbOrder& order,
                           std::vector<NodeSpec>& nodes);

// Every pod is a job of one task that never ends; they come one millisecond apart.
std::unique_ptr<Arrivals> OrderedOpenbArrivals(std::shared_ptr<const OpenbPods> pods,
                                               std::shared_ptr<const OpenbOrder> order);
absl::StatusOr<std::unique_ptr<Arrivals>> StreamedOpenbArrivals(
    const std::string& path, const std::set<std::string>& known_models);

std::set<std::string> ModelsOf(const std::vector<NodeSpec>& nodes);

}  // namespace tephra
