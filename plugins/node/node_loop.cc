#include "plugins/node/node_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/log.h"
#include "plugins/node/health_events.h"
#include "plugins/node/metrics/use.h"
#include "plugins/node/process.h"
#include "plugins/node/resident.h"

namespace tephra::node {
namespace {

using LoopClock = std::chrono::steady_clock;

// Between two sweeps while containers of ended pods still run, which no event reports.
constexpr int kSweepAgainMs = 2000;
// How long a scrape waits for the driver; without an answer it has no figures of use.
constexpr std::chrono::seconds kUseWithin(2);
// A task on a GPU is several calls and programs.
constexpr int kTaskOverCall = 2;
constexpr std::chrono::seconds kStopWithin(10);
// The main loop waits for no driver call for longer than its deadline; it is then wedged.
constexpr std::chrono::minutes kWedgedAfter(5);

void Drain(int descriptor) {
  std::uint64_t count = 0;
  static_cast<void>(!read(descriptor, &count, sizeof count));
}

std::string HungText(const std::string& what, int seconds) {
  return what + " has run for more than " + std::to_string(seconds) +
         " s; see dmesg and nvidia-smi on the node, and reset the GPU or restart the node";
}

// What the node reports about itself.
absl::StatusOr<NodeFacts> FactsOf(const Settings& settings, const GpuSource::Driver& driver,
                                  const Gpus& gpus) {
  const Gpus shown = WithinSlots(gpus, settings.config.slots_per_gpu);
  NodeFacts facts;
  TEPHRA_ASSIGN_OR_RETURN(facts.annotations[kInventoryKey], FormatInventory(shown));
  facts.annotations[kVgpuRegisterKey] = FormatVgpuRegister(shown, settings.config);
  facts.capacity = ExtendedResources(shown, settings.config);
  for (const auto& [key, value] : FeatureLabels(shown, driver.version, driver.cuda)) {
    facts.labels[key] = value;
  }
  return facts;
}

}  // namespace

std::optional<std::string> DriverHung(const Settings& settings, const GpuSource& source) {
  const auto call = source.Hung(std::chrono::seconds(settings.driver_hung_s));
  if (!call) return std::nullopt;
  return HungText("the driver call " + *call, settings.driver_hung_s);
}

void ExitSoon() {
  std::thread([] {
    std::this_thread::sleep_for(kStopWithin);
    LogError("exiting without waiting for the driver", {{"waited_s", kStopWithin.count()}});
    std::_Exit(EXIT_FAILURE);
  }).detach();
}

NodeLoop::NodeLoop(Parts parts, GpuSource::Driver driver)
    : parts_(parts),
      driver_(std::move(driver)),
      blocked_(std::chrono::seconds(parts.settings.blocked_after_s)),
      use_([this] {
        return ReadUse({parts_.settings.hook.folder}, parts_.source.nvml(), parts_.binding.gpus(),
                       parts_.binding.holdings());
      }),
      metrics_([this] { return Figures(); }),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      plugin_(
          {[this](const std::vector<std::string>& slots) { return parts_.binding.Mint(slots); },
           [this](const std::vector<std::string>& slots, Deadline deadline,
                  const std::function<bool()>& cancelled) {
             const absl::Status status = parts_.binding.PreStart(slots, deadline, cancelled);
             Wake();  // which pods an unhealthy GPU concerns
             return status;
           },
           [this] {
             watch_ended_ = true;
             Wake();
           },
           [this](double seconds) { metrics_.Allocated(seconds); },
           [this](double seconds, bool refused) { metrics_.PreStarted(seconds, refused); }}) {}

void NodeLoop::Wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.get(), &one, sizeof one));
}

absl::Status NodeLoop::Run(int signals) {
  ShowSlots();
  ReportHealth({});
  Publish();
  registration_.emplace(parts_.settings.registration, plugin_, [this] { Wake(); });
  // From here on other threads ask for Facts; they are stopped before the registration ends.
  auto status = StatusServer::Start(StatusSocket(parts_.settings.binding),
                                    [this] { return FormatStatus(Facts()); });
  if (status.ok() && parts_.http != nullptr) {
    parts_.http->Handle("/metrics", [this] { return HttpServer::Answer{200, metrics_.Text()}; });
  }
  for (HttpServer* const server : {parts_.http, parts_.probes}) {
    if (!status.ok() || server == nullptr) continue;
    server->Handle("/readyz", [this] { return Ready(); });
    server->Handle("/healthz", [this] { return Healthy(); });
  }
  bool waits = status.ok() && parts_.binding.Sweep();
  while (status.ok() && Step(signals, waits)) {
  }
  LogInfo("stopping");
  ExitSoon();
  for (HttpServer* const server : {parts_.http, parts_.probes}) {
    if (server != nullptr) server->Stop();
  }
  const absl::Status result = status.status();
  if (status.ok()) *status = nullptr;
  registration_.reset();
  return result;
}

