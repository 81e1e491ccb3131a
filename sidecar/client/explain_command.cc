#include "sidecar/client/explain_command.h"

#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/quantity.h"
#include "sidecar/client/engine_client.h"
#include "sidecar/client/output.h"
#include "sidecar/client/words.h"
#include "text/format.h"
#include "text/table.h"

namespace tephra {
namespace {

constexpr char kPrefix[] = "job/";

// Beyond these, only with --output wide.
constexpr int kMostTasks = 40;

void PrintRelaxations(const v1::ExplainReply& reply, std::ostream& out) {
  if (reply.relaxations_tried() == 0) return;
  if (reply.fits_now()) {
    out << "\nthe job fits now and starts in its turn\n";
    return;
  }
  if (reply.relaxations().empty()) {
    out << "\nno change that was tried would let the job start now\n";
  } else {
    out << "\neach of these changes alone would let the job start now, unless another pending job "
           "starts first (each was tried; the smallest comes first)\n";
  }
  for (const v1::Relaxation& relaxation : reply.relaxations()) {
    out << "  - " << relaxation.text() << "\n";
  }
  if (reply.relaxations_cut_short()) {
    out << "  the search budget ended: more or smaller changes may exist\n";
  }
}

void PrintShortfalls(const v1::ExplainReply& reply, std::ostream& out) {
  if (reply.shortfalls().empty()) return;
  out << "\nqueues that use the share of this queue\n";
  for (const v1::Shortfall& shortfall : reply.shortfalls()) {
    out << "  " << shortfall.text()
        << "; queues with the same parent that use more than their fair share:\n";
    for (const v1::Borrower& borrower : shortfall.borrowers()) {
      out << "  - " << borrower.text() << "\n";
    }
    if (shortfall.others() == 0) continue;
    out << "  - " << shortfall.others()
        << (shortfall.others() == 1 ? " more queue uses " : " more queues use ")
        << AmountWords(reply.kinds(), static_cast<Kind>(shortfall.kind()), shortfall.others_over())
        << (shortfall.others() == 1 ? " above its share\n" : " above their shares\n");
  }
}

void PrintRoles(const v1::JobView& job, std::ostream& out) {
  Table table({"role", "tasks", "at least", "pending", "placed"}, "lrrrr", 0);
  for (const v1::RoleView& role : job.roles()) {
    table.Add({role.name(), std::to_string(role.replicas()), std::to_string(role.min()),
               std::to_string(role.pending()), std::to_string(role.placed())});
  }
  out << "\n";
  table.Print(out);
}

void PrintTasks(const v1::ExplainReply& reply, bool wide, std::ostream& out) {
  Table table(wide ? std::vector<std::string>{"task", "phase", "node", "GPUs", "pod"}
                   : std::vector<std::string>{"task", "phase", "node", "GPUs"},
              "lllll", 0);
  int left_out = 0;
  for (const v1::TaskView& task : reply.tasks()) {
    if (task.node().empty() && !wide) continue;
    if (!wide && table.rows() == kMostTasks) {
      ++left_out;
      continue;
    }
    table.Add({task.role() + "/" + std::to_string(task.index()), PhaseWords(task.phase()),
               task.node(), SliceWords(task.slices())});
    if (wide) table.Append(task.uid());
  }
  if (table.empty()) return;
  out << "\n";
  table.Print(out);
  if (left_out > 0) out << "... and " << left_out << " more (--output wide)\n";
}

void PrintQueue(const v1::ExplainReply& reply, std::ostream& out) {
  const v1::QueueView& queue = reply.queue();
  out << "\nqueue " << queue.name() << " is " << LifecycleWords(queue.lifecycle()) << ": "
      << queue.jobs_running() << (queue.jobs_running() == 1 ? " job" : " jobs") << " running, "
      << queue.jobs_waiting() << " pending\n";
  Table table({"resource", "used", "share", "guarantee", "deserved", "limit"}, "lrrrrr");
  for (int kind = 0; kind < reply.kinds_size(); ++kind) {
    const bool limited = std::find(queue.limited_kinds().begin(), queue.limited_kinds().end(),
                                   static_cast<std::uint32_t>(kind)) != queue.limited_kinds().end();
    const auto amount = [&](const auto& of) { return AmountOf(of, static_cast<Kind>(kind)); };
    const std::int64_t used = amount(queue.used());
    const bool quota = amount(queue.guarantee()) > 0 || amount(queue.deserved()) > 0;
    if (used == 0 && amount(queue.fair_share()) == 0 && !limited && !quota) continue;
    const auto words = [&](std::int64_t amount) {
      return AmountWords(reply.kinds(), static_cast<Kind>(kind), amount);
    };
    table.Add({reply.kinds(kind), words(used), words(amount(queue.fair_share())),
               amount(queue.guarantee()) > 0 ? words(amount(queue.guarantee())) : "-",
               amount(queue.deserved()) > 0 ? words(amount(queue.deserved())) : "-",
               limited ? words(AmountOf(queue.limit(), static_cast<Kind>(kind))) : "-"});
  }
  if (!table.empty()) table.Print(out);
  if (queue.has_past_gpu_hours()) {
    out << "  past usage, decayed: " << HoursWords(queue.past_gpu_hours()) << " GPU hours";
    std::string users;
    for (const v1::UserUsage& user : queue.users()) {
      if (user.user().empty()) continue;
      users += (users.empty() ? "" : ", ") + user.user() + " " + HoursWords(user.past_gpu_hours());
    }
    out << (users.empty() ? "" : " (" + users + ")") << "\n";
  }
  for (const std::string& problem : queue.problems()) out << "  " << problem << "\n";
}

// A simulation has no namespaces.
std::string JobOfSimulation(const std::string& argument) {
  return argument.rfind(kPrefix, 0) == 0 ? argument.substr(sizeof kPrefix - 1) : argument;
}

}  // namespace

std::string JobNamed(const std::string& argument) {
  const bool prefixed = argument.rfind(kPrefix, 0) == 0;
  const std::string name = prefixed ? argument.substr(sizeof kPrefix - 1) : argument;
  return prefixed && name.find('/') == std::string::npos ? "default/" + name : name;
}

void PrintExplanation(const v1::ExplainReply& reply, bool wide, Times times, std::int64_t now_ms,
                      std::ostream& out) {
  const v1::JobView& job = reply.job();
  const auto time = [&](std::int64_t ms) {
    return times == Times::kDates ? TimeWords(ms) : DurationText(ms) + " of simulated time";
  };
  out << "job " << job.name() << " " << StandingWords(job);
  if (job.has_note() && (job.note().since_ms() > 0 || times == Times::kSimulated)) {
    out << "; status unchanged for " << AgeWords(job.note().since_ms(), now_ms) << ", since "
        << time(job.note().since_ms());
  }
  out << "\n";
  if (job.has_note()) out << "  " << job.note().obstacle() << ": " << job.note().text() << "\n";
  out << "  queue " << job.queue() << ", priority " << job.priority() << ", needs at least "
      << job.min_member() << (job.min_member() == 1 ? " task" : " tasks")
      << " to start; the job was created at " << time(job.created_ms());
  if (!job.pods_exist()) out << " and has no pods yet";
  out << "\n";
  if (wide) out << "  uid " << job.uid() << "\n";
  PrintRelaxations(reply, out);
  PrintShortfalls(reply, out);
  PrintRoles(job, out);
  PrintTasks(reply, wide, out);
  if (reply.has_queue()) PrintQueue(reply, out);
}

void AddExplainCommand(CLI::App& app, ExplainSimulated simulated, int& code) {
  struct Arguments {
    EngineAddress engine;
    Output output = Output::kText;
    std::string job, file, at;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "Show why a job is pending or where it runs, and what would let it start, in a running "
      "engine or in a simulation.");
  command
      ->add_option("JOB", arguments->job,
                   "job/NAMESPACE/NAME, job/NAME (namespace default) or "
                   "the uid of a PodGroup; of a simulation: its name")
      ->required();
  AddEngineOptions(*command, arguments->engine);
  CLI::Option* file = command->add_option("--simulation", arguments->file,
                                          "a simulation file, instead of a running engine");
  file->excludes("--address");  // a socket may be named by the environment
  command
      ->add_option("--at", arguments->at,
                   "the time in the simulation, as 90s or 1h30m; its end if left out")
      ->needs(file)
      ->check([](const std::string& text) {
        return ParseDuration(text).has_value()
                   ? std::string()
                   : "\"" + text + "\", expected a time as 90s or 1h30m";
      });
  AddOutputOption(*command, arguments->output);
  command->footer(kLookExitCodes);
  command->callback([arguments, simulated = std::move(simulated), &code] {
    v1::ExplainReply reply;
    const bool live = arguments->file.empty();
    const absl::Status status =
        live ? EngineClient(arguments->engine).Explain(JobNamed(arguments->job), &reply)
             : simulated(arguments->file, ParseDuration(arguments->at),
                         JobOfSimulation(arguments->job), &reply);
    if (!status.ok()) {
      code = FailLooking("tephra explain", status, std::cerr);
      if (!live && status.code() != absl::StatusCode::kNotFound) code = 2;
    } else if (arguments->output == Output::kJson || arguments->output == Output::kYaml) {
      PrintMessage(reply, arguments->output, std::cout);
    } else {
      PrintExplanation(reply, arguments->output == Output::kWide,
                       live ? Times::kDates : Times::kSimulated, live ? NowMs() : reply.now_ms(),
                       std::cout);
    }
  });
}

}  // namespace tephra
