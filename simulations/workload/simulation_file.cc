#include "simulations/workload/simulation_file.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/text_file.h"
#include "simulations/traces/alea.h"
#include "simulations/traces/pod_shapes.h"
#include "simulations/workload/sections.h"

namespace tephra {
namespace {

// Sorts jobs or events, with their places in the file, by time and then by place.
template <class Dated>
void SortByTime(std::vector<Dated>& things, std::vector<Item>* items) {
  std::vector<std::size_t> order(things.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return things[a].at < things[b].at; });
  std::vector<Dated> sorted;
  std::vector<Item> sorted_items;
  sorted.reserve(things.size());
  for (std::size_t i : order) {
    sorted.push_back(std::move(things[i]));
    if (items != nullptr) sorted_items.push_back((*items)[i]);
  }
  things = std::move(sorted);
  if (items != nullptr) *items = std::move(sorted_items);
}

// A job with whole devices also used their memory: the average per device.
void AddGpuMemory(const std::vector<NodeSpec>& nodes, Memory& past) {
  double devices = 0, memory_mib = 0;
  for (const NodeSpec& node : nodes) {
    for (const DeviceHardware& device : node.devices) ++devices, memory_mib += device.memory_mib;
  }
  if (devices == 0) return;
  const auto add = [&](std::vector<RememberedAmount>& spent) {
    spent.push_back({"gpu-memory", spent[0].spent / kWholeGpu * (memory_mib / devices)});
  };
  for (RememberedQueue& queue : past.queues) {
    add(queue.spent);
    for (RememberedUser& user : queue.users) add(user.spent);
  }
}

}  // namespace

