#include "simulations/report/run_files.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/bad_input.h"
#include "simulations/report/run_tasks.h"
#include "simulations/traces/csv.h"

namespace tephra {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostCount = 1'000'000'000;

absl::Status ReadSummary(RunFiles& run) {
  const std::string path = run.folder + "/summary.json";
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(
        path +
        ": cannot read the file; expected a folder that tephra simulate --out "
        "wrote");
  }
  try {
    run.summary = Json::parse(file);
  } catch (const Json::parse_error& error) {
    return BadInput(path, 0, "", "", std::string("JSON: ") + error.what());
  }
  const auto lacks = [&](const std::string& key, const std::string& expected) {
    return BadInput(path, 0, key, run.summary.contains(key) ? run.summary[key].dump() : "",
                    expected);
  };
  if (!run.summary.is_object()) return BadInput(path, 0, "", "", "one JSON object");
  for (const char* key : {"all", "by_queue", "by_user", "fairness", "jobs_by_state"}) {
    if (!run.summary.contains(key) || !run.summary[key].is_object()) {
      return lacks(key, "an object, as written by tephra simulate --out");
    }
  }
  if (!run.summary.contains("nodes") || !run.summary["nodes"].is_array()) {
    return lacks("nodes", "a list");
  }
  if (!run.summary.contains("end_s") || !run.summary["end_s"].is_number()) {
    return lacks("end_s", "a number");
  }
  run.end_s = run.summary["end_s"].get<double>();
  return absl::OkStatus();
}

absl::Status ReadJobs(RunFiles& run) {
  enum { kJob, kUser, kQueue, kState, kGpus, kSubmit, kStart, kEnd, kSlowdown, kEvictions };
  enum { kFailures = kEvictions + 1, kReason };
  TEPHRA_ASSIGN_OR_RETURN(
      CsvReader csv,
      CsvReader::Open(run.folder + "/jobs.csv",
                      {"job", "user", "queue", "state", "gpus", "submit_s", "start_s", "end_s",
                       "bounded_slowdown", "evictions", "failures", "reason"}));
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv.Next());
    if (!more) return absl::OkStatus();
    RunFiles::Job& job = run.jobs.emplace_back();
    job.name = csv.Text(kJob);
    job.reason = csv.Text(kReason);
    job.user = run.words.Add(csv.Text(kUser));
    job.queue = run.words.Add(csv.Text(kQueue));
    job.state = run.words.Add(csv.Text(kState));
    TEPHRA_ASSIGN_OR_RETURN(job.gpus, CsvAmount(csv, kGpus));
    TEPHRA_ASSIGN_OR_RETURN(job.submit_s, CsvAmount(csv, kSubmit));
    TEPHRA_ASSIGN_OR_RETURN(job.start_s, CsvAmountIfAny(csv, kStart));
    TEPHRA_ASSIGN_OR_RETURN(job.end_s, CsvAmountIfAny(csv, kEnd));
    TEPHRA_ASSIGN_OR_RETURN(job.bounded_slowdown, CsvAmountIfAny(csv, kSlowdown));
    TEPHRA_ASSIGN_OR_RETURN(job.evictions, csv.Whole(kEvictions, 0, kMostCount));
    TEPHRA_ASSIGN_OR_RETURN(job.failures, csv.Whole(kFailures, 0, kMostCount));
    if (job.start_s && *job.start_s < job.submit_s) {
      return csv.Wrong(kStart, "a time of at least submit_s, " + csv.Text(kSubmit));
    }
  }
}

absl::Status ReadSteps(RunFiles& run) {
  RunFiles::Steps& steps = run.steps;
  std::vector<double>* const columns[] = {&steps.time_s, &steps.span_s,     &steps.gpus,
                                          &steps.used,   &steps.fragmented, &steps.running,
                                          &steps.waiting};
  TEPHRA_ASSIGN_OR_RETURN(
      CsvReader csv, CsvReader::Open(run.folder + "/timeline.csv",
                                     {"time_s", "span_s", "gpus", "gpus_used", "gpus_fragmented",
                                      "jobs_running", "jobs_pending"}));
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv.Next());
    if (!more) return absl::OkStatus();
    for (std::size_t i = 0; i < std::size(columns); ++i) {
      TEPHRA_ASSIGN_OR_RETURN(const double value, CsvAmount(csv, i));
      columns[i]->push_back(value);
    }
    const std::size_t rows = steps.time_s.size();
    if (rows > 1 && steps.time_s[rows - 1] <= steps.time_s[rows - 2]) {
      return csv.Wrong(0, "a time after the previous row");
    }
  }
}

absl::Status ReadQueues(RunFiles& run) {
  TEPHRA_ASSIGN_OR_RETURN(
      CsvReader csv,
      CsvReader::Open(run.folder + "/queues.csv", {"gpus_used", "gpus_requested", "gpus_share",
                                                   "gpus_deserved", "time_s", "queue"}));
  constexpr std::size_t kTime = 4, kName = 5;
  WordList names;
  const std::vector<double>& times = run.steps.time_s;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv.Next());
    if (!more) return absl::OkStatus();
    TEPHRA_ASSIGN_OR_RETURN(const double time, CsvAmount(csv, kTime));
    const auto step = std::lower_bound(times.begin(), times.end(), time);
    if (step == times.end() || *step != time)
      return csv.Wrong(kTime, "a value of time_s in timeline.csv");
    const std::uint32_t place = names.Add(csv.Text(kName));
    if (place == run.queues.size()) {
      const std::vector<double> none(times.size(), 0.0);
      run.queues.push_back({csv.Text(kName), none, none, none, none});
    }
    RunFiles::Queue& queue = run.queues[place];
    std::vector<double>* const columns[] = {&queue.used, &queue.asked, &queue.share,
                                            &queue.deserved};
    for (std::size_t i = 0; i < std::size(columns); ++i) {
      TEPHRA_ASSIGN_OR_RETURN((*columns[i])[static_cast<std::size_t>(step - times.begin())],
                              CsvAmount(csv, i));
    }
  }
}

}  // namespace

std::uint32_t WordList::Add(const std::string& word) {
  const auto [place, is_new] = places_.emplace(word, static_cast<std::uint32_t>(words_.size()));
  if (is_new) words_.push_back(word);
  return place->second;
}

absl::StatusOr<RunFiles> ReadRunFiles(const std::string& folder) {
  RunFiles run;
  run.folder = folder;
  TEPHRA_RETURN_IF_ERROR(ReadSummary(run));
  TEPHRA_RETURN_IF_ERROR(ReadJobs(run));
  TEPHRA_RETURN_IF_ERROR(ReadSteps(run));
  TEPHRA_RETURN_IF_ERROR(ReadQueues(run));
  run.has_tasks = std::filesystem::exists(folder + "/tasks.csv");
  if (run.has_tasks) TEPHRA_RETURN_IF_ERROR(ReadTasks(run));
  return run;
}

}  // namespace tephra
