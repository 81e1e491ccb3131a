#include "plugins/node/process.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <mutex>

#include "plugins/node/binding/cdi_spec.h"
#include "plugins/node/cluster/pod_watch.h"
#include "plugins/node/cluster/publisher.h"
#include "plugins/node/cluster/runtime.h"
#include "plugins/node/cut/whole_cutter.h"
#include "plugins/node/health_events.h"
#include "plugins/node/metrics/http_server.h"
#include "plugins/node/metrics/node_metrics.h"
#include "plugins/node/resident.h"
#include "plugins/node/status.h"
#include "sidecar/log.h"

namespace tephra::node {
namespace {

// While something waits only for its containers to end, of which nothing tells.
constexpr int kSweepAgainMs = 2000;
constexpr int kFirstGpusMs = 5000;  // between looks for GPUs that cannot be read yet

// As its pod says; nothing where that leaves it to the image, or the pod is not known.
std::optional<std::uint32_t> UserOf(PodSource& pods, const Holder& holder) {
  const auto pod = pods.Wait(
      holder.pod_uid, std::chrono::steady_clock::now(), [] { return false; },
      [](const PodFacts&) { return true; });
  if (!pod.ok()) return std::nullopt;
  const auto user = pod->users.find(holder.container);
  return user == pod->users.end() ? std::nullopt : std::optional(user->second);
}

Cutters MakeCutters(const Settings& settings, const Nvml* nvml, PodSource& pods) {
  Cutters cutters;
  cutters.Set(SliceMode::kWhole, std::make_unique<WholeCutter>());
  cutters.Set(SliceMode::kFraction, std::make_unique<HookCutter>(settings.hook));
  cutters.Set(SliceMode::kTimeSlice, std::make_unique<TimeSliceCutter>(settings.turns));
  if (nvml == nullptr) return cutters;
  MpsCutter::Options mps = settings.mps;
  mps.user_of = [&pods](const Holder& holder) { return UserOf(pods, holder); };
  cutters.Set(SliceMode::kMps, std::make_unique<MpsCutter>(*nvml, std::move(mps)));
  cutters.Set(SliceMode::kMig, std::make_unique<MigCutter>(*nvml, settings.mig));
  return cutters;
}

StepDone CrashAfter(const std::string& step) {
  if (step.empty()) return [](const std::string&) {};
  return [step](const std::string& done) {
    if (done == step) kill(getpid(), SIGKILL);
  };
}

// What the node says of itself.
absl::StatusOr<NodeFacts> FactsOf(const Settings& settings, GpuSource& source, const Gpus& gpus) {
  const Gpus shown = WithinTickets(gpus, settings.config.tickets_per_gpu);
  const GpuSource::Driver driver = source.driver();
  NodeFacts facts;
  TEPHRA_ASSIGN_OR_RETURN(facts.annotations[kInventoryKey], FormatInventory(shown));
  facts.annotations[kVgpuRegisterKey] = FormatVgpuRegister(shown, settings.config);
  facts.capacity = ExtendedResources(shown, settings.config);
  for (const auto& [key, value] : FeatureLabels(shown, driver.version, driver.cuda)) {
    facts.labels[key] = value;
  }
  return facts;
}

// How containers are to learn of their slices, as settings or the node's container runtime say.
BindingSettings Delivery(const Settings& settings, const ApiSettings& api) {
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
  LogInfo("how containers learn of their slices",
          {{"cdi", binding.cdi_folder}, {"mounted", binding.mount}, {"why", why}});
  return binding;
}

// The loop of the main thread, and what it tells the others.
class Loop {
 public:
  Loop(const Settings& settings, GpuSource& source, LateBinding& binding, PodWatch& pods,
       Publisher* publisher, HttpServer* http)
      : settings_(settings),
        source_(source),
        binding_(binding),
        pods_(pods),
        publisher_(publisher),
        http_(http),
        metrics_([this] { return Figures(); }),
        news_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        plugin_({[this](const std::vector<std::string>& tickets) { return binding_.Mint(tickets); },
                 [this](const std::vector<std::string>& tickets, Deadline deadline,
                        const std::function<bool()>& cancelled) {
                   const absl::Status status = binding_.PreStart(tickets, deadline, cancelled);
                   News();  // whom an unhealthy GPU concerns
                   return status;
                 },
                 [this] {
                   if (registration_ != nullptr) registration_->Again();
                 },
                 [this](double seconds) { metrics_.Allocated(seconds); },
                 [this](double seconds, bool refused) { metrics_.PreStarted(seconds, refused); }}) {
  }

