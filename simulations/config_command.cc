#include "simulations/config_command.h"

#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "settings/reference.h"

namespace tephra {

void AddConfigCommand(CLI::App& app, int& code) {
  const auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "config",
      "Print the settings of the engine and their defaults, for the map `engine` of engine.yaml. The map `policies` of a "
      "simulation has the same keys.");
  command->add_flag("--markdown", *markdown, "the list of docs/reference/configuration.md");
  command->callback([markdown, &code] {
    std::cout << (*markdown ? SettingsMarkdown() : "engine:\n" + SettingsYaml(EngineConfig{}, "  "));
    code = 0;
  });
}

}  // namespace tephra
