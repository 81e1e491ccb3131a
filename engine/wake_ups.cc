#include "engine/wake_ups.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "engine/policy.h"

namespace tephra {
namespace {

constexpr std::size_t kMostNodes = 64;  // that are looked at one by one when room grew on them

std::array<const Wakes*, 4> WakesOf(const Policies& policies) {
  return {policies.order.get(), policies.eviction.get(), policies.relocation.get(),
          policies.reservations.get()};
}

// The pending jobs that some cycle may find an answer for.
std::vector<JobId> Askable(const Books& books) {
  return books.lines.on() ? books.lines.Askable() : books.waiting;
}

// The pending jobs that may be helped by the eviction or the move of one of these.
std::vector<JobId> HelpedBy(const Books& books, const Policies& policies,
                            const std::vector<JobId>& evictable) {
  if (evictable.empty() || books.waiting.empty()) return {};
  std::vector<Wakes::Helped> helped;
  for (const Wakes* policy : WakesOf(policies)) {
    if (policy == nullptr) continue;
    if (Wakes::Helped by = policy->HelpedBy(books, evictable)) helped.push_back(std::move(by));
  }
  if (helped.empty()) return {};
  std::vector<JobId> woken = Askable(books);
  std::erase_if(woken, [&](JobId id) {
    const JobRow& job = books.jobs[id.index()];
    return job.satisfied() || !job.evicts ||
           std::none_of(helped.begin(), helped.end(), [&](const auto& by) { return by(job); });
  });
  return woken;
}

}  // namespace

void WakeUps::Due(JobRow& job, JobId id) {
  if (job.due) return;
  job.due = true;
  due_.push_back(id);
}

void WakeUps::Forget(const JobRow& job, JobId id) {
  if (job.due) std::erase(due_, id);
}

void WakeUps::Evictable(JobId id) {
  if (evictable_.empty() || evictable_.back() != id) evictable_.push_back(id);
}

void WakeUps::Left(NodeId node, TimeMs expected_end) {
  capacity_.On(node);
  if (expected_end != 0) expected_ends_.push_back(expected_end);
}

void WakeUps::AskAgainAt(TimeMs at) {
  if (at > 0) ask_again_at_ = ask_again_at_ > 0 ? std::min(ask_again_at_, at) : at;
}

void WakeUps::Advance(TimeMs now) {
  if (ask_again_at_ > 0 && now >= ask_again_at_) {
    ask_again_at_ = 0;
    capacity_.Anywhere();
  }
  while (!ripening_.empty() && ripening_.begin()->first <= now) {
    Evictable(ripening_.begin()->second);
    ripening_.erase(ripening_.begin());
  }
}

// Whether room has grown by expected ends alone, while all pending jobs have a reserved start:
// then all reservations stand.
bool WakeUps::WentAsPlanned(const Books& books, const Policies& policies,
                            const CapacityEvent& grown, TimeMs now) {
  const std::vector<TimeMs> ends = std::exchange(expected_ends_, {});
  const bool all = policies.reservations != nullptr && policies.reservations->ReservesAll();
  if (!all || grown.times() == 0 || ends.size() != grown.times()) return false;
  return std::all_of(ends.begin(), ends.end(), [&](TimeMs end) { return end == now; }) &&
         std::all_of(books.waiting.begin(), books.waiting.end(), [&](JobId id) {
           const JobRow& job = books.jobs[id.index()];
           return job.due || job.reservation.at != 0 ||
                  (job.standing.asked && job.standing.verdict == Verdict::kInfeasible);
         });
}

std::vector<JobId> WakeUps::Take(Books& books, const Policies& policies, TimeMs now) {
  const CapacityEvent capacity = std::exchange(capacity_, CapacityEvent());
  const std::vector<JobId> evictable = std::exchange(evictable_, {});
  std::vector<JobId> due = std::exchange(due_, {});
  const bool as_planned = WentAsPlanned(books, policies, capacity, now);
  if (as_planned) {
    std::copy_if(books.waiting.begin(), books.waiting.end(), std::back_inserter(due),
                 [&](JobId id) {
                   const JobRow& job = books.jobs[id.index()];
                   return !job.due && job.reservation.at != 0 && job.reservation.at <= now;
                 });
  }
  for (JobId id : due) books.jobs[id.index()].due = false;
  std::erase_if(due,
                [&](JobId id) { return books.jobs[id.index()].waiting_at == JobRow::kNotWaiting; });
  std::vector<JobId> woken;
  const bool grown = capacity.times() > 0 && !as_planned;
  const auto policies_with = WakesOf(policies);
  const bool any_job =
      grown && (capacity.anywhere() ||
                std::any_of(policies_with.begin(), policies_with.end(), [&](const Wakes* policy) {
                  return policy != nullptr && policy->HelpsAnywhere(books);
                }));
  if (any_job) {
    if (!books.lines.on()) return books.waiting;
    woken = books.lines.Askable();
  } else {
    if (grown) woken = WokenBy(books, capacity);
    const std::vector<JobId> helped = HelpedBy(books, policies, evictable);
    woken.insert(woken.end(), helped.begin(), helped.end());
  }
  if (woken.empty()) return due;
  due.insert(due.end(), woken.begin(), woken.end());
  std::sort(due.begin(), due.end());
  due.erase(std::unique(due.begin(), due.end()), due.end());
  return due;
}

// Whether room on a node that it may use, or its turn, is all that may help the gang to begin. The
// last "no" to a gang that runs may be about another part of it.
bool WakeUps::WaitsForRoomAlone(const Books& books, const JobRow& job) const {
  const Standing& said = job.standing;
  if (!said.asked || !IsRoom(said.reason->obstacle) || said.reason->obstacle == Obstacle::kSearch ||
      said.reason->remedy == Remedy::kSearch || said.reason->remedy == Remedy::kOnce ||
      job.counted() > 0 || job.satisfied() || job.keeps_room()) {
    return false;
  }
  // Without lines the jobs behind the first one of an ordered queue are asked with it, or not.
  if (!books.lines.on() && books.queues.InOrder(job.queue)) return false;
  return std::all_of(job.roles.begin(), job.roles.end(), [&](const RoleRow& role) {
    return books.classes[role.cls].limits.empty();  // these count pods on other nodes
  });
}

// The pending jobs that may be helped by room on these nodes or in these queues.
std::vector<JobId> WakeUps::WokenBy(const Books& books, const CapacityEvent& grown) {
  std::vector<JobId> woken = Askable(books);
  std::vector<NodeId> nodes = grown.nodes();
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (nodes.size() > kMostNodes) return woken;
  const auto reaches = [&](const RoleRow& role) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return reach_.May(books, role.cls, node); });
  };
  const auto& queues = grown.queues();
  std::erase_if(woken, [&](JobId id) {
    const JobRow& job = books.jobs[id.index()];
    return std::find(queues.begin(), queues.end(), job.queue) == queues.end() &&
           WaitsForRoomAlone(books, job) &&
           std::none_of(job.roles.begin(), job.roles.end(), reaches);
  });
  return woken;
}

}  // namespace tephra
