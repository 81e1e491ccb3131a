#include <nlohmann/json.hpp>

#include "simulations/report/print.h"
#include "simulations/traces/trace_fault_json.h"
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
                    {"mean_percent", line.mean_percent},
                    {"mean_percent_while_jobs_come", line.mean_percent_while_jobs_come}});
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
                     {"pending", queue.waiting},
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

Json AmountsJson(const AmountsLine& line) {
  return {{"jobs", line.count}, {"mean", line.mean}, {"p50", line.p50},  {"p90", line.p90},
          {"p95", line.p95},    {"p99", line.p99},   {"most", line.most}};
}

Json GroupJson(const GroupLine& line) {
  return {{"jobs", line.jobs},
          {"finished", line.finished},
          {"gpu_hours", line.gpu_hours},
          {"lost_gpu_hours", line.lost_gpu_hours},
          {"evictions", line.evictions},
          {"failures", line.failures},
          {"restarts", line.restarts},
          {"wait_s", AmountsJson(line.wait_s)},
          {"jct_s", AmountsJson(line.jct_s)},
          {"bounded_slowdown", AmountsJson(line.bounded_slowdown)}};
}

Json IntervalsJson(const IntervalsLine& line) {
  return {{"judged", line.judged},
          {"inside", line.inside},
          {"early", line.early},
          {"late", line.late},
          {"inside_percent", line.judged == 0 ? Json() : Json(line.InsidePercent())},
          {"mean_width_s", line.mean_width_s},
          {"median_width_s", line.median_width_s},
          {"started_at_once", line.at_once},
          {"without_interval", line.none}};
}

Json ByQueue(const Summary& summary) {
  Json all = Json::object();
  for (const GroupLine& line : summary.by_queue) all[line.name] = GroupJson(line);
  return all;
}

Json ByUser(const Summary& summary) {
  Json all = Json::object();
  for (const UserLine& line : summary.by_user) {
    all[line.name] = {{"jobs", line.jobs},
                      {"finished", line.finished},
                      {"gpu_hours", line.gpu_hours},
                      {"mean_wait_s", line.mean_wait_s},
                      {"mean_bounded_slowdown", line.mean_bounded_slowdown}};
  }
  return all;
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
                {"pending", summary.waiting},
                {"infeasible", summary.infeasible},
                {"dropped", summary.dropped},
                {"removed", summary.removed}}},
              {"tasks",
               {{"started", summary.tasks_started},
                {"running", summary.tasks_running},
                {"finished", summary.tasks_finished}}},
              {"decisions_dropped", summary.dropped_decisions},
              {"all", GroupJson(summary.all)},
              {"by_queue", ByQueue(summary)},
              {"by_user", ByUser(summary)},
              {"start_intervals", IntervalsJson(summary.intervals)},
              {"fairness",
               {{"jain_queues", summary.fairness.queues}, {"jain_users", summary.fairness.users}}},
              {"resources", ResourceList(summary)},
              {"fragment_percent", summary.fragment_percent},
              {"fragment_of_idle_percent", summary.fragment_of_idle_percent},
              {"queues", QueueList(summary)},
              {"nodes", NodeList(summary)},
              {"jobs", JobList(summary)},
              {"jobs_left_out", summary.jobs_left_out},
              {"curve", PointList(curve)}};
  if (summary.interrupted) all["interrupted"] = true;
  if (summary.large) {
    all["large_gangs"] = {{"gpus", summary.large->least.gpus},
                          {"tasks", summary.large->least.tasks}};
    all["large_gangs"].update(GroupJson(summary.large->jobs));
  }
  if (summary.trace) {
    const TraceReading& reading = summary.trace->reading;
    all["trace"] = {{"file", summary.trace->path},
                    {"records", reading.records},
                    {"skipped", reading.faults.skipped()},
                    {"faults", TraceFaultsJson(reading.faults)}};
  }
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
