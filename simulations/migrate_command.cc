#include "simulations/migrate_command.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>

namespace tephra {

namespace {

constexpr const char* kProgram = "kubectl-tephra";
constexpr int kUnreachable = 3;

// Returns only if the program cannot be run: beside this one, and else on PATH.
int RunProgram(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {kProgram, "migrate"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) execv((self.parent_path() / kProgram).c_str(), argv.data());
  execvp(kProgram, argv.data());
  std::cerr << "tephra migrate: cannot run " << kProgram << ": " << std::strerror(errno)
            << "; expected it beside tephra or on PATH\n";
  return kUnreachable;
}

}  // namespace

void AddMigrateCommand(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "migrate", "List what a move of a cluster to Tephra changes and what blocks it, by kubectl-tephra.");
  command->prefix_command();
  command->set_help_flag();
  command->callback([command, &code] { code = RunProgram(command->remaining()); });
}

}  // namespace tephra
