#include "sidecar/wire/plan_codec.h"

#include <algorithm>

#include "sidecar/wire/memory_codec.h"
#include "sidecar/wire/node_codec.h"
#include "tephra/v1/plan.pb.h"

namespace tephra {
namespace {

static_assert(v1::VERDICT_UNWIND == ToWire<v1::Verdict>(Verdict::kUnwind));
static_assert(v1::PART_ELASTIC == ToWire<v1::Part>(Part::kElastic));
static_assert(v1::UNTIMED_DEPTH == ToWire<v1::Untimed>(Untimed::kDepth));
static_assert(v1::OBSTACLE_LIMIT_RESERVED == ToWire<v1::Obstacle>(Obstacle::kLimitReserved));
static_assert(v1::REMEDY_DELAY == ToWire<v1::Remedy>(Remedy::kDelay));
static_assert(v1::MISFIT_MODE == ToWire<v1::Misfit>(Misfit::kMode));
static_assert(v1::MISFIT_MODE == kMisfits);
static_assert(v1::MOVING_WINDOW == ToWire<v1::Moving>(Moving::kWindow));

void Encode(const Reason& in, v1::Reason* out) {
  out->set_obstacle(ToWire<v1::Obstacle>(in.obstacle));
  out->set_role(in.role);
  out->set_tasks_needed(in.tasks_needed);
  out->set_tasks_fit(in.tasks_fit);
  out->set_binding_kind(in.binding);
  out->set_per_task(in.per_task);
  out->set_free_total(in.free_total);
  out->set_capacity_total(in.capacity_total);
  out->set_best_node(in.best_node);
  out->set_best_free(in.best_free);
  for (int misfit = 0; misfit < kMisfits; ++misfit) {
    if (in.nodes[misfit] == 0) continue;
    v1::MisfitCount* count = out->add_nodes();
    count->set_misfit(ToWire<v1::Misfit>(static_cast<Misfit>(misfit)));
    count->set_nodes(in.nodes[misfit]);
  }
  out->set_full_group(in.full_group);
  out->set_full_node(in.full_node);
  out->set_places(in.places);
  out->set_places_taken(in.places_taken);
  out->set_places_asked(in.places_asked);
  out->set_holder(in.holder);
  out->set_holder_node(in.holder_node);
  out->set_holder_not_preemptible(!in.holder_preemptible);
  out->set_queue(in.queue);
  out->set_limit(in.limit);
  out->set_used(in.used);
  out->set_asked(in.asked);
  out->set_kept(in.kept);
  out->set_kept_for(in.kept_for);
  out->set_ahead(in.ahead);
  out->set_ahead_start_ms(in.ahead_start_ms);
  out->set_start_ms(in.start_ms);
  out->set_start_on(in.start_on);
  if (in.untimed != Untimed::kNotAsked) out->set_untimed(ToWire<v1::Untimed>(in.untimed));
  out->set_pods_there(in.pods_there);
  out->set_pods_needed(in.pods_needed);
  out->set_evicted(in.evicted);
  out->set_gangs_broken(in.gangs_broken);
  out->set_fewest_not_proven(!in.fewest);
  out->set_sick_tasks(in.sick_tasks);
  out->set_sick_devices(in.sick_devices);
  out->set_tasks_run(in.tasks_run);
  out->set_tasks_least(in.tasks_least);
  out->set_incomplete_since_ms(in.incomplete_since_ms);
  out->set_incomplete_timeout_ms(in.incomplete_timeout_ms);
  out->set_domain(in.domain);
  out->set_domains(in.domains);
  out->set_tier(in.tier);
  out->set_tier_name(in.tier_name);
  out->set_group(in.group);
  out->set_groups_fit(in.groups_fit);
  out->set_groups_needed(in.groups_needed);
  if (in.moving != Moving::kNotAsked) {
    out->set_moving(ToWire<v1::Moving>(in.moving));
    out->set_moved(in.moved);
    out->set_jobs_moved(in.jobs_moved);
    out->set_gain_gpu_s(in.gain_gpu_s);
    out->set_cost_gpu_s(in.cost_gpu_s);
    out->set_moves_left(in.moves_left);
  }
  if (in.remedy == Remedy::kNotAsked) return;
  out->set_remedy(ToWire<v1::Remedy>(in.remedy));
  out->set_over_queue(in.over_queue);
  out->set_over_kind(in.over_kind);
  out->set_over_share(in.over_share);
  out->set_over_holds(in.over_holds);
  out->set_over_asked(in.over_asked);
  out->set_loss_gpu_s(in.loss_gpu_s);
  out->set_loss_limit_gpu_s(in.loss_limit_gpu_s);
  out->set_any_loss_from_ms(in.any_loss_from_ms);
  out->set_evicts_from_ms(in.evicts_from_ms);
  out->set_eviction_delay_ms(in.eviction_delay_ms);
}

void Encode(const Placement& in, const Books& books, v1::Placement* out) {
  const TaskRow& task = books.tasks[in.task.index()];
  out->set_role(books.jobs[task.job.index()].roles[task.role].name);
  out->set_index(task.index);
  out->set_node(books.hardware.spec(in.node).name);
  Encode(in.slices, out->mutable_slices());
}

void Encode(TaskId evicted, const Books& books, v1::Eviction* out) {
  const TaskRow& task = books.tasks[evicted.index()];
  out->set_uid(task.uid);
  if (!task.job.valid()) return;
  const JobRow& job = books.jobs[task.job.index()];
  out->set_job(job.uid);
  out->set_role(job.roles[task.role].name);
  out->set_index(task.index);
}

void Encode(const Decision& in, const Books& books, v1::Decision* out) {
  out->set_job(books.jobs[in.job.index()].uid);
  out->set_part(ToWire<v1::Part>(in.part));
  out->set_verdict(ToWire<v1::Verdict>(in.verdict));
  if (in.reason != Boxed<Reason>{}) Encode(in.reason, out->mutable_reason());
  for (const Placement& placement : in.placements) {
    Encode(placement, books, out->add_placements());
  }
  for (TaskId task : in.evictions) {
    v1::Eviction* eviction = out->add_evictions();
    Encode(task, books, eviction);
    const auto to = std::find_if(in.moves.begin(), in.moves.end(),
                                 [&](const Placement& move) { return move.task == task; });
    if (to == in.moves.end()) continue;
    eviction->set_node(books.hardware.spec(to->node).name);
    Encode(to->slices, eviction->mutable_slices());
  }
}

}  // namespace

void EncodePlan(const Plan& plan, const Books& books, v1::Plan* out) {
  out->set_version(plan.version);
  out->set_now_ms(plan.now);
  for (const Decision& decision : plan.decisions) Encode(decision, books, out->add_decisions());
  for (JobId job : plan.dropped) out->add_dropped(books.jobs[job.index()].uid);
  for (const Decision& proposal : plan.proposals) Encode(proposal, books, out->add_proposals());
  if (!plan.memory.has_value()) return;
  TextCopier text;  // what it finds not to be UTF-8 was refused when it came in
  Encode(*plan.memory, text, out->mutable_memory());
}

std::string PlanBytes(const Plan& plan, const Books& books) {
  v1::Plan wire;
  EncodePlan(plan, books, &wire);
  return wire.SerializeAsString();  // without maps and unknown fields: always the same bytes
}

absl::StatusOr<std::vector<PlannedEviction>> EvictionsIn(const std::string& plan_bytes) {
  v1::Plan plan;
  if (!plan.ParseFromString(plan_bytes)) return absl::DataLossError("not the bytes of a plan");
  std::vector<PlannedEviction> evictions;
  for (const v1::Decision& decision : plan.decisions()) {
    for (const v1::Eviction& one : decision.evictions()) {
      if (!one.job().empty()) evictions.push_back({one.job(), one.role(), one.index()});
    }
  }
  return evictions;
}

}  // namespace tephra
