// The section `queues`.
#include <map>

#include "simulations/workload/sections.h"

namespace tephra {
namespace {

constexpr int kMostLevels = 100;

// `named`: the kinds in `field`, including kinds with amount 0. Missing kinds stay unchanged.
void ReadAmounts(Sections& sections, Fields& fields, const char* field, Resources& amounts,
                 KindSet* named = nullptr) {
  if (!fields.Has(field)) return;
  KindSet kinds = 0;
  amounts = {};
  fields.Map(field, [&](const std::string& name, const Item& item) {
    const absl::StatusOr<Kind> kind = sections.kinds.Intern(name);
    if (!kind.ok()) {
      item.wrong->Wrong(item.node->line, kind.status());
      return;
    }
    const bool spelled_live = name == "nvidia.com/gpu" || name.rfind("nvidia.com/gpu.", 0) == 0;
    if (name == "gpus" || name == "gpu_memory" ||
        (spelled_live && name != "nvidia.com/gpu.shared")) {
      item.Wrong("cpu, memory, pods, gpu, gpu.MODEL, gpu-memory or an extended resource");
      return;
    }
    const bool model = sections.kinds.CountsModel(*kind);
    if (model) {
      sections.model_uses.push_back(
          {item.node->line, item.path, name.substr(kModelPrefix.size()), item.wrong});
    }
    const std::int64_t per = *kind == kCpu || *kind == kGpu || model ? 1000 : 1;
    std::int64_t amount = 0;
    if (!ReadQuantity(item, amount, per)) return;
    amounts[*kind] = *kind == kGpuMemory ? amount / kMiB : amount;
    kinds |= KindSet{1} << *kind;
  });
  if (named != nullptr) *named = kinds;
}

}  // namespace

QueueSpec ReadQueue(Sections& sections, const Item& item) {
  Fields fields(item);
  QueueSpec queue = ReadQueue(sections, fields);
  fields.Done();
  return queue;
}

QueueSpec ReadQueue(Sections& sections, Fields& fields) {
  QueueSpec queue;
  queue.dequeue = sections.dequeue;
  fields.Need("name");
  fields.Text("name", queue.name);
  if (sections.before != nullptr) {
    const auto before = sections.before->queues.find(queue.name);
    if (before != sections.before->queues.end()) queue = before->second;
  }
  int state = static_cast<int>(queue.state), dequeue = static_cast<int>(queue.dequeue);
  fields.Text("parent", queue.parent);
  fields.Whole("weight", queue.weight, 1);
  fields.Whole("priority", queue.priority);
  ReadAmounts(sections, fields, "limit", queue.limit, &queue.limited_kinds);
  ReadAmounts(sections, fields, "guarantee", queue.guarantee);
  ReadAmounts(sections, fields, "deserved", queue.deserved);
  fields.Switch("reclaimable", queue.reclaimable);
  fields.OneOf("dequeue_strategy", {"traverse", "fifo"}, dequeue);
  const Item delay = fields.At("eviction_delay");
  if (delay.node != nullptr && ReadDuration(delay, queue.eviction_delay_ms) &&
      queue.eviction_delay_ms > kMostEvictionDelayMs) {
    delay.Wrong("at most 10000d");
  }
  fields.OneOf("state", {"open", "closing", "closed"}, state);
  queue.state = static_cast<QueueState>(state);
  queue.dequeue = static_cast<Dequeue>(dequeue);
  return queue;
}

// The guarantees of children must not exceed what the parent can give.
static void CheckEntitlements(const ResourceKinds& kinds, const std::vector<QueueSpec>& queues,
                              const std::vector<Item>& items) {
  QueueTree tree;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const absl::Status status = tree.Upsert(queues[q], kinds);
    if (!status.ok()) items[q].wrong->Wrong(items[q].node->line, status);
  }
  for (const QueueTree::Overdraft& overdraft : tree.Overdrawn(kinds)) {
    const std::string& name = tree.spec(overdraft.queue).name;
    for (std::size_t q = 0; q < queues.size(); ++q) {
      if (queues[q].name != name) continue;
      items[q].wrong->Wrong(items[q].node->line,
                            absl::InvalidArgumentError(items[q].path + "." + overdraft.what));
    }
  }
}

// GPU hours: a number, or one for each user.
static void ReadPast(const Item& item, const std::string& queue, Memory& past) {
  if (item.node == nullptr) return;
  constexpr double kHourMs = 3600 * kSecondMs;
  RememberedQueue& entry = past.queues.emplace_back();
  entry.queue = queue;
  double all = 0;
  const auto read = [&](const std::string& user, const Item& hours) {
    std::int64_t gpu = 0;
    if (!ReadQuantity(hours, gpu, kWholeGpu)) return;
    const double spent = static_cast<double>(gpu) * kHourMs;
    all += spent;
    entry.users.push_back({user, {{"gpu", spent}}});
  };
  if (item.node->kind == Yaml::Kind::kMap) {
    ReadMap(item, read);
  } else {
    read("", item);
  }
  entry.spent.push_back({"gpu", all});
}

void ReadQueues(Sections& sections, const Item& item, std::vector<QueueSpec>& queues,
                Memory& past) {
  std::vector<Item> items;
  ReadList(item, [&](const Item& one) {
    Fields fields(one);
    queues.push_back(ReadQueue(sections, fields));
    ReadPast(fields.At("past_usage"), queues.back().name, past);
    fields.Done();
    items.push_back(one);
    Sections::Once(sections.queues, queues.back().name, one.node->line, one.path + ".name",
                   *one.wrong);
  });
  if (item.wrong->ok()) CheckParents(queues, items);
  if (item.wrong->ok()) CheckEntitlements(sections.kinds, queues, items);
}

void CheckParents(const std::vector<QueueSpec>& queues, const std::vector<Item>& items) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t q = 0; q < queues.size(); ++q) by_name[queues[q].name] = q;
  // The level in the tree, 1 for a queue without a parent; 0: unknown.
  std::vector<int> level(queues.size(), 0);
  for (std::size_t q = 0; q < queues.size(); ++q) {
    std::vector<std::size_t> chain;
    int above = 0;
    for (std::size_t at = q;;) {
      above = level[at];
      if (above > 0) break;
      chain.push_back(at);
      const std::string& parent = queues[at].parent;
      if (parent.empty()) break;
      const auto up = by_name.find(parent);
      const Item& here = items[at];
      if (up == by_name.end()) {
        here.wrong->Wrong(here.node->line, here.path + ".parent", parent, "a queue of this file");
        return;
      }
      if (chain.size() > queues.size() || up->second == q) {
        const Item& first = items[q];
        std::string loop;
        for (std::size_t link : chain) loop += queues[link].name + " -> ";
        if (loop.size() > 200) loop = loop.substr(0, 200) + "... ";
        first.wrong->Wrong(first.node->line, first.path + ".parent", queues[q].parent,
                           "a parent that is not below this queue; the chain is " + loop + parent);
        return;
      }
      at = up->second;
    }
    for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
      level[*link] = ++above;
      if (above <= kMostLevels) continue;
      const Item& deep = items[*link];
      deep.wrong->Wrong(deep.node->line, deep.path + ".parent", queues[*link].parent,
                        "at most " + std::to_string(kMostLevels) + " levels of queues");
      return;
    }
  }
}

}  // namespace tephra
