#include <nlohmann/json.hpp>

#include "simulations/whatif/whatif.h"

namespace tephra {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(DurationMs duration) { return static_cast<double>(duration) / kSecondMs; }

// Null if it never happens.
Json Time(TimeMs time, TimeMs cut) { return time < 0 ? Json() : Json(Seconds(time - cut)); }

Json JobJson(const JobOutcome* job, TimeMs cut) {
  if (job == nullptr) return {};
  Json interval;
  if (job->first_interval) {
    interval = {Seconds(job->first_interval->low - cut), Seconds(job->first_interval->high - cut)};
  }
  Json json = {{"start_s", Time(job->start, cut)},
               {"end_s", Time(job->end, cut)},
               {"start_interval_s", interval},
               {"wait_s", job->start < 0 ? Json() : Json(Seconds(job->start - job->arrival))},
               {"evictions", job->evictions},
               {"state", JobStateText(job->state)},
               {"nodes", job->where}};
  if (!job->why.empty()) json["reason"] = job->why;
  return json;
}

Json WaitsJson(const Waits& waits) {
  return {{"jobs", waits.jobs},          {"started", waits.started},
          {"mean_wait_s", waits.mean_s}, {"median_wait_s", waits.median_s},
          {"p95_wait_s", waits.p95_s},   {"evictions", waits.evictions}};
}

Json RunJson(const WhatifRun& run, TimeMs cut) {
  Json json = {{"end_s", Time(run.summary.end, cut)}};
  json["gpu_percent"] = Json();
  for (const ResourceLine& line : run.summary.resources) {
    if (line.name == "gpu") json["gpu_percent"] = line.mean_percent;
  }
  json["all"] = WaitsJson(run.totals.all);
  json["pending"] = WaitsJson(run.totals.waiting);
  json["coming"] = WaitsJson(run.totals.coming);
  json["by_queue"] = Json::object();
  for (const auto& [name, waits] : run.totals.queues) json["by_queue"][name] = WaitsJson(waits);
  return json;
}

}  // namespace

std::string WhatifJson(const WhatifResult& result) {
  const Reproduced& same = result.reproduced;
  Json json = {
      {"journal", result.file},
      {"changes", result.changes},
      {"cut",
       {{"after_first_cycle_s", Seconds(result.after_first)},
        {"before_last_cycle_s", Seconds(result.before_last)},
        {"engine_ms", result.origin + result.cut}}},
      {"jobs",
       {{"running", result.running}, {"pending", result.waiting}, {"coming", result.coming}}},
      {"run_times",
       {{"recorded", result.runs.recorded},
        {"expected", result.runs.expected},
        {"predicted", result.runs.predicted},
        {"assumed", result.runs.assumed},
        {"unknown", result.runs.unknown}}},
      {"eviction_grace_s", Seconds(result.grace)},
      {"decided_otherwise", result.decided_otherwise},
      {"recorded",
       {{"starts", same.starts},
        {"same_starts", same.same_starts},
        {"ends", same.ends},
        {"same_ends", same.same_ends},
        {"most_off_s", Seconds(same.most_off)}}},
      {"interrupted", result.interrupted},
      {"as_is", RunJson(result.as_is, result.cut)},
      {"changed", RunJson(result.changed, result.cut)},
      {"elsewhere", result.elsewhere}};
  Json& list = json["differences"] = Json::array();
  for (const JobDifference& one : result.differences) {
    const JobOutcome& job = one.before != nullptr ? *one.before : *one.after;
    list.push_back({{"job", job.name},
                    {"uid", job.uid},
                    {"queue", job.queue},
                    {"came_s", Seconds(job.arrival - result.cut)},
                    {"as_is", JobJson(one.before, result.cut)},
                    {"changed", JobJson(one.after, result.cut)}});
  }
  // The text of a journal is UTF-8, but its path may not be.
  constexpr auto kLenient = Json::error_handler_t::replace;
  return json.dump(2, ' ', false, kLenient) + "\n";
}

}  // namespace tephra
