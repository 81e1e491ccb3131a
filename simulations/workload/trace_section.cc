// workload.trace: a timed trace, in the words of `tephra trace`.
#include "simulations/workload/sections.h"

namespace tephra {

TraceWorkload ReadTraceWorkload(const Sections& sections, const Item& item) {
  TraceWorkload trace;
  Fields fields(item);
  fields.Need("file");
  std::string path;
  if (fields.Text("file", path)) trace.path = Resolved(sections.file, path);
  int word = 0;
  if (fields.OneOf("form", {"swf", "philly", "muri", "tiresias", "alea"}, word)) {
    trace.options.form = static_cast<TraceForm>(word);
  }
  std::vector<std::string> queues;
  if (fields.Texts("queues", queues)) trace.options.queues = {queues.begin(), queues.end()};
  fields.Whole("sort", trace.options.sort_window, 0, TraceReader::kMostSorted);
  fields.Switch("strict", trace.options.strict);
  fields.Whole("per_node", trace.per_node, 1, 1024);
  if (fields.OneOf("estimate", {"requested", "run"}, word)) {
    trace.estimate = static_cast<Estimate>(word);
  }
  fields.Switch("clamp_runs", trace.clamp_runs);
  fields.Duration("least_run", trace.least_run);
  fields.Text("partition_label", trace.partition_label);
  if (fields.OneOf("on_failure", {"task", "gang"}, word)) trace.fails_whole = word == 1;
  fields.Switch("movable", trace.movable);
  fields.Switch("preemptible", trace.preemptible);
  fields.Done();
  return trace;
}

}  // namespace tephra
