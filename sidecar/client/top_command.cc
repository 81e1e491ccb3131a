#include "sidecar/client/top_command.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>

#include "sidecar/client/engine_client.h"
#include "sidecar/client/output.h"
#include "sidecar/client/words.h"
#include "text/format.h"
#include "text/table.h"

namespace tephra {
namespace {

// A longer table is printed only when the command names it.
constexpr int kMostLines = 30;

std::string Limit(const v1::QueueView& queue, Kind kind, const std::string& words) {
  const auto& kinds = queue.limited_kinds();
  return std::find(kinds.begin(), kinds.end(), kind) == kinds.end() ? "-" : words;
}

// What the jobs of the queue use of each GPU model that counts, with its limit: "A100 3 of 16, H100
// 12".
std::string ModelWords(const Names& kinds, const v1::QueueView& queue) {
  std::string text;
  for (int k = 0; k < kinds.size(); ++k) {
    if (kinds[k].rfind(kModelPrefix, 0) != 0) continue;
    const auto kind = static_cast<Kind>(k);
    const std::string limit = Limit(queue, kind, " of " + GpuWords(AmountOf(queue.limit(), kind)));
    const std::int64_t used = AmountOf(queue.used(), kind);
    if (used == 0 && limit == "-") continue;
    text += (text.empty() ? "" : ", ") + kinds[k].substr(kModelPrefix.size()) + " " +
            GpuWords(used) + (limit == "-" ? "" : limit);
  }
  return text.empty() ? "-" : text;
}

void PrintQueues(const v1::GetStateReply& state, bool wide, std::ostream& out) {
  std::vector<std::string> header = {"queue", "state",   "GPUs",   "share",
                                     "limit", "running", "pending"};
  const bool models =
      std::any_of(state.kinds().begin(), state.kinds().end(),
                  [](const std::string& kind) { return kind.rfind(kModelPrefix, 0) == 0; });
  if (wide) {
    header.insert(header.end(), {"guarantee", "deserved", "weight", "past GPU h", "CPU", "memory"});
    if (models) header.push_back("by model");
    header.push_back("under");
  }
  Table table(header, models ? "llrrrrrrrrrrrll" : "llrrrrrrrrrrrl", 0);
  for (const v1::QueueView& queue : state.queues()) {
    std::vector<std::string> row = {queue.name(),
                                    LifecycleWords(queue.lifecycle()),
                                    GpuWords(AmountOf(queue.used(), kGpu)),
                                    GpuWords(AmountOf(queue.fair_share(), kGpu)),
                                    Limit(queue, kGpu, GpuWords(AmountOf(queue.limit(), kGpu))),
                                    std::to_string(queue.jobs_running()),
                                    std::to_string(queue.jobs_waiting())};
    if (wide) {
      row.push_back(GpuWords(AmountOf(queue.guarantee(), kGpu)));
      row.push_back(GpuWords(AmountOf(queue.deserved(), kGpu)));
      row.push_back(std::to_string(queue.weight()));
      row.push_back(queue.has_past_gpu_hours() ? HoursWords(queue.past_gpu_hours()) : "-");
      row.push_back(AmountWords(state.kinds(), kCpu, AmountOf(queue.used(), kCpu)));
      row.push_back(AmountWords(state.kinds(), kMemory, AmountOf(queue.used(), kMemory)));
      if (models) row.push_back(ModelWords(state.kinds(), queue));
      row.push_back(queue.parent());
    }
    table.Add(std::move(row));
  }
  table.Print(out);
  for (const v1::QueueView& queue : state.queues()) {
    for (const std::string& problem : queue.problems()) {
      out << "queue " << queue.name() << ": " << problem << "\n";
    }
  }
}

// One character a device, filled as far as it is used.
std::string Picture(const v1::NodeView& node) {
  static constexpr const char* kFill[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const v1::DeviceView& device : node.devices()) {
    const auto used = static_cast<int>(kWholeGpu) - device.free_compute();
    if (device.unhealthy()) {
      text += "x";
    } else if (used <= 0) {
      text += kFill[0];
    } else {
      text += kFill[std::clamp(used * 8 / static_cast<int>(kWholeGpu), 1, 8)];
    }
  }
  return text;
}

std::string Models(const v1::NodeView& node) {
  std::vector<std::string> models;
  for (const v1::DeviceView& device : node.devices()) {
    if (std::find(models.begin(), models.end(), device.model()) == models.end()) {
      models.push_back(device.model());
    }
  }
  std::string text;
  for (const std::string& model : models) text += (text.empty() ? "" : ",") + model;
  return text;
}

void PrintNodes(const v1::GetStateReply& state, bool wide, int most, std::ostream& out) {
  std::vector<const v1::NodeView*> nodes;
  for (const v1::NodeView& node : state.nodes()) nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(), [](const v1::NodeView* a, const v1::NodeView* b) {
    return NameBefore(a->name(), b->name());
  });
  std::vector<std::string> header = {"node", "GPUs", "free", "", "CPU free"};
  if (wide) header.insert(header.end(), {"memory free", "pods free", "model"});
  Table table(header, "lrrlrrrl", 0);
  std::int64_t capacity = 0, free = 0;
  for (const v1::NodeView* node : nodes) {
    capacity += AmountOf(node->capacity(), kGpu);
    free += AmountOf(node->free(), kGpu);
    if (table.rows() == most) continue;
    const auto words = [&](Kind kind) {
      return AmountWords(state.kinds(), kind, AmountOf(node->free(), kind));
    };
    std::vector<std::string> row = {node->name() + (node->unschedulable() ? " (cordoned)" : ""),
                                    GpuWords(AmountOf(node->capacity(), kGpu)),
                                    GpuWords(AmountOf(node->free(), kGpu)), Picture(*node),
                                    words(kCpu)};
    if (wide) {
      row.push_back(words(kMemory));
      row.push_back(std::to_string(AmountOf(node->free(), kPods)));
      row.push_back(Models(*node));
    }
    table.Add(std::move(row));
  }
  table.Print(out);
  if (table.rows() < state.nodes_size()) {
    out << "... and " << state.nodes_size() - table.rows() << " more (tephra top nodes)\n";
  }
  out << state.nodes_size() << " nodes, " << GpuWords(capacity) << " GPUs, " << GpuWords(free)
      << " of them free\n";
}

std::string Shortened(const std::string& text, bool wide) {
  constexpr std::size_t kMost = 100;
  return wide || text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

void PrintJobs(const v1::GetStateReply& state, bool wide, int most, std::int64_t now_ms,
               std::ostream& out) {
  if (state.jobs_size() == 0) {
    out << "no job is pending\n";
    return;
  }
  // The longest pending jobs first.
  std::vector<const v1::JobView*> jobs;
  for (const v1::JobView& job : state.jobs()) jobs.push_back(&job);
  std::stable_sort(jobs.begin(), jobs.end(), [](const v1::JobView* a, const v1::JobView* b) {
    return a->created_ms() != b->created_ms() ? a->created_ms() < b->created_ms()
                                              : a->name() < b->name();
  });
  std::vector<std::string> header = {"pending job", "queue", "tasks", "priority",
                                     "age",         "since", "why"};
  if (wide) header.push_back("uid");
  Table table(header, "llrrrrll", 0);
  for (const v1::JobView* job : jobs) {
    if (table.rows() == most) break;
    std::int32_t tasks = 0;
    for (const v1::RoleView& role : job->roles()) tasks += role.pending();
    const v1::Note& note = job->note();
    table.Add({job->name(), job->queue(), std::to_string(tasks), std::to_string(job->priority()),
               AgeWords(job->created_ms(), now_ms),
               job->has_note() ? AgeWords(note.since_ms(), now_ms) : "",
               job->has_note() ? Shortened(note.text(), wide) : StandingWords(*job)});
    if (wide) table.Append(job->uid());
  }
  table.Print(out);
  if (table.rows() < state.jobs_size()) {
    out << "... and " << state.jobs_size() - table.rows() << " more (tephra top jobs)\n";
  }
}

}  // namespace

void PrintTop(const v1::GetStateReply& state, const std::string& what, bool wide,
              std::int64_t now_ms, std::ostream& out) {
  const int most = what.empty() ? kMostLines : std::numeric_limits<int>::max();
  if (what.empty() || what == "queues") PrintQueues(state, wide, out);
  if (what.empty()) out << "\n";
  if (what.empty() || what == "nodes") {
    PrintNodes(state, wide, most, out);
    for (const std::string& problem : state.domain_problems()) out << problem << "\n";
  }
  if (what.empty()) out << "\n";
  if (what.empty() || what == "jobs") PrintJobs(state, wide, most, now_ms, out);
}

void AddTopCommand(CLI::App& app, int& code) {
  struct Arguments {
    EngineAddress engine;
    Output output = Output::kText;
    std::string what;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "top", "Show the queues, nodes and pending jobs of a running engine, as of its last cycle.");
  command
      ->add_option("WHAT", arguments->what, "queues, nodes or jobs; all of them if none is named")
      ->check(CLI::IsMember({"queues", "nodes", "jobs"}));
  AddEngineOptions(*command, arguments->engine);
  AddOutputOption(*command, arguments->output);
  command->footer(kLookExitCodes);
  command->callback([arguments, &code] {
    v1::GetStateReply state;
    const absl::Status status = EngineClient(arguments->engine).GetState(false, &state);
    if (!status.ok()) {
      code = FailLooking("tephra top", status, std::cerr);
    } else if (arguments->output == Output::kJson || arguments->output == Output::kYaml) {
      const std::string& what = arguments->what;
      if (!what.empty() && what != "queues") state.clear_queues();
      if (!what.empty() && what != "nodes") state.clear_nodes();
      if (!what.empty() && what != "jobs") state.clear_jobs();
      if (!what.empty()) {
        state.clear_domains();
        state.clear_domain_problems();
        state.clear_disruption_budgets();
      }
      PrintMessage(state, arguments->output, std::cout);
    } else {
      PrintTop(state, arguments->what, arguments->output == Output::kWide, NowMs(), std::cout);
    }
  });
}

}  // namespace tephra
