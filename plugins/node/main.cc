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
  // Containers of any user share this folder with the daemons; a mounted folder belongs to root.
  if (chmod("/dev/shm", 01777) != 0) std::cerr << "tephra-node: /dev/shm: cannot be opened to all users\n";
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
  const auto said = ReadStatus(StatusSocket(settings.binding));
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
      "The node plugin of Tephra. It offers slots to the kubelet, and when a container starts, it "
      "gives the container the GPU slices that the scheduler chose, and nothing else.",
      "tephra-node");
  app.set_version_flag("--version", "tephra-node " TEPHRA_VERSION);
  app.require_subcommand(1);
  Settings settings;
  settings.node = Environment("NODE_NAME");
  settings.crash_after = Environment("TEPHRA_NODE_CRASH_AFTER");
  settings.registration.resource = "tephra.sh/gpu-slot";
  std::vector<std::string> schedulers = {"tephra", "volcano"};
  std::string log_format = "text", log_level = "info", cdi = "auto", visible = "env";
  bool dry = false, no_publish = false, json = false;

  CLI::App& run = *app.add_subcommand("run", "serve until SIGTERM or SIGINT");
  run.add_option("--node-name", settings.node, "name of this node in the cluster [$NODE_NAME]");
  run.add_option("--gpus", settings.gpus_file,
                 "JSON file that describes the GPUs, instead of the driver; for tests");
  run.add_flag("--no-publish", no_publish,
               "do not write inventory, labels and resources to this node's object");
  run.add_option("--resource", settings.registration.resource,
                 "extended resource by which pods request slots")
      ->capture_default_str();
  run.add_option("--slots-per-gpu", settings.config.slots_per_gpu,
                 "slots of each GPU: at most so many containers share it")
      ->capture_default_str()
      ->check(CLI::Range(1, kMaxSlotsPerGpu));
  run.add_option("--slices-keys", settings.binding.slices_keys,
                 "folder with the public keys of the scheduler; slices of pods then need its signature; "
                 "default: they need none");
  run.add_option("--scheduler-name", schedulers,
                 "pods of these schedulers are served, pods of other schedulers are refused")
      ->capture_default_str();
  run.add_option("--kubelet-folder", settings.registration.folder,
                 "where kubelet.sock and the kubelet's checkpoint are")
      ->capture_default_str();
  run.add_option(
         "--pod-resources", settings.binding.pod_resources,
         "the kubelet's socket of pod resources, used if its checkpoint cannot be read; "
         "\"\": not used")
      ->capture_default_str();
  run.add_option("--cdi-folder", settings.binding.cdi_folder,
                 "where the container runtime reads CDI files")
      ->capture_default_str();
  run.add_option(
         "--cdi", cdi,
         "whether the container runtime supports CDI: yes, no (then --mount is used), or auto (by "
         "the versions in the Node object; if they do not tell, both ways are used)")
      ->capture_default_str()
      ->take_last()
      ->check(CLI::IsMember({"auto", "yes", "no"}));
  run.add_option(
         "--visible-devices", visible,
         "how NVIDIA's runtime finds the GPUs of a container: env (NVIDIA_VISIBLE_DEVICES), or mounts, for a "
         "runtime that ignores this variable in containers without privileges; mounts need CDI")
      ->capture_default_str()
      ->take_last()
      ->check(CLI::IsMember({"env", "mounts"}));
  run.add_flag("--mount", settings.binding.mount,
               "mount a directory with its slices into each container");
  run.add_option("--mount-at", settings.binding.mount_at,
                 "path of that directory in the container")->capture_default_str();
  run.add_option(
         "--cgroup-root", settings.binding.cgroup_root,
         "where the control groups of pods are; \"none\": not used, and a container counts as "
         "ended when its pod is gone")
      ->capture_default_str();
  run.add_option("--device-root", settings.binding.device_root,
                 "folder that holds the driver's /dev, if that is not the host's /dev");
  run.add_option("--settle-ms", settings.binding.settle_ms,
                 "time for the container runtime to see a new CDI file")
      ->capture_default_str()
      ->check(CLI::Range(0, 5000));
  run.add_option("--api-server", settings.api.server,
                 "URL of the API server; default: the API server of the pod that this runs in");
  run.add_option("--api-ca", settings.api.ca_file, "file of its certificate authority");
  run.add_option("--api-token", settings.api.token_file,
                 "file of the token, read again for each request");
  run.add_option("--mig-capabilities", settings.mig.capabilities,
                 "folder of the driver that names the device files of MIG instances")
      ->capture_default_str();
  run.add_option("--hook-library", settings.hook.library,
                 "libvgpu.so of HAMi-core on this node, with the version in its name")
      ->capture_default_str();
  run.add_option("--hook-preload", settings.hook.preload,
                 "file that becomes /etc/ld.so.preload in containers with a fraction of a GPU")
      ->capture_default_str();
  run.add_flag("--mps-kept", settings.mps.daemons.kept,
               "tephra-node mps-keeper starts the MPS daemons");
  run.add_flag("--mps-across-namespaces", settings.mps.across_namespaces,
               "let containers of several namespaces use MPS at a time; they can read and stop each other");
  run.add_option("--mps-shm", settings.mps.shm,
                 "folder of the host that MPS daemons have as /dev/shm, mounted as /dev/shm into "
                 "containers that share by MPS; \"\": none")
      ->capture_default_str();
  run.add_option("--metrics-address", settings.metrics_address,
                 "HOST:PORT that serves /metrics, /healthz and /readyz, for example 127.0.0.1:9402; "
                 "default: not served");
  run.add_option("--probes-address", settings.probes_address,
                 "HOST:PORT that serves /healthz and /readyz alone, so that they answer whatever clients of "
                 "the metrics do; default: not served");
  run.add_option("--driver-hung-seconds", settings.driver_hung_s,
                 "a call of the NVIDIA driver that runs for longer makes /healthz fail")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  run.add_option("--blocked-after-seconds", settings.blocked_after_s,
                 "a GPU whose container has outlived its pod for longer is published as unhealthy")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  run.add_flag("--dry-run", dry, "show what is there and what would be done, and exit");

  CLI::App& gpus = *app.add_subcommand(
      "gpus",
      "show the GPUs of this machine, and what would be published to the cluster");
  for (CLI::App* command : {&run, &gpus}) {
    command->add_option("--nvml", settings.nvml, "the driver's management library")
        ->capture_default_str();
    command->add_option("--config", settings.config_file,
                        "YAML file with the device rules (docs/reference/node.md)");
  }

  CLI::App& keeper = *app.add_subcommand(
      "mps-keeper",
      "start the MPS daemons that tephra-node run --mps-kept wants, until SIGTERM or SIGINT");
  for (CLI::App* command : {&run, &keeper}) {
    command
        ->add_option("--mps-control", settings.mps.daemons.control,
                     "NVIDIA's program that starts and controls MPS daemons")
        ->capture_default_str();
    command->add_option("--log-format", log_format, "text or json")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "json"}));
    command->add_option("--log-level", log_level, "debug, info, warning or error")
        ->capture_default_str()
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  }

  CLI::App& status = *app.add_subcommand("status", "show the state of a running tephra-node");
  status.add_flag("--json", json, "as one JSON object");
  for (CLI::App* command : {&run, &keeper, &status}) {
    command
        ->add_option("--state-folder", settings.binding.state_folder, "folder of the state that is kept over restarts")
        ->capture_default_str();
  }
  app.footer(
      "Exit codes: 0 stopped by SIGTERM or SIGINT, or done; 1 cannot start, or tephra-node does not answer; "
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
    std::cerr << "tephra-node: --node-name: not set, expected the name of this node\n";
    return kBadUsage;
  }
  settings.cdi = cdi == "auto" ? CdiUse::kAuto : cdi == "yes" ? CdiUse::kYes : CdiUse::kNo;
  settings.binding.visible_by_mounts = visible == "mounts";
  settings.publish = !no_publish;
  if (settings.binding.cgroup_root == "none") settings.binding.cgroup_root.clear();
  settings.binding.resource = settings.registration.resource;
  settings.binding.checkpoint = settings.registration.folder + "/kubelet_internal_checkpoint";
  settings.binding.schedulers = {schedulers.begin(), schedulers.end()};
  settings.binding.node = settings.node;
  settings.hook.folder = settings.binding.state_folder + "/hook";
  return Run(settings, dry);
}
