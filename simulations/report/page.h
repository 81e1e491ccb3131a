// The page of `tephra report`: one self-contained HTML file with the figures of one or two runs as
// JSON (docs/reference/report.md). Equal input gives equal bytes.
#pragma once

#include <string>
#include <vector>

#include "simulations/report/run_files.h"

namespace tephra {

// Limits of a page. The page says what was left out.
struct PageLimits {
  std::size_t bars = 200'000;  // of all runs together, by GPU time
  std::size_t jobs = 500;      // in a table
  std::size_t queues = 24;     // charts, by use
  std::size_t names = 200;     // queues or users in a table
  std::size_t points = 400;    // of a distribution
};

// The figures as JSON: one entry in `runs` for each run, and `changes` if there are two runs.
// REQUIRES: one or two runs.
std::string PageData(const std::vector<RunFiles>& runs, const PageLimits& limits = {});

// The whole page around the figures.
std::string PageHtml(const std::string& data);

}  // namespace tephra
