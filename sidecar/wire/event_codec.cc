#include "sidecar/wire/event_codec.h"

#include <utility>

#include "sidecar/wire/bad_text.h"
#include "sidecar/wire/job_codec.h"
#include "sidecar/wire/memory_codec.h"

namespace tephra {
namespace {

static_assert(v1::TASK_PHASE_HELD == ToWire<v1::TaskPhase>(TaskPhase::kHeld));
static_assert(v1::TIES_RANDOM == ToWire<v1::Ties>(Ties::kRandom));
static_assert(v1::GANG_LOCALITY_NONE == ToWire<v1::GangLocality>(GangLocality::kNone));
static_assert(v1::JOB_ORDER_REMAINING_WORK == ToWire<v1::JobOrder>(JobOrder::kRemainingWork));
static_assert(v1::ENQUEUE_GATE_VOLCANO == ToWire<v1::EnqueueGate>(EnqueueGate::kVolcano));

// --- parts ---------------------------------------------------------------------------------

void Encode(const TaskFact& in, TextCopier& text, v1::Task* out) {
  text.Copy(in.uid, out->mutable_uid());
  text.Copy(in.job, out->mutable_job());
  text.Copy(in.role, out->mutable_role());
  out->set_index(in.index);
  out->set_phase(ToWire<v1::TaskPhase>(in.phase));
  text.Copy(in.node, out->mutable_node());
  Encode(in.slices, out->mutable_slices());
  if (in.pod.has_value()) Encode(*in.pod, text, out->mutable_pod());
  text.CopyAll(in.disruption_budgets, out->mutable_disruption_budgets());
  out->set_started_ms(in.started);
  out->set_checkpointed_ms(in.checkpointed);
  out->set_not_preemptible(!in.preemptible);
  if (in.priority.has_value()) out->set_priority(*in.priority);
}

absl::Status Decode(const v1::Task& in, const FieldPath& at, TaskFact& out) {
  out.uid = in.uid();
  out.job = in.job();
  out.role = in.role();
  out.index = in.index();
  TEPHRA_RETURN_IF_ERROR(FromWire(in.phase(), TaskPhase::kHeld, at.At("phase"), out.phase));
  out.node = in.node();
  TEPHRA_RETURN_IF_ERROR(Decode(in.slices(), at, "slices", out.slices));
  out.started = in.started_ms();
  out.checkpointed = in.checkpointed_ms();
  out.preemptible = !in.not_preemptible();
  if (in.has_priority()) out.priority = in.priority();
  out.disruption_budgets.assign(in.disruption_budgets().begin(), in.disruption_budgets().end());
  return in.has_pod() ? Decode(in.pod(), at.At("pod"), out.pod.emplace()) : absl::OkStatus();
}

using WireNames = google::protobuf::RepeatedPtrField<v1::WeightedName>;

void Encode(const std::vector<WeightedName>& in, TextCopier& text, WireNames* out) {
  for (const WeightedName& entry : in) {
    v1::WeightedName* wire = out->Add();
    text.Copy(entry.name, wire->mutable_name());
    wire->set_weight(entry.weight);
  }
}

std::vector<WeightedName> Decode(const WireNames& in) {
  std::vector<WeightedName> out;
  for (const v1::WeightedName& wire : in) out.push_back({wire.name(), wire.weight()});
  return out;
}

void Encode(const Consolidation& in, v1::Consolidation* out) {
  out->set_mode(ToWire<v1::ConsolidationMode>(in.mode));
  out->set_moves_per_hour(in.moves_per_hour);
  for (const DailyWindow& window : in.windows) {
    v1::DailyWindow* wire = out->add_windows();
    wire->set_begin_min(window.begin_min);
    wire->set_end_min(window.end_min);
  }
  out->set_horizon_ms(in.horizon_ms);
  out->set_restart_cost_ms(in.restart_cost_ms);
  out->set_budget(in.budget);
  out->set_return_timeout_ms(in.return_timeout_ms);
}

absl::Status Decode(const v1::Consolidation& in, const FieldPath& at, Consolidation& out) {
  if (in.mode() != v1::CONSOLIDATION_MODE_UNSPECIFIED) {
    TEPHRA_RETURN_IF_ERROR(FromWire(in.mode(), Consolidation::Mode::kOn, at.At("mode"), out.mode));
  }
  if (in.has_moves_per_hour()) out.moves_per_hour = in.moves_per_hour();
  for (const v1::DailyWindow& wire : in.windows()) {
    out.windows.push_back({wire.begin_min(), wire.end_min()});
  }
  if (in.has_horizon_ms()) out.horizon_ms = in.horizon_ms();
  if (in.has_restart_cost_ms()) out.restart_cost_ms = in.restart_cost_ms();
  if (in.has_budget()) out.budget = in.budget();
  if (in.has_return_timeout_ms()) out.return_timeout_ms = in.return_timeout_ms();
  return absl::OkStatus();
}

void Encode(const Backfill& in, v1::Backfill* out) {
  out->set_mode(ToWire<v1::BackfillMode>(in.mode));
  out->set_order(ToWire<v1::BackfillOrder>(in.order));
  out->set_reservations(in.reservations);
  out->set_per_queue(in.per_queue);
  out->set_predict_by(ToWire<v1::PredictRunBy>(in.predict.by));
  out->set_predict_percent(in.predict.percent);
}

absl::Status Decode(const v1::Backfill& in, const FieldPath& at, Backfill& out) {
  if (in.mode() != v1::BACKFILL_MODE_UNSPECIFIED) {
    TEPHRA_RETURN_IF_ERROR(
        FromWire(in.mode(), Backfill::Mode::kConservative, at.At("mode"), out.mode));
  }
  if (in.order() != v1::BACKFILL_ORDER_UNSPECIFIED) {
    TEPHRA_RETURN_IF_ERROR(
        FromWire(in.order(), Backfill::Order::kShortestFirst, at.At("order"), out.order));
  }
  if (in.has_reservations()) out.reservations = in.reservations();
  out.per_queue = in.per_queue();
  if (in.predict_by() != v1::PREDICT_RUN_BY_UNSPECIFIED) {
    TEPHRA_RETURN_IF_ERROR(FromWire(in.predict_by(), RunPrediction::By::kQuantile,
                                    at.At("predict_by"), out.predict.by));
  }
  if (in.has_predict_percent()) out.predict.percent = in.predict_percent();
  return absl::OkStatus();
}

void Encode(const EngineConfig& in, TextCopier& text, v1::Config* out) {
  Encode(in.node_scores, text, out->mutable_node_scores());
  Encode(in.device_scores, text, out->mutable_device_scores());
  out->set_ties(ToWire<v1::Ties>(in.ties));
  out->set_seed(in.seed);
  for (const ExpectedPod& pod : in.expected_pods) {
    v1::ExpectedPod* wire = out->add_expected_pods();
    wire->set_cpu(pod.cpu);
    wire->set_devices(pod.devices);
    wire->set_compute(pod.compute);
    text.CopyAll(pod.models, wire->mutable_models());
    wire->set_share(pod.share);
  }
  Encode(in.victim_costs, text, out->mutable_victim_costs());
  out->set_eviction_budget(in.eviction_budget);
  out->set_search_budget(in.search_budget);
  out->set_assume_timeout_ms(in.assume_timeout_ms);
  out->set_priority_boost_ms(in.priority_boost_ms);
  out->set_usage_half_life_ms(in.usage_half_life_ms);
  out->set_usage_weight_permille(in.usage_weight_permille);
  if (in.job_order != JobOrder::kCreated) {
    out->set_job_order(ToWire<v1::JobOrder>(in.job_order));
  }
  out->set_silent_behind(!in.tells_behind);
  if (in.enqueue_gate != EnqueueGate::kNone) {
    out->set_enqueue_gate(ToWire<v1::EnqueueGate>(in.enqueue_gate));
  }
  if (in.overcommit_permille != EngineConfig{}.overcommit_permille) {
    out->set_overcommit_permille(in.overcommit_permille);
  }
  if (in.gang_locality != GangLocality::kNear) {
    out->set_gang_locality(ToWire<v1::GangLocality>(in.gang_locality));
  }
  if (in.consolidation != Consolidation{}) {
    Encode(in.consolidation, out->mutable_consolidation());
  }
  Encode(in.backfill, out->mutable_backfill());
  out->set_evict_from_unhealthy(in.evict_from_unhealthy);
  out->set_full_verify_every(in.full_verify_every);
  text.CopyAll(in.disabled_actions, out->mutable_disabled_actions());
}

absl::Status Decode(const v1::Config& in, const FieldPath& at, EngineConfig& out) {
  out.node_scores = Decode(in.node_scores());
  out.device_scores = Decode(in.device_scores());
  TEPHRA_RETURN_IF_ERROR(FromWire(in.ties(), Ties::kRandom, at.At("ties"), out.ties));
  out.seed = in.seed();
  for (const v1::ExpectedPod& wire : in.expected_pods()) {
    out.expected_pods.push_back({wire.cpu(),
                                 wire.devices(),
                                 wire.compute(),
                                 {wire.models().begin(), wire.models().end()},
                                 wire.share()});
  }
  if (in.victim_costs_size() > 0) out.victim_costs = Decode(in.victim_costs());
  if (in.has_eviction_budget()) out.eviction_budget = in.eviction_budget();
  if (in.has_search_budget()) out.search_budget = in.search_budget();
  out.priority_boost_ms = in.priority_boost_ms();
  if (in.has_assume_timeout_ms()) out.assume_timeout_ms = in.assume_timeout_ms();
  out.usage_half_life_ms = in.usage_half_life_ms();
  if (in.has_usage_weight_permille()) out.usage_weight_permille = in.usage_weight_permille();
  if (in.job_order() != v1::JOB_ORDER_UNSPECIFIED) {
    TEPHRA_RETURN_IF_ERROR(
        FromWire(in.job_order(), JobOrder::kRemainingWork, at.At("job_order"), out.job_order));
  }
  out.tells_behind = !in.silent_behind();
  if (in.enqueue_gate() != v1::ENQUEUE_GATE_UNSPECIFIED) {
    TEPHRA_RETURN_IF_ERROR(FromWire(in.enqueue_gate(), EnqueueGate::kVolcano, at.At("enqueue_gate"),
                                    out.enqueue_gate));
  }
  if (in.has_overcommit_permille()) out.overcommit_permille = in.overcommit_permille();
  if (in.gang_locality() != v1::GANG_LOCALITY_UNSPECIFIED) {
    TEPHRA_RETURN_IF_ERROR(FromWire(in.gang_locality(), GangLocality::kNone, at.At("gang_locality"),
                                    out.gang_locality));
  }
  if (!in.has_backfill()) {
    out.backfill.mode = Backfill::Mode::kNone;
  } else {
    TEPHRA_RETURN_IF_ERROR(Decode(in.backfill(), at.At("backfill"), out.backfill));
  }
  if (in.has_consolidation()) {
    TEPHRA_RETURN_IF_ERROR(Decode(in.consolidation(), at.At("consolidation"), out.consolidation));
  }
  out.evict_from_unhealthy = in.evict_from_unhealthy();
  if (in.has_full_verify_every()) out.full_verify_every = in.full_verify_every();
  out.disabled_actions.assign(in.disabled_actions().begin(), in.disabled_actions().end());
  return absl::OkStatus();
}

// --- facts ---------------------------------------------------------------------------------

struct Encoder {
  TextCopier text;
  v1::Event* out;

