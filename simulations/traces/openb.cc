#include "simulations/traces/openb.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "base/bad_input.h"
#include "base/quantity.h"
#include "base/text_file.h"
#include "simulations/traces/csv.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostMiB = kMostQuantity / kMiB;
constexpr std::int64_t kPodsPerNode = 1001;

// Reads the rows of a pod list one by one.
class PodRows {
 public:
  static absl::StatusOr<PodRows> Open(const std::string& path,
                                      const std::set<std::string>& known_models) {
    TEPHRA_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(path, {"name", "cpu_milli", "memory_mib",
                                                                  "num_gpu", "gpu_milli"}));
    PodRows rows(std::move(csv), known_models);
    rows.has_spec_ = rows.csv_.Column("gpu_spec").ok();
    return rows;
  }

  // Reads the next pod with its gpu_spec; false at the end.
  absl::StatusOr<bool> Next(OpenbPod& pod, std::string& spec) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv_.Next());
    if (!more) return false;
    pod.name = csv_.Text(0);
    if (pod.name.empty()) return csv_.Wrong(0, "a name");
    if (!names_.insert(pod.name).second) return csv_.Wrong(0, "a unique name");
    TEPHRA_ASSIGN_OR_RETURN(pod.cpu, csv_.Whole(1, 0, kMostQuantity));
    TEPHRA_ASSIGN_OR_RETURN(const std::int64_t mib, csv_.Whole(2, 0, kMostMiB));
    TEPHRA_ASSIGN_OR_RETURN(const std::int64_t gpus, csv_.Whole(3, 0, 1024));
    TEPHRA_ASSIGN_OR_RETURN(const std::int64_t milli, csv_.Whole(4, 0, kMostQuantity));
    if (gpus > 0 && milli == 0) return csv_.Wrong(4, "more than 0, because num_gpu is more than 0");
    pod.memory = mib * kMiB;
    pod.gpus = static_cast<std::int32_t>(gpus);
    pod.compute = gpus == 0 ? 0 : static_cast<std::int32_t>(std::min(milli, kWholeGpu));
    spec = has_spec_ && gpus > 0 ? csv_.Text(5) : std::string();
    for (const std::string& model : SplitModels(spec)) {
      if (!known_.contains(model))
        return csv_.Wrong(5, "GPU models of the cluster; no node has " + model);
    }
    return true;
  }

 private:
  PodRows(CsvReader csv, const std::set<std::string>& known)
      : csv_(std::move(csv)), known_(known) {}

  CsvReader csv_;
  std::set<std::string> known_;
  std::unordered_set<std::string> names_;
  bool has_spec_ = false;
};

Arrival MakeArrival(const OpenbPod& pod, const std::string& spec, TimeMs at, std::string name) {
  Arrival arrival;
  arrival.at = at;
  JobSpec& job = arrival.job;
  job.uid = std::move(name);
  job.name = job.uid;
  job.queue = "default";
  job.created = at;
  RoleSpec& role = job.gang.roles.emplace_back();
  role.name = "pod";
  role.min = 1;
  ContainerSpec& container = role.pod.containers.emplace_back();
  container.name = "main";
  container.requests[kCpu] = pod.cpu;
  container.requests[kMemory] = pod.memory;
  if (pod.gpus > 0) container.devices = {pod.gpus, pod.compute, 0};
  role.pod.constraints.device_models = SplitModels(spec);
  return arrival;
}

class Ordered final : public Arrivals {
 public:
  Ordered(std::shared_ptr<const OpenbPods> pods, std::shared_ptr<const OpenbOrder> order)
      : pods_(std::move(pods)), order_(std::move(order)), seen_(pods_->pods.size(), 0) {}

  absl::StatusOr<bool> Next(Arrival& out) override {
    if (next_ == order_->pods.size()) return false;
    const std::uint32_t row = order_->pods[next_];
    const OpenbPod& pod = pods_->pods[row];
    std::string name = pod.name;
    if (seen_[row]++ > 0) name.append("-clone-").append(std::to_string(seen_[row] - 1));
    out = MakeArrival(pod, pods_->models[pod.models], static_cast<TimeMs>(next_), std::move(name));
    ++next_;
    return true;
  }
  double part() const override { return PartOf(next_, order_->pods.size()); }

