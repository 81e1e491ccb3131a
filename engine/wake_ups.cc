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

// The pending jobs that a cycle asks one by one: all, or the jobs that are in no line.
const std::vector<JobId>& Single(const Books& books) {
  return books.lines.on() ? books.lines.loose() : books.waiting;
}

template <class Id>
void SortOnce(std::vector<Id>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// Adds the jobs that stand in no line and of which this holds. Of a FIFO queue the first job is added,
// as no job behind it has its turn before.
template <class Holds>
void AddJobsWhere(const Books& books, Holds holds, Due& due) {
  const auto add = [&](JobId id) {
    if (holds(books.jobs[id.index()])) due.jobs.push_back(id);
  };
  for (const JobId id : Single(books)) add(id);
  for (std::size_t q = 0; q < books.queues.size(); ++q) {
    if (!books.queues.InOrder(QueueId(q))) continue;
    if (const JobId first = books.lines.FirstOf(QueueId(q)); first.valid()) add(first);
  }
}

// Visits the lines of which this holds, FIFO queues aside, until a visit returns false. Of a line its
// first job is looked at, which may have more jobs evicted than the jobs behind it.
template <class Holds, class Visit>
void EachLineWhere(const Books& books, Holds holds, Visit visit) {
  for (std::size_t q = 0; q < books.queues.size(); ++q) {
    if (books.queues.InOrder(QueueId(q))) continue;
    for (const WaitingLines::InTurn& one : books.lines.Of(QueueId(q))) {
      if (holds(books.jobs[one.first->job.index()]) && !visit(one.line)) return;
    }
  }
}

template <class Holds>
void AddLinesWhere(const Books& books, Holds holds, Due& due) {
  EachLineWhere(books, holds, [&](LineId line) {
    due.lines.push_back(line);
    return true;
  });
}

bool Always(const JobRow&) { return true; }

// Adds the jobs with a reserved start that stand in lines.
void AddReserved(const Books& books, Due& due) {
  for (const JobId id : books.reserved_starts) {
    if (books.lines.LineOf(id).valid()) due.jobs.push_back(id);
  }
}

// Of a FIFO queue its first job alone may be asked.
void DropLinesInOrder(const Books& books, std::vector<LineId>& lines) {
  std::erase_if(lines, [&](LineId id) { return books.queues.InOrder(books.lines.QueueOf(id)); });
}

// Whether VictimSelection::MayHelp decides which lines without room are asked. It does not if every
// pending job gets a reservation, because then each job may take the reservation of another job.
bool AsksByVictims(const Books& books, const Policies& policies) {
  return books.lines.on() && (policies.reservations == nullptr || !policies.reservations->ReservesAll());
}

// Tasks may be evicted for jobs in lines. A job with a reserved start for which this holds is asked,
// too, and what it leaves may help as a lost reservation does. REQUIRES: AsksByVictims.
template <class Holds>
void AddEvicting(const Books& books, Holds holds, Due& due) {
  due.evicts = true;
  const bool any = std::any_of(
      books.reserved_starts.begin(), books.reserved_starts.end(), [&](JobId id) {
        const JobRow& job = books.jobs[id.index()];
        return job.reservation->at != 0 && holds(job);
      });
  if (any) AddAfterLostReservation(books, due);
}

template <class Holds>
bool AnyLine(const Books& books, Holds holds) {
  bool any = false;
  EachLineWhere(books, holds, [&](LineId) {
    any = true;
    return false;
  });
  return any;
}

// Adds the pending jobs that may be helped by the eviction or the move of one of these.
void AddHelpedBy(const Books& books, const Policies& policies, const std::vector<JobId>& evictable,
                 Due& due) {
  if (evictable.empty() || books.waiting.empty()) return;
  const bool by_victims = AsksByVictims(books, policies);
  for (const Wakes* policy : WakesOf(policies)) {
    const Wakes::Helped by = policy != nullptr ? policy->HelpedBy(books, evictable) : nullptr;
    if (!by) continue;
    const auto may = [&](const JobRow& job) { return !job.satisfied() && job.may_evict() && by(job); };
    AddJobsWhere(books, may, due);
    if (!by_victims || policy != policies.eviction.get()) {
      AddLinesWhere(books, may, due);
    } else if (AnyLine(books, may)) {
      AddEvicting(books, may, due);
    }
  }
}

// Whether a job has a start reserved for now.
bool AnyStarts(const Books& books, TimeMs now) {
  return std::any_of(books.reserved_starts.begin(), books.reserved_starts.end(), [&](JobId id) {
    const TimeMs at = books.jobs[id.index()].reservation->at;
    return at != 0 && at <= now;
  });
}

// Whether some job that waits in a line may get a reservation beside the jobs that keep theirs.
bool AnyMayReserve(const Books& books, const Policies& policies, bool shifts) {
  if (policies.reservations == nullptr || policies.reservations->ReservesAll()) return false;
  const auto keeps = [&](JobId id) { return !shifts && books.jobs[id.index()].reservation->at != 0; };
  const auto kept = std::count_if(books.reserved_starts.begin(), books.reserved_starts.end(), keeps);
  return books.lines.any() && policies.reservations->Reserves(static_cast<std::int32_t>(kept), 0);
}

// Whether no limit counts its pods on other nodes.
bool LimitsFree(const Books& books, const JobRow& job) {
  return std::all_of(job.roles.begin(), job.roles.end(), [&](const RoleRow& role) {
    return books.classes[role.cls].limits.empty();
  });
}

}  // namespace