  absl::Status operator()(const KindsDeclared& fact) {
    text.CopyAll(fact.names, out->mutable_kinds_declared()->mutable_names());
    return absl::OkStatus();
  }
  absl::Status operator()(const NodeUpserted& fact) {
    Encode(fact.node, text, out->mutable_node_upserted()->mutable_node());
    out->mutable_node_upserted()->set_version(fact.version);
    return absl::OkStatus();
  }
  absl::Status operator()(const NodeRemoved& fact) {
    text.Copy(fact.name, out->mutable_node_removed()->mutable_name());
    return absl::OkStatus();
  }
  absl::Status operator()(const QueueUpserted& fact) {
    Encode(fact.queue, text, out->mutable_queue_upserted()->mutable_queue());
    out->mutable_queue_upserted()->set_version(fact.version);
    return absl::OkStatus();
  }
  absl::Status operator()(const QueueRemoved& fact) {
    text.Copy(fact.name, out->mutable_queue_removed()->mutable_name());
    return absl::OkStatus();
  }
  absl::Status operator()(const JobUpserted& fact) {
    out->mutable_job_upserted()->set_version(fact.version);
    Encode(fact.job, text, out->mutable_job_upserted()->mutable_job());
    return absl::OkStatus();
  }
  absl::Status operator()(const JobRemoved& fact) {
    text.Copy(fact.uid, out->mutable_job_removed()->mutable_uid());
    return absl::OkStatus();
  }
  absl::Status operator()(const TaskUpserted& fact) {
    Encode(fact.task, text, out->mutable_task_upserted()->mutable_task());
    out->mutable_task_upserted()->set_version(fact.version);
    return absl::OkStatus();
  }
  absl::Status operator()(const TaskRemoved& fact) {
    text.Copy(fact.uid, out->mutable_task_removed()->mutable_uid());
    return absl::OkStatus();
  }
  absl::Status operator()(const PlacementRefused& fact) {
    v1::PlacementRefused* wire = out->mutable_placement_refused();
    text.Copy(fact.job, wire->mutable_job());
    text.Copy(fact.role, wire->mutable_role());
    text.Copy(fact.node, wire->mutable_node());
    text.Copy(fact.why, wire->mutable_why());
    wire->set_elastic(fact.elastic);
    return absl::OkStatus();
  }
  absl::Status operator()(const PlanStale& fact) {
    v1::PlanStale* wire = out->mutable_plan_stale();
    text.Copy(fact.job, wire->mutable_job());
    text.Copy(fact.why, wire->mutable_why());
    wire->set_elastic(fact.elastic);
    return absl::OkStatus();
  }
  absl::Status operator()(const BindFailed& fact) {
    v1::BindFailed* wire = out->mutable_bind_failed();
    text.Copy(fact.job, wire->mutable_job());
    text.Copy(fact.role, wire->mutable_role());
    wire->set_index(fact.index);
    text.Copy(fact.node, wire->mutable_node());
    text.Copy(fact.why, wire->mutable_why());
    return absl::OkStatus();
  }
  absl::Status operator()(const MaskUpserted& fact) {
    v1::MaskUpserted* wire = out->mutable_mask_upserted();
    text.Copy(fact.name, wire->mutable_name());
    text.CopyAll(fact.excluded_nodes, wire->mutable_excluded_nodes());
    wire->set_version(fact.version);
    return absl::OkStatus();
  }
  absl::Status operator()(const MaskRemoved& fact) {
    text.Copy(fact.name, out->mutable_mask_removed()->mutable_name());
    return absl::OkStatus();
  }
  absl::Status operator()(const DomainUpserted& fact) {
    Encode(fact.domain, text, out->mutable_domain_upserted()->mutable_domain());
    out->mutable_domain_upserted()->set_version(fact.version);
    return absl::OkStatus();
  }
  absl::Status operator()(const DomainRemoved& fact) {
    text.Copy(fact.name, out->mutable_domain_removed()->mutable_name());
    return absl::OkStatus();
  }
  absl::Status operator()(const DisruptionBudgetUpserted& fact) {
    v1::DisruptionBudgetUpserted* wire = out->mutable_disruption_budget_upserted();
    text.Copy(fact.name, wire->mutable_name());
    wire->set_allowed(fact.allowed);
    wire->set_version(fact.version);
    return absl::OkStatus();
  }
  absl::Status operator()(const DisruptionBudgetRemoved& fact) {
    text.Copy(fact.name, out->mutable_disruption_budget_removed()->mutable_name());
    return absl::OkStatus();
  }
  absl::Status operator()(const MemoryTold& fact) {
    Encode(fact.memory, text, out->mutable_memory_told()->mutable_memory());
    return absl::OkStatus();
  }
  absl::Status operator()(const ConfigChanged& fact) {
    Encode(fact.config, text, out->mutable_config_changed()->mutable_config());
    return absl::OkStatus();
  }
};

absl::StatusOr<Event> DecodeNode(const v1::NodeUpserted& in, const FieldPath& at) {
  if (!in.has_node()) return MissingField(at.At("node"));
  NodeUpserted fact{{}, in.version()};
  TEPHRA_RETURN_IF_ERROR(Decode(in.node(), at.At("node"), fact.node));
  return Event(std::move(fact));
}

absl::StatusOr<Event> DecodeQueue(const v1::QueueUpserted& in, const FieldPath& at) {
  if (!in.has_queue()) return MissingField(at.At("queue"));
  QueueUpserted fact{{}, in.version()};
  TEPHRA_RETURN_IF_ERROR(Decode(in.queue(), at.At("queue"), fact.queue));
  return Event(std::move(fact));
}

absl::StatusOr<Event> DecodeJob(const v1::JobUpserted& in, const FieldPath& at) {
  if (!in.has_job()) return MissingField(at.At("job"));
  JobUpserted fact{{}, in.version()};
  TEPHRA_RETURN_IF_ERROR(Decode(in.job(), at.At("job"), fact.job));
  return Event(std::move(fact));
}

absl::StatusOr<Event> DecodeTask(const v1::TaskUpserted& in, const FieldPath& at) {
  if (!in.has_task()) return MissingField(at.At("task"));
  TaskUpserted fact{{}, in.version()};
  TEPHRA_RETURN_IF_ERROR(Decode(in.task(), at.At("task"), fact.task));
  return Event(std::move(fact));
}

absl::StatusOr<Event> DecodeDomain(const v1::DomainUpserted& in, const FieldPath& at) {
  if (!in.has_domain()) return MissingField(at.At("domain"));
  DomainUpserted fact{{}, in.version()};
  Decode(in.domain(), fact.domain);
  return Event(std::move(fact));
}

absl::StatusOr<Event> DecodeMemory(const v1::MemoryTold& in, const FieldPath& at) {
  if (!in.has_memory()) return MissingField(at.At("memory"));
  return Event(MemoryTold{tephra::Decode(in.memory())});
}

absl::StatusOr<Event> DecodeConfig(const v1::ConfigChanged& in, const FieldPath& at) {
  if (!in.has_config()) return MissingField(at.At("config"));
  ConfigChanged fact;
  TEPHRA_RETURN_IF_ERROR(Decode(in.config(), at.At("config"), fact.config));
  return Event(std::move(fact));
}

}  // namespace

absl::Status EncodeEvent(const Event& event, v1::Event* out) {
  Encoder encoder{{}, out};
  TEPHRA_RETURN_IF_ERROR(std::visit(encoder, event));
  return encoder.text.clean() ? absl::OkStatus() : BadText(*out);
}

absl::StatusOr<Event> DecodeEvent(const v1::Event& in) {
  const FieldPath root;
  switch (in.fact_case()) {
    case v1::Event::kKindsDeclared: {
      const auto& names = in.kinds_declared().names();
      return Event(KindsDeclared{{names.begin(), names.end()}});
    }
    case v1::Event::kNodeUpserted:
      return DecodeNode(in.node_upserted(), root.At("node_upserted"));
    case v1::Event::kNodeRemoved:
      return Event(NodeRemoved{in.node_removed().name()});
    case v1::Event::kQueueUpserted:
      return DecodeQueue(in.queue_upserted(), root.At("queue_upserted"));
    case v1::Event::kQueueRemoved:
      return Event(QueueRemoved{in.queue_removed().name()});
    case v1::Event::kJobUpserted:
      return DecodeJob(in.job_upserted(), root.At("job_upserted"));
    case v1::Event::kJobRemoved:
      return Event(JobRemoved{in.job_removed().uid()});
    case v1::Event::kTaskUpserted:
      return DecodeTask(in.task_upserted(), root.At("task_upserted"));
    case v1::Event::kTaskRemoved:
      return Event(TaskRemoved{in.task_removed().uid()});
    case v1::Event::kPlacementRefused: {
      const v1::PlacementRefused& fact = in.placement_refused();
      return Event(
          PlacementRefused{fact.job(), fact.role(), fact.node(), fact.why(), fact.elastic()});
    }
    case v1::Event::kConfigChanged:
      return DecodeConfig(in.config_changed(), root.At("config_changed"));
    case v1::Event::kMaskUpserted: {
      const v1::MaskUpserted& fact = in.mask_upserted();
      const auto& nodes = fact.excluded_nodes();
      return Event(MaskUpserted{fact.name(), {nodes.begin(), nodes.end()}, fact.version()});
    }
    case v1::Event::kMaskRemoved:
      return Event(MaskRemoved{in.mask_removed().name()});
    case v1::Event::kPlanStale: {
      const v1::PlanStale& fact = in.plan_stale();
      return Event(PlanStale{fact.job(), fact.why(), fact.elastic()});
    }
    case v1::Event::kBindFailed: {
      const v1::BindFailed& fact = in.bind_failed();
      return Event(BindFailed{fact.job(), fact.role(), fact.index(), fact.node(), fact.why()});
    }
    case v1::Event::kDomainUpserted:
      return DecodeDomain(in.domain_upserted(), root.At("domain_upserted"));
    case v1::Event::kDomainRemoved:
      return Event(DomainRemoved{in.domain_removed().name()});
    case v1::Event::kDisruptionBudgetUpserted: {
      const v1::DisruptionBudgetUpserted& fact = in.disruption_budget_upserted();
      return Event(DisruptionBudgetUpserted{fact.name(), fact.allowed(), fact.version()});
    }
    case v1::Event::kDisruptionBudgetRemoved:
      return Event(DisruptionBudgetRemoved{in.disruption_budget_removed().name()});
    case v1::Event::kMemoryTold:
      return DecodeMemory(in.memory_told(), root.At("memory_told"));
    case v1::Event::FACT_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("event: fact: missing, or one that this version does not know");
}

}  // namespace tephra
