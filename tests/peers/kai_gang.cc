#include "tests/peers/kai_gang.h"

#include <algorithm>
#include <utility>

namespace tephra {
namespace {

class Reading {
 public:
  Reading(const KaiCase& one, const KaiJob& job) : case_(one), job_(job) {}

  KaiGang Run() {
    out_.locality = LocalityOf(job_.tree);
    for (const auto& [part, needed] : PartsOf(job_.tree)) Add(*part, needed);
    if (out_.sets.empty()) out_.min_member = job_.min_available;
    return std::move(out_);
  }

 private:
  struct Part {
    const KaiPart* part;
    bool needed;
  };

  // A part of the whole gang.
  void Add(const KaiPart& part, bool needed) {
    const bool near = LocalityOf(part).mode != Locality::Mode::kUnsaid;
    if (needed && !near && !part.parts.empty()) {
      for (const auto& [inner, inner_needed] : PartsOf(part)) Add(*inner, inner_needed);
    } else if (part.parts.empty() && !near && Free(part, needed)) {
      AddSet(part, needed ? part.least : 0, "");
    } else {
      AddGroup(part, needed);
    }
  }

  void AddGroup(const KaiPart& part, bool needed) {
    const std::int32_t before = out_.min_member;
    if (part.parts.empty()) AddSet(part, part.least, part.name);
    AddInside(part, true, part.name);
    const std::int32_t least = out_.min_member - before;
    out_.groups.push_back({part.name, least, !needed, LocalityOf(part)});
    if (!needed) out_.min_member = before;
  }

  // What is in a group: pod sets, at whatever depth.
  void AddInside(const KaiPart& from, bool all_needed, const std::string& group) {
    for (const auto& [part, needed] : PartsOf(from)) {
      const bool counts = needed && all_needed;
      if (LocalityOf(*part).mode != Locality::Mode::kUnsaid || !Free(*part, counts)) {
        out_.excluded = "gangs inside gangs inside gangs: a group has no groups";
      }
      if (part->parts.empty()) {
        AddSet(*part, counts ? part->least : 0, group);
      } else {
        AddInside(*part, counts, group);
      }
    }
  }

  void AddSet(const KaiPart& set, std::int32_t least, const std::string& group) {
    out_.sets[set.name] = {least, group};
    out_.min_member += least;
  }

  // Whether it can go without a group: it is needed, or any one of its pods may start.
  static bool Free(const KaiPart& part, bool needed) {
    return needed || (part.parts.empty() && part.least <= 1);
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
             return part.parts.empty() && task.set == part.name && task.state == "Running";
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
  KaiGang out_;
};

}  // namespace

KaiGang GangOf(const KaiCase& one, const KaiJob& job) { return Reading(one, job).Run(); }

}  // namespace tephra
