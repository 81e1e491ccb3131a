// tephra-engine: the engine behind gRPC on a Unix socket.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <random>

#include <CLI/CLI.hpp>

#include "base/config_watch.h"
#include "base/log.h"
#include "sidecar/config.h"
#include "sidecar/metrics.h"
#include "sidecar/server.h"

namespace tephra {
namespace {

constexpr int kDone = 0, kFailed = 1, kBadUsage = 2;

struct Options {
  std::string config;  // empty: the defaults
  std::string socket;  // set: instead of the file's
  std::string listen;
  bool check_config = false;
};

absl::StatusOr<Config> Load(const Options& options) {
  Config config;
  if (!options.config.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(config, LoadConfig(options.config));
  }
  if (!options.socket.empty()) config.server.socket = options.socket;
  if (!options.listen.empty()) config.server.listen = options.listen;
  return config;
}

// Something that no other process of this engine is likely to have begun with, and that still has
// room above it.
std::uint64_t RandomEpoch() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) >> 1;
}

int Fail(const absl::Status& why) {
  LogError("cannot start", {{"why", std::string(why.message())}});
  return kFailed;
}

// One process from its first line to its last.
class Process {
 public:
  Process(Options options, Config config)
      : options_(std::move(options)),
        config_(std::move(config)),
        engine_(config_.engine, config_.journal, metrics_, RandomEpoch()) {}

  int Run(int signals) {
    auto server = Server::Start(config_.server, owner_, engine_);
    if (!server.ok()) return Fail(server.status());
    metrics_.SetHealth([this] { return Wedged(); });
    if (!config_.probes_listen.empty()) {
      if (const absl::Status status = metrics_.ServeProbes(config_.probes_listen); !status.ok()) {
        return Fail(status);
      }
    }
    if (!config_.metrics_listen.empty()) {
      if (const absl::Status status = metrics_.Serve(config_.metrics_listen); !status.ok()) {
        return Fail(status);
      }
    }
    LogInfo("serving",
            {{"version", TEPHRA_VERSION},
             {"socket", config_.server.socket},
             {"listen", config_.server.listen},
             {"metrics", config_.metrics_listen},
             {"probes", config_.probes_listen},
             {"journal", config_.journal.has_value() ? config_.journal->directory : ""}});
    WaitForEnd(signals);
    *server = nullptr;
    owner_.Run([this] { engine_.CloseJournal(); });
    LogInfo("stopped");
    return kDone;
  }

 private:
  std::string Wedged() const {
    const auto busy = std::chrono::duration_cast<std::chrono::seconds>(owner_.BusyFor());
    if (busy.count() <= wedged_after_s_) return "";
    return "the engine has computed one thing for " + std::to_string(busy.count()) +
           " s, expected at most " + std::to_string(wedged_after_s_) + " (probes.wedged_after_s)";
  }

  void WaitForEnd(int signals) {
    std::optional<ConfigWatch> watch;
    if (!options_.config.empty()) watch.emplace(options_.config);
    while (true) {
      pollfd waits[] = {{signals, POLLIN, 0},
                        {watch.has_value() ? watch->descriptor() : -1, POLLIN, 0}};
      if (poll(waits, 2, -1) < 0) continue;
      if ((waits[1].revents & POLLIN) != 0) {
        watch->Drain();
        Reload(false);
      }
      signalfd_siginfo signal{};
      if ((waits[0].revents & POLLIN) == 0) continue;
      if (read(signals, &signal, sizeof signal) != sizeof signal) continue;
      if (signal.ssi_signo == SIGHUP) {
        Reload(true);
        continue;
      }
      LogInfo("stopping", {{"signal", strsignal(static_cast<int>(signal.ssi_signo))}});
      return;
    }
  }

  // A file that is bad, or not there for a moment, changes nothing.
  void Reload(bool asked) {
    auto loaded = Load(options_);
    if (!loaded.ok()) {
      const std::string why(loaded.status().message());
      if (!asked && why == last_fault_) return;  // something else changed in the folder
      last_fault_ = why;
      metrics_.ConfigRead(false);
      LogError("cannot read the file: the configuration stays as it was", {{"why", why}});
      return;
    }
    last_fault_.clear();
    if (!asked && *loaded == seen_.value_or(config_)) return;
    seen_ = *loaded;
    metrics_.ConfigRead(true);
    for (const std::string& key : NeedRestart(config_, *loaded)) {
      LogWarning("changed setting needs a restart", {{"key", key}});
    }
    SetUpLog(loaded->log);
    config_.log = loaded->log;
    if (loaded->engine != config_.engine) {
      config_.engine = loaded->engine;
      owner_.Run([&] { engine_.ChangeConfig(config_.engine); });
    }
    LogInfo("configuration read", {{"file", options_.config}});
  }

  Options options_;
  Config config_;               // as it is in force
  std::optional<Config> seen_;  // as it was last read
  std::string last_fault_;
  const int wedged_after_s_ = config_.wedged_after_s;
  OwnerThread owner_;
  Metrics metrics_;
  LiveEngine engine_;
};

int Run(const Options& options) {
  auto config = Load(options);
  if (!config.ok()) {
    std::cerr << "tephra-engine: " << config.status().message() << "\n";
    return kBadUsage;
  }
  if (options.check_config) {
    std::cout << (options.config.empty() ? "the defaults" : options.config) << ": ok\n";
    return kDone;
  }
  SetUpLog(config->log);
  // Before any thread is made, so that all of them leave signals to this one.
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, signal);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a journal at a file size limit is a full disk
  const Descriptor signals(signalfd(-1, &wanted, SFD_CLOEXEC));
  return Process(options, *std::move(config)).Run(signals.get());
}

}  // namespace
}  // namespace tephra

int main(int argc, char** argv) {
  CLI::App app(
      "The engine of Tephra behind gRPC on a Unix socket: tephra-scheduler sends it facts, "
      "and gets one plan a cycle.",
      "tephra-engine");
  tephra::Options options;
  app.set_version_flag("--version", "tephra-engine " TEPHRA_VERSION);
  app.add_option("--config", options.config,
                 "YAML file (docs/reference/configuration.md); read again when it changes and on SIGHUP");
  app.add_option("--socket", options.socket,
                 "path of the Unix socket, instead of the file's [/run/tephra/engine.sock]");
  app.add_option("--listen", options.listen,
                 "127.0.0.1:PORT for tephra explain and top, off by default; it only looks");
  app.add_flag("--check-config", options.check_config,
               "read the configuration, say what is wrong with it, and exit");
  app.footer(
      "`tephra config` prints the settings of the map `engine` with their defaults. "
      "Exit codes: 0 stopped by SIGTERM or SIGINT, or the configuration is good; "
      "1 cannot start; 2 bad configuration or usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tephra::kDone : tephra::kBadUsage;
  }
  if (!options.listen.empty() && !tephra::IsLoopback(options.listen)) {
    std::cerr << "tephra-engine: --listen: \"" << options.listen
              << "\", expected 127.0.0.1:PORT or another loopback address\n";
    return tephra::kBadUsage;
  }
  return tephra::Run(options);
}
