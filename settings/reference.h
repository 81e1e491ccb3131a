// The settings of the engine as text: a configuration to start from, and the list of
// docs/reference/configuration.md.
#pragma once

#include <string>

#include "engine/config.h"

namespace tephra {

// Lines of YAML, each setting with what it is for. `indent` stands before each line.
std::string SettingsYaml(const EngineConfig& config, const std::string& indent);
// A list in Markdown: name, default, meaning, values.
std::string SettingsMarkdown();

}  // namespace tephra
