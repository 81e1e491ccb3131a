#include "simulations/topology_command.h"

#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "simulations/report/print.h"
#include "simulations/workload/simulation_file.h"
#include "topology/hardware.h"

namespace tephra {

void AddTopologyCommand(CLI::App& app, int& code) {
  struct Arguments {
    std::string path, output = "text";
    bool nodes = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "topology",
      "Draw the network topology of a simulation file: which nodes are in which domain.");
  command->add_option("FILE", arguments->path, "simulation file (docs/reference/simulate.md)")
      ->required();
  command
      ->add_option("--output", arguments->output,
                   "format of the drawing on stdout: text, dot (Graphviz) or svg")
      ->check(CLI::IsMember({"text", "dot", "svg"}))
      ->capture_default_str();
  command->add_flag("--nodes", arguments->nodes,
                    "draw each node, not only the domains (svg always does)");
  command->callback([arguments, &code] {
    const absl::StatusOr<Simulation> simulation = LoadSimulation(arguments->path);
    if (!simulation.ok()) {
      std::cerr << "tephra topology: " << simulation.status().message() << "\n";
      code = 2;
      return;
    }
    Hardware hardware;
    for (const NodeSpec& node : simulation->nodes) hardware.Upsert(node);
    for (const DomainSpec& domain : simulation->domains) hardware.UpsertDomain(domain);
    hardware.Settle();
    if (arguments->output == "svg") {
      const std::string& title = simulation->name.empty() ? arguments->path : simulation->name;
      return PrintFabricSvg(hardware, title, std::cout);
    }
    const auto print = arguments->output == "dot" ? PrintFabricDot : PrintFabric;
    print(hardware, arguments->nodes, std::cout);
  });
}

}  // namespace tephra