std::string Resolved(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

LargeGangs ReadLargeGangs(const Item& item) {
  LargeGangs large;
  Fields fields(item);
  fields.Whole("gpus", large.gpus, 1);
  fields.Whole("tasks", large.tasks, 1);
  fields.Done();
  if (large.gpus == 0 && large.tasks == 0) item.Wrong("gpus, tasks, or both");
  return large;
}

std::string Sections::Input(const std::string& path) {
  return inputs.emplace_back(Resolved(file, path));
}

namespace {

class Loader {
 public:
  Loader(const std::string& path, Yaml::Ptr root, TraceChoice choice = {})
      : wrong_(path), choice_(std::move(choice)) {
    simulation_.file = sections_.file = path;
    simulation_.document = std::move(root);
  }

  absl::StatusOr<Simulation> Load(const std::vector<std::string>& extra_keys) {
    Fields top({simulation_.document.get(), "", &wrong_});
    for (const std::string& key : extra_keys) top.At(key);
    std::string why;
    top.Text("name", simulation_.name);
    top.Text("why", why);
    const Item workload = top.At("workload");
    ReadTrace(workload);
    const bool tells_machine = simulation_.trace && !simulation_.trace->model;
    ReadClusterSection(tells_machine ? top.At("cluster") : top.Need("cluster"));
    // Before the queues, because the policies set the default of their dequeue strategy.
    const Item policies = top.At("policies");
    PolicySettings settings;
    if (policies.node != nullptr) settings = ReadPolicies(policies);
    simulation_.config = std::move(settings.config);
    simulation_.dequeue = sections_.dequeue = settings.dequeue.value_or(Dequeue::kTraverse);
    const Item queues = top.At("queues");
    if (queues.node != nullptr) ReadQueues(sections_, queues, simulation_.queues, simulation_.past);
    if (sections_.queues.insert("default").second) {
      QueueSpec usual;
      usual.name = "default";
      usual.dequeue = sections_.dequeue;
      simulation_.queues.push_back(usual);
    }
    const Item jobs = top.At("jobs");
    if (jobs.node != nullptr) ReadJobList(jobs);
    if (workload.node != nullptr) {
      if (jobs.node != nullptr) workload.Wrong("either jobs or workload, not both");
      ReadWorkload(workload);
    }
    if (queues.node == nullptr) AddQueuesOfJobs();
    simulation_.queues_of_jobs = queues.node == nullptr && simulation_.trace.has_value();
    AddGpuMemory(simulation_.nodes, simulation_.past);
    simulation_.past.half_life_ms = simulation_.config.usage_half_life_ms;
    if (wrong_.ok() && !simulation_.past.queues.empty() && simulation_.past.half_life_ms == 0) {
      queues.Wrong("policies.usage_half_life as well: past_usage has no effect without it");
    }
    ReadEvents(top.At("events"));
    top.Duration("eviction_grace", simulation_.eviction_grace);
    const Item restarts = top.At("restarts"), failures = top.At("failures");
    if (restarts.node != nullptr) simulation_.restarts = ReadRestarts(restarts);
    if (failures.node != nullptr) simulation_.failures = ReadFailures(failures);
    const Item until = top.At("until");
    DurationMs end = 0;
    if (until.node != nullptr && ReadDuration(until, end)) simulation_.until = end;
    ReadOutputs(top.At("outputs"));
    top.Done();
    if (wrong_.ok()) sections_.CheckModels();
    if (!wrong_.ok()) return wrong_.status();
    for (int kind = kFirstExtendedKind; kind < sections_.kinds.size(); ++kind) {
      simulation_.extended_kinds.push_back(sections_.kinds.Name(static_cast<Kind>(kind)));
    }
    TEPHRA_RETURN_IF_ERROR(CountShapes());
    if (settings.expected_from_workload) {
      simulation_.config.expected_pods = simulation_.shapes;
      if (simulation_.shapes.empty()) {
        wrong_.Wrong(policies.node->line, "policies.expected_pods", "workload",
                     "a list: this workload has no pods");
      }
    }
    if (!wrong_.ok()) return wrong_.status();
    simulation_.inputs = std::move(sections_.inputs);
    return std::move(simulation_);
  }

 private:
  // Before the cluster, which may be the machine of the trace.
  void ReadTrace(const Item& workload) {
    if (workload.node == nullptr) {
      if (choice_.path) wrong_.Wrong(0, "workload.trace", "", "this field, because --trace is set");
      return;
    }
    Fields fields(workload);
    const Item trace = fields.At("trace"), generate = fields.At("generate");
    if (generate.node != nullptr) simulation_.trace = ReadGenerator(generate);
    if (trace.node == nullptr) {
      if (choice_.path) workload.Wrong("workload.trace, because --trace is set");
      return;
    }
    simulation_.trace = ReadTraceWorkload(sections_, trace);
    if (choice_.path) simulation_.trace->path = *choice_.path;
    sections_.inputs.push_back(simulation_.trace->path);
    for (const char* suffix : kAleaTables) {
      sections_.inputs.push_back(simulation_.trace->path + suffix);
    }
    simulation_.trace->options.strict = simulation_.trace->options.strict || choice_.strict;
  }

  void ReadClusterSection(const Item& item) {
    if (item.node == nullptr) {
      if (simulation_.trace && !simulation_.trace->model && wrong_.ok())
        wrong_.Keep(LoadTraceCluster());
      return;
    }
    Fields fields(item);
    const Item openb = fields.At("openb");
    if (openb.node != nullptr) {
      if (fields.Has("nodes")) openb.Wrong("either nodes or openb, not both");
      ReadOpenbCluster(openb);
    } else {
      ReadCluster(sections_, fields, simulation_.nodes, simulation_.domains);
    }
    ReadDomainLabels(fields, simulation_.nodes, simulation_.domains);
    if (!fields.Has("domain_labels")) ReadDomains(sections_, fields, simulation_.domains);
    ReadBandwidth(fields, simulation_.bandwidths);
    fields.Done();
  }

  absl::Status LoadTraceCluster() {
    TEPHRA_ASSIGN_OR_RETURN(simulation_.nodes, NodesOfTrace(*simulation_.trace));
    for (const NodeSpec& node : simulation_.nodes) sections_.nodes.insert(node.name);
    return absl::OkStatus();
  }

  void ReadOpenbCluster(const Item& item) {
    std::string nodes, order;
    Fields fields(item);
    fields.Need("nodes");
    fields.Text("nodes", nodes);
    fields.Text("order", order);
    fields.Done();
    if (!wrong_.ok()) return;
    wrong_.Keep(LoadOpenbCluster(nodes, order));
  }

  absl::Status LoadOpenbCluster(const std::string& nodes, const std::string& order) {
    TEPHRA_ASSIGN_OR_RETURN(simulation_.nodes, ReadOpenbNodes(sections_.Input(nodes)));
    if (!order.empty()) {
      const std::string path = sections_.Input(order);
      TEPHRA_ASSIGN_OR_RETURN(const OpenbOrder keys, ReadOpenbOrder(path, UINT32_MAX));
      TEPHRA_RETURN_IF_ERROR(RenameByOrder(path, keys, simulation_.nodes));
    }
    for (const NodeSpec& node : simulation_.nodes) sections_.nodes.insert(node.name);
    sections_.models = ModelsOf(simulation_.nodes);
    return absl::OkStatus();
  }

  void ReadJobList(const Item& item) {
    ReadList(item, [&](const Item& one) { ReadJobs(sections_, one, simulation_.jobs); });
    SortByTime(simulation_.jobs, nullptr);
  }

  void ReadWorkload(const Item& item) {
    Fields fields(item);
    const Item jobs = fields.At("jobs"), openb = fields.At("openb"), trace = fields.At("trace"),
               generate = fields.At("generate");
    if ((jobs.node != nullptr) + (openb.node != nullptr) + (trace.node != nullptr) +
            (generate.node != nullptr) !=
        1) {
      item.Wrong("exactly one of jobs, openb, trace and generate");
    }
    if (jobs.node != nullptr) ReadJobList(jobs);
    if (openb.node != nullptr) ReadOpenbWorkload(openb);
    int unstarted = 0;
    if (fields.OneOf("unschedulable", {"wait", "drop"}, unstarted)) {
      simulation_.unstarted = static_cast<Unstarted>(unstarted);
    }
    fields.Done();
  }

  void ReadOpenbWorkload(const Item& item) {
    std::string pods, order;
    Fields fields(item);
    fields.Need("pods");
    fields.Text("pods", pods);
    fields.Text("order", order);
    int unstarted = 0;
    if (fields.OneOf("unschedulable", {"wait", "drop"}, unstarted)) {
      simulation_.unstarted = static_cast<Unstarted>(unstarted);
    }
    fields.Done();
    if (wrong_.ok()) wrong_.Keep(LoadOpenbWorkload(pods, order));
  }

  absl::Status LoadOpenbWorkload(const std::string& pods, const std::string& order) {
    OpenbWorkload& openb = simulation_.openb.emplace();
    openb.path = sections_.Input(pods);
    if (order.empty()) return absl::OkStatus();
    TEPHRA_ASSIGN_OR_RETURN(OpenbPods list, ReadOpenbPods(openb.path, sections_.models));
    TEPHRA_ASSIGN_OR_RETURN(OpenbOrder turns,
                            ReadOpenbOrder(sections_.Input(order), list.pods.size()));
    openb.pods = std::make_shared<const OpenbPods>(std::move(list));
    openb.order = std::make_shared<const OpenbOrder>(std::move(turns));
    return absl::OkStatus();
  }

  // Without a section `queues`, each queue named by a job exists, without limits.
  void AddQueuesOfJobs() {
    for (const Arrival& arrival : simulation_.jobs) {
      if (!sections_.queues.insert(arrival.job.queue).second) continue;
      QueueSpec& queue = simulation_.queues.emplace_back();
      queue.name = arrival.job.queue;
      queue.dequeue = sections_.dequeue;
    }
  }

  void ReadEvents(const Item& item) {
    if (item.node == nullptr) return;
    std::vector<Item> items;
    ReadList(item, [&](const Item& one) {
      simulation_.events.push_back(ReadEvent(sections_, one));
      items.push_back(one);
    });
    if (!wrong_.ok()) return;
    SortByTime(simulation_.events, &items);
    CheckEvents(sections_, simulation_.queues, simulation_.openb || simulation_.trace,
                simulation_.events, items);
  }

  void ReadOutputs(const Item& item) {
    if (item.node == nullptr) return;
    Outputs& outputs = simulation_.outputs;
    Fields fields(item);
    if (fields.Text("directory", outputs.directory)) {
      outputs.directory = Resolved(simulation_.file, outputs.directory);
    }
    fields.Switch("tasks", outputs.tasks);
    fields.Switch("jobs", outputs.jobs);
    fields.Switch("timeline", outputs.timeline);
    fields.Switch("curve", outputs.curve);
    const Item large = fields.At("large_gangs");
    if (large.node != nullptr) {
      outputs.large = ReadLargeGangs(large);
    }
    fields.Done();
  }

  // Counts the shapes of pods. A streamed trace is read once more for this.
  absl::Status CountShapes() {
    if (simulation_.openb.has_value() && simulation_.openb->pods != nullptr) {
      simulation_.shapes = simulation_.openb->pods->Expected();
      return absl::OkStatus();
    }
    PodShapes shapes;
    if (simulation_.trace) {
      TEPHRA_ASSIGN_OR_RETURN(shapes, ShapesOfTrace(*simulation_.trace, simulation_.nodes));
    }
    if (simulation_.openb.has_value()) {
      TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<Arrivals> all,
                              StreamedOpenbArrivals(simulation_.openb->path, sections_.models));
      Arrival arrival;
      while (true) {
        TEPHRA_ASSIGN_OR_RETURN(const bool more, all->Next(arrival));
        if (!more) break;
        shapes.Add(ShapeOf(arrival.job.gang.roles[0].pod));
      }
    }
    for (const Arrival& arrival : simulation_.jobs) {
      for (const RoleSpec& role : arrival.job.gang.roles) {
        if (role.replicas > 0) shapes.Add(ShapeOf(role.pod), role.replicas);
      }
    }
    simulation_.shapes = shapes.Expected();
    return absl::OkStatus();
  }

  Diagnosis wrong_;
  TraceChoice choice_;
  Sections sections_;
  Simulation simulation_;
};

}  // namespace