void AddAll(const Books& books, Due& due) {
  AddJobsWhere(books, Always, due);
  AddLinesWhere(books, Always, due);
  AddReserved(books, due);
  SortOnce(due.jobs);
  SortOnce(due.lines);
}

void AddAfterLostReservation(const Books& books, Due& due) {
  AddJobsWhere(books, Always, due);
  AddReserved(books, due);
  books.lines.AddAwaiting(Awaits::kReservations, due.lines);
  DropLinesInOrder(books, due.lines);
  due.others = books.lines.on();
  SortOnce(due.jobs);
  SortOnce(due.lines);
}

void WakeUps::MarkDue(JobRow& job, JobId id) {
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

void WakeUps::Advance(Books& books, TimeMs now) {
  if (ask_again_at_ > 0 && now >= ask_again_at_) {
    ask_again_at_ = 0;
    capacity_.Anywhere();
  }
  while (!ripening_.empty() && ripening_.begin()->first <= now) {
    Evictable(ripening_.begin()->second);
    ripening_.erase(ripening_.begin());
  }
  for (; !held_.empty() && held_.begin()->first <= now; held_.erase(held_.begin())) {
    const auto [at, id] = *held_.begin();
    JobRow& job = books.jobs[id.index()];
    if (job.waits() && job.evictions_from == at) MarkDue(job, id);
  }
  for (; !delayed_.empty() && delayed_.begin()->first <= now; delayed_.erase(delayed_.begin())) {
    const auto [at, id] = *delayed_.begin();
    JobRow& job = books.jobs[id.index()];
    if (job.delayed_until != at) continue;
    job.delayed_until = 0;
    books.lines.Follow(books, id);
    if (job.waits()) MarkDue(job, id);
  }
  AdvanceTimeouts(books, now);
}

// Jobs that are below their minimum since before the first cycle are so since this one.
void WakeUps::AdvanceTimeouts(Books& books, TimeMs now) {
  times_out_ = false;
  for (auto& [id, since] : books.incomplete) {
    if (since == 0) since = now;
    times_out_ = times_out_ || now - since >= books.config.incomplete_gang_timeout_ms;
  }
}

TimeMs WakeUps::NextPassed(const Books& books) const {
  TimeMs next = delayed_.empty() ? 0 : delayed_.begin()->first;
  for (const auto& [id, since] : books.incomplete) {
    const TimeMs at = since + books.config.incomplete_gang_timeout_ms;
    next = next == 0 ? at : std::min(next, at);
  }
  return next;
}

WakeUps::Gone WakeUps::HowItWent(const CapacityEvent& grown, TimeMs now) {
  const std::vector<TimeMs> ends = std::exchange(expected_ends_, {});
  const auto all = [&](auto holds) { return std::all_of(ends.begin(), ends.end(), holds); };
  return {ends.size() == grown.times() && all([&](TimeMs end) { return end >= now; }),
          !all([&](TimeMs end) { return end <= now; })};
}

// Whether all pending jobs have a reserved start: as long as all goes as expected, it stands.
bool WakeUps::AllReserved(const Books& books, const Policies& policies) {
  if (policies.reservations == nullptr || !policies.reservations->ReservesAll()) return false;
  return std::all_of(books.waiting.begin(), books.waiting.end(), [&](JobId id) {
    const JobRow& job = books.jobs[id.index()];
    return job.due || job.reservation->at != 0 ||
           (job.standing.asked && job.standing.verdict == Verdict::kInfeasible);
  });
}

Due WakeUps::Take(Books& books, const Policies& policies, TimeMs now) {
  const CapacityEvent capacity = std::exchange(capacity_, CapacityEvent());
  const std::vector<JobId> evictable = std::exchange(evictable_, {});
  Due due;
  due.jobs = std::exchange(due_, {});
  const Gone gone = HowItWent(capacity, now);
  const bool as_expected = gone.in_time && !gone.early;
  if (!as_expected) ++books.surprises;
  if (!gone.in_time) ++books.losses;
  const bool as_planned =
      as_expected && capacity.times() > 0 && AllReserved(books, policies);
  if (as_planned) {
    std::copy_if(books.waiting.begin(), books.waiting.end(), std::back_inserter(due.jobs),
                 [&](JobId id) {
                   const JobRow& job = books.jobs[id.index()];
                   return !job.due && job.reservation->at != 0 && job.reservation->at <= now;
                 });
  }
  for (JobId id : due.jobs) books.jobs[id.index()].due = false;
  std::erase_if(due.jobs,
                [&](JobId id) { return books.jobs[id.index()].waiting_at == JobRow::kNotWaiting; });
  std::erase_if(books.reserved_starts,
                [&](JobId id) { return books.jobs[id.index()].reservation->at == 0; });
  const bool grown = capacity.times() > 0 && !as_planned;
  const auto helps_anywhere = [&](const Wakes* policy) {
    return grown && policy != nullptr && policy->HelpsAnywhere(books);
  };
  const Wakes* const eviction =
      AsksByVictims(books, policies) ? policies.eviction.get() : nullptr;
  const auto asked = WakesOf(policies);
  const bool any_job =
      (grown && capacity.anywhere()) ||
      std::any_of(asked.begin(), asked.end(), [&](const Wakes* policy) {
        return policy != eviction && helps_anywhere(policy);
      });
  const std::size_t alone = due.jobs.size();
  if (any_job) {
    AddAll(books, due);
  } else {
    if (grown) WokenBy(books, policies, capacity, !as_expected || AnyStarts(books, now), due);
    if (helps_anywhere(eviction)) {
      AddJobsWhere(books, Always, due);
      AddEvicting(books, Always, due);
    }
    AddHelpedBy(books, policies, evictable, due);
  }
  if (due.jobs.size() > alone) SortOnce(due.jobs);
  SortOnce(due.lines);
  books.lines.Asks(due.lines);
  return due;
}

// Whether room on a node that it may use, or its turn, is all that may help the gang to begin. The
// last "no" to a gang that runs may be about another part of it.
bool WakeUps::WaitsForRoomAlone(const Books& books, const JobRow& job) const {
  const Standing& said = job.standing;
  if (!said.asked || AwaitsOf(said.reason) != Awaits::kRoom || job.counted() > 0 || job.satisfied() ||
      job.keeps_room()) {
    return false;
  }
  // Without lines the jobs behind the first one of an ordered queue are asked with it, or not.
  const bool first_alone = books.lines.on() && !books.config.report_job_ahead;
  if (!first_alone && books.queues.InOrder(job.queue)) return false;
  return LimitsFree(books, job);
}

// Adds the pending jobs that may be helped by room on these nodes or in these queues, and, if reserved
// starts may shift, by that.
void WakeUps::WokenBy(const Books& books, const Policies& policies, const CapacityEvent& grown,
                      bool shifts, Due& due) {
  std::vector<NodeId> nodes = grown.nodes();
  SortOnce(nodes);
  const bool reserves = policies.reservations != nullptr;
  AddJobsWokenBy(books, grown, nodes, reserves, due);
  if (!books.lines.on()) return;
  if (shifts) AddReserved(books, due);
  books.lines.AddAwaiting(shifts ? Awaits::kReservations : Awaits::kAnyChange, due.lines);
  for (const QueueId queue : grown.queues()) {
    for (const WaitingLines::InTurn& one : books.lines.Of(queue)) due.lines.push_back(one.line);
  }
  AddLinesWithRoom(books, nodes, due.lines);
  DropLinesInOrder(books, due.lines);
  due.others = AnyMayReserve(books, policies, shifts);
}

// The jobs that are asked one by one.
void WakeUps::AddJobsWokenBy(const Books& books, const CapacityEvent& grown,
                             const std::vector<NodeId>& nodes, bool reserves, Due& due) {
  const bool any = reserves || nodes.size() > kMostNodes;
  const auto& queues = grown.queues();
  const auto may = [&](const JobRow& job) {
    if (any || !WaitsForRoomAlone(books, job) ||
        std::find(queues.begin(), queues.end(), job.queue) != queues.end()) {
      return true;
    }
    return AnyMay(books, job, nodes);
  };
  AddJobsWhere(books, may, due);
}

// Adds the lines of which a task may have room on one of the nodes now. No other line can start there.
void WakeUps::AddLinesWithRoom(const Books& books, const std::vector<NodeId>& nodes,
                               std::vector<LineId>& to) {
  Resources most;  // by kind, that one of the nodes has free
  bool any = false;
  for (const NodeId node : nodes) {
    if (!books.hardware.present(node)) continue;
    const Resources& free = books.occupancy.node(node).free;
    most = any ? Resources::Max(most, free) : free;
    any = true;
  }
  if (!any) return;
  const auto may = [&](const JobRow& job) {
    return nodes.size() > kMostNodes || !LimitsFree(books, job) || AnyMay(books, job, nodes);
  };
  books.lines.EachShapeWithin(most, [&](ShapeId shape, LineId line) {
    if (may(books.jobs[books.lines.line(line).First()->job.index()])) books.lines.AddOf(shape, to);
  });
}

// Whether a task of the job may ever use one of the nodes.
bool WakeUps::AnyMay(const Books& books, const JobRow& job, const std::vector<NodeId>& nodes) {
  return std::any_of(job.roles.begin(), job.roles.end(), [&](const RoleRow& role) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return reach_.May(books, role.cls, node); });
  });
}

}  // namespace tephra
