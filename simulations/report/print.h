// The printers of a Summary and a Curve. Equal input gives equal bytes.
#pragma once

#include <ostream>
#include <string>

#include "simulations/report/curve.h"
#include "simulations/report/summary.h"
#include "topology/hardware.h"

namespace tephra {

// For a terminal: nodes as a picture, resources, queues, jobs, pending jobs with their reasons.
void PrintText(const Summary& summary, std::ostream& out);

// One JSON object; docs/reference/simulate.md describes it.
std::string JsonText(const Summary& summary, const Curve& curve);

// arrived_percent,points,allocated_percent,fragment_percent,fragment_of_idle_percent; one row for
// each whole percent from 0 to 130, empty if no point fell there.
std::string CurveCsv(const Curve& curve);

// The forest of domains, one line for each with its nodes and GPUs. `nodes`: also one line for each
// node.
// REQUIRES: the hardware is settled.
void PrintFabric(const Hardware& hardware, bool nodes, std::ostream& out);
// The same in the DOT language of Graphviz.
void PrintFabricDot(const Hardware& hardware, bool nodes, std::ostream& out);
// The same as an SVG 1.1 picture with every node, and with its GPUs if there is room.
void PrintFabricSvg(const Hardware& hardware, const std::string& title, std::ostream& out);

}  // namespace tephra
