// RunInputs: everything that a run depends on, as text. A run with an unchanged text is reused.
#pragma once

#include <string>

#include "simulations/workload/simulation.h"

namespace tephra {

// The program, the files that the simulation reads (with size and modification time), and its
// document. `program` identifies the build.
std::string RunInputs(const std::string& program, const Simulation& simulation);

// "PATH, 1234 bytes, changed at 5678 ns"; a missing file is listed too.
std::string FileStamp(const std::string& path);

}  // namespace tephra
