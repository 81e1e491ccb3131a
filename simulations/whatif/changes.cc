#include "simulations/whatif/changes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "simulations/workload/sections.h"

namespace tephra {
namespace {

class Changer {
 public:
  explicit Changer(const Simulation& as_is) : next_(as_is), at_(as_is.handover->at) {
    sections_.before = &before_;
    for (const std::string& kind : as_is.extended_kinds) sections_.kinds.Intern(kind).IgnoreError();
    before_.config = as_is.config;
    for (const NodeSpec& node : as_is.nodes) Know(node);
    for (const QueueSpec& queue : as_is.queues) {
      before_.queues[queue.name] = queue;
      sections_.queues.insert(queue.name);
    }
    for (const HandedJob& job : as_is.handover->jobs) Know(job.came.job);
    for (const Arrival& arrival : as_is.jobs) Know(arrival.job);
    for (const DatedHappening& event : as_is.events) {
      if (const auto* node = std::get_if<NodeComes>(&event.what)) Know(node->node);
      if (const auto* queue = std::get_if<QueueChanges>(&event.what)) {
        sections_.queues.insert(queue->queue.name);
      }
    }
  }

  absl::Status Read(const ChangeText& change) {
    wrongs_.push_back(std::make_unique<Diagnosis>(change.source));
    TEPHRA_ASSIGN_OR_RETURN(Yaml::Ptr root, ParseYaml(change.source, change.text));
    const Item item{root.get(), "", wrongs_.back().get()};
    documents_.push_back(std::move(root));
    if (item.node->kind == Yaml::Kind::kList) {
      ReadList(item, [&](const Item& one) { ReadOne(one); });
    } else {
      ReadOne(item);
    }
    return wrongs_.back()->status();
  }

