#include "plugins/node/metrics/node_metrics.h"

#include <algorithm>

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/process_figures.h"
#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

using prometheus::ClientMetric;
using prometheus::Histogram;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Labels = std::vector<ClientMetric::Label>;

// From a nonce minted to the deadline of PreStartContainer.
const Histogram::BucketBoundaries kAllocateSeconds = {0.0001, 0.0003, 0.001, 0.003,
                                                      0.01,   0.03,   0.1,   1};
const Histogram::BucketBoundaries kPreStartSeconds = {0.003, 0.01, 0.03, 0.06, 0.1,
                                                      0.3,   1,    3,    10,   25};
constexpr double kMib = 1 << 20, kPercent = 100, kPerMille = 1000;

Histogram& Seconds(prometheus::Registry& registry, const char* name, const char* help,
                   const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

// One family of a scrape; one without series is not shown.
class Series {
 public:
  Series(const char* name, const char* help, MetricType type = MetricType::Gauge) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
  }
  void Add(Labels labels, double value) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    metric.gauge.value = value;
    metric.counter.value = value;
  }
  void MoveTo(std::vector<MetricFamily>& families) {
    if (!family_.metric.empty()) families.push_back(std::move(family_));
  }

 private:
  MetricFamily family_;
};

Labels OfGpu(std::size_t index, const Gpu& gpu) {
  return {{"gpu", std::to_string(index)}, {"uuid", gpu.hardware.uuid}};
}

Labels With(Labels labels, const char* name, std::string value) {
  labels.push_back({name, std::move(value)});
  return labels;
}

Labels OfSlice(Labels labels, const Holder& holder, SliceMode mode) {
  labels.push_back({"namespace", holder.pod_namespace});
  labels.push_back({"pod", holder.pod_name});
  labels.push_back({"container", holder.container});
  labels.push_back({"mode", ModeWord(mode)});
  return labels;
}

void AddGpus(const NodeFigures& figures, std::vector<MetricFamily>& families) {
  Series healthy("tephra_node_gpu_healthy", "1 while the GPU takes new containers.");
  Series memory("tephra_node_gpu_memory_bytes", "Memory of the GPU, in bytes.");
  Series used("tephra_node_gpu_memory_used_bytes",
              "Memory of the GPU that is in use, by the driver, in bytes.");
  Series busy("tephra_node_gpu_compute_used_ratio",
              "Share of the driver's last sample in which a kernel ran, 0 to 1.");
  Series xids("tephra_node_gpu_xids_total", "Xid errors of the GPU since this process started, by number.",
              MetricType::Counter);
  const std::vector<Gpu>& devices = figures.facts.gpus.devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Labels labels = OfGpu(i, devices[i]);
    healthy.Add(With(labels, "model", devices[i].hardware.model),
                devices[i].hardware.healthy ? 1 : 0);
    memory.Add(labels, devices[i].hardware.memory_mib * kMib);
    const Used now = i < figures.use.gpus.size() ? figures.use.gpus[i] : Used{};
    if (now.memory_bytes) used.Add(labels, static_cast<double>(*now.memory_bytes));
    if (now.compute_percent) busy.Add(labels, *now.compute_percent / kPercent);
    const auto seen = figures.xids.find(devices[i].hardware.uuid);
    if (seen == figures.xids.end()) continue;
    for (const auto& [xid, count] : seen->second) {
      xids.Add(With(labels, "xid", std::to_string(xid)), static_cast<double>(count));
    }
  }
  for (Series* series : {&healthy, &memory, &used, &busy, &xids}) series->MoveTo(families);
}

