// The section `events`: events of the simulated cluster.
#include <algorithm>

#include "base/quantity.h"
#include "simulations/workload/sections.h"

namespace tephra {
namespace {

NodeSpec ReadOneNode(Sections& sections, const Item& item) {
  std::vector<NodeSpec> nodes;
  ReadNodes(sections, item, true, nodes);
  if (nodes.size() != 1) item.Wrong("one node (without count)");
  if (nodes.empty()) return {};
  sections.nodes.insert(nodes[0].name);
  return nodes[0];
}

std::string ReadName(const Item& item) {
  std::string name;
  ReadText(item, name);
  return name;
}

// A task as JOB/ROLE/INDEX. Each part may contain a slash: the job is the longest one in the file.
TaskFails ReadTaskName(const Sections& sections, const Item& item) {
  const std::string text = ReadName(item);
  const std::size_t last = text.rfind('/');
  std::size_t first = last == std::string::npos ? last : text.rfind('/', last - 1);
  for (std::size_t at = first; at != std::string::npos && at > 0; at = text.rfind('/', at - 1)) {
    if (!sections.jobs.contains(text.substr(0, at))) continue;
    first = at;
    break;
  }
  const auto index = last == std::string::npos
                         ? std::nullopt
                         : ParseWhole(std::string_view(text).substr(last + 1));
  if (first == std::string::npos || last == 0 || !index || *index < 0 ||
      *index > std::numeric_limits<std::int32_t>::max()) {
    item.Wrong("a task as JOB/ROLE/INDEX");
    return {};
  }
  return {text.substr(0, first), text.substr(first + 1, last - first - 1),
          static_cast<std::int32_t>(*index)};
}

PlacementRefused ReadRefusal(const Item& item) {
  PlacementRefused refusal;
  refusal.role = "worker";
  Fields fields(item);
  fields.Need("job");
  fields.Text("job", refusal.job);
  fields.Text("role", refusal.role);
  fields.Need("node");
  fields.Text("node", refusal.node);
  fields.Text("why", refusal.why);
  fields.Done();
  return refusal;
}

TaskFact ReadForeignPod(Sections& sections, const Item& item) {
  TaskFact task;
  task.phase = TaskPhase::kRunning;
  Fields fields(item);
  fields.Need("name");
  fields.Text("name", task.uid);
  fields.Need("node");
  fields.Text("node", task.node);
  task.pod = ReadPod(sections, fields);
  fields.Done();
  return task;
}

using Read = Happening (*)(Sections&, const Item&);

const std::vector<std::pair<std::string, Read>>& Kinds() {
  static const std::vector<std::pair<std::string, Read>> kKinds = {
      {"add_node",
       [](Sections& s, const Item& i) -> Happening { return NodeComes{ReadOneNode(s, i)}; }},
      {"remove_node", [](Sections&, const Item& i) -> Happening { return NodeGoes{ReadName(i)}; }},
      {"cordon",
       [](Sections&, const Item& i) -> Happening {
         return NodeCordoned{ReadName(i), true};
       }},
      {"uncordon",
       [](Sections&, const Item& i) -> Happening {
         return NodeCordoned{ReadName(i), false};
       }},
      {"set_queue",
       [](Sections& s, const Item& i) -> Happening {
         QueueChanges change{ReadQueue(s, i)};
         s.queues.insert(change.queue.name);
         return change;
       }},
      {"close_queue",
       [](Sections&, const Item& i) -> Happening {
         return QueueStateChanges{ReadName(i), QueueState::kClosed};
       }},
      {"open_queue",
       [](Sections&, const Item& i) -> Happening {
         return QueueStateChanges{ReadName(i), QueueState::kOpen};
       }},
      {"remove_queue",
       [](Sections&, const Item& i) -> Happening { return QueueGoes{ReadName(i)}; }},
      {"set_job",
       [](Sections& s, const Item& i) -> Happening {
         JobChanges change{ReadJobAlone(s, i)};
         s.jobs.insert(change.job.name);
         return change;
       }},
      {"remove_job", [](Sections&, const Item& i) -> Happening { return JobGoes{ReadName(i)}; }},
      {"fail_task", [](Sections& s, const Item& i) -> Happening { return ReadTaskName(s, i); }},
      {"refuse", [](Sections&, const Item& i) -> Happening { return Refused{ReadRefusal(i)}; }},
      {"run_pod",
       [](Sections& s, const Item& i) -> Happening {
         return ForeignPodRuns{ReadForeignPod(s, i)};
       }},
      {"end_pod",
       [](Sections&, const Item& i) -> Happening { return ForeignPodEnds{ReadName(i)}; }},
      {"set_policies",
       [](Sections& s, const Item& i) -> Happening {
         PolicySettings settings =
             s.before == nullptr ? ReadPolicies(i) : ReadPolicies(i, s.before->config);
         if (settings.expected_from_workload)
           i.Wrong("a list for expected_pods (an event cannot use the word workload)");
         if (settings.dequeue) i.Wrong("no dequeue_strategy (change it with set_queue)");
         return PoliciesChange{std::move(settings.config)};
       }},
  };
  return kKinds;
}

}  // namespace

DatedHappening ReadEvent(Sections& sections, const Item& item) {
  DatedHappening event;
  Fields fields(item);
  fields.Need("at");
  fields.Duration("at", event.at);
  const std::optional<Happening> what = ReadHappening(sections, fields);
  fields.Done();
  if (!what.has_value()) item.Wrong("exactly one event besides at");
  if (what.has_value()) event.what = *what;
  return event;
}

std::optional<Happening> ReadHappening(Sections& sections, Fields& fields,
                                       const std::set<std::string>& but) {
  std::optional<Happening> happening;
  int found = 0;
  for (const auto& [key, read] : Kinds()) {
    const Item what = fields.At(key);
    if (what.node == nullptr || but.contains(key)) continue;
    ++found;
    happening = read(sections, what);
  }
  if (found != 1) return std::nullopt;
  return happening;
}

namespace {

// Reports names in events that do not exist in the file.
struct NameCheck {
  const Sections& sections;
  bool any_job;
  const Item& item;

