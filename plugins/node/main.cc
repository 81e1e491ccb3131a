// tephra-node: the device plugin of Tephra. A command line; the work is in process.h.
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>

#include "plugins/node/device_rules.h"
#include "plugins/node/driver_source.h"
#include "plugins/node/gpu_file.h"
#include "plugins/node/mps_keeper.h"
#include "plugins/node/process.h"
#include "plugins/node/show.h"
#include "plugins/node/status.h"

namespace tephra::node {
namespace {

constexpr int kDone = 0, kFailed = 1, kBadUsage = 2;

// Blocked before any thread is made, so that all of them leave signals to the main one.
int BlockSignals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&wanted, signal);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is a full disk
  return signalfd(-1, &wanted, SFD_CLOEXEC);
}

int Fail(const absl::Status& status) {
  std::cerr << "tephra-node: " << status.message() << "\n";
  return kFailed;
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::unique_ptr<GpuSource>> MakeSource(const Settings& settings) {
  if (!settings.gpus_file.empty()) return std::make_unique<GpuFile>(settings.gpus_file);
  Nvml::Options options;
  options.library = settings.nvml;
  TEPHRA_ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, Nvml::Load(options));
  HealthOptions health;
  TEPHRA_ASSIGN_OR_RETURN(health.xids, XidPolicy::Parse(Environment("DP_DISABLE_HEALTHCHECKS"),
                                                        Environment("DP_ENABLE_HEALTHCHECKS")));
  return std::make_unique<DriverSource>(std::move(nvml), settings.config, std::move(health));
}

int Run(const Settings& settings, bool dry) {
  SetUpLog(settings.log);
  // Before a source has threads of its own.
  const int signals = dry ? -1 : BlockSignals();
  const auto source = MakeSource(settings);
  if (!source.ok()) return Fail(source.status());
  if (dry) {
    const auto text = DryRun(settings, **source);
    if (!text.ok()) return Fail(text.status());
    std::cout << *text;
    return kDone;
  }
  const absl::Status status = Serve(settings, **source, signals);
  return status.ok() ? kDone : Fail(status);
}

int Keep(const Settings& settings) {
  SetUpLog(settings.log);
  // Containers of any user share what the daemons have there; a folder that was mounted is root's.
  if (chmod("/dev/shm", 01777) != 0) std::cerr << "tephra-node: /dev/shm: not for all users\n";
  const absl::Status status = KeepMpsDaemons(MpsDaemons(settings.mps.daemons), BlockSignals());
  return status.ok() ? kDone : Fail(status);
}

int ShowGpus(const Settings& settings) {
  Nvml::Options options;
  options.library = settings.nvml;
  const auto nvml = Nvml::Load(options);
  if (!nvml.ok()) return Fail(nvml.status());
  const auto text = ShowDriver(**nvml, settings.config);
  if (!text.ok()) return Fail(text.status());
  std::cout << *text;
  return kDone;
}

int ShowStatus(const Settings& settings, bool json) {
  const auto said = AskStatus(StatusSocket(settings.binding));
  if (!said.ok()) return Fail(said.status());
  const auto text = json ? said : StatusText(*said);
  if (!text.ok()) return Fail(text.status());
  std::cout << *text;
  return kDone;
}

}  // namespace
}  // namespace tephra::node