 private:
  std::shared_ptr<const OpenbPods> pods_;
  std::shared_ptr<const OpenbOrder> order_;
  std::vector<std::uint32_t> seen_;
  std::size_t next_ = 0;
};

class Streamed final : public Arrivals {
 public:
  explicit Streamed(PodRows rows) : rows_(std::move(rows)) {}

  absl::StatusOr<bool> Next(Arrival& out) override {
    OpenbPod pod;
    std::string spec;
    TEPHRA_ASSIGN_OR_RETURN(const bool more, rows_.Next(pod, spec));
    if (more) out = MakeArrival(pod, spec, next_++, pod.name);
    return more;
  }
  double part() const override { return 0; }

 private:
  PodRows rows_;
  TimeMs next_ = 0;
};

// Reads the lines of an order file.
class OrderLines {
 public:
  explicit OrderLines(LineReader reader) : reader_(std::move(reader)) {}

  absl::StatusOr<std::string> Next(const std::string& expected) {
    std::string text;
    TEPHRA_ASSIGN_OR_RETURN(const bool more, reader_.Next(text));
    if (!more) {
      return BadInput(reader_.path(), reader_.line(), "", "end of file", expected);
    }
    if (!reader_.ended()) {
      return BadInput(reader_.path(), reader_.line(), "", text,
                      "an end of line (the file may be truncated)");
    }
    return text;
  }
  absl::StatusOr<std::int64_t> Number(const std::string& what, std::int64_t most) {
    const std::string expected = what + ", a whole number from 0 to " + std::to_string(most);
    TEPHRA_ASSIGN_OR_RETURN(const std::string text, Next(expected));
    return Number(text, expected, most);
  }
  absl::StatusOr<std::int64_t> Number(const std::string& text, const std::string& expected,
                                      std::int64_t most) {
    const auto value = ParseWhole(text);
    if (value && *value >= 0 && *value <= most) return *value;
    return BadInput(reader_.path(), reader_.line(), "", text, expected);
  }
  absl::Status Wrong(const std::string& text, const std::string& expected) {
    return BadInput(reader_.path(), reader_.line(), "", text, expected);
  }
  absl::Status ExpectEnd() {
    std::string text;
    TEPHRA_ASSIGN_OR_RETURN(const bool more, reader_.Next(text));
    return more ? Wrong(text, "the end of the file") : absl::OkStatus();
  }

 private:
  LineReader reader_;
};

}  // namespace

absl::StatusOr<std::vector<NodeSpec>> ReadOpenbNodes(const std::string& path) {
  TEPHRA_ASSIGN_OR_RETURN(CsvReader csv,
                          CsvReader::Open(path, {"sn", "cpu_milli", "memory_mib", "gpu", "model"}));
  std::vector<NodeSpec> nodes;
  std::unordered_set<std::string> names;
  std::int64_t cpu = 0, memory = 0;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv.Next());
    if (!more) return nodes;
    NodeSpec& node = nodes.emplace_back();
    node.name = csv.Text(0);
    if (node.name.empty()) return csv.Wrong(0, "a name");
    if (!names.insert(node.name).second) return csv.Wrong(0, "a unique name");
    TEPHRA_ASSIGN_OR_RETURN(node.allocatable[kCpu], csv.Whole(1, 0, kMostQuantity));
    TEPHRA_ASSIGN_OR_RETURN(const std::int64_t mib, csv.Whole(2, 0, kMostMiB));
    TEPHRA_ASSIGN_OR_RETURN(const std::int64_t gpus, csv.Whole(3, 0, 1024));
    node.allocatable[kMemory] = mib * kMiB;
    node.allocatable[kPods] = kPodsPerNode;
    DeviceHardware device;
    device.model = csv.Text(4);
    node.devices.assign(static_cast<std::size_t>(gpus), device);
    // Sums over the cluster stay within 64 bits.
    cpu += node.allocatable[kCpu];
    memory += node.allocatable[kMemory];
    if (cpu > 1000 * kMostQuantity) return csv.Wrong(1, "at most 10^18 milli-cores in total");
    if (memory > 1000 * kMostQuantity) return csv.Wrong(2, "at most 10^18 bytes in total");
    if (nodes.size() > 1'000'000) return csv.Wrong(0, "at most 1000000 nodes");
  }
}

