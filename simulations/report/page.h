// The page of `tephra report`: one HTML file that needs nothing else, with the figures of one or
// two runs in it as JSON (docs/report.md). Equal input gives equal bytes.
#pragma once

#include <string>
#include <vector>

#include "simulations/report/run_files.h"

namespace tephra {

// What a page holds at the most; what is left out is told on the page.
struct PageLimits {
  std::size_t bars = 200'000;  // of all runs: those that held the most GPU time
  std::size_t jobs = 500;      // in a table
  std::size_t queues = 24;     // charts: of the queues that used most
  std::size_t names = 200;     // queues or users in a table
  std::size_t points = 400;    // of a distribution
};

// The figures alone, as JSON. Of each run one entry in `runs`; of two also `changes`.
// REQUIRES: one or two runs.
std::string PageData(const std::vector<RunFiles>& runs, const PageLimits& limits = {});

// The whole page around the figures.
std::string PageHtml(const std::string& data);

}  // namespace tephra
