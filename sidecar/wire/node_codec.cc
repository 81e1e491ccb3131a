#include "sidecar/wire/node_codec.h"

#include <limits>

namespace tephra {
namespace {

using google::protobuf::RepeatedPtrField;

static_assert(v1::TAINT_EFFECT_NO_EXECUTE == ToWire<v1::TaintEffect>(TaintEffect::kNoExecute));
static_assert(v1::TOLERATION_OPERATOR_EXISTS ==
              ToWire<v1::TolerationOperator>(Toleration::Operator::kExists));
static_assert(v1::LABEL_OPERATOR_LT == ToWire<v1::LabelOperator>(LabelRequirement::Operator::kLt));
static_assert(v1::GPU_LINK_TYPE_NVLINK == ToWire<v1::GpuLinkType>(LinkType::kNvLink));
static_assert(v1::SLICE_MODE_MIG == ToWire<v1::SliceMode>(SliceMode::kMig));

void Encode(const Labels& in, TextCopier& text, RepeatedPtrField<v1::Label>* out) {
  for (const auto& [key, value] : in) {
    v1::Label* label = out->Add();
    text.Copy(key, label->mutable_key());
    text.Copy(value, label->mutable_value());
  }
}

absl::Status Decode(const RepeatedPtrField<v1::Label>& in, const FieldPath& parent,
                    const char* field, Labels& out) {
  for (int i = 0; i < in.size(); ++i) {
    if (!out.emplace(in[i].key(), in[i].value()).second) {
      return absl::InvalidArgumentError(parent.At(field, i).At("key").Text() + ": \"" +
                                        in[i].key() + "\" is given twice");
    }
  }
  return absl::OkStatus();
}

using WireRequirements = RepeatedPtrField<v1::LabelRequirement>;

void Encode(const std::vector<LabelRequirement>& in, TextCopier& text, WireRequirements* out) {
  for (const LabelRequirement& requirement : in) {
    v1::LabelRequirement* wire = out->Add();
    text.Copy(requirement.key, wire->mutable_key());
    wire->set_op(ToWire<v1::LabelOperator>(requirement.op));
    text.CopyAll(requirement.values, wire->mutable_values());
  }
}

absl::Status Decode(const WireRequirements& in, const FieldPath& parent, const char* field,
                    std::vector<LabelRequirement>& out) {
  for (int i = 0; i < in.size(); ++i) {
    LabelRequirement& requirement = out.emplace_back();
    const FieldPath at = parent.At(field, i);
    requirement.key = in[i].key();
    TEPHRA_RETURN_IF_ERROR(
        FromWire(in[i].op(), LabelRequirement::Operator::kLt, at.At("op"), requirement.op));
    requirement.values.assign(in[i].values().begin(), in[i].values().end());
  }
  return absl::OkStatus();
}

absl::Status Decode(const v1::Toleration& in, const FieldPath& at, Toleration& out) {
  out.key = in.key();
  out.value = in.value();
  TEPHRA_RETURN_IF_ERROR(FromWire(in.op(), Toleration::Operator::kExists, at.At("op"), out.op));
  out.any_effect = in.any_effect();
  if (out.any_effect && in.effect() == v1::TAINT_EFFECT_UNSPECIFIED) return absl::OkStatus();
  return FromWire(in.effect(), TaintEffect::kNoExecute, at.At("effect"), out.effect);
}

template <class Value>
absl::Status Narrow(std::uint32_t wide, const FieldPath& at, Value& out) {
  constexpr std::uint32_t kMost = std::numeric_limits<Value>::max();
  if (wide > kMost) return BadField(at, wide, "at most " + std::to_string(kMost));
  out = static_cast<Value>(wide);
  return absl::OkStatus();
}

}  // namespace

void Encode(const Resources& in, WireAmounts* out) {
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if (in[kind] == 0) continue;
    v1::Amount* amount = out->Add();
    amount->set_kind(kind);
    amount->set_amount(in[kind]);
  }
}

