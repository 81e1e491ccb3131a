#include "sidecar/wire/views.h"

#include <algorithm>
#include <vector>

#include "engine/current_standings.h"
#include "plugins/explain/borrowers.h"
#include "plugins/explain/relaxations.h"
#include "plugins/registry.h"
#include "sidecar/wire/node_codec.h"
#include "sidecar/wire/note.h"
#include "sidecar/wire/plan_codec.h"
#include "tephra/v1/service.pb.h"

namespace tephra {
namespace {

template <class Reply>
void FillKinds(const Books& books, Reply* out) {
  for (int kind = 0; kind < books.kinds.size(); ++kind) {
    out->add_kinds(books.kinds.Name(static_cast<Kind>(kind)));
  }
}

v1::QueueLifecycle LifecycleOf(const QueueTree& queues, QueueId id) {
  if (!queues.present(id)) return v1::QUEUE_LIFECYCLE_MISSING;
  switch (queues.spec(id).state) {
    case QueueState::kOpen:
      return v1::QUEUE_LIFECYCLE_OPEN;
    case QueueState::kClosing:
      return v1::QUEUE_LIFECYCLE_CLOSING;
    case QueueState::kClosed:
      return v1::QUEUE_LIFECYCLE_CLOSED;
  }
  return v1::QUEUE_LIFECYCLE_UNSPECIFIED;
}

void FillNode(const Books& books, NodeId id, v1::NodeView* out) {
  const NodeView view = books.occupancy.View(books.hardware, id);
  out->set_name(view.spec.name);
  out->set_unschedulable(view.spec.unschedulable);
  Encode(view.capacity, out->mutable_capacity());
  Encode(view.row.free, out->mutable_free());
  for (std::size_t i = 0; i < view.spec.devices.size(); ++i) {
    const DeviceHardware& hardware = view.spec.devices[i];
    v1::DeviceView* device = out->add_devices();
    device->set_uuid(hardware.uuid);
    device->set_model(hardware.model);
    device->set_unhealthy(!hardware.healthy);
    device->set_memory_mib(hardware.memory_mib);
    device->set_free_compute(view.devices[i].free_compute);
    device->set_free_memory_mib(view.devices[i].free_memory_mib);
    device->set_users(view.devices[i].users());
  }
}

bool HoldsRoom(const Books& books, const JobRow& job) {
  return std::any_of(job.roles.begin(), job.roles.end(), [&](const RoleRow& role) {
    return std::any_of(role.tasks.begin(), role.tasks.end(),
                       [&](TaskId task) { return HoldsRoom(books.tasks[task.index()].phase); });
  });
}

bool Waits(const JobRow& job) { return job.waits() && !job.satisfied(); }

// How many jobs of each queue wait, and how many run.
struct JobCounts {
  std::vector<std::int32_t> waiting, running;

  explicit JobCounts(const Books& books)
      : waiting(books.queues.size()), running(books.queues.size()) {
    for (const JobRow& job : books.jobs) {
      if (!job.live) continue;
      if (Waits(job)) {
        ++waiting[job.queue.index()];
      } else if (HoldsRoom(books, job)) {
        ++running[job.queue.index()];
      }
    }
  }
};

double GpuHours(const Spent& spent) {
  constexpr double kHourMs = 3600 * kSecondMs;
  return spent[kGpu] / static_cast<double>(kWholeGpu) / kHourMs;
}

// What is worked out for all queues at once.
struct TreeView {
  std::vector<Resources> shares;
  std::vector<QueueTree::Overdraft> overdrawn;
  std::vector<double> past_gpu_hours;  // with the queues under them; empty: it does not count

