#include "sidecar/wire/job_codec.h"

namespace tephra {
namespace {

// As event.proto says of Gang.templates.
constexpr std::size_t kMaxSharedTemplateBytes = std::size_t{64} << 20;

static_assert(v1::CONTAINER_KIND_SIDECAR == ToWire<v1::ContainerKind>(ContainerKind::kSidecar));
static_assert(v1::LOCALITY_MODE_REQUIRED == ToWire<v1::LocalityMode>(Locality::Mode::kRequired));
static_assert(v1::SHARING_MIG == ToWire<v1::Sharing>(Sharing::kMig));
static_assert(v1::QUEUE_STATE_CLOSED == ToWire<v1::QueueState>(QueueState::kClosed));

void Encode(const ContainerSpec& in, TextCopier& text, v1::Container* out) {
  text.Copy(in.name, out->mutable_name());
  out->set_kind(ToWire<v1::ContainerKind>(in.kind));
  Encode(in.requests, out->mutable_requests());
  if (in.devices == DeviceRequest{}) return;
  v1::DeviceRequest* devices = out->mutable_devices();
  devices->set_count(in.devices.count);
  devices->set_compute(in.devices.compute);
  devices->set_memory_mib(in.devices.memory_mib);
  if (in.devices.sharing == Sharing::kHook) return;
  devices->set_sharing(ToWire<v1::Sharing>(in.devices.sharing));
  text.Copy(in.devices.mig_profile, devices->mutable_mig_profile());
}

absl::Status Decode(const v1::Container& in, const FieldPath& at, ContainerSpec& out) {
  out.name = in.name();
  TEPHRA_RETURN_IF_ERROR(FromWire(in.kind(), ContainerKind::kSidecar, at.At("kind"), out.kind));
  TEPHRA_RETURN_IF_ERROR(Decode(in.requests(), at, "requests", out.requests));
  if (!in.has_devices()) return absl::OkStatus();
  const v1::DeviceRequest& devices = in.devices();
  out.devices = {devices.count(), devices.compute(), devices.memory_mib()};
  out.devices.mig_profile = devices.mig_profile();
  if (devices.sharing() == v1::SHARING_UNSPECIFIED) return absl::OkStatus();
  return FromWire(devices.sharing(), Sharing::kMig, at.At("devices").At("sharing"),
                  out.devices.sharing);
}

void Encode(const Locality& in, TextCopier& text, v1::Locality* out) {
  out->set_mode(ToWire<v1::LocalityMode>(in.mode));
  out->set_highest_tier(in.highest_tier);
  text.Copy(in.highest_tier_name, out->mutable_highest_tier_name());
}

absl::Status Decode(const v1::Locality& in, const FieldPath& at, Locality& out) {
  TEPHRA_RETURN_IF_ERROR(FromWire(in.mode(), Locality::Mode::kRequired, at.At("mode"), out.mode));
  out.highest_tier = in.highest_tier();
  out.highest_tier_name = in.highest_tier_name();
  return absl::OkStatus();
}

// Roles that follow each other with equal pods, such as the partitions of a task, share a template.
void Encode(const GangSpec& in, TextCopier& text, v1::Gang* out) {
  out->set_min_member(in.min_member);
  for (std::size_t r = 0; r < in.roles.size(); ++r) {
    const RoleSpec& role = in.roles[r];
    v1::Role* wire = out->add_roles();
    text.Copy(role.name, wire->mutable_name());
    wire->set_replicas(role.replicas);
    wire->set_min(role.min);
    text.Copy(role.group, wire->mutable_group());
    if (r > 0 && role.pod == in.roles[r - 1].pod) {
      v1::Role* before = out->mutable_roles(static_cast<int>(r) - 1);
      if (before->template_number() == 0) {
        out->add_templates()->Swap(before->mutable_pod());
        before->clear_pod();
        before->set_template_number(static_cast<std::uint32_t>(out->templates_size()));
      }
      wire->set_template_number(before->template_number());
    } else {
      Encode(role.pod, text, wire->mutable_pod());
    }
  }
  for (const GroupSpec& group : in.groups) {
    v1::Group* wire = out->add_groups();
    text.Copy(group.name, wire->mutable_name());
    wire->set_min_member(group.min_member);
    wire->set_elastic(group.elastic);
    text.Copy(group.parent, wire->mutable_parent());
    if (group.locality != Locality{}) Encode(group.locality, text, wire->mutable_locality());
  }
}

absl::Status Decode(const v1::Role& in, const FieldPath& at, const std::vector<PodTemplate>& shared,
                    RoleSpec& out) {
  out.name = in.name();
  out.replicas = in.replicas();
  out.min = in.min();
  out.group = in.group();
  if (in.template_number() > 0) {
    if (in.template_number() > shared.size()) {
      return BadField(at.At("template_number"), in.template_number(),
                      "0 to " + std::to_string(shared.size()) + ", the number of templates");
    }
    out.pod = shared[in.template_number() - 1];
    return absl::OkStatus();
  }
  if (!in.has_pod()) return MissingField(at.At("pod"));
  return Decode(in.pod(), at.At("pod"), out.pod);
}

// A template is copied for each role that names it. The sum is known before the first copy is made.
absl::Status CheckSharedBytes(const v1::Gang& in, const FieldPath& at) {
  std::vector<std::size_t> sizes;
  for (const v1::PodTemplate& pod : in.templates()) sizes.push_back(pod.ByteSizeLong());
  std::size_t sum = 0;
  for (const v1::Role& role : in.roles()) {
    if (role.template_number() > 0 && role.template_number() <= sizes.size()) sum += sizes[role.template_number() - 1];
  }
  if (sum <= kMaxSharedTemplateBytes) return absl::OkStatus();
  return BadField(at.At("templates"), sum,
                  "at most " + std::to_string(kMaxSharedTemplateBytes) +
                      " bytes when each role has a copy of its template");
}

absl::Status Decode(const v1::Gang& in, const FieldPath& at, GangSpec& out) {
  out.min_member = in.min_member();
  TEPHRA_RETURN_IF_ERROR(CheckSharedBytes(in, at));
  std::vector<PodTemplate> shared;
  for (int i = 0; i < in.templates_size(); ++i) {
    TEPHRA_RETURN_IF_ERROR(
        Decode(in.templates(i), at.At("templates", i), shared.emplace_back()));
  }
  for (int i = 0; i < in.roles_size(); ++i) {
    TEPHRA_RETURN_IF_ERROR(
        Decode(in.roles(i), at.At("roles", i), shared, out.roles.emplace_back()));
  }
  for (int i = 0; i < in.groups_size(); ++i) {
    const v1::Group& wire = in.groups(i);
    GroupSpec& group = out.groups.emplace_back();
    group.name = wire.name();
    group.min_member = wire.min_member();
    group.elastic = wire.elastic();
    group.parent = wire.parent();
    if (!wire.has_locality()) continue;
    const FieldPath here = at.At("groups", i);
    TEPHRA_RETURN_IF_ERROR(Decode(wire.locality(), here.At("locality"), group.locality));
  }
  return absl::OkStatus();
}

}  // namespace

void Encode(const PodTemplate& in, TextCopier& text, v1::PodTemplate* out) {
  for (const ContainerSpec& container : in.containers) {
    Encode(container, text, out->add_containers());
  }
  Encode(in.overhead, out->mutable_overhead());
  if (in.constraints != NodeConstraints{}) {
    Encode(in.constraints, text, out->mutable_constraints());
  }
  for (const DomainLimit& limit : in.limits) {
    v1::DomainLimit* wire = out->add_limits();
    text.Copy(limit.group, wire->mutable_group());
    text.Copy(limit.topology_key, wire->mutable_topology_key());
    wire->set_max(limit.max);
    wire->set_uncounted(!limit.counted);
    wire->set_own(limit.own);
    text.CopyAll(limit.shared, wire->mutable_shared());
  }
  out->set_user_id(in.user_id);
}

absl::Status Decode(const v1::PodTemplate& in, const FieldPath& at, PodTemplate& out) {
  for (int i = 0; i < in.containers_size(); ++i) {
    TEPHRA_RETURN_IF_ERROR(
        Decode(in.containers(i), at.At("containers", i), out.containers.emplace_back()));
  }
  TEPHRA_RETURN_IF_ERROR(Decode(in.overhead(), at, "overhead", out.overhead));
  if (in.has_constraints()) {
    TEPHRA_RETURN_IF_ERROR(Decode(in.constraints(), at.At("constraints"), out.constraints));
  }
  for (const v1::DomainLimit& wire : in.limits()) {
    out.limits.push_back({wire.group(), wire.topology_key(), wire.max(), !wire.uncounted(), wire.own(),
                          {wire.shared().begin(), wire.shared().end()}});
  }
  out.user_id = in.user_id();
  return absl::OkStatus();
}

void Encode(const JobSpec& in, TextCopier& text, v1::Job* out) {
  text.Copy(in.uid, out->mutable_uid());
  text.Copy(in.name, out->mutable_name());
  text.Copy(in.queue, out->mutable_queue());
  out->set_priority(in.priority);
  out->set_created_ms(in.created);
  out->set_pods_exist(in.pods_exist);
  out->set_not_preemptible(!in.preemptible);
  out->set_min_run_ms(in.min_run_ms);
  out->set_checkpoint_interval_ms(in.checkpoint_interval_ms);
  text.Copy(in.image, out->mutable_image());
  out->set_estimated_runtime_ms(in.estimated_runtime_ms);
  out->set_evictions(in.evictions);
  out->set_never_evicts(!in.evicts);
  out->set_movable(in.movable);
  out->set_restarts_by_task(in.restarts_by_task);
  text.Copy(in.user, out->mutable_user());
  if (in.locality != Locality{}) Encode(in.locality, text, out->mutable_locality());
  for (const RecordedReservation& held : in.held) {
    v1::RecordedReservation* wire = out->add_held();
    text.Copy(held.role, wire->mutable_role());
    wire->set_index(held.index);
    text.Copy(held.node, wire->mutable_node());
    Encode(held.slices, wire->mutable_slices());
  }
  Encode(in.gang, text, out->mutable_gang());
}

absl::Status Decode(const v1::Job& in, const FieldPath& at, JobSpec& out) {
  out.uid = in.uid();
  out.name = in.name();
  out.queue = in.queue();
  out.priority = in.priority();
  out.created = in.created_ms();
  out.pods_exist = in.pods_exist();
  out.preemptible = !in.not_preemptible();
  out.min_run_ms = in.min_run_ms();
  out.checkpoint_interval_ms = in.checkpoint_interval_ms();
  out.image = in.image();
  out.estimated_runtime_ms = in.estimated_runtime_ms();
  out.evictions = in.evictions();
  out.evicts = !in.never_evicts();
  out.movable = in.movable();
  out.restarts_by_task = in.restarts_by_task();
  out.user = in.user();
  if (in.has_locality()) {
    TEPHRA_RETURN_IF_ERROR(Decode(in.locality(), at.At("locality"), out.locality));
  }
  for (int i = 0; i < in.held_size(); ++i) {
    const v1::RecordedReservation& wire = in.held(i);
    RecordedReservation& held = out.held.emplace_back();
    held.role = wire.role();
    held.index = wire.index();
    held.node = wire.node();
    TEPHRA_RETURN_IF_ERROR(Decode(wire.slices(), at.At("held", i), "slices", held.slices));
  }
  if (!in.has_gang()) return MissingField(at.At("gang"));
  return Decode(in.gang(), at.At("gang"), out.gang);
}

void Encode(const QueueSpec& in, TextCopier& text, v1::Queue* out) {
  text.Copy(in.name, out->mutable_name());
  text.Copy(in.parent, out->mutable_parent());
  out->set_weight(in.weight);
  out->set_priority(in.priority);
  Encode(in.limit, out->mutable_limit());
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if ((in.limited_kinds >> kind & 1) != 0) out->add_limited_kinds(kind);
  }
  out->set_state(ToWire<v1::QueueState>(in.state));
  Encode(in.guarantee, out->mutable_guarantee());
  Encode(in.deserved, out->mutable_deserved());
  out->set_not_reclaimable(!in.reclaimable);
  out->set_fifo(in.dequeue == Dequeue::kFifo);
  out->set_eviction_delay_ms(in.eviction_delay_ms);
}

absl::Status Decode(const v1::Queue& in, const FieldPath& at, QueueSpec& out) {
  out.name = in.name();
  out.parent = in.parent();
  out.weight = in.weight();
  out.priority = in.priority();
  TEPHRA_RETURN_IF_ERROR(Decode(in.limit(), at, "limit", out.limit));
  for (int i = 0; i < in.limited_kinds_size(); ++i) {
    const std::uint32_t kind = in.limited_kinds(i);
    if (kind >= kMaxKinds) {
      return BadField(at.At("limited_kinds", i), kind, "below " + std::to_string(kMaxKinds));
    }
    out.limited_kinds |= KindSet{1} << kind;
  }
  TEPHRA_RETURN_IF_ERROR(Decode(in.guarantee(), at, "guarantee", out.guarantee));
  TEPHRA_RETURN_IF_ERROR(Decode(in.deserved(), at, "deserved", out.deserved));
  out.reclaimable = !in.not_reclaimable();
  out.dequeue = in.fifo() ? Dequeue::kFifo : Dequeue::kTraverse;
  out.eviction_delay_ms = in.eviction_delay_ms();
  return FromWire(in.state(), QueueState::kClosed, at.At("state"), out.state);
}

}  // namespace tephra