void AddSlices(const NodeFigures& figures, std::vector<MetricFamily>& families) {
  Series memory("tephra_node_slice_memory_bytes", "Memory given to a container, in bytes.");
  Series compute("tephra_node_slice_compute_ratio",
                 "Share of the GPU given to a container, 0 to 1; 0: no share is reserved.");
  Series used("tephra_node_slice_memory_used_bytes",
              "Memory that a container uses of the GPU, in bytes.");
  Series busy("tephra_node_slice_compute_used_ratio",
              "Share of the GPU that a container uses, 0 to 1.");
  Series orphans("tephra_node_orphan_slices",
                 "Slices of containers that still run although their pods are over, by GPU.");
  const std::vector<Gpu>& devices = figures.facts.gpus.devices;
  std::vector<int> orphaned(devices.size());
  for (const auto& [nonce, holding] : figures.facts.holdings) {
    for (const GrantedSlice& slice : holding.grant.slices) {
      const Labels labels =
          OfSlice(OfGpu(slice.gpu, devices[slice.gpu]), holding.grant.holder, slice.mode);
      memory.Add(labels, slice.memory_mib * kMib);
      compute.Add(labels, slice.compute / kPerMille);
      orphaned[slice.gpu] += figures.facts.orphans.count(nonce) > 0 ? 1 : 0;
      const auto now = figures.use.slices.find({nonce, slice.gpu});
      if (now == figures.use.slices.end()) continue;
      if (now->second.memory_bytes) {
        used.Add(labels, static_cast<double>(*now->second.memory_bytes));
      }
      if (now->second.compute_percent) busy.Add(labels, *now->second.compute_percent / kPercent);
    }
  }
  for (std::size_t i = 0; i < devices.size(); ++i) orphans.Add(OfGpu(i, devices[i]), orphaned[i]);
  for (Series* series : {&memory, &compute, &used, &busy, &orphans}) series->MoveTo(families);
}

void AddRest(const StatusFacts& facts, std::vector<MetricFamily>& families) {
  Series registered("tephra_node_registered", "1 while this plugin is registered with the kubelet.");
  registered.Add({}, facts.registered ? 1 : 0);
  Series answers("tephra_node_api_server_answers", "1 while the API server answers with the pods of this node.");
  answers.Add({}, facts.api_fault.empty() && facts.lists > 0 ? 1 : 0);
  Series waiting("tephra_node_pre_start_waiting",
                 "Containers whose start waits now, by cause.");
  Series waits("tephra_node_pre_start_waits_total", "Container starts that had to wait, by cause.",
               MetricType::Counter);
  for (const auto& [what, of] :
       {std::pair<const char*, const WaitFigures::Of*>{"annotation", &facts.waits.annotation},
        {"gpu", &facts.waits.gpu}}) {
    waiting.Add({{"on", what}}, of->now);
    waits.Add({{"on", what}}, static_cast<double>(of->total));
  }
  Series problems("tephra_node_problems",
                  "Problems of this node that need an operator; tephra-node status shows them.");
  for (const std::string& kind : Problems::Kinds()) {
    const auto count = std::count_if(facts.problems.begin(), facts.problems.end(),
                                     [&](const Problem& each) { return each.kind == kind; });
    problems.Add({{"kind", kind}}, static_cast<double>(count));
  }
  Series build("tephra_node_build_info", "1, with the version of this build.");
  build.Add({{"version", TEPHRA_VERSION}}, 1);
  for (Series* series : {&registered, &answers, &waiting, &waits, &problems, &build}) {
    series->MoveTo(families);
  }
}

}  // namespace

struct NodeMetrics::Families {
  explicit Families(std::function<NodeFigures()> from) : read(std::move(from)) {}

  const std::function<NodeFigures()> read;
  prometheus::Registry registry;
  Histogram& allocate = Seconds(registry, "tephra_node_allocate_duration_seconds",
                                "How long Allocate took.", kAllocateSeconds);
  Histogram& pre_start =
      Seconds(registry, "tephra_node_pre_start_duration_seconds",
              "How long PreStartContainer took, waiting included.", kPreStartSeconds);
  prometheus::Counter& refused = prometheus::BuildCounter()
                                     .Name("tephra_node_pre_start_refused_total")
                                     .Help("PreStartContainer calls that were refused.")
                                     .Register(registry)
                                     .Add({});
  ProcessFigures process;
};

NodeMetrics::NodeMetrics(std::function<NodeFigures()> read)
    : families_(std::make_unique<Families>(std::move(read))) {}
NodeMetrics::~NodeMetrics() = default;

void NodeMetrics::Allocated(double seconds) { families_->allocate.Observe(seconds); }

void NodeMetrics::PreStarted(double seconds, bool refused) {
  families_->pre_start.Observe(seconds);
  if (refused) families_->refused.Increment();
}

std::string NodeMetrics::Text() const {
  const NodeFigures figures = families_->read();
  std::vector<MetricFamily> families = families_->registry.Collect();
  AddGpus(figures, families);
  AddSlices(figures, families);
  AddRest(figures.facts, families);
  for (MetricFamily& family : families_->process.Collect()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tephra::node
