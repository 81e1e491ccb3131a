#include "simulations/experiments/openb_parity.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/bad_input.h"
#include "plugins/registry.h"
#include "simulations/experiments/openb_run.h"
#include "simulations/output_file.h"
#include "simulations/traces/csv.h"

namespace tephra {
namespace {

constexpr int kPercents = Curve::kPercents;
using ByPercent = std::vector<std::optional<double>>;  // by whole percent
// Tolerance for decimal fractions stored as doubles.
constexpr double kSlack = 1e-9;

struct CurveKey {
  std::string workload, policy;
  std::int64_t seed = 0;
  auto operator<=>(const CurveKey&) const = default;
};
using Published = std::map<CurveKey, ByPercent>;

absl::StatusOr<Published> ReadPublished(const std::string& path) {
  std::vector<std::string> columns = {"workload", "sc_policy", "seed"};
  for (int p = 0; p < kPercents; ++p) columns.push_back(std::to_string(p));
  TEPHRA_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(path, columns));
  Published curves;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv.Next());
    if (!more) return curves;
    TEPHRA_ASSIGN_OR_RETURN(const std::int64_t seed, csv.Whole(2, 0, INT64_MAX));
    ByPercent points(kPercents);
    for (std::size_t p = 0; p < kPercents; ++p) {
      if (csv.Text(3 + p).empty()) continue;
      TEPHRA_ASSIGN_OR_RETURN(points[p], csv.Real(3 + p));
    }
    if (!curves.emplace(CurveKey{csv.Text(0), csv.Text(1), seed}, std::move(points)).second) {
      return csv.Wrong(2, "each combination of workload, policy and seed only once");
    }
  }
}

// The largest difference of two curves.
struct Gap {
  double worst = 0;          // percentage points, unrounded
  int at = 0;                // percent
  double worst_rounded = 0;  // with our value rounded to two decimals, as published
  int missing = 0;           // percents that only one curve has

  bool Within(double tolerance) const { return missing == 0 && worst <= tolerance + kSlack; }
};

double Rounded(double value) { return std::round(value * 100) / 100; }

Gap Compare(const ByPercent& ours, const ByPercent& published) {
  Gap gap;
  for (std::size_t p = 0; p < kPercents; ++p) {
    if (!ours[p].has_value() && !published[p].has_value()) continue;
    if (!ours[p].has_value() || !published[p].has_value()) {
      ++gap.missing;
      continue;
    }
    const double difference = std::fabs(*ours[p] - *published[p]);
    if (difference > gap.worst) gap.worst = difference, gap.at = static_cast<int>(p);
    gap.worst_rounded = std::max(gap.worst_rounded, std::fabs(Rounded(*ours[p]) - *published[p]));
  }
  return gap;
}

ByPercent Allocated(const Curve& curve) {
  ByPercent points(kPercents);
  for (int p = 0; p < kPercents; ++p) {
    if (const auto bin = curve.At(p)) points[static_cast<std::size_t>(p)] = bin->allocated;
  }
  return points;
}

// The mean at each percent that all of the curves have.
ByPercent Mean(const std::vector<ByPercent>& curves) {
  ByPercent mean(kPercents);
  for (std::size_t p = 0; p < kPercents; ++p) {
    double sum = 0;
    bool all = true;
    for (const ByPercent& curve : curves) {
      all = all && curve[p].has_value();
      sum += curve[p].value_or(0);
    }
    if (all) mean[p] = sum / static_cast<double>(curves.size());
  }
  return mean;
}

std::string Text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

class Parity {
 public:
  Parity(const OpenbParityOptions& options, std::ostream& out) : options_(options), out_(out) {}

  absl::StatusOr<OpenbParityTotals> Run() {
    TEPHRA_RETURN_IF_ERROR(ChoosePolicies());
    if (!options_.published.empty()) {
      TEPHRA_ASSIGN_OR_RETURN(published_, ReadPublished(options_.published));
    }
    TEPHRA_ASSIGN_OR_RETURN(nodes_, ReadOpenbNodes(options_.nodes));
    if (!options_.curves.empty()) {
      TEPHRA_ASSIGN_OR_RETURN(curves_, OutputFile::Create(options_.curves));
      std::string header = "workload,sc_policy,seed";
      for (int p = 0; p < kPercents; ++p) header.append(",").append(std::to_string(p));
      curves_->Write(header + "\n");
    }
    if (!options_.json) {
      out_
          << "workload                   policy            seed    worst     at  rounded      ms\n";
    }
    for (const std::string& path : options_.pods) TEPHRA_RETURN_IF_ERROR(RunWorkload(path));
    if (curves_ != nullptr) TEPHRA_RETURN_IF_ERROR(curves_->Commit());
    PrintTotals();
    return totals_;
  }

