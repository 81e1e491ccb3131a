#include "simulations/workload/trace_workload.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tephra {
namespace {

constexpr std::int64_t kUsualGpus = 8;
constexpr std::int64_t kUsualMemory = 768 * 1024 * kMiB;
constexpr std::int64_t kUsualPods = 110;
constexpr std::int32_t kUsualDeviceMiB = 80 * 1024;
constexpr std::int64_t kMostNodes = 1'000'000;
// The number of jobs that are sampled for the typical pods.
constexpr int kJobsForShapes = 10'000;

// True if a task is a GPU or a processor, of which a node has several. A task of Alea is a node.
bool TasksAreParts(TraceForm form) { return form != TraceForm::kAlea; }
bool HasGpus(TraceForm form) { return HasHeaderRow(form); }

std::int64_t PerNode(const TraceWorkload& workload, const TraceReader& reader) {
  if (workload.node_size > 0) return workload.node_size;
  return HasGpus(reader.form()) ? kUsualGpus : reader.processors_per_node();
}

// Seven digits of base 36. The texts sort in the order of submission, and the uid of a task is
// short enough for the small-string optimization ("000001a/node/0").
std::string OrdinalText(std::uint64_t ordinal) {
  std::string text(7, '0');
  for (std::size_t at = text.size(); at-- > 0; ordinal /= 36) {
    text[at] = "0123456789abcdefghijklmnopqrstuvwxyz"[ordinal % 36];
  }
  return text;
}

// The time divided by the load in thousandths, without overflow.
TimeMs Compressed(TimeMs time, std::int64_t load) {
  return time / load * 1000 + time % load * 1000 / load;
}

// The conversion of jobs that both sources share.
class JobArrivals : public Arrivals {
 public:
  // `form` defines what a task is, of at most `per_node` GPUs or processors.
  JobArrivals(TraceWorkload workload, TraceForm form, std::int64_t per_node)
      : workload_(std::move(workload)), form_(form), per_node_(per_node) {}

 protected:
  // job_ as a gang.
  void Make(Arrival& out) {
    out = Arrival{};
    out.at = Compressed(job_.submit, workload_.load);
    out.run = RunOf(job_);
    out.fails_whole = workload_.fails_whole;
    JobSpec& job = out.job;
    job.uid = OrdinalText(next_++);
    job.name = job_.id;
    job.queue = job_.queue.empty() ? "default" : job_.queue;
    job.user = job_.user;
    job.image = job_.executable;
    job.created = out.at;
    job.movable = workload_.movable;
    job.preemptible = workload_.preemptible;
    const DurationMs expected =
        workload_.estimate == Estimate::kRun ? *out.run : std::max<DurationMs>(job_.requested, 0);
    if (workload_.estimate == Estimate::kRun || job_.requested != kNotKnown) {
      job.estimated_runtime_ms = std::max<DurationMs>(expected, 1);  // 0 means unknown
    }
    if (!TasksAreParts(form_)) {
      AddRole("node", job_.tasks, job_.cpus, job_.gpus, job);
    } else {
      const bool gpus = HasGpus(form_);
      const auto add = [&](const char* name, std::int64_t tasks, std::int64_t size) {
        if (tasks > 0 && size > 0) AddRole(name, tasks, gpus ? 0 : size, gpus ? size : 0, job);
      };
      add("node", job_.tasks / per_node_, per_node_);
      add("rest", 1, job_.tasks % per_node_);
    }
    for (const RoleSpec& role : job.gang.roles) job.gang.min_member += role.min;
  }

  std::uint64_t given() const { return next_; }

  TraceJob job_;

 private:
  DurationMs RunOf(const TraceJob& job) const {
    DurationMs run = job.run != kNotKnown ? job.run : std::max<DurationMs>(job.requested, 0);
    if (workload_.clamp_to_requested && job.requested != kNotKnown)
      run = std::min(run, job.requested);
    return std::max(run, workload_.min_runtime);
  }

  void AddRole(const char* name, std::int64_t tasks, std::int64_t cpus, std::int64_t gpus,
               JobSpec& job) const {
    if (job.gang.roles.empty()) job.gang.min_member = 0;
    RoleSpec& role = job.gang.roles.emplace_back();
    role.name = name;
    role.replicas = role.min = static_cast<std::int32_t>(tasks);
    ContainerSpec& container = role.pod.containers.emplace_back();
    container.name = "main";
    container.requests[kCpu] = cpus * 1000;
    if (gpus > 0) container.devices.count = static_cast<std::int32_t>(gpus);
    // A job of Alea without a property may run anywhere.
    const std::string& partition =
        job_.partition.empty() && TasksAreParts(form_) ? job_.queue : job_.partition;
    if (!workload_.partition_label.empty() && !partition.empty()) {
      role.pod.constraints.selector[workload_.partition_label] = partition;
    }
  }

  TraceWorkload workload_;
  TraceForm form_;
  std::int64_t per_node_;
  std::uint64_t next_ = 0;
};

class TraceArrivals final : public JobArrivals {
 public:
  TraceArrivals(TraceWorkload workload, TraceReader reader, std::int64_t per_node)
      : JobArrivals(std::move(workload), reader.form(), per_node), reader_(std::move(reader)) {}

  absl::StatusOr<bool> Next(Arrival& out) override {
    while (true) {
      TEPHRA_ASSIGN_OR_RETURN(const TraceStep step, reader_.Next(job_, fault_));
      reading_.records = reader_.records();
      if (step == TraceStep::kEnd) return false;
      if (step == TraceStep::kJob) break;
      reading_.faults.Add(fault_);
    }
    Make(out);
    return true;
  }
  double part() const override { return reader_.part(); }
  const TraceReading* reading() const override { return &reading_; }