absl::Status Decode(const WireAmounts& in, const FieldPath& parent, const char* field,
                    Resources& out) {
  KindSet seen = 0;
  for (int i = 0; i < in.size(); ++i) {
    const std::uint32_t kind = in[i].kind();
    if (kind >= kMaxKinds || (seen >> kind & 1) != 0) {
      return BadField(
          parent.At(field, i).At("kind"), kind,
          kind >= kMaxKinds ? "below " + std::to_string(kMaxKinds) : "each kind at most once");
    }
    seen |= KindSet{1} << kind;
    out[static_cast<Kind>(kind)] = in[i].amount();
  }
  return absl::OkStatus();
}

void Encode(const Slices& in, WireSlices* out) {
  for (const Slice& slice : in) {
    v1::Slice* wire = out->Add();
    wire->set_container(slice.container);
    wire->set_device(slice.device);
    wire->set_mode(ToWire<v1::SliceMode>(slice.mode));
    wire->set_compute(slice.compute);
    wire->set_memory_mib(slice.memory_mib);
    wire->set_mig_profile(slice.mig_profile);
    wire->set_mig_start(slice.mig_start);
  }
}

absl::Status Decode(const WireSlices& in, const FieldPath& parent, const char* field, Slices& out) {
  for (int i = 0; i < in.size(); ++i) {
    Slice& slice = out.emplace_back();
    const FieldPath at = parent.At(field, i);
    TEPHRA_RETURN_IF_ERROR(Narrow(in[i].container(), at.At("container"), slice.container));
    TEPHRA_RETURN_IF_ERROR(Narrow(in[i].device(), at.At("device"), slice.device));
    TEPHRA_RETURN_IF_ERROR(FromWire(in[i].mode(), SliceMode::kMig, at.At("mode"), slice.mode));
    slice.compute = in[i].compute();
    slice.memory_mib = in[i].memory_mib();
    TEPHRA_RETURN_IF_ERROR(Narrow(in[i].mig_profile(), at.At("mig_profile"), slice.mig_profile));
    TEPHRA_RETURN_IF_ERROR(Narrow(in[i].mig_start(), at.At("mig_start"), slice.mig_start));
  }
  return absl::OkStatus();
}