  explicit TreeView(const Books& books)
      : shares(QueueShares(books)), overdrawn(books.queues.Overdrawn(books.kinds)) {
    if (!books.usage.on()) return;
    past_gpu_hours.resize(books.queues.size());
    for (std::size_t q = 0; q < books.queues.size(); ++q) {
      const double own = GpuHours(books.usage.Of(QueueId(q)));
      if (own == 0) continue;
      // A cycle of parents is cut where the tree cuts it.
      for (QueueId up(q); up.valid(); up = books.queues.parent(up)) {
        past_gpu_hours[up.index()] += own;
      }
    }
  }
};

void FillQueue(const Books& books, const JobCounts& counts, const TreeView& tree, QueueId id,
               v1::QueueView* out) {
  const QueueSpec& spec = books.queues.spec(id);
  out->set_name(spec.name);
  out->set_parent(spec.parent);
  out->set_lifecycle(LifecycleOf(books.queues, id));
  Encode(spec.limit, out->mutable_limit());
  for (int kind = 0; kind < kMaxKinds; ++kind) {
    if ((spec.limited_kinds >> kind & 1) != 0) {
      out->add_limited_kinds(static_cast<std::uint32_t>(kind));
    }
  }
  Encode(books.occupancy.queue_total(id), out->mutable_used());
  Encode(spec.guarantee, out->mutable_guarantee());
  Encode(spec.deserved, out->mutable_deserved());
  Resources share = tree.shares[id.index()];
  for (std::int64_t& amount : share.amount) amount = std::max<std::int64_t>(amount, 0);
  Encode(share, out->mutable_fair_share());
  out->set_reclaimable(spec.reclaimable);
  out->set_fifo(spec.dequeue == Dequeue::kFifo);
  out->set_weight(spec.weight);
  out->set_priority(spec.priority);
  if (!books.queues.cycle(id).empty()) {
    out->add_problems("parent: cycle " + books.queues.cycle(id));
  }
  for (const QueueTree::Overdraft& overdraft : tree.overdrawn) {
    if (overdraft.queue == id) out->add_problems(overdraft.what);
  }
  if (!tree.past_gpu_hours.empty()) {
    out->set_past_gpu_hours(tree.past_gpu_hours[id.index()]);
    if (id.index() < books.usage.rows().size()) {
      for (const auto& [user, account] : books.usage.rows()[id.index()].users) {
        v1::UserUsage* view = out->add_users();
        view->set_user(user);
        view->set_past_gpu_hours(GpuHours(books.usage.Of(id, user)));
      }
    }
  }
  out->set_jobs_waiting(counts.waiting[id.index()]);
  out->set_jobs_running(counts.running[id.index()]);
}

void FillJob(const Books& books, JobId id, CurrentStandings& standings, v1::JobView* out) {
  const JobRow& job = books.jobs[id.index()];
  out->set_uid(job.uid);
  out->set_name(job.name);
  out->set_queue(*job.queue_name);
  out->set_priority(job.priority);
  out->set_created_ms(job.created);
  out->set_min_member(job.min_member);
  out->set_pods_exist(job.pods_exist);
  out->set_pods_exist(job.pods_exist);
  for (const RoleRow& role : job.roles) {
    v1::RoleView* view = out->add_roles();
    view->set_name(role.name);
    view->set_replicas(static_cast<std::int32_t>(role.tasks.size()));
    view->set_min(role.min);
    view->set_pending(role.pending);
    view->set_placed(role.counted);
  }
  const Standing standing = standings.Of(id);
  if (!standing.asked) return;
  // What was last said of it is a decision; its reason is put into the words of one.
  const Decision last{id, Part::kMinimum, standing.verdict, standing.reason, {}, {}};
  v1::Plan plan;
  EncodePlan({0, 0, {last}, {}}, books, &plan);
  v1::Decision* said = plan.mutable_decisions(0);
  out->set_verdict(said->verdict());
  if (said->has_reason()) out->mutable_reason()->Swap(said->mutable_reason());
  if (standing.reason->obstacle != Obstacle::kNone) FillNote(last, books, out->mutable_note());
}

void FillTask(const Books& books, const TaskRow& task, v1::TaskView* out) {
  out->set_uid(task.uid);
  if (task.job.valid()) {
    const JobRow& job = books.jobs[task.job.index()];
    out->set_job(job.uid);
    out->set_role(job.roles[task.role].name);
    out->set_index(task.index);
  }
  // Of a pending task the reserved room is shown.
  const bool reserved = task.phase == TaskPhase::kPending && task.reserved_row.valid();
  const TaskRow& placed = reserved ? books.tasks[task.reserved_row.index()] : task;
  out->set_phase(ToWire<v1::TaskPhase>(placed.phase));
  if (placed.node.valid()) out->set_node(books.hardware.spec(placed.node).name);
  Encode(placed.slices, out->mutable_slices());
  out->mutable_disruption_budgets()->Assign(task.disruption_budgets->begin(),
                                            task.disruption_budgets->end());
}

void FillChange(const Change& change, v1::Change* out) {
  out->set_easing(ToWire<v1::Easing>(change.easing));
  out->set_queue(change.queue);
  out->set_ahead(change.ahead);
  out->set_role(change.role);
  out->set_kind(change.kind);
  out->set_amount(change.amount);
  out->set_now(change.now);
  out->set_free(change.free);
  if (change.easing == Easing::kReturn) out->set_misfit(ToWire<v1::Misfit>(change.misfit));
  out->mutable_nodes()->Assign(change.nodes.begin(), change.nodes.end());
}

void FillRelaxations(const ResourceKinds& kinds, const Relaxations& found, v1::ExplainReply* out) {
  for (const Relaxation& relaxation : found.nearest) {
    v1::Relaxation* view = out->add_relaxations();
    view->set_text(RelaxationText(kinds, relaxation));
    for (const Change& change : relaxation.changes) FillChange(change, view->add_changes());
    view->set_not_proven_smallest(!relaxation.smallest);
  }
  out->set_relaxations_tried(found.trials);
  out->set_relaxations_cut_short(found.ended);
  out->set_fits_now(found.fits_now);
}

void FillShortfall(const ResourceKinds& kinds, const Shortfall& shortfall, v1::Shortfall* out) {
  out->set_text(ShortfallText(kinds, shortfall));
  out->set_queue(shortfall.queue);
  out->set_kind(shortfall.kind);
  out->set_holds(shortfall.holds);
  out->set_own(shortfall.own);
  out->set_guarantee(shortfall.guarantee);
  out->set_deserved(shortfall.deserved);
  out->set_asked(shortfall.asked);
  for (const Borrower& borrower : shortfall.borrowers) {
    v1::Borrower* view = out->add_borrowers();
    view->set_text(BorrowerText(kinds, shortfall.kind, borrower));
    view->set_queue(borrower.queue);
    view->set_holds(borrower.holds);
    view->set_own(borrower.own);
    for (const auto& [stays, amount] : borrower.parts) {
      v1::BorrowedPart* part = view->add_parts();
      part->set_stays(ToWire<v1::Stays>(stays));
      part->set_amount(amount);
    }
  }
  out->set_others(shortfall.others);
  out->set_others_over(shortfall.others_over);
}

// All ids below `size` that `wanted` wants, in the order of `name`.
template <class Id, class Wanted, class Name>
std::vector<Id> Sorted(std::size_t size, Wanted wanted, Name name) {
  std::vector<Id> ids;
  for (std::size_t i = 0; i < size; ++i) {
    const Id id(i);
    if (wanted(id)) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end(), [&](Id a, Id b) { return name(a) < name(b); });
  return ids;
}

}  // namespace

JobId FindJob(const Books& books, const std::string& uid_or_name) {
  JobId found;
  for (std::size_t i = 0; i < books.jobs.size(); ++i) {
    const JobRow& job = books.jobs[i];
    const JobId id(i);
    if (!job.live) continue;
    if (job.uid == uid_or_name) return id;
    if (job.name != uid_or_name) continue;
    if (!found.valid() || job.created > books.jobs[found.index()].created) found = id;
  }
  return found;
}

void FillExplain(const State& state, JobId id, TimeMs now, v1::ExplainReply* out) {
  const Books& books = state.books();
  const JobRow& job = books.jobs[id.index()];
  out->set_now_ms(now);
  FillKinds(books, out);
  CurrentStandings standings(books);
  FillJob(books, id, standings, out->mutable_job());
  for (const RoleRow& role : job.roles) {
    for (const TaskId task : role.tasks) {
      FillTask(books, books.tasks[task.index()], out->add_tasks());
    }
  }
  if (books.queues.present(job.queue)) {
    FillQueue(books, JobCounts(books), TreeView(books), job.queue, out->mutable_queue());
  }
  const Assembly assembly = DefaultAssembly();
  FillRelaxations(books.kinds, FindRelaxations(state, assembly, id, now), out);
  std::int32_t living = 0;
  const Snapshot snapshot(books, now, &living);
  const Policies policies =
      assembly.policies(books.config, assembly.score(books.config, books, nullptr));
  for (const Shortfall& shortfall : FindShortfalls(snapshot, policies, id)) {
    FillShortfall(books.kinds, shortfall, out->add_shortfalls());
  }
}

void FillState(const Books& books, bool everything, v1::GetStateReply* out) {
  out->set_version(books.version);
  FillKinds(books, out);
  const auto node_name = [&](NodeId id) -> const std::string& {
    return books.hardware.spec(id).name;
  };
  for (const NodeId id : Sorted<NodeId>(
           books.hardware.slots(), [&](NodeId n) { return books.hardware.present(n); },
           node_name)) {
    FillNode(books, id, out->add_nodes());
  }
  const JobCounts counts(books);
  const TreeView tree(books);
  const auto queue_wanted = [&](QueueId id) {
    return books.queues.present(id) || counts.waiting[id.index()] > 0 ||
           counts.running[id.index()] > 0;
  };
  for (const QueueId id : Sorted<QueueId>(
           books.queues.size(), queue_wanted,
           [&](QueueId q) -> const std::string& { return books.queues.spec(q).name; })) {
    FillQueue(books, counts, tree, id, out->add_queues());
  }
  TextCopier text;  // what it finds not to be UTF-8 was refused when it came in
  for (const auto& [name, domain] : books.hardware.domain_specs()) {
    Encode(domain, text, out->add_domains());
  }
  for (const std::string& problem : books.hardware.fabric().problems()) {
    out->add_domain_problems(problem);
  }
  for (const auto& [name, allowed] : books.disruption_budgets) {
    v1::DisruptionBudgetView* view = out->add_disruption_budgets();
    view->set_name(name);
    view->set_allowed(allowed);
  }
  const auto job_wanted = [&](JobId id) {
    const JobRow& job = books.jobs[id.index()];
    return job.live && (everything || Waits(job));
  };
  const auto jobs =
      Sorted<JobId>(books.jobs.size(), job_wanted,
                    [&](JobId id) -> const std::string& { return books.jobs[id.index()].uid; });
  CurrentStandings standings(books);
  for (const JobId id : jobs) FillJob(books, id, standings, out->add_jobs());
  if (!everything) return;
  for (const JobId id : jobs) {
    for (const RoleRow& role : books.jobs[id.index()].roles) {
      for (const TaskId task : role.tasks) {
        FillTask(books, books.tasks[task.index()], out->add_tasks());
      }
    }
  }
  const auto foreign = [&](TaskId id) {
    const TaskRow& task = books.tasks[id.index()];
    return !task.job.valid() && !task.uid.empty();
  };
  for (const TaskId id :
       Sorted<TaskId>(books.tasks.size(), foreign,
                      [&](TaskId t) -> const std::string& { return books.tasks[t.index()].uid; })) {
    FillTask(books, books.tasks[id.index()], out->add_tasks());
  }
}

}  // namespace tephra