 private:
  TraceReader reader_;
  TraceReading reading_;
  TraceFault fault_;
};

class ModelArrivals final : public JobArrivals {
 public:
  explicit ModelArrivals(const TraceWorkload& workload)
      : JobArrivals(workload, TraceForm::kPhilly,
                    workload.node_size > 0 ? workload.node_size : kUsualGpus),
        jobs_(*workload.model),
        total_(static_cast<std::uint64_t>(workload.model->jobs)) {}

  absl::StatusOr<bool> Next(Arrival& out) override {
    if (!jobs_.Next(job_)) return false;
    Make(out);
    return true;
  }
  double part() const override { return PartOf(given(), total_); }

 private:
  ModelJobs jobs_;
  std::uint64_t total_;
};

NodeSpec MadeNode(std::string name, std::int64_t cpus, std::int64_t gpus) {
  NodeSpec node;
  node.name = std::move(name);
  node.allocatable[kCpu] = cpus * 1000;
  node.allocatable[kMemory] = kUsualMemory;
  node.allocatable[kPods] = std::max(kUsualPods, cpus);
  DeviceHardware device;
  device.memory_mib = kUsualDeviceMiB;
  node.devices.assign(static_cast<std::size_t>(gpus), device);
  node.labels[kHostnameKey] = node.name;
  return node;
}

absl::Status NoMachine(const TraceWorkload& workload, const std::string& why) {
  return absl::InvalidArgumentError(workload.path + ": " + why +
                                    ", expected a cluster section in the file");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Arrivals>> OpenTrace(TraceWorkload workload,
                                                    const std::vector<NodeSpec>& nodes) {
  MachinePart all{"", kNotKnown, 0, 0};
  for (const NodeSpec& node : nodes) {
    all.cpus += node.allocatable[kCpu] / 1000;
    all.gpus += static_cast<std::int64_t>(node.devices.size());
  }
  if (workload.model) {
    workload.model->largest = std::max<std::int64_t>(all.gpus, 1);
    return std::unique_ptr<Arrivals>(std::make_unique<ModelArrivals>(workload));
  }
  // A job must not have more tasks than the engine allows.
  const std::int64_t most = kMaxTasks * std::max<std::int64_t>(workload.node_size, 1);
  all.cpus = std::min(all.cpus, most);
  if (!nodes.empty()) workload.options.machine.parts = {all};
  TEPHRA_ASSIGN_OR_RETURN(TraceReader reader, TraceReader::Open(workload.path, workload.options));
  std::int64_t per_node = PerNode(workload, reader);
  // Nodes may be smaller than the header says.
  const bool fits = std::any_of(nodes.begin(), nodes.end(), [&](const NodeSpec& node) {
    return node.allocatable[kCpu] / 1000 >= per_node;
  });
  if (workload.node_size == 0 && !HasGpus(reader.form()) && !fits) per_node = 1;
  return std::unique_ptr<Arrivals>(
      std::make_unique<TraceArrivals>(std::move(workload), std::move(reader), per_node));
}

absl::StatusOr<std::vector<NodeSpec>> NodesOfTrace(const TraceWorkload& workload) {
  TEPHRA_ASSIGN_OR_RETURN(const TraceReader reader,
                          TraceReader::Open(workload.path, workload.options));
  std::vector<NodeSpec> nodes;
  const bool named = reader.machine().parts.size() > 1;
  for (std::size_t p = 0; p < reader.machine().parts.size(); ++p) {
    const MachinePart& part = reader.machine().parts[p];
    const std::int64_t node_size =
        part.tasks > 0 ? part.cpus / part.tasks : PerNode(workload, reader);
    if (part.cpus <= 0 || node_size <= 0) continue;
    const std::int64_t count = (part.cpus + node_size - 1) / node_size;
    if (count > kMostNodes) {
      return NoMachine(workload, "a machine of " + std::to_string(count) + " nodes, at most " +
                                     std::to_string(kMostNodes));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      // The last node has the remaining processors.
      const std::int64_t cpus = std::min(node_size, part.cpus - i * node_size);
      NodeSpec node = MadeNode((named ? "n-" + std::to_string(p) : "n") + "-" + std::to_string(i),
                               cpus, part.tasks > 0 ? part.gpus / part.tasks : 0);
      if (!workload.partition_label.empty() && !part.name.empty()) {
        node.labels[workload.partition_label] = part.name;
      }
      nodes.push_back(std::move(node));
    }
  }
  if (nodes.empty()) return NoMachine(workload, "the trace does not describe its machine");
  return nodes;
}

absl::StatusOr<PodShapes> ShapesOfTrace(const TraceWorkload& workload,
                                        const std::vector<NodeSpec>& nodes) {
  PodShapes shapes;
  std::error_code ignored;
  if (!workload.model && !std::filesystem::is_regular_file(workload.path, ignored)) return shapes;
  TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<Arrivals> first, OpenTrace(workload, nodes));
  Arrival arrival;
  for (int j = 0; j < kJobsForShapes; ++j) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, first->Next(arrival));
    if (!more) break;
    for (const RoleSpec& role : arrival.job.gang.roles) {
      shapes.Add(ShapeOf(role.pod), role.replicas);
    }
  }
  return shapes;
}

}  // namespace tephra