 private:
  absl::Status ChoosePolicies() {
    for (const std::string& name : options_.policies) {
      const auto& all = OpenbPolicies();
      const auto found = std::find_if(all.begin(), all.end(), [&](const OpenbPolicy& policy) {
        return policy.published == name || policy.score == name;
      });
      if (found != all.end()) {
        policies_.push_back(*found);
        continue;
      }
      const std::vector<std::string> ours = ScoreNames();
      if (std::find(ours.begin(), ours.end(), name) == ours.end()) {
        return absl::InvalidArgumentError(
            "--policies: " + Quoted(name) +
            ", expected 01-Random, 02-DotProd, 03-GpuClustering, "
            "04-GpuPacking, 05-BestFit, 06-FGD or the name of a score");
      }
      policies_.push_back({"", name, false});
    }
    if (policies_.empty()) policies_ = OpenbPolicies();
    if (!options_.published.empty()) return absl::OkStatus();
    for (OpenbPolicy& policy : policies_) policy.published.clear();
    return absl::OkStatus();
  }

  absl::Status RunWorkload(const std::string& path) {
    const std::string workload = std::filesystem::path(path).stem().string();
    TEPHRA_ASSIGN_OR_RETURN(OpenbPods list, ReadOpenbPods(path, ModelsOf(nodes_)));
    const auto pods = std::make_shared<const OpenbPods>(std::move(list));
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<ExpectedPod> expected, ExpectedOf(*pods));
    for (const OpenbPolicy& policy : policies_) {
      std::vector<ByPercent> ours, theirs;
      for (const std::uint64_t seed : options_.seeds) {
        const std::string order_path = OrderPath(workload, seed);
        TEPHRA_ASSIGN_OR_RETURN(OpenbOrder order, ReadOpenbOrder(order_path, pods->pods.size()));
        std::vector<NodeSpec> nodes = nodes_;
        TEPHRA_RETURN_IF_ERROR(RenameByOrder(order_path, order, nodes));
        const auto known =
            published_.find({workload, policy.published, static_cast<std::int64_t>(seed)});
        if (known == published_.end() && !policy.published.empty()) {
          return BadInput(options_.published, 0, "workload,sc_policy,seed",
                          workload + "," + policy.published + "," + std::to_string(seed),
                          "a curve for it");
        }
        const auto began = std::chrono::steady_clock::now();
        TEPHRA_ASSIGN_OR_RETURN(
            const OpenbResult result,
            RunOpenb(nodes, pods, std::make_shared<const OpenbOrder>(std::move(order)),
                     OpenbConfig(policy, seed, expected)));
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - began;
        ours.push_back(Allocated(result.curve));
        if (policy.published.empty()) {
          PrintOurs(workload, policy, seed, ours.back(), took.count());
        } else {
          theirs.push_back(known->second);
          Print(workload, policy, seed, Compare(ours.back(), theirs.back()), took.count());
        }
        Keep(workload, policy, seed, ours.back());
      }
      if (policy.random && !theirs.empty())
        PrintRandom(workload, Compare(Mean(ours), Mean(theirs)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<ExpectedPod>> ExpectedOf(const OpenbPods& pods) const {
    if (options_.learn_pods) return std::vector<ExpectedPod>{};
    if (options_.expected.empty()) return pods.Expected();
    TEPHRA_ASSIGN_OR_RETURN(const OpenbPods other,
                            ReadOpenbPods(options_.expected, ModelsOf(nodes_)));
    return other.Expected();
  }

  // "<short>_<seed>.txt", where the short name is without the common prefix "openb_pod_list_".
  std::string OrderPath(const std::string& workload, std::uint64_t seed) const {
    constexpr std::string_view kCommon = "openb_pod_list_";
    const std::string brief =
        workload.starts_with(kCommon) ? workload.substr(kCommon.size()) : workload;
    return (std::filesystem::path(options_.orders) / (brief + "_" + std::to_string(seed) + ".txt"))
        .string();
  }

  void Print(const std::string& workload, const OpenbPolicy& policy, std::uint64_t seed,
             const Gap& gap, double ms) {
    const bool good = gap.Within(options_.tolerance);
    if (!policy.random) totals_.curves += 1, totals_.matched += good;
    if (options_.json) {
      nlohmann::ordered_json row = {{"workload", workload},   {"policy", policy.published},
                                    {"seed", seed},           {"worst", gap.worst},
                                    {"at", gap.at},           {"worst_rounded", gap.worst_rounded},
                                    {"missing", gap.missing}, {"ms", ms}};
      if (!policy.random) row["match"] = good;
      rows_.push_back(std::move(row));
      return;
    }
    char line[256];
    std::snprintf(line, sizeof line, "%-26s %-16s %5llu %8.5f %4d %%  %7.2f %7.0f%s%s\n",
                  workload.c_str(), policy.published.c_str(), static_cast<unsigned long long>(seed),
                  gap.worst, gap.at, gap.worst_rounded, ms,
                  gap.missing > 0 ? "  (points are missing)" : "",
                  policy.random ? "  (see mean)"
                  : good        ? ""
                                : "  MISS");
    out_ << line << std::flush;
  }

  void PrintOurs(const std::string& workload, const OpenbPolicy& policy, std::uint64_t seed,
                 const ByPercent& ours, double ms) {
    nlohmann::ordered_json row = {
        {"workload", workload}, {"policy", policy.name()}, {"seed", seed}};
    std::string at;
    for (const std::size_t percent : {std::size_t{100}, std::size_t{130}}) {
      if (!ours[percent]) continue;
      const double idle = 100 - *ours[percent];
      row["unallocated_" + std::to_string(percent)] = idle;
      at += Text("  unallocated %.2f %%", idle) + " at " + std::to_string(percent) + " %";
    }
    row["ms"] = ms;
    if (options_.json) {
      rows_.push_back(std::move(row));
      return;
    }
    char line[128];
    std::snprintf(line, sizeof line, "%-26s %-16s %5llu", workload.c_str(), policy.name().c_str(),
                  static_cast<unsigned long long>(seed));
    out_ << line << at << Text("  %.0f ms", ms) << "\n" << std::flush;
  }

  void PrintRandom(const std::string& workload, const Gap& gap) {
    const bool good = gap.Within(options_.random_tolerance);
    totals_.random_curves += 1;
    totals_.random_matched += good;
    if (options_.json) {
      means_.push_back({{"workload", workload},
                        {"policy", "01-Random"},
                        {"worst", gap.worst},
                        {"at", gap.at},
                        {"match", good}});
      return;
    }
    char line[256];
    std::snprintf(line, sizeof line, "%-26s %-16s  mean %8.5f %4d %%%s\n", workload.c_str(),
                  "01-Random", gap.worst, gap.at, good ? "" : "  MISS");
    out_ << line << std::flush;
  }

  void Keep(const std::string& workload, const OpenbPolicy& policy, std::uint64_t seed,
            const ByPercent& points) {
    if (curves_ == nullptr) return;
    std::string row = workload + "," + policy.name() + "," + std::to_string(seed);
    for (const auto& point : points) row += point ? Text(",%.6f", *point) : ",";
    curves_->Write(row + "\n");
  }

  void PrintTotals() {
    if (options_.json) {
      const nlohmann::ordered_json all = {{"tolerance", options_.tolerance},
                                          {"random_tolerance", options_.random_tolerance},
                                          {"matched", totals_.matched},
                                          {"curves", totals_.curves},
                                          {"random_matched", totals_.random_matched},
                                          {"random_workloads", totals_.random_curves},
                                          {"runs", rows_},
                                          {"random_means", means_}};
      out_ << all.dump(2) << "\n";
      return;
    }
    if (options_.published.empty()) return;
    out_ << totals_.matched << " of " << totals_.curves << " curves match within "
         << Text("%g", options_.tolerance) << " percentage points at every whole percent\n";
    if (totals_.random_curves > 0) {
      out_ << totals_.random_matched << " of " << totals_.random_curves
           << " workloads match Random's mean over seeds within "
           << Text("%g", options_.random_tolerance) << "\n";
    }
  }

  const OpenbParityOptions& options_;
  std::ostream& out_;
  std::vector<OpenbPolicy> policies_;
  Published published_;
  std::vector<NodeSpec> nodes_;
  std::unique_ptr<OutputFile> curves_;
  OpenbParityTotals totals_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json means_ = nlohmann::ordered_json::array();
};

}  // namespace

absl::StatusOr<OpenbParityTotals> RunOpenbParity(const OpenbParityOptions& options,
                                                 std::ostream& out) {
  return Parity(options, out).Run();
}

}  // namespace tephra