  absl::Status Run(int signals) {
    ShowTickets();
    TellHealth({});
    Publish();
    registration_ =
        std::make_unique<Registration>(settings_.registration, plugin_, [this] { News(); });
    auto status = StatusServer::Start(StatusSocket(settings_.binding), [this] { return Say(); });
    if (!status.ok()) return status.status();
    if (http_ != nullptr) {
      http_->Handle("/metrics", [this] { return HttpServer::Answer{200, metrics_.Text()}; });
      http_->Handle("/readyz", [this] { return Ready(); });
    }
    bool waits = binding_.Sweep(), quiet = false;
    while (true) {
      pollfd polled[] = {{signals, POLLIN, 0},
                         {news_.get(), POLLIN, 0},
                         {source_.descriptor(), POLLIN, 0},
                         {pods_.descriptor(), POLLIN, 0}};
      const int ready = poll(polled, std::size(polled), waits || !quiet ? kSweepAgainMs : -1);
      if (ready < 0) continue;
      if (ready == 0 && !quiet) {
        quiet = true;
        GiveBackMemory();
        if (!waits) continue;
      }
      if (ready > 0) quiet = false;
      if ((polled[0].revents & POLLIN) != 0) break;
      if ((polled[1].revents & POLLIN) != 0) {
        std::uint64_t count = 0;
        static_cast<void>(!read(news_.get(), &count, sizeof count));
      }
      if ((polled[2].revents & POLLIN) != 0) ReadGpus();
      // A kubelet that begins sets resources that are not its own to zero (its
      // ReconcileExtendedResource).
      if (const int times = registration_->times(); times != registered_) {
        if (registered_ > 0) Publish(true);
        registered_ = times;
      }
      if ((polled[3].revents & POLLIN) != 0) pods_.Drain();
      waits = binding_.Sweep();
      ShowTickets();
    }
    LogInfo("stopping");
    if (http_ != nullptr) http_->Stop();
    registration_ = nullptr;
    return absl::OkStatus();
  }

 private:
  void News() {
    const std::uint64_t one = 1;
    static_cast<void>(!write(news_.get(), &one, sizeof one));
  }

  void ShowTickets() {
    plugin_.SetTickets(
        MakeTickets(binding_.gpus(), settings_.config.tickets_per_gpu, binding_.held_tickets()));
  }

  void ReadGpus() {
    source_.Drain();
    auto gpus = source_.Read();
    const Gpus before = binding_.gpus();
    const absl::Status status = gpus.ok() ? binding_.SetGpus(*std::move(gpus)) : gpus.status();
    if (!status.ok()) {
      LogError("the GPUs stay as they were", {{"why", std::string(status.message())}});
      return;
    }
    TellHealth(before);
    Publish();
  }

  void TellHealth(const Gpus& before) {
    if (publisher_ == nullptr) return;
    for (ClusterEvent& event :
         HealthEvents(settings_.node, before, binding_.gpus(), binding_.holdings())) {
      publisher_->Tell(std::move(event));
    }
  }

  void Publish(bool anew = false) {
    if (publisher_ == nullptr) return;
    auto facts = FactsOf(settings_, source_, binding_.gpus());
    if (facts.ok()) {
      publisher_->Show(*std::move(facts), anew);
    } else {
      LogError("the cluster is not told of the GPUs",
               {{"why", std::string(facts.status().message())}});
    }
  }

  StatusFacts Facts() const {
    return {registration_->registered(),
            registration_->times(),
            plugin_.watchers(),
            pods_.pods(),
            pods_.lists(),
            pods_.fault(),
            plugin_.figures(),
            binding_.gpus(),
            binding_.holdings(),
            binding_.orphans(),
            binding_.waits()};
  }

  std::string Say() const { return FormatStatus(Facts()); }

