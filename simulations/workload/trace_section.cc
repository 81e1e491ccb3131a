// workload.trace: a trace, with the options of `tephra trace`; workload.generate: random jobs.
#include <algorithm>
#include <limits>

#include "simulations/workload/sections.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostGpus = 1024;  // on one node
constexpr std::int64_t kMostJobs = 1'000'000'000, kMostBurst = 10'000;

// The fields that both sources share.
void ReadJobsAlike(Fields& fields, TraceWorkload& trace) {
  int word = 0;
  fields.Whole("node_size", trace.node_size, 1, kMostGpus);
  if (fields.OneOf("estimate", {"requested", "actual"}, word)) {
    trace.estimate = static_cast<Estimate>(word);
  }
  fields.Duration("min_runtime", trace.min_runtime);
  const Item load = fields.At("load");
  if (load.node != nullptr && ReadQuantity(load, trace.load, 1000) &&
      (trace.load < 1 || trace.load > TraceWorkload::kMostLoad)) {
    load.Wrong("a number from 0.001 to 1000");
    trace.load = 1000;
  }
  fields.Text("partition_label", trace.partition_label);
  if (fields.OneOf("on_failure", {"task", "gang"}, word)) trace.fails_whole = word == 1;
  fields.Switch("movable", trace.movable);
  fields.Switch("preemptible", trace.preemptible);
}

}  // namespace

TraceWorkload ReadTraceWorkload(const Sections& sections, const Item& item) {
  TraceWorkload trace;
  Fields fields(item);
  fields.Need("file");
  std::string path;
  if (fields.Text("file", path)) trace.path = Resolved(sections.file, path);
  int word = 0;
  if (fields.OneOf("format", {"swf", "philly", "muri", "tiresias", "alea"}, word)) {
    trace.options.form = static_cast<TraceForm>(word);
  }
  std::vector<std::string> queues;
  if (fields.Texts("queues", queues)) trace.options.queues = {queues.begin(), queues.end()};
  fields.Whole("sort_window", trace.options.sort_window, 0, TraceReader::kMostSorted);
  fields.Switch("strict", trace.options.strict);
  fields.Switch("clamp_to_requested", trace.clamp_to_requested);
  ReadJobsAlike(fields, trace);
  fields.Done();
  return trace;
}

TraceWorkload ReadGenerator(const Item& item) {
  TraceWorkload trace;
  JobModel& model = trace.model.emplace();
  Fields fields(item);
  fields.Whole("seed", model.seed, 0, std::numeric_limits<std::int64_t>::max());
  fields.Need("jobs");
  fields.Whole("jobs", model.jobs, 1, kMostJobs);
  fields.Need("mean_interarrival");
  fields.Duration("mean_interarrival", model.every);
  std::int64_t burst = 1;
  fields.Whole("mean_burst", burst, 1, kMostBurst);
  model.burst = static_cast<double>(burst);
  const Item gpus = fields.At("gpus"), run = fields.At("mean_runtime");
  if ((gpus.node == nullptr) != (run.node == nullptr)) {
    item.Wrong(
        "both gpus and mean_runtime, or neither (then sizes and run times follow Lublin and "
        "Feitelson, 2003)");
  }
  if (run.node != nullptr) ReadDuration(run, model.mean_run);
  if (gpus.node != nullptr) {
    ReadList(gpus, [&](const Item& one) {
      JobModel::Size size;
      std::int64_t millionths = 1'000'000;
      Fields of(one);
      of.Need("gpus");
      of.Whole("gpus", size.gpus, 1, kMaxTasks);
      of.Quantity("share", millionths, 1'000'000);
      of.Done();
      size.share = static_cast<double>(std::max<std::int64_t>(millionths, 1)) / 1e6;
      model.sizes.push_back(size);
    });
    if (model.sizes.empty()) gpus.Wrong("at least one size");
  }
  fields.Texts("queues", model.queues);
  fields.Texts("users", model.users);
  ReadJobsAlike(fields, trace);
  fields.Done();
  return trace;
}

}  // namespace tephra
