#include "simulations/experiments/openb_command.h"

#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "simulations/experiments/openb_parity.h"
#include "text/bad_input.h"
#include "text/quantity.h"

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

int Run(OpenbParityOptions options, const std::vector<std::string>& seeds) {
  const auto parsed = ParseSeeds(seeds);
  if (!parsed) {
    std::cerr << "tephra openb: --seeds: expected numbers or ranges such as 42-46\n";
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
      "Replay the openb fill-up experiment pod by pod and compare its allocation curves "
      "with published ones.");
  command->add_option("--nodes", options.nodes, "node list, CSV")->required();
  command->add_option("--pods", options.pods, "pod lists, CSV; the file name is the workload")
      ->required();
  command->add_option("--orders", options.orders, "folder of arrival orders, WORKLOAD_SEED.txt")
      ->required();
  command->add_option("--published", options.published, "curves to compare with, CSV")->required();
  command->add_option("--seeds", arguments->seeds, "numbers or ranges")
      ->capture_default_str()
      ->delimiter(',');
  command
      ->add_option(
          "--policies", options.policies,
          "published names (06-FGD), or scores (fgd, stranding); all published unless given")
      ->delimiter(',');
  command->add_option("--tolerance", options.tolerance, "percentage points")->capture_default_str();
  command
      ->add_option("--random-tolerance", options.random_tolerance,
                   "of Random's mean over the seeds, percentage points")
      ->capture_default_str();
  command->add_flag(
      "--untold", options.untold,
      "do not tell scores the distribution of pods: those of ours learn it on the way");
  command->add_option("--curves", options.curves, "write our curves to this CSV");
  command->add_option("--output", arguments->output, "text or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  command->callback([arguments, &code] {
    arguments->options.json = arguments->output == "json";
    code = Run(arguments->options, arguments->seeds);
  });
}

}  // namespace tephra
