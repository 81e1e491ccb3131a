#include "simulations/sweep/sweep_file.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/quantity.h"
#include "simulations/workload/sections.h"
#include "simulations/workload/simulation_file.h"
#include "text/format.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostSeeds = 10'000;
constexpr std::size_t kMostLoads = 1000, kMostPolicies = 1000, kMostRuns = 1'000'000;
constexpr std::size_t kMostName = 100;

// The value of the key; null if it is missing or the document is not a map.
Yaml::Ptr Under(const Yaml::Ptr& map, const std::string& key) {
  if (map == nullptr) return nullptr;
  for (const Yaml::Entry& entry : map->entries) {
    if (entry.key == key) return entry.value;
  }
  return nullptr;
}

// The document with the value at the path set.
Yaml::Ptr With(const Yaml::Ptr& document, const std::vector<std::string>& path, Yaml::Ptr value) {
  for (std::size_t i = path.size(); i-- > 0;) {
    auto map = std::make_shared<Yaml>();
    map->kind = Yaml::Kind::kMap;
    map->line = value->line;
    map->size = value->size + 2;
    map->depth = value->depth + 1;
    map->entries.push_back({path[i], value->line, std::move(value)});
    value = std::move(map);
  }
  return LaidOver(document, value);
}

Yaml::Ptr With(const Yaml::Ptr& document, const std::vector<std::string>& path,
               const std::string& text) {
  auto node = std::make_shared<Yaml>();
  node->kind = Yaml::Kind::kText;
  node->text = text;
  return With(document, path, std::move(node));
}

bool IsFolderName(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name[0] != '.' && name.size() <= kMostName &&
         std::all_of(name.begin(), name.end(), plain);
}

// Adds the value; a value that is there already is a fault.
template <class Value>
void AddOnce(const Item& item, Value value, std::vector<Value>& values) {
  if (std::find(values.begin(), values.end(), value) != values.end())
    item.Wrong("each value only once");
  values.push_back(value);
}

// "3" or "1-5".
void ReadSeeds(const Item& item, std::vector<std::uint64_t>& seeds) {
  const std::string& text = item.node->text;
  const std::size_t dash = text.find('-', 1);
  const auto first = ParseWhole(std::string_view(text).substr(0, dash));
  const auto last =
      dash == std::string::npos ? first : ParseWhole(std::string_view(text).substr(dash + 1));
  if (item.node->kind != Yaml::Kind::kText || !first || !last || *first < 0 || *last < *first ||
      *last - *first >= kMostSeeds) {
    return item.Wrong("a whole number of at least 0, or a range such as 1-5, of at most " +
                      std::to_string(kMostSeeds));
  }
  if (static_cast<std::int64_t>(seeds.size()) + *last - *first >= kMostSeeds) {
    return item.Wrong("at most " + std::to_string(kMostSeeds) + " seeds in total");
  }
  for (std::int64_t i = 0; i <= *last - *first; ++i) {
    AddOnce(item, static_cast<std::uint64_t>(*first + i), seeds);
  }
}

class SweepReader {
 public:
  SweepReader(const std::string& path, const SweepChoice& choice)
      : path_(path), choice_(choice), wrong_(path) {}

