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
      "Print the settings of the engine with their defaults, as the map `engine` of its "
      "configuration file. A simulation has the same keys in its map `policies`.");
  command->add_flag("--markdown", *markdown, "the list of docs/reference/configuration.md");
  command->callback([markdown, &code] {
    std::cout << (*markdown ? SettingsMarkdown() : "engine:\n" + SettingsYaml(EngineConfig{}, "  "));
    code = 0;
  });
}

}  // namespace tephra
