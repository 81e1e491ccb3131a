#include <nlohmann/json.hpp>

#include "simulations/report/print.h"
#include "text/format.h"

namespace tephra {
namespace {

using Json = nlohmann::ordered_json;

Json Seconds(TimeMs time) { return time < 0 ? Json() : Json(static_cast<double>(time) / 1000); }

Json JobList(const Summary& summary) {
  Json list = Json::array();
  for (const JobLine& job : summary.jobs) {
    Json line = {{"name", job.name},
                 {"queue", job.queue},
                 {"shape", job.shape},
                 {"state", JobStateText(job.state)},
                 {"arrival_s", Seconds(job.arrival)},
                 {"start_s", Seconds(job.start)},
                 {"end_s", Seconds(job.end)},
                 {"tasks", job.tasks},
                 {"running", job.running},
                 {"finished", job.finished},
                 {"nodes", job.where}};
    if (job.all_reduce) {
      line["all_reduce"] = {{"gb_per_s", static_cast<double>(job.all_reduce->mbit_per_s) / 8000},
                            {"slowest", job.all_reduce->slowest}};
    }
    if (!job.why.empty()) line["reason"] = job.why;
    list.push_back(std::move(line));
  }
  return list;
}

Json ResourceList(const Summary& summary) {
  Json list = Json::array();
  for (const ResourceLine& line : summary.resources) {
    const auto amount = [&](std::int64_t value) {
      return static_cast<double>(value) / static_cast<double>(line.unit);
    };
    list.push_back({{"name", line.name},
                    {"unit", line.unit_name},
                    {"capacity", amount(line.capacity)},
                    {"used", amount(line.used)},
                    {"peak", amount(line.peak)},
                    {"mean_percent", line.mean_percent}});
  }
  return list;
}

Json QueueList(const Summary& summary) {
  Json list = Json::array();
  for (const QueueLine& queue : summary.queues) {
    Json line = {{"name", queue.name},
                 {"parent", queue.parent},
                 {"gpus_used", static_cast<double>(queue.gpu_used) / 1000}};
    line["gpu_limit"] =
        queue.gpu_limit ? Json(static_cast<double>(*queue.gpu_limit) / 1000) : Json();
    line.update(Json{{"jobs", queue.arrived},
                     {"running", queue.running},
                     {"waiting", queue.waiting},
                     {"ended", queue.ended},
                     {"mean_wait_s", queue.mean_wait_s}});
    list.push_back(std::move(line));
  }
  return list;
}

Json NodeList(const Summary& summary) {
  Json list = Json::array();
  for (const NodeLine& node : summary.nodes) {
    list.push_back({{"name", node.name},
                    {"gpu_model", node.model},
                    {"unschedulable", node.unschedulable},
                    {"gpu_used_per_mille", node.gpu_used},
                    {"cpu", static_cast<double>(node.cpu) / 1000},
                    {"cpu_used", static_cast<double>(node.cpu_used) / 1000}});
  }
  return list;
}

Json PointList(const Curve& curve) {
  Json list = Json::array();
  for (int percent = 0; percent < Curve::kPercents; ++percent) {
    const auto bin = curve.At(percent);
    if (!bin) continue;
    list.push_back({{"arrived_percent", percent},
                    {"points", bin->points},
                    {"allocated_percent", bin->allocated},
                    {"fragment_percent", bin->fragment},
                    {"fragment_of_idle_percent", bin->fragment_of_idle}});
  }
  return list;
}

Json MovesList(const Summary& summary) {
  Json list = Json::array();
  for (const MovesLine& line : summary.moves) {
    list.push_back({{"job", line.job},
                    {"at_s", Seconds(line.at)},
                    {"proposed", line.proposed},
                    {"tasks", line.tasks},
                    {"jobs", line.jobs},
                    {"gain_gpu_s", line.gain_gpu_s},
                    {"cost_gpu_s", line.cost_gpu_s},
                    {"moves", line.moves}});
  }
  return list;
}

}  // namespace

std::string JsonText(const Summary& summary, const Curve& curve) {
  Json all = {{"name", summary.name},
              {"file", summary.file},
              {"end_s", Seconds(summary.end)},
              {"events", summary.events},
              {"cycles", summary.cycles},
              {"jobs_by_state",
               {{"arrived", summary.arrived},
                {"started", summary.started},
                {"running", summary.running},
                {"finished", summary.finished},
                {"waiting", summary.waiting},
                {"infeasible", summary.infeasible},
                {"dropped", summary.dropped},
                {"removed", summary.removed}}},
              {"tasks",
               {{"started", summary.tasks_started},
                {"running", summary.tasks_running},
                {"finished", summary.tasks_finished}}},
              {"decisions_dropped", summary.dropped_decisions},
              {"wait_s",
               {{"jobs", summary.waits.jobs},
                {"mean", summary.waits.mean_s},
                {"median", summary.waits.median_s},
                {"p95", summary.waits.p95_s},
                {"longest", summary.waits.most_s}}},
              {"resources", ResourceList(summary)},
              {"fragment_percent", summary.fragment_percent},
              {"fragment_of_idle_percent", summary.fragment_of_idle_percent},
              {"queues", QueueList(summary)},
              {"nodes", NodeList(summary)},
              {"jobs", JobList(summary)},
              {"jobs_left_out", summary.jobs_left_out},
              {"curve", PointList(curve)}};
  if (!summary.moves.empty()) all["consolidation"] = MovesList(summary);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string CurveCsv(const Curve& curve) {
  std::string csv =
      "arrived_percent,points,allocated_percent,fragment_percent,fragment_of_idle_percent\n";
  for (int percent = 0; percent < Curve::kPercents; ++percent) {
    csv += std::to_string(percent);
    const auto bin = curve.At(percent);
    if (bin) {
      csv += ',' + std::to_string(bin->points) + ',' + Fixed(bin->allocated, 6) + ',' +
             Fixed(bin->fragment, 6) + ',' + Fixed(bin->fragment_of_idle, 6);
    } else {
      csv += ",0,,,";
    }
    csv += '\n';
  }
  return csv;
}

}  // namespace tephra
