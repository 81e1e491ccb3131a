#include "tests/peers/kai_gang.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/peers/kai_affinity.h"

namespace tephra {
namespace {

class Reading {
 public:
  Reading(const KaiCase& one, const KaiJob& job) : case_(one), job_(job) {}

  KaiGang Run() {
    out_.locality = LocalityOf(job_.tree);
    if (!KaiSharedKey(case_, job_).empty()) out_.locality = {Locality::Mode::kRequired, 1, ""};
    alone_ = job_.tree.parts.size() == 1 && job_.tree.parts[0].parts.empty();
    for (const auto& [part, needed] : PartsOf(job_.tree)) Add(*part, needed, "");
    if (out_.sets.empty()) out_.min_member = job_.min_available;
    return std::move(out_);
  }

 private:
  struct Part {
    const KaiPart* part;
    bool needed;
  };

  // Adds a part of the group, or of the gang.
  void Add(const KaiPart& part, bool needed, const std::string& group) {
    const bool near = LocalityOf(part).mode != Locality::Mode::kUnsaid;
    if (needed && !near && !part.parts.empty()) {
      for (const auto& [inner, inner_needed] : PartsOf(part)) Add(*inner, inner_needed, group);
    } else if (part.parts.empty() && !near && Free(part, needed)) {
      AddSet(part, needed ? part.least : 0, group);
    } else {
      AddGroup(part, needed, group);
    }
  }

  void AddGroup(const KaiPart& part, bool needed, const std::string& parent) {
    const std::int32_t before = out_.min_member;
    const std::size_t at = out_.groups.size();
    out_.groups.push_back({part.name, 0, !needed, LocalityOf(part), parent});
    if (part.parts.empty()) AddSet(part, part.least, part.name);
    for (const auto& [inner, inner_needed] : PartsOf(part)) Add(*inner, inner_needed, part.name);
    out_.groups[at].min_member = std::max(1, out_.min_member - before);
    if (!needed) out_.min_member = before;
  }

  void AddSet(const KaiPart& set, std::int32_t least, const std::string& group) {
    out_.sets[set.name] = {least, group};
    out_.min_member += least;
  }

  // Whether it can go without a group: all of its pods are alike, unless it is alone, and it is
  // needed, or any one of its pods may start.
  bool Free(const KaiPart& part, bool needed) const {
    if (!part.parts.empty()) return needed;
    return (needed || part.least <= 1) && (alone_ || part.least == 0 || Alike(part));
  }

  bool Alike(const KaiPart& set) const {
    const KaiTask* first = nullptr;
    return std::all_of(job_.tasks.begin(), job_.tasks.end(), [&](const KaiTask& task) {
      if (task.set != set.name) return true;
      if (first == nullptr) first = &task;
      return KaiAlike(task, *first);
    });
  }

  std::vector<Part> PartsOf(const KaiPart& from) const {
    std::vector<Part> parts;
    for (const KaiPart& part : from.parts) parts.push_back({&part, false});
    std::int32_t open = from.least;
    for (const bool begun : {true, false}) {
      for (Part& one : parts) {
        if (open <= 0 || one.needed || Begun(*one.part) != begun) continue;
        one.needed = true;
        --open;
      }
    }
    return parts;
  }

  bool Begun(const KaiPart& part) const {
    return std::any_of(part.parts.begin(), part.parts.end(),
                       [&](const KaiPart& inner) { return Begun(inner); }) ||
           std::any_of(job_.tasks.begin(), job_.tasks.end(), [&](const KaiTask& task) {
             return part.parts.empty() && task.set == part.name && KaiHoldsRoom(task.state);
           });
  }

  Locality LocalityOf(const KaiPart& part) {
    if (part.topology.empty()) return {};
    const auto tier = [&](const std::string& level) {
      const auto at = std::find(case_.levels.begin(), case_.levels.end(), level);
      if (!level.empty() && (at == case_.levels.end() || part.topology != case_.topology)) {
        out_.excluded = "a topology or a level of it that there is not";
      }
      return static_cast<std::int32_t>(case_.levels.end() - at);
    };
    const std::int32_t preferred = tier(part.preferred);
    const std::int32_t required = tier(part.required);
    if (required > 0) return {Locality::Mode::kRequired, required, ""};
    if (preferred > 0) return {Locality::Mode::kPreferred, 0, ""};
    return {};
  }

  const KaiCase& case_;
  const KaiJob& job_;
  bool alone_ = false;  // the job has a single pod set
  KaiGang out_;
};

}  // namespace

bool KaiAlike(const KaiTask& a, const KaiTask& b) {
  const auto all = [](const KaiTask& one) {
    return std::tie(one.kind, one.gpus, one.devices, one.gpu_memory_mib, one.mig, one.cpu_milli,
                    one.memory_bytes, one.node_types, one.affinity_labels, one.affinity_key,
                    one.anti_affinity_key);
  };
  return all(a) == all(b);
}

bool KaiHoldsRoom(const std::string& state) {
  return state == "Running" || state == "Bound" || state == "Binding" || state == "Allocated";
}

KaiGang GangOf(const KaiCase& one, const KaiJob& job) { return Reading(one, job).Run(); }

}  // namespace tephra