bool NodeLoop::Step(int signals, bool& waits) {
  pollfd polled[] = {{signals, POLLIN, 0},
                     {wake_.get(), POLLIN, 0},
                     {parts_.source.descriptor(), POLLIN, 0},
                     {parts_.reader.descriptor(), POLLIN, 0},
                     {parts_.pods.descriptor(), POLLIN, 0}};
  busy_since_ = 0;
  const int ready = poll(polled, std::size(polled), waits || !quiet_ ? kSweepAgainMs : -1);
  busy_since_ = LoopClock::now().time_since_epoch().count();
  if (ready < 0) return true;
  if (ready == 0 && !quiet_) {
    quiet_ = true;
    GiveBackMemory();
    if (!waits) return true;
  }
  if (ready > 0) quiet_ = false;
  if ((polled[0].revents & POLLIN) != 0) return false;
  if ((polled[1].revents & POLLIN) != 0) Drain(wake_.get());
  if ((polled[2].revents & POLLIN) != 0) {
    parts_.source.Drain();
    parts_.reader.Begin();
  }
  if ((polled[3].revents & POLLIN) != 0) TakeGpus();
  if (watch_ended_.exchange(false)) registration_->Again();
  // A kubelet that starts sets the resources of its plugins to zero (ReconcileExtendedResource).
  if (const int times = registration_->times(); times != registered_) {
    if (registered_ > 0) Publish(true);
    registered_ = times;
  }
  if ((polled[4].revents & POLLIN) != 0) parts_.pods.Drain();
  waits = parts_.binding.Sweep();
  PublishBlocked();
  ShowSlots();
  return true;
}

void NodeLoop::ShowSlots() {
  plugin_.SetSlots(MakeSlots(parts_.binding.gpus(), parts_.settings.config.slots_per_gpu,
                             parts_.binding.held_slots()));
}

void NodeLoop::TakeGpus() {
  std::optional<GpuReading> reading = parts_.reader.Take();
  if (!reading) return;
  const Gpus before = parts_.binding.gpus();
  const absl::Status status = reading->gpus.ok()
                                  ? parts_.binding.SetGpus(*std::move(reading->gpus))
                                  : reading->gpus.status();
  if (!status.ok()) {
    LogError("the GPUs cannot be read; their last known state stays",
             {{"why", std::string(status.message())}});
    return;
  }
  driver_ = reading->driver;
  ReportHealth(before);
  Publish();
}

void NodeLoop::ReportHealth(const Gpus& before) {
  if (parts_.publisher == nullptr) return;
  for (ClusterEvent& event : HealthEvents(parts_.settings.node, before, parts_.binding.gpus(),
                                          parts_.binding.holdings())) {
    parts_.publisher->Report(std::move(event));
  }
}

void NodeLoop::Publish(bool again) {
  if (parts_.publisher == nullptr) return;
  Gpus gpus = parts_.binding.gpus();
  blocked_.Mark(gpus);
  auto facts = FactsOf(parts_.settings, driver_, gpus);
  if (facts.ok()) {
    parts_.publisher->Show(*std::move(facts), again);
  } else {
    LogError("failed to publish the GPU inventory",
             {{"why", std::string(facts.status().message())}});
  }
}

void NodeLoop::PublishBlocked() {
  if (!blocked_.Update(parts_.binding.holdings(), parts_.binding.orphans(), LoopClock::now())) return;
  for (const auto& [index, why] : blocked_.why()) {
    LogWarning("a GPU is blocked, and is published as unhealthy", {{"gpu", index}, {"why", why}});
  }
  Publish();
}

StatusFacts NodeLoop::Facts() const {
  auto hung = DriverHung(parts_.settings, parts_.source);
  const int task_s = kTaskOverCall * parts_.settings.driver_hung_s;
  if (!hung) {
    if (const auto task = parts_.binding.Hung(std::chrono::seconds(task_s))) {
      hung = HungText(*task, task_s);
    }
  }
  if (hung) {
    parts_.problems.Set(problem_kind::kDriver, "driver", *hung);
  } else {
    parts_.problems.Clear(problem_kind::kDriver, "driver");
  }
  return {registration_->registered(),
          registration_->times(),
          plugin_.watchers(),
          parts_.pods.pods(),
          parts_.pods.lists(),
          parts_.pods.fault(),
          plugin_.figures(),
          parts_.binding.gpus(),
          parts_.binding.holdings(),
          parts_.binding.orphans(),
          parts_.binding.waits(),
          parts_.problems.All()};
}

NodeFigures NodeLoop::Figures() {
  NodeFigures figures{Facts(), {}, parts_.source.xids()};
  if (auto use = use_.Ask(LoopClock::now() + kUseWithin)) figures.use = *std::move(use);
  return figures;
}

HttpServer::Answer NodeLoop::Ready() const {
  if (!registration_->registered()) {
    return {503, "not ready: the kubelet has not accepted the registration yet\n"};
  }
  if (parts_.pods.lists() == 0) {
    return {503, "not ready: the API server has not answered with the pods of this node yet\n"};
  }
  return {200, "ready\n"};
}

HttpServer::Answer NodeLoop::Healthy() const {
  // Before Facts, which take locks.
  const LoopClock::duration since(busy_since_.load());
  const auto busy = LoopClock::now().time_since_epoch() - since;
  if (since.count() != 0 && busy > kWedgedAfter) {
    return {503, "not healthy: the main loop has done one thing for " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(busy).count()) + " s\n"};
  }
  for (const Problem& problem : Facts().problems) {
    if (problem.kind == problem_kind::kDriver) return {503, "not healthy: " + problem.text + "\n"};
  }
  return {200, "ok\n"};
}

}  // namespace tephra::node
