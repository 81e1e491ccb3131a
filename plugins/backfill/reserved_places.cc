#include "plugins/backfill/reserved_places.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/entitled.h"
#include "engine/kept_place.h"
#include "plugins/backfill/profile.h"

namespace tephra {
namespace {

// So many times are tried one by one for a gang, those after them at growing distances: it may then
// get a later start than the earliest there is.
constexpr std::int32_t kTriedOneByOne = 256;
constexpr std::size_t kAllTimes = std::numeric_limits<std::size_t>::max();

}  // namespace

// Moves the bench on through time. At each time it shows what is free then, beside what is reserved
// for other jobs at some time of a run that begins then.
class ReservedPlaces::Walk {
 public:
  Walk(ReservedPlaces& places, JobId job, DurationMs run, TimeMs first)
      : places_(places),
        run_(run),
        bench_(places.ahead_.At(first)),
        undo_(bench_.ledger()),
        ended_(places.ahead_.passed()) {
    for (const Given& one : places.given_) {
      if (one.ask.job != job) by_from_.push_back(&one);
    }
    by_until_ = by_from_;
    std::stable_sort(by_from_.begin(), by_from_.end(), [](const Given* a, const Given* b) {
      return a->reservation.at < b->reservation.at;
    });
    std::stable_sort(by_until_.begin(), by_until_.end(),
                     [](const Given* a, const Given* b) { return a->until < b->until; });
    while (left_ < by_until_.size() && by_until_[left_]->until <= first) ++left_;
  }

  // REQUIRES: from `first` on, and not before the time of the last call. What the caller tries, it
  // undoes.
  Workbench& To(TimeMs at) {
    ended_ = places_.ahead_.Pass(ended_, at);
    const TimeMs until = Until(at, run_);
    for (; joined_ < by_from_.size() && by_from_[joined_]->reservation.at < until; ++joined_) {
      const Given& one = *by_from_[joined_];
      if (one.until > at) places_.Charge(bench_, one.ask, one.reservation.where);
    }
    for (; left_ < by_until_.size() && by_until_[left_]->until <= at; ++left_) {
      const Given& one = *by_until_[left_];
      if (one.reservation.at >= joined_until_) continue;
      for (const Placement& place : one.reservation.where) {
        const ClassId cls = places_.snapshot_.task(place.task).cls;
        bench_.ledger().Discharge(cls, one.ask.queue, place);
      }
    }
    joined_until_ = until;
    return bench_;
  }

 private:
  ReservedPlaces& places_;
  const DurationMs run_;
  Workbench& bench_;
  Attempt undo_;
  std::vector<const Given*> by_from_;
  std::vector<const Given*> by_until_;
  std::size_t ended_;  // of what runs
  std::size_t joined_ = 0;
  TimeMs joined_until_ = 0;  // what begins before it has joined
  std::size_t left_ = 0;
};

ReservedPlaces::ReservedPlaces(Workbench& now, Workbench& ahead, StandingRoom& standing)
    : bench_(now), snapshot_(now.ledger().snapshot()), ahead_(ahead), standing_(standing) {}

const ReservedPlaces::Given* ReservedPlaces::Find(JobId id) const {
  const auto found = std::find_if(given_.begin(), given_.end(),
                                  [&](const Given& one) { return one.ask.job == id; });
  return found == given_.end() ? nullptr : &*found;
}

void ReservedPlaces::Give(const GangAsk& ask, const Reservation& reservation) {
  given_.push_back({ask, reservation, Until(reservation.at, RunOf(ask.job))});
  leeway_.reset();
  if (room_) Reserve(*room_, given_.back());
}

void ReservedPlaces::Follow(const Decision& decision) {
  room_.reset();
  ahead_.Follow(decision);
  if (decision.verdict != Verdict::kStart || !decision.evictions.empty()) {
    evicts_ = true;
    return leeway_.reset();
  }
  const TimeMs until = Until(snapshot_.now(), RunOf(decision.job));
  for (const Placement& place : decision.placements) started_.emplace_back(until, place);
  if (!leeway_ || until <= given_.front().reservation.at) return;
  for (const Placement& place : decision.placements) leeway_->Take(TakenOf(place));
}

FreeCounts::Taken ReservedPlaces::TakenOf(const Placement& place) const {
  const TaskClass& cls = snapshot_.cls(snapshot_.task(place.task).cls);
  return TakenBy(snapshot_.hardware(), cls, place.node, place.slices);
}

void ReservedPlaces::Reserve(RoomAhead& room, const Given& one) const {
  for (const Placement& place : one.reservation.where) {
    room.Reserve(one.reservation.at, one.until, TakenOf(place));
  }
}

// Beside what runs and what is reserved.
const RoomAhead& ReservedPlaces::Room() {
  if (room_) return *room_;
  room_.emplace(ahead_.Room());
  for (const Given& one : given_) Reserve(*room_, one);
  return *room_;
}

// What the gang has at that time, were nothing reserved.
CountedRoom ReservedPlaces::Counted(const GangAsk& ask, TimeMs at) {
  return CountedRoom(bench_, ask, ahead_.FreeAt(at));
}

// Whether each role has room for its tasks on the bench.
bool ReservedPlaces::MayFit(Workbench& bench, const GangAsk& ask) const {
  return std::all_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
    return bench.rankings().WithRoom(role.cls, ask.without).room(ask.within) >= role.least;
  });
}

