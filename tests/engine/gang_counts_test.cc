#include "engine/gang_counts.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

RoleRow Role(std::int32_t min, std::int32_t counted, std::uint32_t group = kNoGroup) {
  RoleRow role;
  role.min = min;
  role.counted = counted;
  role.group = group;
  return role;
}

// Two roles of no group and two groups, the second of them elastic.
JobRow WithGroups(std::int32_t elastic_counted) {
  JobRow job;
  job.min_member = 5;
  job.roles = {Role(1, 1), Role(2, 1, 0), Role(0, 0, 0), Role(2, elastic_counted, 1)};
  GroupSpec firm, elastic;
  firm.min_member = 3;
  elastic.min_member = 3;
  elastic.elastic = true;
  job.groups = {{firm, {1, 2}}, {elastic, {3}}};
  return job;
}

}  // namespace

TEST_CASE("GangCounts: of roles and all, what is missing and what is to spare") {
  JobRow job;
  job.min_member = 4;
  job.roles = {Role(1, 1), Role(2, 0)};
  CHECK(GangCounts(job).missing(0) == 0);
  CHECK(GangCounts(job).missing(1) == 2);
  CHECK(GangCounts(job).missing() == 3);  // the gang's minimum takes one more than the roles'
  CHECK(GangCounts(job).surplus().all == 0);
  job.roles[1].counted = 5;
  CHECK(job.satisfied());
  CHECK(GangCounts(job).surplus().all == 2);
  CHECK(GangCounts(job).surplus().by_role == std::vector<std::int32_t>{0, 3});
  const std::vector<std::int32_t> two = {0, 2}, three = {0, 3}, first = {1, 0};
  CHECK(GangCounts(job, two).met());
  CHECK_FALSE(GangCounts(job, three).met());  // below the gang's minimum
  CHECK_FALSE(GangCounts(job, first).met());  // below the role's
}

TEST_CASE("GangCounts: the minimums of an elastic group count once it has begun") {
  const JobRow before = WithGroups(0), begun = WithGroups(1);
  CHECK_FALSE(GangCounts(before).takes(before.groups[1]));
  CHECK(GangCounts(before).least(3) == 0);
  CHECK(GangCounts(before).missing(before.groups[0]) == 2);
  CHECK(GangCounts(before).missing(before.groups[1]) == 3);
  CHECK(GangCounts(before).missing() == 3);  // 5 for the gang, of which 2 are there
  CHECK(GangCounts(begun).takes(begun.groups[1]));
  CHECK(GangCounts(begun).least(3) == 2);
  CHECK(GangCounts(begun).missing() == 4);  // 2 of each group
  CHECK(GangCounts(begun).surplus().by_role == std::vector<std::int32_t>(4));
}

}  // namespace tephra
