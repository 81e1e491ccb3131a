#include "simulations/replay_command.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "plugins/registry.h"
#include "simulations/replay.h"

namespace tephra {
namespace {

constexpr int kReproduced = 0, kDiffers = 1, kBad = 2;

const char* KindText(Divergence::Kind kind) {
  switch (kind) {
    case Divergence::Kind::kPlan:
      return "plan";
    case Divergence::Kind::kEvent:
      return "event";
    case Divergence::Kind::kBooks:
      return "derived state";
  }
  return "?";
}

void PrintDivergence(const Divergence& found, std::ostream& out) {
  out << "first difference at record " << found.record << " (byte " << found.offset << ")";
  if (found.tick.has_value()) {
    out << (found.kind == Divergence::Kind::kEvent ? ", after the tick at " : ", tick at ")
        << *found.tick << " ms";
  }
  if (found.decision >= 0)
    out << ", decision " << found.decision << ", job \"" << found.job << "\"";
  out << "\n  " << KindText(found.kind) << ": " << found.field << "\n";
  if (found.kind != Divergence::Kind::kBooks) out << "  recorded: " << found.recorded << "\n";
  out << "  replayed: " << found.made << "\n";
}

void PrintText(const ReplayCommandOptions& options, const ReplayReport& report, std::ostream& out) {
  out << options.path << ", written by tephra " << report.written_by << "\n"
      << report.events << " events, " << report.refused << " of them refused\n"
      << report.ticks << " ticks, " << report.plans << " plans with " << report.placements
      << " placements reproduced byte for byte\n";
  if (report.divergence.has_value()) {
    PrintDivergence(*report.divergence, out);
  } else if (!report.closed) {
    out << "note: the journal is truncated: its last complete record ends at byte "
        << report.whole_bytes << "; the next " << report.torn_bytes
        << " bytes are an incomplete record\n";
  }
}

nlohmann::ordered_json Json(const ReplayCommandOptions& options, const ReplayReport& report) {
  nlohmann::ordered_json json = {
      {"journal", options.path},         {"written_by", report.written_by},
      {"events", report.events},         {"refused", report.refused},
      {"ticks", report.ticks},           {"plans", report.plans},
      {"placements", report.placements}, {"reproduced", !report.divergence.has_value()}};
  if (const std::optional<Divergence>& found = report.divergence; found.has_value()) {
    nlohmann::ordered_json& difference = json["difference"];
    difference = {
        {"kind", KindText(found->kind)}, {"record", found->record}, {"byte", found->offset}};
    if (found->tick.has_value()) difference["tick_ms"] = *found->tick;
    if (found->decision >= 0) {
      difference["decision"] = found->decision;
      difference["job"] = found->job;
    }
    difference["field"] = found->field;
    difference["recorded"] = found->recorded;
    difference["replayed"] = found->made;
  } else {
    json["truncated"] = !report.closed;
    json["complete_bytes"] = report.whole_bytes;
    json["incomplete_bytes"] = report.torn_bytes;
  }
  return json;
}

int Fail(const std::string& why, std::ostream& err) {
  err << "tephra replay: " << why << "\n";
  return kBad;
}

}  // namespace

void AddReplayCommand(CLI::App& app, int& code) {
  struct Arguments {
    ReplayCommandOptions options;
    std::string output = "text";
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "replay", "Run the engine again on a recorded journal, and check that it makes the same plans, byte for byte.");
  command
      ->add_option(
          "JOURNAL", arguments->options.path,
          "journal of a running engine or of tephra simulate --journal (docs/reference/journal.md)")
      ->required();
  command->add_option("--output", arguments->output, "format of the report on stdout: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_flag("--strict", arguments->options.strict, "fail if the journal is truncated");
  command->add_flag("--fast", arguments->options.fast,
                    "compare the plans only; skip the check of the engine's indexes after each cycle");
  command->footer(
      "Exit codes: 0 all complete records were reproduced; 1 a plan, event or the derived state "
      "differs (the report shows the first difference); 2 bad usage, or the file is missing, "
      "damaged, not a journal or, with --strict, truncated.");
  command->callback([arguments, &code] {
    if (arguments->output == "json") arguments->options.output = ReplayOutput::kJson;
    code = ReplayCommand(arguments->options, std::cout, std::cerr);
  });
}

int ReplayCommand(const ReplayCommandOptions& options, std::ostream& out, std::ostream& err) {
  errno = 0;
  std::ifstream file(options.path, std::ios::binary);
  if (!file) return Fail(options.path + ": cannot read the file: " + std::strerror(errno), err);
  JournalReader journal(file, options.path);
  Engine engine(DefaultAssembly());
  ReplayReport report;
  if (absl::Status status = Replay(journal, engine, {!options.fast}, report); !status.ok()) {
    return Fail(std::string(status.message()), err);
  }
  if (options.output == ReplayOutput::kJson) {
    // The text of a journal is UTF-8, but its path may not be.
    constexpr auto kLenient = nlohmann::ordered_json::error_handler_t::replace;
    out << Json(options, report).dump(2, ' ', false, kLenient) << "\n";
  } else {
    PrintText(options, report, out);
  }
  if (report.divergence.has_value()) return kDiffers;
  if (options.strict && !report.closed)
    return Fail(options.path + ": the journal is truncated (remove --strict to accept this)", err);
  return kReproduced;
}

}  // namespace tephra
