#include "sidecar/wire/event_codec.h"

#include <utility>

#include "sidecar/wire/bad_text.h"
#include "sidecar/wire/config_codec.h"
#include "sidecar/wire/job_codec.h"
#include "sidecar/wire/memory_codec.h"

namespace tephra {
namespace {

static_assert(v1::TASK_PHASE_RESERVED == ToWire<v1::TaskPhase>(TaskPhase::kReserved));

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
  out->set_terminates_by_ms(in.terminates_by);
  out->set_not_preemptible(!in.preemptible);
  if (in.priority.has_value()) out->set_priority(*in.priority);
}

absl::Status Decode(const v1::Task& in, const FieldPath& at, TaskFact& out) {
  out.uid = in.uid();
  out.job = in.job();
  out.role = in.role();
  out.index = in.index();
  TEPHRA_RETURN_IF_ERROR(FromWire(in.phase(), TaskPhase::kReserved, at.At("phase"), out.phase));
  out.node = in.node();
  TEPHRA_RETURN_IF_ERROR(Decode(in.slices(), at, "slices", out.slices));
  out.started = in.started_ms();
  out.checkpointed = in.checkpointed_ms();
  out.terminates_by = in.terminates_by_ms();
  out.preemptible = !in.not_preemptible();
  if (in.has_priority()) out.priority = in.priority();
  out.disruption_budgets.assign(in.disruption_budgets().begin(), in.disruption_budgets().end());
  return in.has_pod() ? Decode(in.pod(), at.At("pod"), out.pod.emplace()) : absl::OkStatus();
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
  absl::Status operator()(const MemoryRestored& fact) {
    Encode(fact.memory, text, out->mutable_memory_restored()->mutable_memory());
    return absl::OkStatus();
  }
  absl::Status operator()(const ConfigChanged& fact) {
    EncodeConfig(fact.config, text, out->mutable_config_changed()->mutable_config());
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

absl::StatusOr<Event> DecodeMemory(const v1::MemoryRestored& in, const FieldPath& at) {
  if (!in.has_memory()) return MissingField(at.At("memory"));
  return Event(MemoryRestored{tephra::Decode(in.memory())});
}

absl::StatusOr<Event> DecodeConfigChanged(const v1::ConfigChanged& in, const FieldPath& at) {
  if (!in.has_config()) return MissingField(at.At("config"));
  ConfigChanged fact;
  TEPHRA_RETURN_IF_ERROR(DecodeConfig(in.config(), at.At("config"), fact.config));
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
      return DecodeConfigChanged(in.config_changed(), root.At("config_changed"));
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
    case v1::Event::kMemoryRestored:
      return DecodeMemory(in.memory_restored(), root.At("memory_restored"));
    case v1::Event::FACT_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("event: fact: missing, or one that this version does not know");
}

}  // namespace tephra
