// RunInputs: all that a run depends on, as text: a run whose text is as it was need not run again.
#pragma once

#include <string>

#include "simulations/workload/simulation.h"

namespace tephra {

// The program, the files that the simulation reads with their sizes and times of change, and its
// document. `program` tells one build from another.
std::string RunInputs(const std::string& program, const Simulation& simulation);

// "PATH, 1234 bytes, changed at 5678 ns"; a file that is not there is told too.
std::string FileStamp(const std::string& path);

}  // namespace tephra