  void Node(const std::string& name) const { Known(sections.nodes, name, "a node"); }
  void Queue(const std::string& name) const { Known(sections.queues, name, "a queue"); }
  void Job(const std::string& name) const {
    if (!any_job) Known(sections.jobs, name, "a job");
  }
  void Known(const std::set<std::string>& names, const std::string& name, const char* what) const {
    if (names.contains(name)) return;
    item.wrong->Wrong(item.node->line, item.path, name,
                      std::string(what) + (sections.before == nullptr ? " of this file" : ""));
  }

  void operator()(const NodeComes&) const {}
  void operator()(const NodeGoes& event) const { Node(event.name); }
  void operator()(const NodeCordoned& event) const { Node(event.name); }
  void operator()(const QueueChanges&) const {}
  void operator()(const QueueStateChanges& event) const { Queue(event.name); }
  void operator()(const QueueGoes& event) const { Queue(event.name); }
  void operator()(const JobChanges&) const {}
  void operator()(const JobGoes& event) const { Job(event.name); }
  void operator()(const TaskFails& event) const { Job(event.job); }
  void operator()(const Refused& event) const {
    Job(event.refusal.job);
    Node(event.refusal.node);
  }
  void operator()(const ForeignPodRuns& event) const { Node(event.task.node); }
  void operator()(const ForeignPodEnds&) const {}
  void operator()(const PoliciesChange&) const {}
  void operator()(const OtherFact&) const {}
  void operator()(const CycleDue&) const {}
};

}  // namespace

void CheckEvents(const Sections& sections, const std::vector<QueueSpec>& queues, bool any_job,
                 const std::vector<DatedHappening>& events, const std::vector<Item>& items) {
  QueueTree tree;
  for (const QueueSpec& queue : queues)
    tree.Upsert(queue, sections.kinds).IgnoreError();  // checked before
  for (std::size_t e = 0; e < events.size(); ++e) {
    std::visit(NameCheck{sections, any_job, items[e]}, events[e].what);
    if (const auto* change = std::get_if<QueueChanges>(&events[e].what)) {
      items[e].wrong->Wrong(items[e].node->line, tree.Upsert(change->queue, sections.kinds));
    }
    if (const auto* gone = std::get_if<QueueGoes>(&events[e].what)) tree.Remove(gone->name);
  }
}

}  // namespace tephra
