// TraceReader: reads the jobs of a trace in the order of submission, in constant memory, and
// reports the faults of its lines.
//
// A line is a job, a fault or a comment. A skipped line is always reported and does not end the
// reading. The returned jobs never go back in time. One owner thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "simulations/traces/alea.h"
#include "simulations/traces/swf.h"
#include "simulations/traces/trace_form.h"
#include "simulations/traces/trace_machine.h"

namespace tephra {

struct TraceOptions {
  std::optional<TraceForm> form;  // nullopt: detected
  TraceMachine machine;           // without parts: as described in the trace, if it is
  std::set<std::string> queues;   // empty: unknown
  // The number of jobs read ahead to sort them by submission. A job out of order is reported, and
  // it is skipped if it is further back than that. 0: always skipped.
  std::size_t sort_window = 0;
  // The first line that would be skipped is an error. Other faults are still reported.
  bool strict = false;
};

enum class TraceStep { kJob, kFault, kEnd };

class TraceReader {
 public:
  static constexpr std::size_t kMostSorted = 1'000'000;
  static constexpr std::size_t kMostComments = 100'000;  // before the first job

  // INVALID_ARGUMENT with file and line if the format is unknown or the header row lacks a column;
  // other errors are those of LineReader. REQUIRES: options.sort_window <= kMostSorted.
  static absl::StatusOr<TraceReader> Open(const std::string& path, TraceOptions options);

  // Sets `job` or `fault`, depending on the returned step. A fault of a job that is used comes
  // before the job. An error: the file cannot be read, or the first skipped line if `strict`.
  absl::StatusOr<TraceStep> Next(TraceJob& job, TraceFault& fault);

  TraceForm form() const { return form_; }
  const TraceMachine& machine() const { return options_.machine; }
  // As the header of an SWF trace says; 1: another form.
  std::int64_t processors_per_node() const { return header_.processors_per_node(); }
  const SwfHeader& header() const { return header_; }  // of SWF and Alea
  const AleaTables& tables() const { return tables_; }
  // Lines with a job or a fault so far, including jobs that were read ahead.
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
  bool held_ = false;              // text_ is a line that Begin() read and that is not parsed yet
  bool ended_ = false;             // the end of the file was reached
  std::vector<TraceJob> ahead_;    // a heap, earliest submission on top
  std::deque<TraceFault> faults_;  // faults of the last job, or of the header
  TimeMs given_ = 0,
         latest_ = 0;  // submission times: of the last returned job; the latest that was read
  int latest_line_ = 0, given_line_ = 0;
  std::int64_t records_ = 0;
};

}  // namespace tephra
