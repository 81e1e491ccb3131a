#include "plugins/node/process.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "base/http_server.h"
#include "base/log.h"
#include "plugins/node/binding/cdi_spec.h"
#include "plugins/node/cluster/pod_watch.h"
#include "plugins/node/gpu_reader.h"
#include "plugins/node/node_loop.h"
#include "plugins/node/cluster/publisher.h"
#include "plugins/node/cluster/runtime.h"
#include "plugins/node/partition/whole_gpu.h"
#include "plugins/node/resident.h"
#include "plugins/node/slice_keys.h"

namespace tephra::node {
namespace {

constexpr int kFirstGpusMs = 5000;  // between attempts to read the GPUs

// The user that the pod names for the container; nothing: the image decides, or the pod is not
// known.
std::optional<std::uint32_t> UserOf(PodSource& pods, const Holder& holder) {
  const auto pod = pods.Wait(
      holder.pod_uid, std::chrono::steady_clock::now(), [] { return false; },
      [](const PodFacts&) { return true; });
  if (!pod.ok()) return std::nullopt;
  const auto user = pod->users.find(holder.container);
  return user == pod->users.end() ? std::nullopt : std::optional(user->second);
}

Partitioners MakePartitioners(const Settings& settings, const Nvml* nvml, PodSource& pods,
                              Problems& problems) {
  Partitioners partitioners;
  partitioners.Set(SliceMode::kWhole, std::make_unique<WholeGpu>());
  partitioners.Set(SliceMode::kFraction, std::make_unique<HookLimiter>(settings.hook, problems));
  partitioners.Set(SliceMode::kTimeSlice, std::make_unique<TimeSliceLimiter>(settings.turns));
  if (nvml == nullptr) return partitioners;
  MpsLimiter::Options mps = settings.mps;
  mps.user_of = [&pods](const Holder& holder) { return UserOf(pods, holder); };
  partitioners.Set(SliceMode::kMps, std::make_unique<MpsLimiter>(*nvml, std::move(mps)));
  partitioners.Set(SliceMode::kMig, std::make_unique<MigPartitioner>(*nvml, settings.mig));
  return partitioners;
}

StepDone CrashAfter(const std::string& step) {
  if (step.empty()) return [](const std::string&) {};
  return [step](const std::string& done) {
    if (done == step) kill(getpid(), SIGKILL);
  };
}

// How containers see their slices: as the settings say, or as the container runtime allows.
absl::StatusOr<BindingSettings> Delivery(const Settings& settings, const ApiSettings& api) {
  BindingSettings binding = settings.binding;
  CdiSupport support = settings.cdi == CdiUse::kYes ? CdiSupport::kYes : CdiSupport::kNo;
  std::string why = "--cdi";
  if (settings.cdi == CdiUse::kAuto) {
    const auto facts = AskRuntime(api, settings.node);
    support = facts.ok() ? CdiSupportOf(*facts) : CdiSupport::kMaybe;
    why = facts.ok() ? facts->runtime + ", kubelet " + facts->kubelet
                     : std::string(facts.status().message());
  }
  if (support != CdiSupport::kYes) binding.mount = true;
  if (support == CdiSupport::kNo) binding.cdi_folder.clear();
  if (support == CdiSupport::kNo && binding.visible_by_mounts) {
    return absl::FailedPreconditionError(
        "--visible-devices: \"mounts\", expected \"env\": only CDI makes these mounts, and the container runtime has no CDI (" +
        why + ")");
  }
  LogInfo("how containers see their slices",
          {{"cdi", binding.cdi_folder}, {"mounted", binding.mount}, {"why", why}});
  return binding;
}

// The first reading that succeeds; nothing: a signal came before.
std::optional<GpuReading> FirstGpus(GpuReader& reader, int signals) {
  std::string last;
  while (true) {
    reader.Begin();
    pollfd polled[] = {{signals, POLLIN, 0}, {reader.descriptor(), POLLIN, 0}};
    while (poll(polled, std::size(polled), -1) < 0) {
    }
    if (polled[0].revents != 0) return std::nullopt;
    std::optional<GpuReading> reading = reader.Take();
    if (!reading) continue;
    if (reading->gpus.ok()) return reading;
    const std::string why(reading->gpus.status().message());
    if (why != last) LogWarning("waiting for GPUs", {{"why", why}});
    last = why;
    if (poll(polled, 1, kFirstGpusMs) > 0) return std::nullopt;
  }
}

}  // namespace

std::string StatusSocket(const BindingSettings& settings) {
  return settings.state_folder + "/status.sock";
}

absl::Status Serve(const Settings& settings, GpuSource& source, int signals) {
  KeepMemorySmall();
  std::unique_ptr<HttpServer> http, probes;
  if (!settings.metrics_address.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(http,
                            HttpServer::Start("--metrics-address", settings.metrics_address));
    LogInfo("metrics are served", {{"port", http->port()}});
  }
  if (!settings.probes_address.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(probes,
                            HttpServer::Start("--probes-address", settings.probes_address));
    LogInfo("probes are served", {{"port", probes->port()}});
  }
  for (HttpServer* const server : {http.get(), probes.get()}) {
    if (server == nullptr) continue;
    server->Handle("/healthz", [&] {
      const auto hung = DriverHung(settings, source);
      return hung ? HttpServer::Answer{503, "not healthy: " + *hung + "\n"}
                  : HttpServer::Answer{200, "ok\n"};
    });
    server->Handle("/readyz", [] { return HttpServer::Answer{503, "not ready: no GPUs yet\n"}; });
  }
  GpuReader reader(source);
  std::optional<GpuReading> first = FirstGpus(reader, signals);
  if (!first.has_value()) {
    ExitSoon();
    return absl::OkStatus();
  }
  ApiSettings api = settings.api;
  if (api.server.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(api, InClusterApi());
  }
  if (!settings.binding.cgroup_root.empty() && !PodCgroups(settings.binding.cgroup_root).Sees()) {
    // Without them a GPU would be given to the next pod while containers of a pod that was deleted
    // by force still use it.
    return absl::FailedPreconditionError(
        "--cgroup-root: \"" + settings.binding.cgroup_root +
        "\": has no control groups of pods; mount the host's /sys/fs/cgroup there");
  }
  LogInfo("serving", {{"version", TEPHRA_VERSION},
                      {"node", settings.node},
                      {"gpus", first->gpus->devices.size()},
                      {"resource", settings.binding.resource},
                      {"api", api.server}});
  if (!settings.binding.slices_keys.empty()) {
    TEPHRA_RETURN_IF_ERROR(SliceKeys::Read(settings.binding.slices_keys).status());
  }
  Problems problems;
  PodWatch pods(api, settings.node, problems);
  TEPHRA_ASSIGN_OR_RETURN(BindingSettings delivery, Delivery(settings, api));
  TEPHRA_ASSIGN_OR_RETURN(
      const std::unique_ptr<LateBinding> binding,
      LateBinding::Open(std::move(delivery), *std::move(first->gpus),
                        MakePartitioners(settings, source.nvml(), pods, problems), pods, problems,
                        CrashAfter(settings.crash_after)));
  std::optional<Publisher> publisher;
  if (settings.publish) publisher.emplace(api, settings.node);
  TEPHRA_RETURN_IF_ERROR(NodeLoop({settings, source, reader, *binding, pods, problems,
                                   publisher ? &*publisher : nullptr, http.get(), probes.get()},
                                  first->driver)
                             .Run(signals));
  LogInfo("stopped");
  return absl::OkStatus();
}

absl::StatusOr<std::string> DryRun(const Settings& settings, GpuSource& source) {
  TEPHRA_ASSIGN_OR_RETURN(const Gpus gpus, source.Read());
  std::string text;
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    const Gpu& gpu = gpus.devices[i];
    text += "GPU " + std::to_string(i) + "  " + gpu.hardware.uuid + "  " + gpu.hardware.model +
            "  " + std::to_string(gpu.hardware.memory_mib) + " MiB  " +
            (gpu.hardware.healthy ? "healthy" : "unhealthy: " + gpu.unhealthy) + "\n";
  }
  const auto slots = MakeSlots(gpus, settings.config.slots_per_gpu, {});
  text += "would register " + std::to_string(slots.size()) + " of " + settings.binding.resource +
          " with " + settings.registration.folder + "/kubelet.sock\n";
  const auto entries = ReadCheckpoint(settings.binding.checkpoint, settings.binding.resource,
                                      {kCdiKind, settings.binding.state_folder + "/nonces"});
  text += entries.ok() ? std::to_string(entries->size()) + " containers have slots now\n"
                       : std::string(entries.status().message()) + "\n";
  return text;
}

}  // namespace tephra::node
