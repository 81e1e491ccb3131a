#include "simulations/whatif_command.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/bad_input.h"
#include "base/quantity.h"
#include "base/text_file.h"
#include "simulations/interrupt.h"
#include "simulations/whatif/whatif.h"

namespace tephra {
namespace {

struct WhatifArguments {
  WhatifOptions options;
  std::string output = "text", at = "end", file, until, assume, grace, checkpoints;
  std::vector<std::string> changes;
};

absl::Status ReadDurationOption(const char* name, const std::string& text,
                                std::optional<DurationMs>& out) {
  if (text.empty()) return absl::OkStatus();
  const std::optional<DurationMs> duration = ParseDuration(text);
  if (duration.has_value()) out = duration;
  return duration.has_value() ? absl::OkStatus()
                              : absl::InvalidArgumentError(std::string(name) + ": \"" + text +
                                                           "\", expected a duration such as 30m");
}

absl::Status ReadCut(const std::string& at, Cut& cut) {
  if (at == "end") return absl::OkStatus();
  cut.from = Cut::From::kStart;
  if (at == "start") return absl::OkStatus();
  const bool from_end = at[0] == '-';
  const auto distance = ParseDuration(std::string_view(at).substr(from_end ? 1 : 0));
  if (!distance.has_value()) {
    return absl::InvalidArgumentError("--at: \"" + at +
                                      "\", expected start, end, a time after the first cycle "
                                      "such as 2h, or a time before the last cycle such as -30m");
  }
  if (from_end) cut.from = Cut::From::kEnd;
  cut.distance = *distance;
  // Otherwise the cut would be before the first cycle.
  if (!from_end && cut.distance == 0) cut.whole_cycle = true;
  return absl::OkStatus();
}

absl::Status ReadOptions(WhatifArguments& arguments) {
  WhatifOptions& options = arguments.options;
  TEPHRA_RETURN_IF_ERROR(ReadCut(arguments.at, options.cut));
  ContinueOptions& go_on = options.go_on;
  TEPHRA_RETURN_IF_ERROR(ReadDurationOption("--until", arguments.until, go_on.until));
  TEPHRA_RETURN_IF_ERROR(
      ReadDurationOption("--default-runtime", arguments.assume, go_on.default_runtime));
  TEPHRA_RETURN_IF_ERROR(ReadDurationOption("--eviction-grace", arguments.grace, go_on.grace));
  TEPHRA_RETURN_IF_ERROR(
      ReadDurationOption("--checkpoint-interval", arguments.checkpoints, go_on.checkpoints));
  for (std::string& change : arguments.changes) {
    options.changes.push_back({kChangeArgument, std::move(change)});
  }
  if (arguments.file.empty()) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(std::string text, ReadTextFile(arguments.file, kMostYamlBytes));
  options.changes.push_back({arguments.file, std::move(text)});
  return absl::OkStatus();
}

}  // namespace

void AddWhatifCommand(CLI::App& app, int& code) {
  const auto arguments = std::make_shared<WhatifArguments>();
  CLI::App* command = app.add_subcommand(
      "whatif", "Continue a recorded run twice, unchanged and with changes, and compare the two.");
  command
      ->add_option(
          "JOURNAL", arguments->options.path,
          "journal of a running engine or of tephra simulate --journal (docs/reference/whatif.md)")
      ->required();
  command
      ->add_option("--change", arguments->changes,
                   "change in YAML, such as '{ set_policies: { backfill: { mode: conservative } } "
                   "}'; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command->add_option("--changes", arguments->file, "a YAML file with a list of changes");
  command
      ->add_option("--at", arguments->at,
                   "where to continue: start, end, a time after the first cycle (2h), or a time "
                   "before the last cycle (-30m)")
      ->capture_default_str();
  command->add_option("--until", arguments->until,
                      "end both runs this long after --at (default: when no job is left to run)");
  command->add_option(
      "--default-runtime", arguments->assume,
      "run time of jobs without a recorded end or an estimate (default: they never end)");
  command->add_option(
      "--eviction-grace", arguments->grace,
      "time from an eviction to the end of the task (default: median of the journal, or 30s)");
  command->add_option("--checkpoint-interval", arguments->checkpoints,
                      "interval at which a task saves its work (default: work is not saved)");
  command->add_option(
      "--out", arguments->options.directory,
      "folder for the output files of both runs, in its subfolders as-is and changed");
  command
      ->add_option("--output", arguments->output,
                   "format of the comparison on stdout: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer("Exit codes: 0 success; 2 bad input or usage; 130 interrupted.");
  command->callback([arguments, &code] {
    arguments->options.stop = StopOnSignal();
    absl::Status read = ReadOptions(*arguments);
    absl::StatusOr<WhatifResult> result =
        read.ok() ? RunWhatif(arguments->options) : absl::StatusOr<WhatifResult>(read);
    if (!result.ok()) {
      std::cerr << "tephra whatif: " << result.status().message() << "\n";
      code = 2;
      return;
    }
    if (result->interrupted) code = kInterrupted;
    if (arguments->output == "json") {
      std::cout << WhatifJson(*result);
    } else {
      PrintWhatif(*result, std::cout);
    }
  });
}

}  // namespace tephra
