// The printers of a Summary and a Curve. Equal input gives equal bytes.
#pragma once

#include <ostream>
#include <string>

#include "simulations/report/curve.h"
#include "simulations/report/summary.h"
#include "topology/hardware.h"

namespace tephra {

// For a terminal: nodes as a picture, queues, jobs, what waits and why, utilisation.
void PrintText(const Summary& summary, std::ostream& out);

// One JSON object; docs/simulate.md describes it.
std::string JsonText(const Summary& summary, const Curve& curve);

// arrived_percent,points,allocated_percent,fragment_percent,fragment_of_idle_percent; one row for
// each whole percent from 0 to 130, empty where no point fell.
std::string CurveCsv(const Curve& curve);

// The forest of domains, a line each with its nodes and GPUs, and with `nodes` those too.
// REQUIRES: the hardware is settled.
void PrintFabric(const Hardware& hardware, bool nodes, std::ostream& out);
// The same in the language of Graphviz.
void PrintFabricDot(const Hardware& hardware, bool nodes, std::ostream& out);
// The same as a picture, SVG 1.1, with every node; its GPUs too while there is room for them.
void PrintFabricSvg(const Hardware& hardware, const std::string& title, std::ostream& out);

}  // namespace tephra