int main(int argc, char** argv) {
  using namespace tephra::node;
  CLI::App app(
      "The node plugin of Tephra: counts tickets for the kubelet, and gives each container, when "
      "it "
      "starts, just the slices of GPUs that the scheduler wrote for it.",
      "tephra-node");
  app.set_version_flag("--version", "tephra-node " TEPHRA_VERSION);
  app.require_subcommand(1);
  Settings settings;
  settings.node = Environment("NODE_NAME");
  settings.crash_after = Environment("TEPHRA_NODE_CRASH_AFTER");
  settings.registration.resource = "tephra.sh/gpu-ticket";
  std::vector<std::string> schedulers = {"tephra", "volcano"};
  std::string log_format = "text", log_level = "info", cdi = "auto";
  bool dry = false, no_publish = false, json = false;

  CLI::App& run = *app.add_subcommand("run", "serve until SIGTERM or SIGINT");
  run.add_option("--node-name", settings.node, "of this node in the cluster [$NODE_NAME]");
  run.add_option("--gpus", settings.gpus_file,
                 "JSON file that says which GPUs there are, instead of the driver; for tests and "
                 "shows");
  run.add_flag("--no-publish", no_publish,
               "do not write inventory, labels and resources to this node's object");
  run.add_option("--resource", settings.registration.resource,
                 "name by which pods ask for a ticket")
      ->capture_default_str();
  run.add_option("--tickets-per-gpu", settings.config.tickets_per_gpu,
                 "how many containers may share a GPU")
      ->capture_default_str()
      ->check(CLI::Range(1, kMaxTicketsPerGpu));
  run.add_option("--scheduler-name", schedulers,
                 "whose pods are served; those of others are refused")
      ->capture_default_str();
  run.add_option("--kubelet-folder", settings.registration.folder,
                 "where kubelet.sock and the kubelet's checkpoint are")
      ->capture_default_str();
  run.add_option(
         "--pod-resources", settings.binding.pod_resources,
         "the kubelet's socket of pod resources, asked where its checkpoint cannot be read; "
         "\"\": never")
      ->capture_default_str();
  run.add_option("--cdi-folder", settings.binding.cdi_folder,
                 "where the container runtime reads CDI files")
      ->capture_default_str();
  run.add_option(
         "--cdi", cdi,
         "whether the container runtime knows CDI: yes, no (then --mount alone), or auto: by "
         "what the Node says of it; where that leaves it open, both")
      ->capture_default_str()
      ->take_last()
      ->check(CLI::IsMember({"auto", "yes", "no"}));
  run.add_flag("--mount", settings.binding.mount,
               "mount a directory that names its slices into each container");
  run.add_option("--mount-at", settings.binding.mount_at, "where")->capture_default_str();
  run.add_option(
         "--cgroup-root", settings.binding.cgroup_root,
         "where the control groups of pods are; \"none\": do without, and take a container for "
         "gone with its pod")
      ->capture_default_str();
  run.add_option("--device-root", settings.binding.device_root,
                 "folder below which the driver's /dev is, where it is not the host's own");
  run.add_option("--settle-ms", settings.binding.settle_ms,
                 "how long the runtime is given to see a new CDI file")
      ->capture_default_str()
      ->check(CLI::Range(0, 5000));
  run.add_option("--api-server", settings.api.server,
                 "URL of the API server, instead of the one of the pod that this runs in");
  run.add_option("--api-ca", settings.api.ca_file, "file of its certificate authority");
  run.add_option("--api-token", settings.api.token_file,
                 "file of the token, read again for each request");
  run.add_option("--mig-capabilities", settings.mig.capabilities,
                 "where the driver tells the device files of MIG instances")
      ->capture_default_str();
  run.add_option("--hook-library", settings.hook.library,
                 "libvgpu.so of HAMi-core on this node, a name for each version")
      ->capture_default_str();
  run.add_option("--hook-preload", settings.hook.preload,
                 "file that becomes /etc/ld.so.preload of containers with a fraction")
      ->capture_default_str();
  run.add_flag("--mps-kept", settings.mps.daemons.kept,
               "MPS daemons are started by tephra-node mps-keeper");
  run.add_option("--mps-shm", settings.mps.shm,
                 "folder of the host that MPS daemons have as /dev/shm: containers that share by "
                 "MPS get it as theirs; \"\": none")
      ->capture_default_str();
  run.add_option("--metrics-address", settings.metrics_address,
                 "HOST:PORT at which /metrics, /healthz and /readyz are served, 127.0.0.1:9402 for "
                 "one; left out: none are");
  run.add_flag("--dry-run", dry, "say what there is and what would be done, and exit");

  CLI::App& gpus = *app.add_subcommand(
      "gpus",
      "show what the driver tells of this machine's GPUs, and what the cluster would be told");
  for (CLI::App* command : {&run, &gpus}) {
    command->add_option("--nvml", settings.nvml, "the driver's management library")
        ->capture_default_str();
    command->add_option("--config", settings.config_file,
                        "YAML file that says which GPUs may be used how (docs/node.md)");
  }

  CLI::App& keeper = *app.add_subcommand(
      "mps-keeper",
      "start the MPS daemons that tephra-node run --mps-kept wants, until SIGTERM or SIGINT");
  for (CLI::App* command : {&run, &keeper}) {
    command
        ->add_option("--mps-control", settings.mps.daemons.control,
                     "NVIDIA's program that starts an MPS daemon and speaks with it")
        ->capture_default_str();
    command->add_option("--log-format", log_format, "text or json")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "json"}));
    command->add_option("--log-level", log_level, "debug, info, warning or error")
        ->capture_default_str()
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  }

  CLI::App& status = *app.add_subcommand("status", "show what a running tephra-node knows");
  status.add_flag("--json", json, "as one JSON object");
  for (CLI::App* command : {&run, &keeper, &status}) {
    command
        ->add_option("--state-folder", settings.binding.state_folder, "what is kept over restarts")
        ->capture_default_str();
  }
  app.footer(
      "Exit codes: 0 stopped by SIGTERM or SIGINT, or done; 1 cannot start, or nobody answers; "
      "2 bad usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kBadUsage;
  }
  settings.log.format = log_format == "json" ? tephra::LogFormat::kJson : tephra::LogFormat::kText;
  for (int level = 0; level < 4; ++level) {
    if (log_level == tephra::kLogLevelWords[level]) {
      settings.log.level = static_cast<tephra::LogLevel>(level);
    }
  }
  settings.mps.daemons.root = settings.binding.state_folder + "/mps";
  if (status.parsed()) return ShowStatus(settings, json);
  if (keeper.parsed()) return Keep(settings);
  if (!settings.config_file.empty()) {
    auto rules = ReadDeviceRules(settings.config_file);
    if (!rules.ok()) return Fail(rules.status());
    settings.config.rules = *std::move(rules);
  }
  if (gpus.parsed()) return ShowGpus(settings);
  if (settings.node.empty()) {
    std::cerr << "tephra-node: --node-name: absent, expected the name of this node\n";
    return kBadUsage;
  }
  settings.cdi = cdi == "auto" ? CdiUse::kAuto : cdi == "yes" ? CdiUse::kYes : CdiUse::kNo;
  settings.publish = !no_publish;
  if (settings.binding.cgroup_root == "none") settings.binding.cgroup_root.clear();
  settings.binding.resource = settings.registration.resource;
  settings.binding.checkpoint = settings.registration.folder + "/kubelet_internal_checkpoint";
  settings.binding.schedulers = {schedulers.begin(), schedulers.end()};
  settings.hook.folder = settings.binding.state_folder + "/hook";
  return Run(settings, dry);
}
