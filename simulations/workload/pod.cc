// The fields of a pod: the requests of its containers, and its constraints on nodes.
#include "simulations/workload/sections.h"
#include "topology/mig.h"

namespace tephra {
namespace {

// `mig: 1g.10gb`: one instance on each of `gpus` devices.
DeviceRequest ReadMigRequest(Fields& fields, const Item& mig) {
  DeviceRequest request{1, 0, 0, Sharing::kMig};
  if (ReadText(mig, request.mig_profile) && !LeastMigShare(request.mig_profile)) {
    mig.Wrong("a MIG profile of a known GPU model, such as 1g.10gb");
  }
  for (const char* other : {"gpu_share", "gpu_memory", "mps", "time_slice"}) {
    if (fields.Has(other)) mig.Wrong(std::string("no ") + other + " together with mig");
  }
  fields.Whole("gpus", request.count, 0, 1024);
  return request.count == 0 ? DeviceRequest{} : request;
}

// gpus, gpu_share, gpu_memory, mps, time_slice, mig: see the table in docs/reference/simulate.md.
DeviceRequest ReadDeviceRequest(Fields& fields) {
  const Item mig = fields.At("mig");
  if (mig.node != nullptr) return ReadMigRequest(fields, mig);
  DeviceRequest request;
  bool mps = false, time_slice = false;
  fields.Switch("mps", mps);
  fields.Switch("time_slice", time_slice);
  std::int64_t share = kWholeGpu, bytes = 0;
  const Item memory = fields.At("gpu_memory"), part = fields.At("gpu_share");
  const bool has_share = part.node != nullptr && ReadQuantity(part, share, kWholeGpu);
  const bool has_memory = memory.node != nullptr && ReadQuantity(memory, bytes, 1);
  if (has_share && (share < 1 || share > kWholeGpu)) {
    part.Wrong("a share above 0 and at most 1, such as 0.5 or 500m");
  }
  const std::int64_t mib = (bytes + kMiB - 1) / kMiB;
  if (has_memory && (mib < 1 || mib > std::numeric_limits<std::int32_t>::max())) {
    memory.Wrong("at least 1Mi and at most 2Pi");
  }
  if (mps && time_slice) fields.At("mps").Wrong("either mps or time_slice, not both");
  if (mps || time_slice) {
    request.sharing = mps ? Sharing::kMps : Sharing::kTimeSlice;
    if (!has_share && !has_memory) {
      fields.At(mps ? "mps" : "time_slice").Wrong("gpu_share or gpu_memory together with it");
    }
  } else if (has_memory && has_share && share == kWholeGpu) {
    memory.Wrong("no gpu_memory for a whole GPU (a whole GPU includes all of its memory)");
  }
  request.count = has_share || has_memory ? 1 : 0;
  fields.Whole("gpus", request.count, 0, 1024);
  request.compute = static_cast<std::int32_t>(has_memory && !has_share ? 0 : share);
  request.memory_mib = static_cast<std::int32_t>(has_memory ? mib : 0);
  return request.count == 0 ? DeviceRequest{} : request;
}

ContainerSpec ReadContainer(Sections& sections, const Item& item, std::size_t index) {
  ContainerSpec container;
  container.name = "c" + std::to_string(index);
  int kind = 0;
  Fields fields(item);
  fields.Text("name", container.name);
  fields.OneOf("kind", {"app", "init", "sidecar"}, kind);
  sections.ReadAmounts(fields, container.requests);
  container.devices = ReadDeviceRequest(fields);
  fields.Done();
  container.kind = static_cast<ContainerKind>(kind);
  return container;
}

LabelRequirement ReadRequirement(const Item& item) {
  using Operator = LabelRequirement::Operator;
  LabelRequirement requirement;
  int op = 0;
  Fields fields(item);
  fields.Need("key");
  fields.Text("key", requirement.key);
  fields.OneOf("operator", {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}, op);
  requirement.op = static_cast<Operator>(op);
  fields.Texts("values", requirement.values);
  fields.Done();
  const bool bare =
      requirement.op == Operator::kExists || requirement.op == Operator::kDoesNotExist;
  const bool compares = requirement.op == Operator::kGt || requirement.op == Operator::kLt;
  if (bare && !requirement.values.empty())
    item.Wrong("no values for the operators Exists and DoesNotExist");
  if (!bare && requirement.values.empty()) item.Wrong("at least one value for this operator");
  if (compares && requirement.values.size() != 1)
    item.Wrong("one value for the operators Gt and Lt");
  return requirement;
}

NodeSelectorTerm ReadTerm(const Item& item) {
  NodeSelectorTerm term;
  Fields fields(item);
  fields.List("match_expressions",
              [&](const Item& one) { term.expressions.push_back(ReadRequirement(one)); });
  fields.List("match_fields", [&](const Item& one) {
    LabelRequirement field = ReadRequirement(one);
    using Operator = LabelRequirement::Operator;
    if (field.key != "metadata.name" ||
        (field.op != Operator::kIn && field.op != Operator::kNotIn)) {
      one.Wrong("metadata.name with In or NotIn");
    }
    term.fields.push_back(std::move(field));
  });
  fields.Done();
  return term;
}

Toleration ReadToleration(const Item& item) {
  Toleration toleration;
  int op = 0, effect = 0;
  Fields fields(item);
  fields.Text("key", toleration.key);
  fields.OneOf("operator", {"Equal", "Exists"}, op);
  fields.Text("value", toleration.value);
  toleration.any_effect =
      !fields.OneOf("effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect);
  fields.Done();
  toleration.op = static_cast<Toleration::Operator>(op);
  toleration.effect = static_cast<TaintEffect>(toleration.any_effect ? 0 : effect);
  if (toleration.key.empty() && toleration.op == Toleration::Operator::kEqual) {
    item.Wrong("a key (or operator Exists, to tolerate every taint)");
  }
  return toleration;
}

DomainLimit ReadLimit(const Item& item) {
  DomainLimit limit{"", kHostnameKey, 1};
  Fields fields(item);
  fields.Switch("counted", limit.counted);
  fields.Need("group");
  fields.Text("group", limit.group);
  fields.Text("topology_key", limit.topology_key);
  fields.Whole("own", limit.own, 0);
  fields.Texts("shared", limit.shared);
  if (limit.of_node()) {
    limit.max = DomainLimit::kNoBound;
  } else {
    fields.Whole("max", limit.max, limit.counted ? 1 : 0);
  }
  fields.Done();
  return limit;
}

}  // namespace

PodTemplate ReadPod(Sections& sections, Fields& fields) {
  PodTemplate pod;
  const Item containers = fields.At("containers");
  if (containers.node == nullptr) {
    ContainerSpec& only = pod.containers.emplace_back();
    only.name = "main";
    sections.ReadAmounts(fields, only.requests);
    only.devices = ReadDeviceRequest(fields);
  } else {
    ReadList(containers, [&](const Item& one) {
      pod.containers.push_back(ReadContainer(sections, one, pod.containers.size()));
    });
  }
  const Item overhead = fields.At("overhead");
  if (overhead.node != nullptr) {
    Fields extra(overhead);
    sections.ReadAmounts(extra, pod.overhead);
    extra.Done();
  }
  const Item models = fields.At("gpu_models");
  if (models.node != nullptr && ReadTexts(models, pod.constraints.device_models)) {
    for (const std::string& model : pod.constraints.device_models) {
      sections.model_uses.push_back({models.node->line, models.path, model, models.wrong});
    }
  }
  fields.Texts("gpu_uuids", pod.constraints.device_uuids);
  fields.Texts("exclude_gpu_models", pod.constraints.excluded_models);
  fields.Texts("exclude_gpu_uuids", pod.constraints.excluded_uuids);
  fields.Whole("run_as_user", pod.user_id);
  fields.Map("node_selector", [&](const std::string& key, const Item& value) {
    if (value.node->kind != Yaml::Kind::kText) return value.Wrong("text");
    pod.constraints.selector[key] = value.node->text;
  });
  fields.List("affinity",
              [&](const Item& one) { pod.constraints.affinity.push_back(ReadTerm(one)); });
  fields.List("tolerations",
              [&](const Item& one) { pod.constraints.tolerations.push_back(ReadToleration(one)); });
  fields.List("limits", [&](const Item& one) { pod.limits.push_back(ReadLimit(one)); });
  return pod;
}

}  // namespace tephra
