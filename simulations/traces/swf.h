// The Standard Workload Format, version 2.2, of the Parallel Workloads Archive
// (https://www.cs.huji.ac.il/labs/parallel/workload/swf.html).
//
// A line has 18 numbers; -1 is what is not known. Read from them:
//   size       allocated processors (5), or requested ones (8) where those are not known or 0
//   times      submit (2), run (4) and requested time (9), in seconds, with decimals or not
//   memory     requested (10), or used (7) where that is not known: KiB of each processor
//   status     (11): 1 completed, 0 failed, 5 cancelled; 2 to 4 are parts of a job that has a line
//              of its own, which would count twice
//   names      user (12), group (13), queue (15) and partition (16): their numbers as text
// Fields from which nothing is read are not looked at.
#pragma once

#include <memory>
#include <optional>

#include "simulations/traces/trace_parser.h"

namespace tephra {

std::unique_ptr<TraceParser> MakeSwfParser();

// What its header comments say; kNotKnown where they do not.
struct SwfHeader {
  std::int64_t max_procs = kNotKnown;
  std::int64_t max_nodes = kNotKnown;
  std::int64_t unix_start_s = kNotKnown;

  // Reads one comment ("; MaxProcs: 100"). If the value of a known key is not a number, that is a
  // reported fault, and the size of the machine stays unknown.
  std::optional<TraceFault> Take(std::string_view comment, int line);
  // The processors of the machine: MaxProcs, or MaxNodes, which is the same unless a node has
  // several.
  std::int64_t processors() const { return max_procs > 0 ? max_procs : max_nodes; }
  // Of the largest node: 1 if the header does not say how many there are.
  std::int64_t processors_per_node() const {
    const bool known = max_procs > 0 && max_nodes > 0;
    return known ? (max_procs - 1) / max_nodes + 1 : 1;
  }
};

}  // namespace tephra
