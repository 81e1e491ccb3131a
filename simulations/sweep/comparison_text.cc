// The printers of a Comparison.
#include <string>

#include <nlohmann/json.hpp>

#include "simulations/sweep/comparison.h"
#include "text/format.h"
#include "text/table.h"

namespace tephra {
namespace {

using Json = nlohmann::ordered_json;

const std::string& PolicyOf(const Sweep& sweep, const ComparisonRow& row) {
  return sweep.policies[row.policy].name;
}

std::string MeanText(const std::optional<Interval>& interval, int decimals) {
  return interval ? Fixed(interval->mean, decimals) : "-";
}

std::string HalfWidthText(const std::optional<Interval>& interval, int decimals) {
  return interval && interval->half_width ? "± " + Fixed(*interval->half_width, decimals) : "";
}

Json IntervalJson(const std::optional<Interval>& interval) {
  if (!interval) return Json();
  return {{"seeds", interval->samples},
          {"mean", interval->mean},
          {"half_width_95", interval->half_width ? Json(*interval->half_width) : Json()}};
}

// Shortest text that reads back as the same number, on every machine.
std::string Exact(double value) { return Json(value).dump(); }

}  // namespace

void PrintComparison(const Sweep& sweep, const std::vector<ComparisonRow>& rows,
                     std::ostream& out) {
  const std::string& baseline = sweep.policies[sweep.baseline].name;
  const bool alone = sweep.seeds.size() == 1;
  out << (sweep.name.empty() ? sweep.simulation : sweep.name) << "\n";
  if (alone) {
    out << "one seed, so there are no confidence intervals\n";
  } else {
    out << "means of " << sweep.seeds.size() << " seeds with 95 % confidence intervals; "
        << "differences are paired by seed; *: the interval excludes 0\n";
  }
  for (std::size_t load = 0; load < sweep.loads.size(); ++load) {
    out << "\nload " << LoadText(sweep, load) << "\n";
    Table table({"", "policy", "mean", "", "minus " + baseline, "", ""}, "llrlrll");
    std::size_t metric = sweep.metrics.size();
    for (const ComparisonRow& row : rows) {
      if (row.load != load) continue;
      const Metric& of = sweep.metrics[row.metric];
      const bool differs = row.difference && row.difference->Excludes(0);
      table.Add({row.metric == metric ? "" : of.title, PolicyOf(sweep, row),
                 MeanText(row.value, of.decimals), HalfWidthText(row.value, of.decimals),
                 row.policy == sweep.baseline ? "" : MeanText(row.difference, of.decimals),
                 HalfWidthText(row.difference, of.decimals), differs ? "*" : ""});
      metric = row.metric;
    }
    table.Print(out);
  }
}

std::string ComparisonJson(const Sweep& sweep, const std::vector<ComparisonRow>& rows) {
  Json list = Json::array();
  for (const ComparisonRow& row : rows) {
    Json by_seed = Json::object();
    for (std::size_t s = 0; s < row.by_seed.size(); ++s) {
      by_seed[std::to_string(sweep.seeds[s])] = row.by_seed[s] ? Json(*row.by_seed[s]) : Json();
    }
    Json one = {{"load", static_cast<double>(sweep.loads[row.load]) / 1000},
                {"metric", sweep.metrics[row.metric].name},
                {"policy", PolicyOf(sweep, row)},
                {"value", IntervalJson(row.value)}};
    if (row.policy != sweep.baseline) {
      one["difference"] = IntervalJson(row.difference);
      one["differs"] = row.difference && row.difference->Excludes(0);
    }
    one["by_seed"] = std::move(by_seed);
    list.push_back(std::move(one));
  }
  const Json all = {{"name", sweep.name},
                    {"simulation", sweep.simulation},
                    {"baseline", sweep.policies[sweep.baseline].name},
                    {"comparison", std::move(list)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ComparisonCsv(const Sweep& sweep, const std::vector<ComparisonRow>& rows) {
  std::string csv =
      "load,metric,policy,seeds,mean,half_width_95,difference,difference_half_width_95\n";
  const auto add = [&](const std::optional<Interval>& interval) {
    csv += ',';
    if (interval) csv += Exact(interval->mean);
    csv += ',';
    if (interval && interval->half_width) csv += Exact(*interval->half_width);
  };
  for (const ComparisonRow& row : rows) {
    csv += LoadText(sweep, row.load) + ',' + sweep.metrics[row.metric].name + ',' +
           PolicyOf(sweep, row) + ',' + std::to_string(row.value ? row.value->samples : 0);
    add(row.value);
    add(row.difference);
    csv += '\n';
  }
  return csv;
}

}  // namespace tephra
