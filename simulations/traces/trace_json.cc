#include "simulations/traces/trace_fault_json.h"
#include "simulations/traces/trace_summary.h"

namespace tephra {
namespace {

using TraceJson = nlohmann::ordered_json;

TraceJson KnownSeconds(std::int64_t ms) { return static_cast<double>(ms) / 1000; }

TraceJson PercentilesJson(const Percentiles& of, double unit) {
  const auto scaled = [&](std::int64_t amount) -> TraceJson {
    if (unit == 1) return amount;
    return static_cast<double>(amount) / unit;
  };
  TraceJson json = {{"known", of.count()}, {"least", scaled(of.least())}};
  for (const int percent : {10, 25, 50, 75, 90, 99}) {
    json["p" + std::to_string(percent)] = scaled(of.At(percent));
  }
  json["most"] = scaled(of.most());
  return json;
}

TraceJson ShareJson(const TraceShare& share) {
  return {{"jobs", share.jobs},
          {"cpu_hours", share.cpu_ms / 3'600'000},
          {"gpu_hours", share.gpu_ms / 3'600'000}};
}

TraceJson SharesJson(const std::map<std::string, TraceShare>& shares) {
  TraceJson json = TraceJson::object();
  for (const auto& [name, share] : shares) json[name] = ShareJson(share);
  return json;
}

TraceJson MachineJson(const TraceSummary& summary) {
  const auto known = [](std::int64_t amount) {
    return amount == kNotKnown ? TraceJson() : TraceJson(amount);
  };
  const auto load = [](double part) { return part < 0 ? TraceJson() : TraceJson(part); };
  return {{"cpus", known(summary.machine.Cpus())},
          {"gpus", known(summary.machine.Gpus())},
          {"cpu_load", load(summary.CpuLoad())},
          {"gpu_load", load(summary.GpuLoad())}};
}

}  // namespace

nlohmann::ordered_json TraceFaultsJson(const TraceFaultCounts& faults) {
  TraceJson json = TraceJson::object();
  for (std::size_t i = 0; i < kTraceFaultKinds; ++i) {
    const auto kind = static_cast<TraceFaultKind>(i);
    const TraceFaultCounts::Count& count = faults.of(kind);
    if (count.times == 0) continue;
    json[TraceFaultName(kind)] = {{"times", count.times},
                                  {"skipped", count.skipped},
                                  {"first",
                                   {{"line", count.first.line},
                                    {"field", count.first.field},
                                    {"value", count.first.value},
                                    {"expected", count.first.expected}}}};
  }
  return json;
}

void PrintTraceJson(const TraceSummary& summary, std::ostream& out) {
  TraceJson json = {{"trace", summary.path},
                    {"format", TraceFormName(summary.form)},
                    {"form_guessed", summary.guessed},
                    {"records", summary.records},
                    {"skipped", summary.faults.skipped()}};
  json.update(ShareJson(summary.all));
  json["first_submit_s"] = KnownSeconds(summary.first);
  json["last_submit_s"] = KnownSeconds(summary.last);
  if (summary.unix_start_s != kNotKnown) json["unix_start_s"] = summary.unix_start_s;
  for (const auto& [status, jobs] : summary.statuses) json["ended"][TraceStatusName(status)] = jobs;
  json["machine"] = MachineJson(summary);
  json["size"] = PercentilesJson(summary.sizes, 1);
  json["run_s"] = PercentilesJson(summary.runs_ms, 1000);
  json["requested_s"] = PercentilesJson(summary.requested_ms, 1000);
  json["queues"] = SharesJson(summary.queues);
  json["users"] = SharesJson(summary.users);
  json["groups"] = SharesJson(summary.groups);
  json["faults"] = TraceFaultsJson(summary.faults);
  // The trace is UTF-8, but its path may not be.
  out << json.dump(2, ' ', false, TraceJson::error_handler_t::replace) << "\n";
}

}  // namespace tephra