// Whether pods elsewhere count for where the gang's tasks may be.
bool ReservedPlaces::AnyLimit(const GangAsk& ask) const {
  return std::any_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
    return !snapshot_.cls(role.cls).limits.empty();
  });
}

void ReservedPlaces::Charge(Workbench& bench, const GangAsk& ask, const Where& where) const {
  for (const Placement& one : where) {
    bench.ledger().Charge(snapshot_.task(one.task).cls, ask.queue, one);
  }
}

// Takes what is reserved for other jobs in that time off the bench: on these nodes, or on all.
void ReservedPlaces::ChargeOthers(Workbench& bench, JobId except, TimeMs from, TimeMs until,
                                  const std::set<NodeId>* nodes) const {
  for (const Given& one : given_) {
    if (one.ask.job == except || one.reservation.at >= until || one.until <= from) continue;
    for (const Placement& place : one.reservation.where) {
      if (nodes != nullptr && !nodes->contains(place.node)) continue;
      bench.ledger().Charge(snapshot_.task(place.task).cls, one.ask.queue, place);
    }
  }
}

std::optional<ReservedPlaces::Where> ReservedPlaces::PlaceOn(Workbench& bench,
                                                             const GangAsk& ask) const {
  const std::size_t mark = bench.ledger().mark();
  const Entitled tried = PlaceEntitled(bench, ask, [&](const GangAsk& trial) {
    return bench.policies().placer->Place(bench, trial);
  });
  if (tried.denied || tried.answer.outcome != Placer::Outcome::kPlaced) return std::nullopt;
  return bench.ledger().Since(mark);
}

std::optional<ReservedPlaces::Where> ReservedPlaces::PlaceBesides(const GangAsk& ask, TimeMs from,
                                                                  TimeMs until) {
  Workbench& bench = ahead_.At(from);
  Attempt undo(bench.ledger());
  ChargeOthers(bench, ask.job, from, until);
  return PlaceOn(bench, ask);
}

bool ReservedPlaces::StandsBeside(const GangAsk& ask, const Where& where, TimeMs from,
                                  TimeMs until) {
  const bool anywhere = AnyLimit(ask);
  Workbench& bench = anywhere ? ahead_.At(from) : ahead_.bench();
  Attempt undo(bench.ledger());
  std::set<NodeId> nodes;
  for (const Placement& place : where) nodes.insert(place.node);
  if (!anywhere) ahead_.ShowNodes(nodes, from);
  ChargeOthers(bench, ask.job, from, until, anywhere ? nullptr : &nodes);
  Charge(bench, ask, where);
  return IsClear(bench, ask, where);
}

bool ReservedPlaces::LeavesAll(const GangAsk& ask, const Where& found, TimeMs until) {
  if (AnyLimit(ask)) return StandsBeside(ask, found, snapshot_.now(), until);
  std::set<NodeId> nodes;
  for (const Placement& place : found) nodes.insert(place.node);
  return std::all_of(given_.begin(), given_.end(), [&](const Given& one) {
    return one.reservation.at >= until || Stays(one, ask, found, nodes);
  });
}

// The same for one reservation. `nodes` are those of `found`. What pods elsewhere count for is not
// looked at: false then.
bool ReservedPlaces::Stays(const Given& one, const GangAsk& ask, const Where& found,
                           const std::set<NodeId>& nodes) {
  std::vector<const Placement*> shared;
  std::set<NodeId> both;
  for (const Placement& place : one.reservation.where) {
    if (!nodes.contains(place.node)) continue;
    shared.push_back(&place);
    both.insert(place.node);
  }
  if (both.empty()) return true;
  if (AnyLimit(one.ask)) return false;
  Workbench& bench = ahead_.bench();
  Attempt undo(bench.ledger());
  ahead_.ShowNodes(both, one.reservation.at);
  for (const Placement& place : found) {
    if (!both.contains(place.node)) continue;
    bench.ledger().Charge(snapshot_.task(place.task).cls, ask.queue, place);
  }
  ChargeOthers(bench, JobId(), one.reservation.at, one.until, &both);
  return std::all_of(shared.begin(), shared.end(),
                     [&](const Placement* place) { return IsClear(bench, *place); });
}

