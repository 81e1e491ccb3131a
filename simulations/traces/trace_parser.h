// TraceParser: reads one line of a trace in one format.
//
// Each format has a file here (swf.cc, alea.cc, ...) and a line in trace_form.cc. One owner thread.
#pragma once

#include <string_view>

#include "simulations/traces/trace_fault.h"
#include "simulations/traces/trace_job.h"

namespace tephra {

class TraceParser {
 public:
  virtual ~TraceParser() = default;

  // True: `job` is set completely. False: `fault` is set.
  virtual bool Parse(std::string_view text, int line, TraceJob& job, TraceFault& fault) = 0;
};

}  // namespace tephra
