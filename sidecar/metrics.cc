#include "sidecar/metrics.h"

#include <array>
#include <map>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/http_server.h"
#include "base/process_figures.h"
#include "sidecar/wire/note.h"

namespace tephra {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

// In the order of Event's alternatives.
constexpr const char* kFactKinds[] = {"kinds_declared",
                                      "node_upserted",
                                      "node_removed",
                                      "queue_upserted",
                                      "queue_removed",
                                      "job_upserted",
                                      "job_removed",
                                      "task_upserted",
                                      "task_removed",
                                      "placement_refused",
                                      "config_changed",
                                      "mask_upserted",
                                      "mask_removed",
                                      "plan_stale",
                                      "bind_failed",
                                      "domain_upserted",
                                      "domain_removed",
                                      "disruption_budget_upserted",
                                      "disruption_budget_removed",
                                      "memory_restored"};
static_assert(std::size(kFactKinds) == std::variant_size_v<Event>);

constexpr const char* kVerdicts[] = {"start", "start_after_eviction", "reserve", "wait",
                                     "infeasible", "unwind"};

constexpr int kObstacles = static_cast<int>(Obstacle::kLimitReserved) + 1;

// From an idle cycle to one that fills a large cluster.
const Histogram::BucketBoundaries kCycleSeconds = {0.0001, 0.0003, 0.001, 0.003, 0.01,
                                                   0.03,   0.1,    0.3,   1,     3};

Family<Counter>& CounterFamily(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Family<Gauge>& GaugeFamily(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

double Gpus(std::int64_t per_mille) {
  return static_cast<double>(per_mille) / static_cast<double>(kWholeGpu);
}

}  // namespace

struct Metrics::Families {
  std::unique_ptr<Registry> registry = std::make_unique<Registry>();
  ProcessFigures process;

  Histogram& cycle = prometheus::BuildHistogram()
                         .Name("tephra_engine_cycle_duration_seconds")
                         .Help("How long a cycle took in the engine.")
                         .Register(*registry)
                         .Add({}, kCycleSeconds);
  Counter& placements = CounterFamily(*registry, "tephra_engine_plan_placements_total",
                                      "Tasks that plans gave a place.")
                            .Add({});
  Counter& evictions =
      CounterFamily(*registry, "tephra_engine_plan_evictions_total", "Tasks that plans evicted.")
          .Add({});
  std::array<Counter*, std::size(kVerdicts)> decisions;
  std::array<Counter*, std::size(kFactKinds)> facts;
  Counter& refused = CounterFamily(*registry, "tephra_engine_facts_refused_total",
                                   "Facts that the engine did not take.")
                         .Add({});
  Family<Counter>& resyncs = CounterFamily(*registry, "tephra_engine_resyncs_total",
                                           "Full syncs that the engine asked for.");
  Counter& dropped =
      CounterFamily(*registry, "tephra_engine_plans_dropped_total",
                    "Decisions that failed the engine's own check and were not taken.")
          .Add({});
  std::array<Gauge*, kObstacles> waiting;
  Gauge& nodes =
      GaugeFamily(*registry, "tephra_engine_nodes", "Nodes known, cordoned ones included.").Add({});
  Family<Gauge>& gpus =
      GaugeFamily(*registry, "tephra_engine_gpus", "GPUs of all nodes, in devices.");
  Gauge& gpus_capacity = gpus.Add({{"state", "capacity"}});
  Gauge& gpus_free = gpus.Add({{"state", "free"}});
  Family<Gauge>& queue_gpus =
      GaugeFamily(*registry, "tephra_engine_queue_gpus",
                  "GPUs that a queue and those below it hold, and their limit, in devices.");
  using QueueGauges = std::map<std::string, Gauge*>;
  QueueGauges queue_used, queue_limit;
  Counter& journal_bytes =
      CounterFamily(*registry, "tephra_engine_journal_bytes_total", "Bytes written to journals.")
          .Add({});
  Counter& journal_failures = CounterFamily(*registry, "tephra_engine_journal_failures_total",
                                            "Journals that could not be written any further.")
                                  .Add({});
  Family<Counter>& reloads = CounterFamily(*registry, "tephra_engine_config_reloads_total",
                                           "Times that the configuration was read again.");
  Counter& reloads_good = reloads.Add({{"result", "good"}});
  Counter& reloads_bad = reloads.Add({{"result", "bad"}});
  Gauge& synced = GaugeFamily(*registry, "tephra_engine_synced",
                              "1 while a scheduler is connected and its full sync has ended.")
                      .Add({});

  Families() {
    Family<Counter>& by_verdict =
        CounterFamily(*registry, "tephra_engine_decisions_total", "Decisions of plans.");
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      decisions[i] = &by_verdict.Add({{"verdict", kVerdicts[i]}});
    }
    Family<Counter>& by_kind =
        CounterFamily(*registry, "tephra_engine_facts_total", "Facts that the engine took.");
    for (std::size_t i = 0; i < facts.size(); ++i) {
      facts[i] = &by_kind.Add({{"kind", kFactKinds[i]}});
    }
    Family<Gauge>& by_obstacle = GaugeFamily(*registry, "tephra_engine_waiting_jobs",
                                             "Jobs with tasks that wait, by what holds them back.");
    for (int i = 0; i < kObstacles; ++i) {
      waiting[static_cast<std::size_t>(i)] =
          &by_obstacle.Add({{"obstacle", ObstacleWord(static_cast<Obstacle>(i))}});
    }
    GaugeFamily(*registry, "tephra_engine_build_info", "1, with the version of this build.")
        .Add({{"version", TEPHRA_VERSION}})
        .Set(1);
  }

  // Sets the gauge of each named queue and takes away those of queues that are gone.
  void SetQueues(const Books& books) {
    QueueGauges used, limit;
    const auto set = [&](QueueGauges& had, QueueGauges& has, const std::string& queue,
                         const char* what, std::int64_t amount) {
      const auto known = had.find(queue);
      Gauge* gauge = known != had.end() ? std::exchange(known->second, nullptr)
                                        : &queue_gpus.Add({{"queue", queue}, {"amount", what}});
      gauge->Set(Gpus(amount));
      has.emplace(queue, gauge);
    };
    for (std::size_t i = 0; i < books.queues.size(); ++i) {
      const QueueId id(i);
      if (!books.queues.present(id)) continue;
      const QueueSpec& spec = books.queues.spec(id);
      set(queue_used, used, spec.name, "used", books.occupancy.queue_total(id)[kGpu]);
      if ((spec.limited_kinds >> kGpu & 1) != 0) {
        set(queue_limit, limit, spec.name, "limit", spec.limit[kGpu]);
      }
    }
    ReplaceQueues(std::move(used), std::move(limit));
  }

  // REQUIRES: gauges that stay are null in the present maps.
  void ReplaceQueues(QueueGauges used, QueueGauges limit) {
    for (auto* gone : {&queue_used, &queue_limit}) {
      for (const auto& [name, gauge] : *gone) {
        if (gauge != nullptr) queue_gpus.Remove(gauge);
      }
    }
    queue_used = std::move(used);
    queue_limit = std::move(limit);
  }
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

absl::Status Metrics::Serve(const std::string& address) {
  TEPHRA_ASSIGN_OR_RETURN(server_, HttpServer::Start("metrics.listen", address));
  server_->Handle("/metrics", [this] { return HttpServer::Answer{200, Text()}; });
  HandleProbes(*server_);
  return absl::OkStatus();
}

absl::Status Metrics::ServeProbes(const std::string& address) {
  TEPHRA_ASSIGN_OR_RETURN(probes_, HttpServer::Start("probes.listen", address));
  HandleProbes(*probes_);
  return absl::OkStatus();
}

void Metrics::SetHealth(std::function<std::string()> unhealthy) {
  unhealthy_ = std::move(unhealthy);
}

void Metrics::HandleProbes(HttpServer& server) {
  server.Handle("/healthz", [this] {
    const std::string why = unhealthy_ ? unhealthy_() : "";
    return why.empty() ? HttpServer::Answer{200, "ok\n"} : HttpServer::Answer{503, why + "\n"};
  });
  server.Handle("/readyz", [this] {
    if (families_->synced.Value() != 0) return HttpServer::Answer{200, "ok\n"};
    return HttpServer::Answer{503, "no scheduler has sent a full sync yet\n"};
  });
}

int Metrics::port() const { return server_ == nullptr ? 0 : server_->port(); }

std::string Metrics::Text() const {
  auto all = families_->registry->Collect();
  for (auto& family : families_->process.Collect()) all.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(all);
}

void Metrics::FactTaken(const Event& event) { families_->facts[event.index()]->Increment(); }

void Metrics::FactRefused() { families_->refused.Increment(); }

void Metrics::CycleEnded(double seconds, const Plan& plan, const Books& books) {
  Families& to = *families_;
  to.cycle.Observe(seconds);
  std::size_t placements = 0, evictions = 0;
  for (const Decision& decision : plan.decisions) {
    placements += decision.placements.size();
    evictions += decision.evictions.size();
    to.decisions[static_cast<std::size_t>(decision.verdict)]->Increment();
  }
  to.placements.Increment(static_cast<double>(placements));
  to.evictions.Increment(static_cast<double>(evictions));
  to.dropped.Increment(static_cast<double>(plan.dropped.size()));

  std::array<std::int64_t, kObstacles> waiting{};
  for (const JobId job : books.waiting) {
    const Obstacle obstacle = StandingOf(books, job).reason->obstacle;
    ++waiting[static_cast<std::size_t>(obstacle)];
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    to.waiting[i]->Set(static_cast<double>(waiting[i]));
  }
  to.nodes.Set(static_cast<double>(books.hardware.ranked().size()));
  to.gpus_capacity.Set(Gpus(books.hardware.total()[kGpu]));
  to.gpus_free.Set(Gpus(books.occupancy.free_total()[kGpu]));
  to.SetQueues(books);
}

void Metrics::Resync(const char* why) { families_->resyncs.Add({{"why", why}}).Increment(); }
void Metrics::Synced(bool synced) { families_->synced.Set(synced ? 1 : 0); }
void Metrics::Disconnected() {
  Synced(false);
  for (Gauge* gauge : families_->waiting) gauge->Set(0);
  for (Gauge* gauge : {&families_->nodes, &families_->gpus_capacity, &families_->gpus_free}) {
    gauge->Set(0);
  }
  families_->ReplaceQueues({}, {});
}
void Metrics::JournalGrew(std::uint64_t bytes) {
  families_->journal_bytes.Increment(static_cast<double>(bytes));
}
void Metrics::JournalFailed() { families_->journal_failures.Increment(); }
void Metrics::ConfigRead(bool good) {
  (good ? families_->reloads_good : families_->reloads_bad).Increment();
}

}  // namespace tephra
