#include "tests/scenarios/scenario.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/fields.h"
#include "engine/engine.h"
#include "plugins/registry.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"

namespace tephra {
namespace {

const std::vector<std::string>& VerdictWords() {
  static const std::vector<std::string> kWords = {"start", "start-after-eviction", "reserve",
                                                  "wait", "infeasible", "unwind"};
  return kWords;
}

const std::vector<std::string>& ReasonWords() {
  static const std::vector<std::string> kWords = {
      "none",      "queue-missing", "queue-closed", "queue-limit", "members",         "room",
      "together",  "search",        "quarantine",   "queue-cycle", "queue-guarantee", "behind",
      "releasing", "queue-parent",  "gate",         "locality",    "sub-groups",      "reserved",
      "unhealthy", "queue-deserved", "incomplete", "limit-reserved"};
  return kWords;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const std::string& word : words) text += (text.size() > 1 ? ", " : "") + word;
  return text + "]";
}

bool ReadSorted(Fields& fields, const std::string& key,
                std::optional<std::vector<std::string>>& out) {
  std::vector<std::string> words;
  if (!fields.Texts(key, words)) return false;
  std::sort(words.begin(), words.end());
  out = std::move(words);
  return true;
}

Expectation ReadExpectation(const Item& item, const std::set<std::string>& jobs) {
  Expectation expected;
  expected.line = item.node->line;
  Fields fields(item);
  fields.Need("at");
  fields.Duration("at", expected.at);
  const Item job = fields.Need("job");
  fields.Text("job", expected.job);
  if (job.node != nullptr && !jobs.contains(expected.job)) job.Wrong("a job of this file");
  int word = 0, checks = 0;
  if (fields.OneOf("part", {"minimum", "elastic"}, word)) expected.part = static_cast<Part>(word);
  fields.Text("role", expected.role);
  if (fields.OneOf("verdict", VerdictWords(), word)) {
    expected.verdict = static_cast<Verdict>(word);
    ++checks;
  }
  if (fields.OneOf("reason", ReasonWords(), word)) {
    expected.reason = static_cast<Obstacle>(word);
    ++checks;
  }
  checks += fields.Texts("text", expected.text);
  std::int64_t count = 0;
  if (fields.Whole("nodes", count, 0)) expected.nodes = count, ++checks;
  if (fields.Whole("tasks_placed", count, 0)) expected.tasks_placed = count, ++checks;
  if (fields.Whole("tasks_reserved", count, 0)) expected.tasks_reserved = count, ++checks;
  if (fields.Whole("evictions", count, 0)) expected.evictions = count, ++checks;
  checks += ReadSorted(fields, "placed_on", expected.placed_on);
  checks += ReadSorted(fields, "devices", expected.devices);
  fields.Done();
  if (checks == 0) item.Wrong("something to expect of the job");
  return expected;
}

absl::StatusOr<Scenario> Read(absl::StatusOr<Simulation> simulation) {
  if (!simulation.ok()) return simulation.status();
  Scenario scenario{*std::move(simulation), {}};
  std::set<std::string> jobs;
  for (const Arrival& arrival : scenario.simulation.jobs) jobs.insert(arrival.job.name);
  Diagnosis wrong(scenario.simulation.file);
  Fields top({scenario.simulation.document.get(), "", &wrong});
  top.Need("name");
  std::string why;
  top.Need("why");
  top.Text("why", why);
  const Item expect = top.Need("expect");
  if (expect.node != nullptr) {
    ReadList(expect,
             [&](const Item& one) { scenario.expectations.push_back(ReadExpectation(one, jobs)); });
    if (scenario.expectations.empty()) expect.Wrong("at least one expectation");
  }
  if (!wrong.ok()) return wrong.status();
  std::stable_sort(scenario.expectations.begin(), scenario.expectations.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  return scenario;
}

// What was last said of a part of a job.
struct Said {
  Verdict verdict = Verdict::kWait;
  Boxed<Reason> reason;
};

class Run {
 public:
  Run(Scenario scenario, bool forget)
      : scenario_(std::move(scenario)), forget_(forget), engine_(DefaultAssembly()) {}

  std::vector<std::string> All() {
    const std::string file = scenario_.simulation.file;
    scenario_.simulation.config.full_verify_every = 1;
    absl::StatusOr<std::unique_ptr<Arrivals>> arrivals = TakeArrivals(scenario_.simulation);
    if (!arrivals.ok()) return {std::string(arrivals.status().message())};
    World world(std::move(scenario_.simulation), *std::move(arrivals), engine_.state());
    std::size_t next = 0;
    const auto judge_until = [&](TimeMs time) {
      for (; next < scenario_.expectations.size() && scenario_.expectations[next].at < time;
           ++next) {
        Judge(file, scenario_.expectations[next]);
      }
    };
    while (const std::optional<Batch> batch = world.Next()) {
      judge_until(batch->time);
      for (const Event& event : batch->events) {
        const absl::Status status = engine_.Apply(event);
        if (!status.ok()) Fault(file, 0, std::string(status.message()));
      }
      if (forget_) engine_.DropDerived();
      const Plan plan = engine_.Tick(batch->time);
      Note(file, plan);
      world.Execute(plan);
    }
    judge_until(std::numeric_limits<TimeMs>::max());
    return std::move(faults_);
  }

 private:
  void Fault(const std::string& file, int line, const std::string& what) {
    faults_.push_back(file + ":" + std::to_string(line) + ": " + what);
  }

  void Note(const std::string& file, const Plan& plan) {
    const Books& books = engine_.state().books();
    for (const Decision& decision : plan.decisions) {
      said_[{books.jobs[decision.job.index()].name, decision.part}] = {decision.verdict,
                                                                       decision.reason};
      for (const TaskId id : decision.evictions) {
        const TaskRow& task = books.tasks[id.index()];
        const JobRow& job = books.jobs[task.job.index()];
        ++evictions_[{job.name, job.roles[task.role].name}];
      }
    }
    // What was said of the first job of a line may hold for the jobs behind it.
    for (const JobId id : books.waiting) {
      if (books.lines.AnswerOf(id) == nullptr) continue;
      const Standing& standing = StandingOf(books, id);
      said_[{books.jobs[id.index()].name, Part::kMinimum}] = {standing.verdict, standing.reason};
    }
    for (JobId job : plan.dropped) {
      Fault(file, 0, "a decision on job " + books.jobs[job.index()].name + " failed verification");
    }
    const std::string books_fault = engine_.state().CheckBooks();
    if (!books_fault.empty()) Fault(file, 0, books_fault);
  }

  void Judge(const std::string& file, const Expectation& expected) {
    const Books& books = engine_.state().books();
    const std::string subject = "job " + expected.job +
                                (expected.part == Part::kElastic ? " (elastic)" : "") +
                                (expected.role.empty() ? "" : " role " + expected.role) + " at " +
                                std::to_string(expected.at) + " ms: expected ";
    const auto said = said_.find({expected.job, expected.part});
    const std::string text = said == said_.end() ? "the engine gave no verdict"
                                                 : ReasonText(books.kinds, said->second.reason);
    const auto fault = [&](const std::string& wanted, const std::string& seen) {
      Fault(file, expected.line,
            subject + wanted + ", saw " + seen + (text.empty() ? "" : "; " + text));
    };
    if (said == said_.end() && (expected.verdict || expected.reason || !expected.text.empty())) {
      return fault("a verdict", "none");
    }
    if (expected.verdict && said->second.verdict != *expected.verdict) {
      fault("verdict " + VerdictWords()[static_cast<std::size_t>(*expected.verdict)],
            VerdictWords()[static_cast<std::size_t>(said->second.verdict)]);
    }
    if (expected.reason && said->second.reason->obstacle != *expected.reason) {
      fault("reason " + ReasonWords()[static_cast<std::size_t>(*expected.reason)],
            ReasonWords()[static_cast<std::size_t>(said->second.reason->obstacle)]);
    }
    for (const std::string& part : expected.text) {
      if (text.find(part) == std::string::npos) fault("text \"" + part + "\"", "another");
    }
    JudgePlaces(expected, fault);
  }

  template <class Fault>
  void JudgePlaces(const Expectation& expected, Fault fault) {
    const Books& books = engine_.state().books();
    std::set<std::string> nodes, devices;
    std::int64_t tasks = 0, held = 0;
    bool role_known = expected.role.empty();
    const JobId id = engine_.state().FindJob(expected.job);
    if (id.valid()) {
      for (const RoleRow& role : books.jobs[id.index()].roles) {
        if (!expected.role.empty() && role.name != expected.role) continue;
        role_known = true;
        for (TaskId task_id : role.tasks) {
          const TaskRow& row = books.tasks[task_id.index()];
          const bool waits = row.phase == TaskPhase::kPending && row.reserved_row.valid() &&
                             books.jobs[id.index()].waits_for_victims();
          if (!waits && !HoldsRoom(row.phase)) continue;
          ++tasks;
          held += waits;
          const TaskRow& task = waits ? books.tasks[row.reserved_row.index()] : row;
          const std::string& node = books.hardware.spec(task.node).name;
          nodes.insert(node);
          for (const Slice& slice : task.slices) {
            devices.insert(node + "/" + std::to_string(slice.device));
          }
        }
      }
    }
    if (id.valid() && !role_known) fault("the role", "none of that name");
    if (expected.tasks_placed && tasks != *expected.tasks_placed) {
      fault("tasks_placed " + std::to_string(*expected.tasks_placed), std::to_string(tasks));
    }
    if (expected.tasks_reserved && held != *expected.tasks_reserved) {
      fault("tasks_reserved " + std::to_string(*expected.tasks_reserved), std::to_string(held));
    }
    std::int64_t evictions = 0;
    for (const auto& [of, count] : evictions_) {
      if (of.first != expected.job) continue;
      if (expected.role.empty() || expected.role == of.second) evictions += count;
    }
    if (expected.evictions && evictions != *expected.evictions) {
      fault("evictions " + std::to_string(*expected.evictions), std::to_string(evictions));
    }
    if (expected.nodes && static_cast<std::int64_t>(nodes.size()) != *expected.nodes) {
      fault("nodes " + std::to_string(*expected.nodes), std::to_string(nodes.size()));
    }
    const std::vector<std::string> on(nodes.begin(), nodes.end());
    if (expected.placed_on && *expected.placed_on != on)
      fault("placed_on " + Joined(*expected.placed_on), Joined(on));
    const std::vector<std::string> taken(devices.begin(), devices.end());
    if (expected.devices && *expected.devices != taken) {
      fault("devices " + Joined(*expected.devices), Joined(taken));
    }
  }

  Scenario scenario_;
  bool forget_;
  Engine engine_;
  std::map<std::pair<std::string, Part>, Said> said_;
  std::map<std::pair<std::string, std::string>, std::int64_t> evictions_;  // by job and role
  std::vector<std::string> faults_;
};

}  // namespace

absl::StatusOr<Scenario> LoadScenario(const std::string& path) {
  return Read(LoadSimulation(path, {"why", "expect"}));
}

absl::StatusOr<Scenario> ParseScenario(const std::string& path, const std::string& text) {
  return Read(ParseSimulation(path, text, {"why", "expect"}));
}

std::vector<std::string> RunScenario(Scenario scenario, bool forget) {
  return Run(std::move(scenario), forget).All();
}

}  // namespace tephra