JobId ReservedPlaces::Rearrange(const GangAsk& ask, const Where& found, TimeMs until) {
  std::vector<Given> before = given_;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    Given& one = given_[i];
    if (one.reservation.at >= until) continue;
    Workbench& bench = ahead_.At(one.reservation.at);
    Attempt undo(bench.ledger());
    Charge(bench, ask, found);
    for (std::size_t k = 0; k < given_.size(); ++k) {
      const Given& other = given_[k];
      const bool settled = k < i || other.reservation.at >= until;
      if (!settled || other.reservation.at >= one.until || other.until <= one.reservation.at)
        continue;
      Charge(bench, other.ask, other.reservation.where);
    }
    auto where = PlaceOn(bench, one.ask);
    if (!where) {
      const JobId late = one.ask.job;
      given_ = std::move(before);
      room_.reset();
      return late;
    }
    if (one.reservation.where != *where) {
      one.moved = true;
      room_.reset();
    }
    one.reservation.where = std::move(*where);
  }
  return JobId();
}

const Leeway* ReservedPlaces::LeewayNow() {
  if (given_.size() != 1) return nullptr;
  if (leeway_) return &*leeway_;
  const auto& [ask, reservation, until, moved] = given_.front();
  if (evicts_) return &leeway_.emplace(bench_, Counted(ask, reservation.at));
  leeway_.emplace(bench_, standing_.At(bench_, ask, reservation.at));
  for (const auto& [end, place] : started_) {
    if (end > reservation.at) leeway_->Take(TakenOf(place));
  }
  return &*leeway_;
}

std::optional<Reservation> ReservedPlaces::First(const GangAsk& ask, TimeMs before) {
  if (given_.empty()) return FirstAlone(ask, before);
  const DurationMs run = RunOf(ask.job);
  RoomAhead::Sweep sweep(Room(), ask, run);
  std::optional<Walk> walk;
  std::int32_t tries = 0;
  for (TimeMs at = sweep.Next(); at < before; at = sweep.Next()) {
    if (++tries > kTriedOneByOne && (tries & (tries - 1)) != 0) continue;
    if (!walk) walk.emplace(*this, ask.job, run, at);
    Workbench& bench = walk->To(at);
    if (!MayFit(bench, ask)) continue;
    Attempt undo(bench.ledger());
    if (auto where = PlaceOn(bench, ask)) {
      const auto tasks = static_cast<std::int32_t>(where->size());
      return Reservation::Start(at, tasks, *std::move(where));
    }
  }
  return std::nullopt;
}

// The first time before `before` at which the gang may have room by counts, were nothing reserved.
TimeMs ReservedPlaces::FirstRoom(const GangAsk& ask, TimeMs before) {
  if (evicts_) {
    CountedRoom room = Counted(ask, snapshot_.now());
    return ahead_.FirstRoom(room, before);
  }
  CountedRoom& room = standing_.At(bench_, ask, snapshot_.now());
  for (const auto& [end, place] : started_) room.Add(TakenOf(place), -1);
  const TimeMs at = ahead_.FirstRoom(room, before);
  if (started_.empty() && at != kForever) standing_.MovedTo(at);
  return at;
}

// Where nothing else is reserved, room only grows with time: few times have to be tried.
std::optional<Reservation> ReservedPlaces::FirstAlone(const GangAsk& ask, TimeMs before) {
  const TimeMs counted = FirstRoom(ask, before);
  if (counted == kForever) return std::nullopt;
  std::vector<TimeMs> times;
  std::optional<Reservation> found;  // the last one that fits
  const auto fits = [&](std::size_t t) {
    Workbench& bench = ahead_.At(times[t]);
    if (!MayFit(bench, ask)) return false;
    Attempt undo(bench.ledger());
    auto where = PlaceOn(bench, ask);
    if (!where) return false;
    const auto tasks = static_cast<std::int32_t>(where->size());
    found = Reservation::Start(times[t], tasks, *std::move(where));
    return true;
  };
  // No room before `none`, room at `some`.
  std::size_t none = 0, some = 0;
  const auto narrow = [&] {
    while (none < some) {
      const std::size_t middle = none + (some - none) / 2;
      if (fits(middle)) {
        some = middle;
      } else {
        none = middle + 1;
      }
    }
  };
  if (before != kForever) {
    times = ahead_.Ends(counted, before, kAllTimes);
    if (times.empty() || !fits(times.size() - 1)) return std::nullopt;
    some = times.size() - 1;
    narrow();
    return found;
  }
  for (std::size_t step = 1; !found; step *= 2) {
    const std::size_t next = none + step;
    if (next > times.size()) times = ahead_.Ends(counted, before, 2 * next);
    if (none == times.size()) return std::nullopt;
    some = std::min(next, times.size()) - 1;
    if (!fits(some)) none = some + 1;
  }
  narrow();
  return found;
}

}  // namespace tephra
