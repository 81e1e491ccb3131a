// KaiGang: the tree of a job's pod sets, in our words.
//
//   pod set               a role with a minimum; or a group of its own, if it is to be near, or if its
//                         pods differ, because a role has one kind of pod
//   sub-group             a group, in the group of the sub-group that it is in; one that is needed and
//                         has no topology is no more than its parts
//   so many of the parts  parts that have begun are needed, then the first; the rest is elastic.
//                         KAI takes any so many
//   level of a topology   a tier: required is required, preferred is as near as there is room
#pragma once

#include <map>
#include <string>
#include <vector>

#include "queue/job.h"
#include "tests/peers/kai_case.h"

namespace tephra {

struct KaiGang {
  struct Set {
    std::int32_t least = 0;
    std::string group;  // empty: none
  };
  std::map<std::string, Set> sets;
  std::vector<GroupSpec> groups;
  Locality locality;
  std::int32_t min_member = 0;
  std::string excluded;  // why the tree is none of ours; empty: it is
};

// Whether the tasks ask for the same.
bool KaiAlike(const KaiTask& a, const KaiTask& b);
// Whether a task in that state has its place on a node.
bool KaiHoldsRoom(const std::string& state);

KaiGang GangOf(const KaiCase& one, const KaiJob& job);

}  // namespace tephra
