#include "simulations/traces/trace_reader.h"

#include <algorithm>
#include <utility>

#include "base/bad_input.h"
#include "text/format.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// The order of the heap: earliest time on top, then lowest line.
bool ComesLater(const TraceJob& a, const TraceJob& b) {
  return a.submit != b.submit ? a.submit > b.submit : a.line > b.line;
}

bool IsComment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos || line[first] == ';';
}

std::string TimeText(TimeMs time) { return Decimal(time, kSecondMs) + " s"; }

}  // namespace

TraceReader::TraceReader(LineReader lines, TraceOptions options)
    : lines_(std::move(lines)), options_(std::move(options)) {}

absl::StatusOr<TraceReader> TraceReader::Open(const std::string& path, TraceOptions options) {
  TEPHRA_CHECK(options.sort_window <= kMostSorted);
  TEPHRA_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  TraceReader reader(std::move(lines), std::move(options));
  TEPHRA_RETURN_IF_ERROR(reader.Begin());
  return reader;
}

absl::Status TraceReader::Begin() {
  std::optional<TraceFault> wrong;
  for (std::size_t comments = 0;; ++comments) {
    TEPHRA_ASSIGN_OR_RETURN(held_, lines_.Next(text_));
    if (!held_ || !IsComment(text_)) break;
    if (comments == kMostComments) {
      return BadInput(lines_.path(), lines_.line(), "", text_,
                      "a job after at most " + std::to_string(kMostComments) + " comments");
    }
    std::optional<TraceFault> fault = header_.Take(text_, lines_.line());
    if (fault && !wrong) wrong = std::move(fault);
  }
  if (wrong) faults_.push_back(*std::move(wrong));
  const std::optional<TraceForm> form = options_.form ? options_.form : GuessTraceForm(text_);
  if (!form) {
    return BadInput(lines_.path(), lines_.line(), "", text_,
                    "the header row or the first job of a trace in one of the formats swf, philly, "
                    "muri, tiresias, alea");
  }
  form_ = *form;
  if (form_ == TraceForm::kAlea) {
    TEPHRA_ASSIGN_OR_RETURN(tables_, ReadAleaTables(lines_.path()));
  }
  TEPHRA_ASSIGN_OR_RETURN(parser_,
                          MakeTraceParser(form_, lines_.path(), lines_.line(), text_, tables_));
  if (HasHeaderRow(form_)) held_ = false;
  if (!options_.machine.parts.empty()) return absl::OkStatus();
  if (form_ == TraceForm::kAlea) options_.machine = tables_.machine;
  if (form_ == TraceForm::kSwf && header_.processors() > 0) {
    options_.machine.parts = {{"", kNotKnown, header_.processors(), kNotKnown}};
  }
  return absl::OkStatus();
}

// Reads the next line that is not a comment into text_.
absl::StatusOr<bool> TraceReader::NextLine() {
  if (std::exchange(held_, false)) return true;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, lines_.Next(text_));
    if (!more) return false;
    // An empty row of a CSV has too few fields.
    if (HasHeaderRow(form_) || !IsComment(text_)) return true;
  }
}

absl::StatusOr<TraceStep> TraceReader::Give(const TraceFault& fault) {
  if (fault.skipped && options_.strict) return FaultStatus(lines_.path(), fault);
  return TraceStep::kFault;
}

TraceStep TraceReader::Give(const TraceJob& job) {
  given_ = job.submit;
  given_line_ = job.line;
  return TraceStep::kJob;
}

absl::StatusOr<TraceStep> TraceReader::Next(TraceJob& job, TraceFault& fault) {
  while (true) {
    if (!faults_.empty()) {
      fault = std::move(faults_.front());
      faults_.pop_front();
      return Give(fault);
    }
    if (ahead_.size() > options_.sort_window || (ended_ && !ahead_.empty())) {
      std::pop_heap(ahead_.begin(), ahead_.end(), ComesLater);
      job = std::move(ahead_.back());
      ahead_.pop_back();
      return Give(job);
    }
    if (ended_) return TraceStep::kEnd;
    TEPHRA_ASSIGN_OR_RETURN(const bool more, NextLine());
    if (!more) {
      ended_ = true;
      continue;
    }
    ++records_;
    if (!lines_.ended()) {
      fault = {TraceFaultKind::kCut, lines_.line(), "", text_,
               "an end of line (the file may be truncated)"};
      return Give(fault);
    }
    if (!parser_->Parse(text_, lines_.line(), job, fault) || !Accept(job, fault)) {
      return Give(fault);
    }
    if (options_.sort_window == 0 && faults_.empty())
      return Give(job);  // the same result as with the heap, but faster
    ahead_.push_back(std::move(job));
    std::push_heap(ahead_.begin(), ahead_.end(), ComesLater);
  }
}

// False: the job is skipped because of `fault`.
bool TraceReader::Accept(TraceJob& job, TraceFault& fault) {
  const auto wrong = [&](TraceFaultKind kind, const char* field, std::string value,
                         std::string expected) {
    fault = {kind, job.line, field, std::move(value), std::move(expected)};
    return false;
  };
  if (!options_.queues.empty() && !options_.queues.contains(job.queue)) {
    return wrong(TraceFaultKind::kUnknownQueue, "queue", job.queue,
                 "one of the " + std::to_string(options_.queues.size()) + " queues of the machine");
  }
  const MachinePart* nearest = nullptr;
  switch (FitOn(options_.machine, job, nearest)) {
    case MachineFit::kFits:
      break;
    case MachineFit::kUnknownPartition:
      return wrong(TraceFaultKind::kUnknownPartition, "partition", job.partition,
                   "a partition of the machine");
    case MachineFit::kTooLarge:
      return wrong(TraceFaultKind::kTooLarge, "size", AskedText(*nearest, job),
                   "at most the " + LimitText(*nearest) + " of the machine");
  }
  if (!InOrder(job, fault)) return false;
  if (job.requested != kNotKnown && job.run > job.requested) {
    faults_.push_back({TraceFaultKind::kOverRequested, job.line, "run", TimeText(job.run),
                       "at most the requested " + TimeText(job.requested), false});
  }
  return true;
}

bool TraceReader::InOrder(const TraceJob& job, TraceFault& fault) {
  const auto back = [&](TimeMs than, int line, bool skipped) {
    return TraceFault{TraceFaultKind::kBackInTime,
                      job.line,
                      "submit",
                      TimeText(job.submit),
                      "at least " + TimeText(than) + ", as in line " + std::to_string(line),
                      skipped};
  };
  if (given_line_ > 0 && job.submit < given_) {
    fault = back(given_, given_line_, true);
    return false;
  }
  if (job.submit < latest_) {
    faults_.push_back(back(latest_, latest_line_, false));
  } else {
    latest_ = job.submit;
    latest_line_ = job.line;
  }
  return true;
}

}  // namespace tephra