  absl::StatusOr<Simulation> Finish() && {
    CheckEvents(sections_, next_.queues, false, made_, made_items_);
    sections_.CheckModels();
    for (const auto& wrong : wrongs_) TEPHRA_RETURN_IF_ERROR(wrong->status());
    std::vector<DatedHappening> events;
    const auto kinds = static_cast<std::size_t>(sections_.kinds.size() - kFirstExtendedKind);
    if (kinds > next_.extended_kinds.size()) {
      KindsDeclared declared;
      for (int kind = kFirstExtendedKind; kind < sections_.kinds.size(); ++kind) {
        declared.names.push_back(sections_.kinds.Name(static_cast<Kind>(kind)));
      }
      events.push_back({at_, OtherFact{declared}});
      for (const DatedHappening& event : next_.events) {
        const auto* fact = std::get_if<OtherFact>(&event.what);
        if (fact == nullptr || !std::holds_alternative<KindsDeclared>(fact->event)) continue;
        return absl::InvalidArgumentError(wrongs_.back()->file() + ": resource kind " +
                                          declared.names.back() +
                                          ": declared only after --at, as the journal declares "
                                          "other kinds then; expected a later --at");
      }
    }
    for (DatedHappening& event : made_) events.push_back(std::move(event));
    for (DatedHappening& event : next_.events) {
      if (Keep(event.what)) events.push_back(std::move(event));
    }
    next_.events = std::move(events);
    std::erase_if(next_.jobs,
                  [&](const Arrival& arrival) { return removed_jobs_.contains(arrival.job.name); });
    for (Arrival& arrival : next_.jobs) {
      const auto changed = set_jobs_.find(arrival.job.name);
      if (changed != set_jobs_.end()) arrival.job = Reread(changed->second, arrival.job);
    }
    for (Arrival& arrival : added_) next_.jobs.push_back(std::move(arrival));
    std::stable_sort(next_.jobs.begin(), next_.jobs.end(),
                     [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
    for (const auto& wrong : wrongs_) TEPHRA_RETURN_IF_ERROR(wrong->status());
    return std::move(next_);
  }

 private:
  void Know(const NodeSpec& node) {
    nodes_[node.name] = node;
    sections_.nodes.insert(node.name);
    for (const DeviceHardware& device : node.devices) sections_.models.insert(device.model);
    sections_.capacity.Add(node.allocatable);
  }
  // If several jobs have the same name, the first one counts.
  void Know(const JobSpec& job) {
    before_.jobs.try_emplace(job.name, job);
    sections_.jobs.insert(job.name);
  }

  void ReadOne(const Item& item) {
    Fields fields(item);
    const Item node = fields.At("add_node"), job = fields.At("add_job");
    if (!item.wrong->ok()) return;
    const std::optional<Happening> what = ReadHappening(sections_, fields, {"add_node"});
    fields.Done();
    const int found = (node.node != nullptr) + (job.node != nullptr) + what.has_value();
    if (found != 1 || item.node->entries.size() != 1) {
      return item.Wrong(
          "one change, such as { set_policies: { backfill: { mode: conservative } } }");
    }
    if (node.node != nullptr) return AddNodes(node);
    if (job.node != nullptr) return AddJobs(job);
    const Yaml::Entry& entry = item.node->entries[0];
    const std::string path = item.path.empty() ? entry.key : item.path + "." + entry.key;
    const Item inner{entry.value.get(), path, item.wrong};
    Happening happening = *what;
    if (!item.wrong->ok()) return;
    std::visit([&](auto& one) { Follow(one, inner); }, happening);
    Make(std::move(happening), inner);
  }

  void Make(Happening what, const Item& item) {
    made_.push_back({at_, std::move(what)});
    made_items_.push_back(item);
  }

  void AddNodes(const Item& item) {
    std::vector<NodeSpec> nodes;
    if (item.node->kind != Yaml::Kind::kMap || !Fields(item).Has("like")) {
      ReadNodes(sections_, item, true, nodes);
    } else {
      nodes = ReadLike(item);
    }
    if (!item.wrong->ok()) return;
    for (NodeSpec& node : nodes) {
      Know(node);
      touched_nodes_.insert(node.name);
      Make(NodeComes{std::move(node)}, item);
    }
  }

  // { like: NODE, name: NODE-copy, count }: copies of the node, in its domains.
  std::vector<NodeSpec> ReadLike(const Item& item) {
    std::string like;
    std::int64_t count = 1;
    Fields fields(item);
    fields.Text("like", like);
    std::string name = like + "-copy";
    fields.Text("name", name);
    fields.Whole("count", count, 1, Sections::kMostNodes);
    fields.Done();
    const auto model = nodes_.find(like);
    if (model == nodes_.end()) {
      fields.At("like").Wrong("a node");
      return {};
    }
    NodeSpec node = model->second;
    for (DeviceHardware& device : node.devices) device.uuid.clear();
    std::vector<NodeSpec> nodes;
    for (std::int64_t i = 0; i < count; ++i) {
      node.name = fields.Has("count") ? name + "-" + std::to_string(i) : name;
      if (node.labels.contains(kHostnameKey)) node.labels[kHostnameKey] = node.name;
      Sections::Once(sections_.nodes, node.name, fields.line(), item.path + ".name", *item.wrong);
      nodes.push_back(node);
    }
    for (DomainSpec& domain : next_.domains) {
      if (std::find(domain.nodes.begin(), domain.nodes.end(), like) == domain.nodes.end()) continue;
      for (const NodeSpec& one : nodes) domain.nodes.push_back(one.name);
      Make(OtherFact{DomainUpserted{domain, 0}}, item);
    }
    return nodes;
  }

  void AddJobs(const Item& item) {
    const std::size_t before = added_.size();
    ReadJobs(sections_, item, added_);
    for (std::size_t i = before; i < added_.size(); ++i) {
      added_[i].at += at_;
      added_[i].job.created = next_.origin + added_[i].at;
    }
  }

  // Applies a change to later events; names of jobs are replaced by uids.
  void Follow(PoliciesChange& change, const Item& item) {
    before_.config = change.config;
    set_policies_.push_back(item);
  }
  void Follow(QueueChanges& change, const Item& item) {
    before_.queues[change.queue.name] = change.queue;
    set_queues_[change.queue.name].push_back(item);
  }
  void Follow(QueueStateChanges& change, const Item&) {
    before_.queues[change.name].state = change.state;
    queue_states_[change.name] = change.state;
  }
  void Follow(QueueGoes& change, const Item&) { removed_queues_.insert(change.name); }
  void Follow(NodeGoes& change, const Item&) { touched_nodes_.insert(change.name); }
  void Follow(NodeCordoned& change, const Item&) { cordons_[change.name] = change.unschedulable; }
  void Follow(JobChanges& change, const Item& item) {
    const auto known = before_.jobs.find(change.job.name);
    if (known == before_.jobs.end()) return item.Wrong("a job of the journal");
    change.whole = true;
    known->second = change.job;
    set_jobs_[change.job.name].push_back(item);
  }
  void Follow(JobGoes& change, const Item& item) {
    removed_jobs_.insert(change.name);
    Resolve(change.name, item);
  }
  void Follow(TaskFails& change, const Item& item) { Resolve(change.job, item); }
  void Follow(Refused& change, const Item& item) { Resolve(change.refusal.job, item); }
  template <class Other>
  void Follow(Other&, const Item&) {}

  void Resolve(std::string& job, const Item& item) {
    const auto known = before_.jobs.find(job);
    if (known == before_.jobs.end()) {
      item.wrong->Wrong(item.node->line, item.path, job, "a job");
      return;
    }
    sections_.jobs.insert(known->second.uid);
    job = known->second.uid;
  }

  // Whether the recorded event still happens, and its changed version.
  bool Keep(Happening& what) {
    if (auto* policies = std::get_if<PoliciesChange>(&what)) {
      for (const Item& item : set_policies_) {
        policies->config = ReadPolicies(item, policies->config).config;
      }
    } else if (auto* queue = std::get_if<QueueChanges>(&what)) {
      return KeepQueue(queue->queue);
    } else if (auto* job = std::get_if<JobChanges>(&what)) {
      const auto changed = set_jobs_.find(job->job.name);
      if (changed != set_jobs_.end()) job->job = Reread(changed->second, job->job);
    } else if (auto* node = std::get_if<NodeComes>(&what)) {
      const auto cordon = cordons_.find(node->node.name);
      if (cordon != cordons_.end()) node->node.unschedulable = cordon->second;
      return !touched_nodes_.contains(node->node.name);
    } else if (const auto* gone = std::get_if<NodeGoes>(&what)) {
      return !touched_nodes_.contains(gone->name);
    }
    return true;
  }

  bool KeepQueue(QueueSpec& queue) {
    const auto changed = set_queues_.find(queue.name);
    if (changed != set_queues_.end()) {
      for (const Item& item : changed->second) {
        before_.queues[queue.name] = queue;
        queue = ReadQueue(sections_, item);
      }
    }
    const auto state = queue_states_.find(queue.name);
    if (state != queue_states_.end()) queue.state = state->second;
    return !removed_queues_.contains(queue.name);
  }

  JobSpec Reread(const std::vector<Item>& items, JobSpec job) {
    for (const Item& item : items) {
      before_.jobs[job.name] = job;
      job = ReadJobAlone(sections_, item);
    }
    return job;
  }

  Simulation next_;
  const TimeMs at_;
  Sections sections_;
  Before before_;
  std::vector<std::unique_ptr<Diagnosis>> wrongs_;
  std::vector<Yaml::Ptr> documents_;
  std::vector<DatedHappening> made_;
  std::vector<Item> made_items_;
  std::vector<Arrival> added_;
  std::map<std::string, NodeSpec> nodes_;
  std::vector<Item> set_policies_;
  std::map<std::string, std::vector<Item>> set_queues_, set_jobs_;
  std::map<std::string, QueueState> queue_states_;
  std::map<std::string, bool> cordons_;
  std::set<std::string> touched_nodes_, removed_queues_, removed_jobs_;
};

}  // namespace

absl::StatusOr<Simulation> WithChanges(const Simulation& as_is,
                                       const std::vector<ChangeText>& changes) {
  Changer changer(as_is);
  for (const ChangeText& change : changes) TEPHRA_RETURN_IF_ERROR(changer.Read(change));
  return std::move(changer).Finish();
}

}  // namespace tephra