absl::StatusOr<Simulation> ParseSimulation(const std::string& path, const std::string& text,
                                           const std::vector<std::string>& extra_keys) {
  TEPHRA_ASSIGN_OR_RETURN(Yaml::Ptr root, ParseYaml(path, text));
  return Loader(path, std::move(root)).Load(extra_keys);
}

absl::StatusOr<Simulation> LoadSimulation(const std::string& path, Yaml::Ptr document) {
  return Loader(path, std::move(document)).Load({});
}

absl::StatusOr<Simulation> LoadSimulation(const std::string& path,
                                          const std::vector<std::string>& extra_keys,
                                          TraceChoice trace) {
  TEPHRA_ASSIGN_OR_RETURN(Yaml::Ptr root, ReadYaml(path));
  return Loader(path, std::move(root), std::move(trace)).Load(extra_keys);
}

absl::StatusOr<std::unique_ptr<Arrivals>> TakeArrivals(Simulation& simulation) {
  if (simulation.trace) return OpenTrace(*simulation.trace, simulation.nodes);
  if (!simulation.openb.has_value()) {
    return std::unique_ptr<Arrivals>(std::make_unique<ListedArrivals>(std::move(simulation.jobs)));
  }
  const OpenbWorkload& openb = *simulation.openb;
  if (openb.order != nullptr) return OrderedOpenbArrivals(openb.pods, openb.order);
  return StreamedOpenbArrivals(openb.path, ModelsOf(simulation.nodes));
}

}  // namespace tephra