namespace {

void Encode(const NodeLinks& in, v1::Node* out) {
  if (in.gpus() == 0) return;
  v1::GpuLinks* wire = out->mutable_gpu_links();
  for (int a = 0; a < in.gpus(); ++a) {
    wire->add_numa_nodes(in.numa(a));
    for (int b = 0; b < a; ++b) {
      const Link& link = in.at(a, b);
      v1::GpuLink* pair = wire->add_pairs();
      pair->set_type(ToWire<v1::GpuLinkType>(link.type));
      pair->set_nvlinks(link.nvlinks);
      pair->set_mb_per_s(link.mb_per_s);
    }
  }
}

const std::string& ModelOf(const std::vector<DeviceHardware>& devices, int device) {
  static const std::string kUnknown;
  const auto index = static_cast<std::size_t>(device);
  return index < devices.size() ? devices[index].model : kUnknown;
}

// The speed of a link that reports none.
absl::Status UsualSpeed(const FieldPath& at, const std::string& model, Link& link) {
  if (link.type != LinkType::kNvLink) {
    link = PcieLink(link.type);
    return absl::OkStatus();
  }
  if (link.nvlinks == 0) return BadField(at.At("nvlinks"), 0, "at least 1");
  link = NvLink(link.nvlinks, model);
  return absl::OkStatus();
}

absl::Status Decode(const v1::GpuLinks& in, const FieldPath& at,
                    const std::vector<DeviceHardware>& devices, NodeLinks& out) {
  const int gpus = in.numa_nodes_size();
  if (gpus > kMaxLinkedGpus) {
    return BadField(at.At("numa_nodes"), gpus, "at most " + std::to_string(kMaxLinkedGpus));
  }
  if (in.pairs_size() != gpus * (gpus - 1) / 2) {
    return BadField(at.At("pairs"), in.pairs_size(), "one for each pair of numa_nodes");
  }
  out = NodeLinks(gpus);
  for (int a = 0, i = 0; a < gpus; ++a) {
    std::int16_t numa = NodeLinks::kNoNuma;
    if (in.numa_nodes(a) != NodeLinks::kNoNuma) {
      TEPHRA_RETURN_IF_ERROR(Narrow(in.numa_nodes(a), at.At("numa_nodes", a), numa));
    }
    out.SetNuma(a, numa);
    for (int b = 0; b < a; ++b, ++i) {
      const FieldPath here = at.At("pairs", i);
      Link link;
      TEPHRA_RETURN_IF_ERROR(
          FromWire(in.pairs(i).type(), LinkType::kNvLink, here.At("type"), link.type));
      TEPHRA_RETURN_IF_ERROR(Narrow(in.pairs(i).nvlinks(), here.At("nvlinks"), link.nvlinks));
      link.mb_per_s = in.pairs(i).mb_per_s();
      if (link.mb_per_s == 0) TEPHRA_RETURN_IF_ERROR(UsualSpeed(here, ModelOf(devices, a), link));
      out.Set(a, b, link);
    }
  }
  return absl::OkStatus();
}

// What is as usual is not written.
std::int32_t Unless(std::int32_t usual, std::int32_t value) { return value == usual ? 0 : value; }
std::int32_t Or(std::int32_t usual, std::int32_t sent) { return sent == 0 ? usual : sent; }

void Encode(const DeviceHardware& in, TextCopier& text, v1::Device* out) {
  text.Copy(in.uuid, out->mutable_uuid());
  text.Copy(in.model, out->mutable_model());
  out->set_memory_mib(in.memory_mib);
  out->set_unhealthy(!in.healthy);
  for (std::size_t m = 0; m < kSliceModes && in.modes != kUsualModes; ++m) {
    const SliceMode mode = static_cast<SliceMode>(m);
    if (in.may(mode)) out->add_modes(ToWire<v1::SliceMode>(mode));
  }
  out->set_split_count(in.split_count);
  out->set_mps_clients(Unless(kUsualMpsClients, in.mps_clients));
  out->set_replicas(in.replicas);
  out->set_compute_factor(Unless(kNoFactor, in.compute_factor));
  out->set_memory_factor(Unless(kNoFactor, in.memory_factor));
  text.Copy(in.mig_model, out->mutable_mig_model());
}

absl::Status Decode(const v1::Device& in, const FieldPath& at, DeviceHardware& out) {
  out.uuid = in.uuid();
  out.model = in.model();
  out.memory_mib = in.memory_mib();
  out.healthy = !in.unhealthy();
  if (in.modes_size() > 0) out.modes = 0;
  for (int m = 0; m < in.modes_size(); ++m) {
    SliceMode mode = SliceMode::kWhole;
    TEPHRA_RETURN_IF_ERROR(FromWire(static_cast<v1::SliceMode>(in.modes(m)), SliceMode::kMig,
                                    at.At("modes", m), mode));
    out.modes = static_cast<SliceModes>(out.modes | Only(mode));
  }
  out.split_count = in.split_count();
  out.mps_clients = Or(kUsualMpsClients, in.mps_clients());
  out.replicas = in.replicas();
  out.compute_factor = Or(kNoFactor, in.compute_factor());
  out.memory_factor = Or(kNoFactor, in.memory_factor());
  out.mig_model = in.mig_model();
  return absl::OkStatus();
}

}  // namespace

void Encode(const NodeSpec& in, TextCopier& text, v1::Node* out) {
  text.Copy(in.name, out->mutable_name());
  Encode(in.labels, text, out->mutable_labels());
  for (const Taint& taint : in.taints) {
    v1::Taint* wire = out->add_taints();
    text.Copy(taint.key, wire->mutable_key());
    text.Copy(taint.value, wire->mutable_value());
    wire->set_effect(ToWire<v1::TaintEffect>(taint.effect));
  }
  out->set_unschedulable(in.unschedulable);
  Encode(in.allocatable, out->mutable_allocatable());
  for (const DeviceHardware& device : in.devices) Encode(device, text, out->add_devices());
  Encode(in.gpu_links, out);
  for (const auto& [group, places] : in.limits) {
    v1::NodeLimit* limit = out->add_limits();
    text.Copy(group, limit->mutable_group());
    limit->set_places(places);
  }
}