  absl::StatusOr<Sweep> Read() {
    TEPHRA_ASSIGN_OR_RETURN(const Yaml::Ptr root, ReadYaml(path_));
    Fields top({root.get(), "", &wrong_});
    std::string why;
    top.Text("name", sweep_.name);
    top.Text("why", why);
    top.Need("simulation");
    if (top.Text("simulation", sweep_.simulation)) {
      sweep_.simulation = Resolved(path_, sweep_.simulation);
    }
    const Item policies = top.Need("policies"), large = top.At("large_gangs");
    if (!wrong_.ok()) return wrong_.status();
    TEPHRA_RETURN_IF_ERROR(ReadBase());
    if (large.node != nullptr) {
      base_ = With(base_, {"outputs", "large_gangs"}, Under(root, "large_gangs"));
      ReadLargeGangs(large);
    }
    TEPHRA_RETURN_IF_ERROR(ReadPolicySource(policies, Under(root, "policies")));
    ReadBaseline(top);
    ReadListOrOne(top.At("seeds"), [&](const Item& one) { ReadSeeds(one, sweep_.seeds); });
    if (sweep_.seeds.empty()) sweep_.seeds.push_back(1);
    ReadLoads(top.At("loads"));
    const Item metrics = top.At("metrics");
    ReadMetrics(metrics, top.At("queues"));
    top.Done();
    const std::size_t runs = sweep_.policies.size() * sweep_.loads.size() * sweep_.seeds.size();
    if (wrong_.ok() && runs > kMostRuns) {
      wrong_.Wrong(root->line, "policies, loads, seeds", std::to_string(runs) + " runs",
                   "at most " + std::to_string(kMostRuns) + " runs (policies x loads x seeds)");
    }
    if (!wrong_.ok()) return wrong_.status();
    return std::move(sweep_);
  }

 private:
  template <class Each>
  void ReadListOrOne(const Item& item, const Each& each) {
    if (item.node == nullptr) return;
    if (item.node->kind == Yaml::Kind::kText) {
      each(item);
    } else {
      ReadList(item, each);
    }
  }

  // The simulation must be valid on its own.
  absl::Status ReadBase() {
    TEPHRA_ASSIGN_OR_RETURN(base_, ReadYaml(sweep_.simulation));
    const Yaml::Ptr workload = Under(base_, "workload");
    for (const char* source : {"trace", "generate"}) {
      if (Under(workload, source) != nullptr) sweep_.source = source;
    }
    if (choice_.trace) {
      if (sweep_.source != "trace") {
        return absl::InvalidArgumentError(
            sweep_.simulation + ": workload.trace: missing, expected because " + "--trace is set");
      }
      std::error_code error;
      const auto path = std::filesystem::absolute(*choice_.trace, error);
      if (error)
        return absl::InvalidArgumentError("--trace: cannot resolve the path: " + error.message());
      base_ = With(base_, {"workload", "trace", "file"}, path.lexically_normal().string());
    }
    TEPHRA_ASSIGN_OR_RETURN(Simulation simulation, LoadSimulation(sweep_.simulation, base_));
    TEPHRA_RETURN_IF_ERROR(TakeArrivals(simulation).status());
    sweep_.has_failures = Under(base_, "failures") != nullptr;
    load_ = simulation.trace ? simulation.trace->load : 1000;
    if (choice_.files) return absl::OkStatus();
    for (const char* file : {"tasks", "jobs", "timeline", "curve"}) {
      base_ = With(base_, {"outputs", file}, "false");
    }
    return absl::OkStatus();
  }

  // The map itself, or the path of a file that holds it.
  absl::Status ReadPolicySource(const Item& item, const Yaml::Ptr& policies) {
    if (item.node->kind != Yaml::Kind::kText) {
      ReadPolicyMap(item, policies);
      return absl::OkStatus();
    }
    const std::string path = Resolved(path_, item.node->text);
    TEPHRA_ASSIGN_OR_RETURN(const Yaml::Ptr map, ReadYaml(path));
    Diagnosis wrong(path);
    ReadPolicyMap({map.get(), "", &wrong}, map);
    return wrong.status();
  }

  void ReadPolicyMap(const Item& item, const Yaml::Ptr& map) {
    if (item.node->entries.size() > kMostPolicies) {
      return item.Wrong("at most " + std::to_string(kMostPolicies) + " policies");
    }
    ReadMap(item, [&](const std::string& name, const Item& one) {
      if (!IsFolderName(name)) {
        item.wrong->Wrong(one.node->line, item.path, name,
                     "a name of at most " + std::to_string(kMostName) +
                         " letters, digits, \"-\", \"_\" and \".\" (it names a folder)");
      }
      const Yaml::Ptr document = With(base_, {"policies"}, Under(map, name));
      const Yaml::Ptr policies = Under(document, "policies");
      if (policies != nullptr && policies->kind != Yaml::Kind::kNull) {
        ReadPolicies({policies.get(), one.path, item.wrong});
      }
      sweep_.policies.push_back({name, document});
    });
    if (sweep_.policies.empty()) item.Wrong("at least one policy");
  }