absl::StatusOr<OpenbPods> ReadOpenbPods(const std::string& path,
                                        const std::set<std::string>& known_models) {
  TEPHRA_ASSIGN_OR_RETURN(PodRows rows, PodRows::Open(path, known_models));
  OpenbPods list;
  std::unordered_map<std::string, std::uint32_t> models = {{"", 0}};
  OpenbPod pod;
  std::string spec;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, rows.Next(pod, spec));
    if (!more) return list;
    const auto [known, fresh] =
        models.try_emplace(spec, static_cast<std::uint32_t>(list.models.size()));
    if (fresh) list.models.push_back(spec);
    pod.models = known->second;
    list.pods.push_back(pod);
  }
}

std::vector<ExpectedPod> OpenbPods::Expected() const {
  PodShapes shapes;
  for (const OpenbPod& pod : pods) shapes.Add({pod.cpu, pod.compute, pod.gpus, models[pod.models]});
  return shapes.Expected();
}

absl::StatusOr<OpenbOrder> ReadOpenbOrder(const std::string& path, std::size_t rows) {
  TEPHRA_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  OrderLines lines(std::move(reader));
  constexpr std::int64_t kMost = 100'000'000;
  OpenbOrder order;
  TEPHRA_ASSIGN_OR_RETURN(const std::int64_t pods, lines.Number("the number of pods", kMost));
  for (std::int64_t i = 0; i < pods; ++i) {
    TEPHRA_ASSIGN_OR_RETURN(
        const std::int64_t row,
        lines.Number("a row of the pod list", static_cast<std::int64_t>(rows) - 1));
    order.pods.push_back(static_cast<std::uint32_t>(row));
  }
  TEPHRA_ASSIGN_OR_RETURN(const std::int64_t nodes, lines.Number("the number of nodes", kMost));
  for (std::int64_t i = 0; i < nodes; ++i) {
    TEPHRA_ASSIGN_OR_RETURN(const std::string text, lines.Next("a node name and its key"));
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || space == 0)
      return lines.Wrong(text, "a node name and its key");
    TEPHRA_ASSIGN_OR_RETURN(const std::int64_t key,
                            lines.Number(text.substr(space + 1), "a node name and its key", kMost));
    if (!order.nodes.try_emplace(text.substr(0, space), key).second) {
      return lines.Wrong(text, "a unique name");
    }
  }
  TEPHRA_RETURN_IF_ERROR(lines.ExpectEnd());
  return order;
}

absl::Status RenameByOrder(const std::string& order_path, const OpenbOrder& order,
                           std::vector<NodeSpec>& nodes) {
  for (NodeSpec& node : nodes) {
    const auto key = order.nodes.find(node.name);
    if (key == order.nodes.end()) {
      return BadInput(order_path, 0, "nodes", node.name, "a key for every node of the node list");
    }
    char prefix[32];
    std::snprintf(prefix, sizeof prefix, "%04lld-", static_cast<long long>(key->second));
    node.name = prefix + node.name;
  }
  return absl::OkStatus();
}

std::unique_ptr<Arrivals> OrderedOpenbArrivals(std::shared_ptr<const OpenbPods> pods,
                                               std::shared_ptr<const OpenbOrder> order) {
  return std::make_unique<Ordered>(std::move(pods), std::move(order));
}

absl::StatusOr<std::unique_ptr<Arrivals>> StreamedOpenbArrivals(
    const std::string& path, const std::set<std::string>& known_models) {
  TEPHRA_ASSIGN_OR_RETURN(PodRows rows, PodRows::Open(path, known_models));
  return std::unique_ptr<Arrivals>(std::make_unique<Streamed>(std::move(rows)));
}

std::set<std::string> ModelsOf(const std::vector<NodeSpec>& nodes) {
  std::set<std::string> models;
  for (const NodeSpec& node : nodes) {
    for (const DeviceHardware& device : node.devices) models.insert(device.model);
  }
  return models;
}

}  // namespace tephra
