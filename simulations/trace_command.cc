#include "simulations/trace_command.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "simulations/traces/trace_row.h"
#include "simulations/traces/trace_summary.h"

namespace tephra {
namespace {

constexpr int kFaulty = 1, kUnreadable = 2;

struct Arguments {
  std::string path, form, output = "text";
  std::vector<std::string> queues;
  std::int64_t cpus = kNotKnown, gpus = kNotKnown;
  std::size_t sort = 0;
  bool strict = false;
};

int Run(const Arguments& arguments) {
  const auto fail = [](const absl::Status& status, int code) {
    std::cerr << "tephra trace: " << status.message() << "\n";
    return code;
  };
  TraceOptions options;
  options.form = TraceFormNamed(arguments.form);
  if (arguments.cpus != kNotKnown || arguments.gpus != kNotKnown) {
    options.machine.parts = {{"", kNotKnown, arguments.cpus, arguments.gpus}};
  }
  options.queues = {arguments.queues.begin(), arguments.queues.end()};
  options.sort_window = arguments.sort;
  options.strict = arguments.strict;
  absl::StatusOr<TraceReader> reader = TraceReader::Open(arguments.path, options);
  if (!reader.ok()) return fail(reader.status(), kUnreadable);
  TraceSummary summary;
  summary.path = arguments.path;
  summary.guessed = !options.form;
  if (const absl::Status status = Summarize(*reader, summary); !status.ok()) {
    return fail(status,
                arguments.strict && absl::IsInvalidArgument(status) ? kFaulty : kUnreadable);
  }
  (arguments.output == "json" ? PrintTraceJson : PrintTraceText)(summary, std::cout);
  return 0;
}

}  // namespace

void AddTraceCommand(CLI::App& app, int& code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "trace", "Tell what is in a timed trace of jobs, and what is wrong with its lines.");
  command->add_option("FILE", arguments->path, "the trace, see docs/traces.md")->required();
  command
      ->add_option("--form", arguments->form,
                   "swf, philly, muri, tiresias or alea; by its first lines unless given")
      ->check(CLI::IsMember({"swf", "philly", "muri", "tiresias", "alea"}));
  command->add_option("--cpus", arguments->cpus, "of the machine, instead of what the trace says")
      ->check(CLI::Range(std::int64_t{1}, TraceRow::kMostWhole));
  command->add_option("--gpus", arguments->gpus, "of the machine")
      ->check(CLI::Range(std::int64_t{1}, TraceRow::kMostWhole));
  command
      ->add_option("--queues", arguments->queues,
                   "a,b,...: all there are; jobs of others are faults")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--sort", arguments->sort,
                   "put jobs that go back in time in their place among so many read ahead")
      ->check(CLI::Range(std::size_t{0}, TraceReader::kMostSorted));
  command->add_flag("--strict", arguments->strict, "the first line to be skipped is an error");
  command->add_option("--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "Exit codes: 0 read to its end, faults and all; 1 with --strict, a fault; 2 it cannot be "
      "read, or is no trace.");
  command->callback([arguments, &code] { code = Run(*arguments); });
}

}  // namespace tephra
