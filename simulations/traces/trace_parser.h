// TraceParser: the form of a trace: what one line of its file says.
//
// A form is a file here (swf.cc, philly.cc, ...), and a line in trace_form.cc. One owner thread.
#pragma once

#include <string_view>

#include "simulations/traces/trace_fault.h"
#include "simulations/traces/trace_job.h"

namespace tephra {

class TraceParser {
 public:
  virtual ~TraceParser() = default;

  // True: the line gave `job`, in which nothing stays of a job before. False: `fault` says why not.
  virtual bool Parse(std::string_view text, int line, TraceJob& job, TraceFault& fault) = 0;
};

}  // namespace tephra