absl::Status Decode(const v1::Node& in, const FieldPath& at, NodeSpec& out) {
  out.name = in.name();
  TEPHRA_RETURN_IF_ERROR(Decode(in.labels(), at, "labels", out.labels));
  for (int i = 0; i < in.taints_size(); ++i) {
    Taint& taint = out.taints.emplace_back();
    taint.key = in.taints(i).key();
    taint.value = in.taints(i).value();
    const FieldPath here = at.At("taints", i);
    TEPHRA_RETURN_IF_ERROR(
        FromWire(in.taints(i).effect(), TaintEffect::kNoExecute, here.At("effect"), taint.effect));
  }
  out.unschedulable = in.unschedulable();
  TEPHRA_RETURN_IF_ERROR(Decode(in.allocatable(), at, "allocatable", out.allocatable));
  for (int i = 0; i < in.devices_size(); ++i) {
    TEPHRA_RETURN_IF_ERROR(Decode(in.devices(i), at.At("devices", i), out.devices.emplace_back()));
  }
  for (int i = 0; i < in.limits_size(); ++i) {
    if (out.limits.emplace(in.limits(i).group(), in.limits(i).places()).second) continue;
    return absl::InvalidArgumentError(at.At("limits", i).At("group").Text() + ": \"" +
                                      in.limits(i).group() + "\" is given twice");
  }
  if (!in.has_gpu_links()) return absl::OkStatus();
  return Decode(in.gpu_links(), at.At("gpu_links"), out.devices, out.gpu_links);
}

void Encode(const DomainSpec& in, TextCopier& text, v1::Domain* out) {
  text.Copy(in.name, out->mutable_name());
  out->set_tier(in.tier);
  text.Copy(in.tier_name, out->mutable_tier_name());
  text.CopyAll(in.nodes, out->mutable_nodes());
  text.CopyAll(in.domains, out->mutable_domains());
}

void Decode(const v1::Domain& in, DomainSpec& out) {
  out.name = in.name();
  out.tier = in.tier();
  out.tier_name = in.tier_name();
  out.nodes.assign(in.nodes().begin(), in.nodes().end());
  out.domains.assign(in.domains().begin(), in.domains().end());
}

void Encode(const NodeConstraints& in, TextCopier& text, v1::NodeConstraints* out) {
  Encode(in.selector, text, out->mutable_selector());
  for (const NodeSelectorTerm& term : in.affinity) {
    v1::NodeSelectorTerm* wire = out->add_affinity();
    Encode(term.expressions, text, wire->mutable_expressions());
    Encode(term.fields, text, wire->mutable_fields());
  }
  for (const Toleration& toleration : in.tolerations) {
    v1::Toleration* wire = out->add_tolerations();
    text.Copy(toleration.key, wire->mutable_key());
    text.Copy(toleration.value, wire->mutable_value());
    wire->set_op(ToWire<v1::TolerationOperator>(toleration.op));
    wire->set_any_effect(toleration.any_effect);
    wire->set_effect(ToWire<v1::TaintEffect>(toleration.effect));
  }
  text.CopyAll(in.device_models, out->mutable_device_models());
  text.Copy(in.mask, out->mutable_mask());
  text.CopyAll(in.device_uuids, out->mutable_device_uuids());
  text.CopyAll(in.excluded_models, out->mutable_excluded_models());
  text.CopyAll(in.excluded_uuids, out->mutable_excluded_uuids());
}

absl::Status Decode(const v1::NodeConstraints& in, const FieldPath& at, NodeConstraints& out) {
  TEPHRA_RETURN_IF_ERROR(Decode(in.selector(), at, "selector", out.selector));
  for (int i = 0; i < in.affinity_size(); ++i) {
    NodeSelectorTerm& term = out.affinity.emplace_back();
    const FieldPath here = at.At("affinity", i);
    TEPHRA_RETURN_IF_ERROR(
        Decode(in.affinity(i).expressions(), here, "expressions", term.expressions));
    TEPHRA_RETURN_IF_ERROR(Decode(in.affinity(i).fields(), here, "fields", term.fields));
  }
  for (int i = 0; i < in.tolerations_size(); ++i) {
    TEPHRA_RETURN_IF_ERROR(
        Decode(in.tolerations(i), at.At("tolerations", i), out.tolerations.emplace_back()));
  }
  out.device_models.assign(in.device_models().begin(), in.device_models().end());
  out.mask = in.mask();
  out.device_uuids.assign(in.device_uuids().begin(), in.device_uuids().end());
  out.excluded_models.assign(in.excluded_models().begin(), in.excluded_models().end());
  out.excluded_uuids.assign(in.excluded_uuids().begin(), in.excluded_uuids().end());
  return absl::OkStatus();
}

}  // namespace tephra
