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
  CLI::App* command =
      app.add_subcommand("trace", "Summarize a trace of jobs and report its faulty lines.");
  command->add_option("FILE", arguments->path, "trace file (docs/reference/traces.md)")->required();
  command
      ->add_option("--format", arguments->form,
                   "format of the trace: swf, philly, muri, tiresias or alea (default: detected "
                   "from its first lines)")
      ->check(CLI::IsMember({"swf", "philly", "muri", "tiresias", "alea"}));
  command
      ->add_option("--cpus", arguments->cpus,
                   "CPUs of the machine, instead of the number in the trace")
      ->check(CLI::Range(std::int64_t{1}, TraceRow::kMostWhole));
  command->add_option("--gpus", arguments->gpus, "GPUs of the machine")
      ->check(CLI::Range(std::int64_t{1}, TraceRow::kMostWhole));
  command
      ->add_option("--queues", arguments->queues,
                   "A,B,...: the queues of the machine; a job of any other queue is a fault")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--sort-window", arguments->sort,
                   "sort jobs by submission time among this many jobs read ahead (0: do not sort)")
      ->check(CLI::Range(std::size_t{0}, TraceReader::kMostSorted));
  command->add_flag("--strict", arguments->strict,
                    "exit with an error instead of skipping a faulty line");
  command
      ->add_option("--output", arguments->output, "format of the summary on stdout: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "Exit codes: 0 success (the trace may have faults); 1 a fault was found and --strict is set; "
      "2 bad usage, or the file cannot be read or is not a trace.");
  command->callback([arguments, &code] { code = Run(*arguments); });
}

}  // namespace tephra
