#include "simulations/experiments/openb_command.h"

#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/bad_input.h"
#include "base/quantity.h"
#include "simulations/experiments/openb_parity.h"

namespace tephra {
namespace {

// "42", "42-46" or several of them.
std::optional<std::vector<std::uint64_t>> ParseSeeds(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> seeds;
  for (const std::string& text : texts) {
    const std::size_t dash = text.find('-');
    const auto first = ParseWhole(text.substr(0, dash));
    const auto last = dash == std::string::npos ? first : ParseWhole(text.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last - *first > 10000) {
      return std::nullopt;
    }
    for (std::int64_t seed = *first; seed <= *last; ++seed) {
      seeds.push_back(static_cast<std::uint64_t>(seed));
    }
  }
  return seeds;
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

int Run(OpenbParityOptions options, const std::vector<std::string>& seeds) {
  const auto parsed = ParseSeeds(seeds);
  if (!parsed) {
    std::cerr << "tephra openb: --seeds: " << Quoted(Joined(seeds))
              << ", expected numbers, or ranges such as 42-46 of at most 10001 seeds\n";
    return 2;
  }
  options.seeds = *parsed;
  if (options.policies == std::vector<std::string>{"all"}) options.policies.clear();
  const absl::StatusOr<OpenbParityTotals> totals = RunOpenbParity(options, std::cout);
  if (!totals.ok()) {
    std::cerr << "tephra openb: " << totals.status().message() << "\n";
    return 2;
  }
  const bool all =
      totals->matched == totals->curves && totals->random_matched == totals->random_curves;
  return all ? 0 : 1;
}

}  // namespace

void AddOpenbCommand(CLI::App& app, int& code) {
  struct Arguments {
    OpenbParityOptions options;
    std::vector<std::string> seeds = {"42-46"};
    std::string output = "text";
  };
  const auto arguments = std::make_shared<Arguments>();
  OpenbParityOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand(
      "openb",
      "Repeat a published experiment: fill a cluster with the pods of the openb trace, and compare how many GPUs are "
      "allocated with the published results.");
  command->add_option("--nodes", options.nodes, "node list (CSV)")->required();
  command
      ->add_option("--pods", options.pods,
                   "pod lists (CSV); the file name is the name of the workload")
      ->required();
  command
      ->add_option("--orders", options.orders, "folder with the arrival orders, WORKLOAD_SEED.txt")
      ->required();
  command->add_option("--published", options.published,
                      "published curves (CSV); default: there is nothing to compare with");
  command->add_option("--seeds", arguments->seeds, "seeds: numbers or ranges such as 42-46")
      ->capture_default_str()
      ->delimiter(',');
  command
      ->add_option(
          "--policies", options.policies,
          "published names (06-FGD) or scores (fgd, stranding); default: all published policies")
      ->delimiter(',');
  command
      ->add_option("--tolerance", options.tolerance,
                   "largest accepted difference, in percentage points")
      ->capture_default_str();
  command
      ->add_option("--random-tolerance", options.random_tolerance,
                   "the same for the mean of the policy Random over all seeds")
      ->capture_default_str();
  CLI::Option* learn = command->add_flag(
      "--learn-pods", options.learn_pods,
      "let scores learn the distribution of pods during the run (default: it is configured)");
  command
      ->add_option("--expected", options.expected,
                   "pod list (CSV) that scores expect (default: the list of the run)")
      ->excludes(learn);
  command->add_option("--curves", options.curves,
                      "write the curves of this run to this file (CSV)");
  command->add_option("--output", arguments->output, "format of the report on stdout: text or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  command->callback([arguments, &code] {
    arguments->options.json = arguments->output == "json";
    code = Run(arguments->options, arguments->seeds);
  });
}

}  // namespace tephra