  void ReadBaseline(Fields& top) {
    std::vector<std::string> names;
    for (const Sweep::Policy& policy : sweep_.policies) names.push_back(policy.name);
    int baseline = 0;
    top.OneOf("baseline", names, baseline);
    sweep_.baseline = static_cast<std::size_t>(baseline);
  }

  void ReadLoads(const Item& item) {
    if (item.node != nullptr && sweep_.source.empty()) {
      item.Wrong(
          "no loads: the simulation lists its jobs, and a load scales workload.trace or "
          "workload.generate");
    }
    ReadListOrOne(item, [&](const Item& one) {
      std::int64_t load = 0;
      if (!ReadQuantity(one, load, 1000)) return;
      if (load < 1 || load > TraceWorkload::kMostLoad) one.Wrong("a number from 0.001 to 1000");
      if (sweep_.loads.size() >= kMostLoads) {
        return one.Wrong("at most " + std::to_string(kMostLoads) + " loads");
      }
      AddOnce(one, load, sweep_.loads);
    });
    if (sweep_.loads.empty()) sweep_.loads.push_back(load_);
  }

  void ReadMetrics(const Item& item, const Item& queues) {
    std::vector<std::string> known, named;
    for (const Metric& metric : Metrics()) known.push_back(metric.name);
    ReadListOrOne(item, [&](const Item& one) {
      const auto found = std::find(known.begin(), known.end(), one.node->text);
      if (found == known.end()) {
        std::string all;
        for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
        return one.Wrong("one of " + all);
      }
      AddOnce(one, *found, named);
      sweep_.metrics.push_back(Metrics()[static_cast<std::size_t>(found - known.begin())]);
    });
    if (item.node == nullptr) sweep_.metrics = Metrics();
    named.clear();
    ReadListOrOne(queues, [&](const Item& one) {
      std::string queue;
      if (!ReadText(one, queue)) return;
      AddOnce(one, queue, named);
      for (Metric& metric : MetricsOfQueue(queue)) sweep_.metrics.push_back(std::move(metric));
    });
  }

  const std::string& path_;
  const SweepChoice& choice_;
  Diagnosis wrong_;
  Sweep sweep_;
  Yaml::Ptr base_;
  std::int64_t load_ = 1000;  // of the simulation file
};

}  // namespace

absl::StatusOr<Sweep> LoadSweep(const std::string& path, const SweepChoice& choice) {
  return SweepReader(path, choice).Read();
}

std::vector<SweepRun> RunsOf(const Sweep& sweep) {
  std::vector<SweepRun> runs;
  for (std::size_t seed = 0; seed < sweep.seeds.size(); ++seed) {
    for (std::size_t load = 0; load < sweep.loads.size(); ++load) {
      for (std::size_t policy = 0; policy < sweep.policies.size(); ++policy) {
        runs.push_back({policy, load, seed});
      }
    }
  }
  return runs;
}

std::string LoadText(const Sweep& sweep, std::size_t load) {
  return Decimal(sweep.loads[load], 1000);
}

std::string NameOf(const Sweep& sweep, const SweepRun& run) {
  return sweep.policies[run.policy].name + "/" + LoadText(sweep, run.load) + "/" +
         std::to_string(sweep.seeds[run.seed]);
}

Yaml::Ptr DocumentOf(const Sweep& sweep, const SweepRun& run) {
  const std::string seed = std::to_string(sweep.seeds[run.seed]);
  Yaml::Ptr document = With(sweep.policies[run.policy].document, {"policies", "seed"}, seed);
  if (sweep.has_failures) document = With(document, {"failures", "seed"}, seed);
  if (sweep.source.empty()) return document;
  if (sweep.source == "generate") document = With(document, {"workload", "generate", "seed"}, seed);
  return With(document, {"workload", sweep.source, "load"}, LoadText(sweep, run.load));
}

}  // namespace tephra