  NodeFigures Figures() const {
    NodeFigures figures{Facts(), {}, source_.xids()};
    // A driver that does not answer holds up one scrape; others, and probes, go without its
    // figures.
    const std::unique_lock<std::mutex> alone(use_mutex_, std::try_to_lock);
    if (!alone.owns_lock()) return figures;
    figures.use = ReadUse({settings_.hook.folder}, source_.nvml(), figures.facts.gpus,
                          figures.facts.holdings);
    return figures;
  }

  HttpServer::Answer Ready() const {
    if (!registration_->registered()) return {503, "not registered with the kubelet\n"};
    if (pods_.lists() == 0) return {503, "the API server has not told of the pods yet\n"};
    return {200, "ready\n"};
  }

  const Settings& settings_;
  GpuSource& source_;
  LateBinding& binding_;
  PodWatch& pods_;
  Publisher* const publisher_;  // null: the cluster is told nothing
  HttpServer* const http_;      // null: nothing is served
  NodeMetrics metrics_;
  mutable std::mutex use_mutex_;  // held while the driver is asked for metrics
  Descriptor news_;
  DevicePlugin plugin_;
  std::unique_ptr<Registration> registration_;
  int registered_ = 0;  // times that the kubelet took it
};

// Until there are GPUs to read, or a signal says to stop: nothing then.
std::optional<Gpus> FirstGpus(GpuSource& source, int signals) {
  std::string last;
  while (true) {
    auto gpus = source.Read();
    if (gpus.ok()) return *std::move(gpus);
    const std::string why(gpus.status().message());
    if (why != last) LogWarning("no GPUs yet, looking again", {{"why", why}});
    last = why;
    pollfd stop = {signals, POLLIN, 0};
    if (poll(&stop, 1, kFirstGpusMs) > 0) return std::nullopt;
  }
}

}  // namespace

std::string StatusSocket(const BindingSettings& settings) {
  return settings.state_folder + "/status.sock";
}

absl::Status Serve(const Settings& settings, GpuSource& source, int signals) {
  KeepMemorySmall();
  std::unique_ptr<HttpServer> http;
  if (!settings.metrics_address.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(http, HttpServer::Start(settings.metrics_address));
    LogInfo("metrics are served", {{"port", http->port()}});
    http->Handle("/healthz", [] { return HttpServer::Answer{200, "ok\n"}; });
    http->Handle("/readyz", [] { return HttpServer::Answer{503, "no GPUs yet\n"}; });
  }
  std::optional<Gpus> gpus = FirstGpus(source, signals);
  if (!gpus.has_value()) return absl::OkStatus();
  ApiSettings api = settings.api;
  if (api.server.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(api, InClusterApi());
  }
  if (!settings.binding.cgroup_root.empty() && !PodCgroups(settings.binding.cgroup_root).Sees()) {
    // Without them a GPU would be given on while containers of a pod deleted by force still use it.
    return absl::FailedPreconditionError("--cgroup-root: no control groups of pods below " +
                                         settings.binding.cgroup_root);
  }
  LogInfo("serving", {{"version", TEPHRA_VERSION},
                      {"node", settings.node},
                      {"gpus", gpus->devices.size()},
                      {"resource", settings.binding.resource},
                      {"api", api.server}});
  PodWatch pods(api, settings.node);
  TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<LateBinding> binding,
                          LateBinding::Open(Delivery(settings, api), *std::move(gpus),
                                            MakeCutters(settings, source.nvml(), pods), pods,
                                            CrashAfter(settings.crash_after)));
  std::optional<Publisher> publisher;
  if (settings.publish) publisher.emplace(api, settings.node);
  TEPHRA_RETURN_IF_ERROR(
      Loop(settings, source, *binding, pods, publisher ? &*publisher : nullptr, http.get())
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
  const auto tickets = MakeTickets(gpus, settings.config.tickets_per_gpu, {});
  text += "would register " + std::to_string(tickets.size()) + " of " + settings.binding.resource +
          " with " + settings.registration.folder + "/kubelet.sock\n";
  const auto entries = ReadCheckpoint(settings.binding.checkpoint, settings.binding.resource,
                                      {kCdiKind, settings.binding.state_folder + "/nonces"});
  text += entries.ok() ? std::to_string(entries->size()) + " containers hold some now\n"
                       : std::string(entries.status().message()) + "\n";
  return text;
}

}  // namespace tephra::node
