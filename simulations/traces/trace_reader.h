// TraceReader: the jobs of a timed trace in the order of their submission, in constant memory, and
// all that is wrong with its lines.
//
// A line is a job, or a fault, or a comment: none is passed over in silence, and a line that is
// skipped does not end the reading. Jobs that are given never go back in time. One owner thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulations/traces/alea.h"
#include "simulations/traces/swf.h"
#include "simulations/traces/trace_form.h"
#include "simulations/traces/trace_machine.h"
#include "text/text_file.h"

namespace tephra {

struct TraceOptions {
  std::optional<TraceForm> form;  // nullopt: by the first line that is no comment
  TraceMachine machine;           // without parts: as the trace says, if it does
  std::set<std::string> queues;   // empty: not told
  // A job that was submitted before the one of an earlier line is put in its place among so many
  // jobs read ahead, and told; further back it is skipped. 0: always skipped.
  std::size_t sort_window = 0;
  // The first line that would be skipped is an error. Faults that skip nothing are still told.
  bool strict = false;
};

enum class TraceStep { kJob, kFault, kEnd };

class TraceReader {
 public:
  static constexpr std::size_t kMostSorted = 1'000'000;
  static constexpr std::size_t kMostComments = 100'000;  // before the first job

  // INVALID_ARGUMENT with file and line where no form is known or the header row lacks a column;
  // else as LineReader. REQUIRES: options.sort_window <= kMostSorted.
  static absl::StatusOr<TraceReader> Open(const std::string& path, TraceOptions options);

  // Sets `job` or `fault` as the step says. A fault that is told of a job comes before it. A
  // failure means that the file cannot be read on, or the first fault of a strict reader.
  absl::StatusOr<TraceStep> Next(TraceJob& job, TraceFault& fault);

  TraceForm form() const { return form_; }
  const TraceMachine& machine() const { return options_.machine; }
  const SwfHeader& header() const { return header_; }  // of SWF and Alea
  const AleaTables& tables() const { return tables_; }
  // Lines that were a job or a fault of their own so far; those of jobs read ahead are counted.
  std::int64_t records() const { return records_; }
  double part() const { return lines_.part(); }

 private:
  TraceReader(LineReader lines, TraceOptions options);
  absl::Status Begin();
  absl::StatusOr<bool> NextLine();
  bool Accept(TraceJob& job, TraceFault& fault);
  bool InOrder(const TraceJob& job, TraceFault& fault);
  absl::StatusOr<TraceStep> Give(const TraceFault& fault);
  TraceStep Give(const TraceJob& job);

  LineReader lines_;
  TraceOptions options_;
  TraceForm form_ = TraceForm::kSwf;
  SwfHeader header_;
  AleaTables tables_;
  std::unique_ptr<TraceParser> parser_;

  std::string text_;
  bool held_ = false;              // text_ is a line that Begin read and that is still to be parsed
  bool ended_ = false;             // the file is read
  std::vector<TraceJob> ahead_;    // a heap, the first to come on top
  std::deque<TraceFault> told_;    // of the job read last, or of the header
  TimeMs given_ = 0, latest_ = 0;  // submit times: of the last job given, the latest read
  int latest_line_ = 0, given_line_ = 0;
  std::int64_t records_ = 0;
};

}  // namespace tephra
