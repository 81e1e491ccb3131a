#include "plugins/backfill/placed_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/entitled.h"
#include "engine/gang_ask.h"
#include "engine/kept_place.h"
#include "engine/missing.h"
#include "engine/proofs.h"
#include "plugins/backfill/ahead.h"
#include "plugins/backfill/profile.h"

namespace tephra {
namespace {

// So many times are tried one by one for a gang, those after them at growing distances: it may then
// get a later start than the earliest there is.
constexpr std::int32_t kTriedOneByOne = 256;
// On so many nodes a task is tried that may be in the way of a reservation.
constexpr std::int32_t kNodesTried = 16;

class PlacedPlan final : public ReservationPlan {
 public:
  PlacedPlan(Workbench& now, Workbench& ahead, const std::vector<JobId>& standing)
      : bench_(now), snapshot_(now.ledger().snapshot()), ahead_(ahead) {
    for (const JobId id : standing) Stand(MissingMinimum(snapshot_, id));
  }

  JobId Delays(const GangAsk& ask, std::size_t mark) override {
    const TimeMs now = snapshot_.now();
    const TimeMs until = Until(now, RunOf(ask.job));
    const auto touched = [&](const Given& one) { return one.reservation.at < until; };
    if (std::none_of(given_.begin(), given_.end(), touched)) return JobId();
    Ledger& ledger = bench_.ledger();
    // A gang that is turned away is so for all of its shape in this cycle that end no earlier.
    const Proofs::Shape shape = Proofs::ShapeOf(ask);
    const auto known = turned_away_.find(shape);
    if (known != turned_away_.end() && known->second.until <= until) {
      ledger.RollBackTo(mark);
      return known->second.late;
    }
    const std::vector<Placement> found = ledger.Since(mark);
    if (StandsBeside(ask, found, now, until)) return JobId();
    if (auto aside = PlaceBesides(ask, now, until)) {
      ledger.RollBackTo(mark);
      Charge(bench_, ask, *aside);
      // Reserved room may have been left, or given, and the other bench does not know.
      if (IsClear(bench_, ask, *aside)) return JobId();
      ledger.RollBackTo(mark);
      Charge(bench_, ask, found);
    }
    const JobId late = Rearrange(ask, found, until);
    if (!late.valid()) return late;
    ledger.RollBackTo(mark);
    if (PlaceElsewhere(ask, found, until)) return JobId();
    turned_away_[shape] = {until, late};
    return late;
  }

  Answer Reserve(const GangAsk& ask) override {
    if (const Reservation* known = IsKnown(ask)) {
      confirmed_.push_back(ask.job);
      return Give(ask, *known);
    }
    const Answer answer = Search(ask);
    Took(ask.job, answer.reservation.where, answer.reservation.at);
    return answer;
  }

  const Reservation* ReservationOf(JobId id) const override {
    const auto found = std::find_if(given_.begin(), given_.end(),
                                    [&](const Given& one) { return one.ask.job == id; });
    return found == given_.end() ? nullptr : &found->reservation;
  }

  std::vector<JobId> Moved() const override {
    std::vector<JobId> moved;
    for (const Given& one : given_) {
      if (one.moved) moved.push_back(one.ask.job);
    }
    return moved;
  }

  std::vector<JobId> Confirmed() const override { return confirmed_; }

  void Follow(const Decision& decision) override {
    if (decision.verdict == Verdict::kStart && decision.evictions.empty()) {
      Took(decision.job, decision.placements, snapshot_.now());
    } else {
      none_left_ = false;
    }
    room_.reset();
    ahead_.Follow(decision);
  }

 private:
  struct Given {
    GangAsk ask;
    Reservation reservation;
    TimeMs until;
    bool moved = false;
  };

  DurationMs RunOf(JobId id) const { return snapshot_.job(id).estimated_runtime_ms; }

  Answer Give(const GangAsk& ask, Reservation reservation) {
    given_.push_back({ask, reservation, Until(reservation.at, RunOf(ask.job))});
    if (room_) Reserve(*room_, given_.back());
    return {std::move(reservation), Untimed::kNotAsked};
  }

  Answer GiveNew(const GangAsk& ask, TimeMs at, std::vector<Placement> where) {
    std::erase(confirmed_, ask.job);
    const auto tasks = static_cast<std::int32_t>(where.size());
    return Give(ask, Reservation::Start(at, tasks, std::move(where)));
  }

  // What was reserved for it is the earliest, too, if all has gone as expected since then, the jobs
  // before it keep what they had, and what they took besides is not in its way.
  const Reservation* IsKnown(const GangAsk& ask) {
    const Reservation& reservation = snapshot_.job(ask.job).reservation;
    const bool known = none_left_ && reservation.as_of == snapshot_.books().surprises &&
                       reservation.at > snapshot_.now() && reservation.run == RunOf(ask.job) &&
                       !reservation.where.empty() && Serves(snapshot_, ask, reservation.where);
    if (!known) return nullptr;
    const TimeMs until = Until(reservation.at, RunOf(ask.job));
    const auto meets = [&](const Taken& one) {
      return one.from < until && reservation.at < one.until &&
             std::any_of(reservation.where.begin(), reservation.where.end(),
                         [&](const Placement& place) { return one.nodes.contains(place.node); });
    };
    if (std::none_of(taken_.begin(), taken_.end(), meets)) return &reservation;
    return StandsBeside(ask, reservation.where, reservation.at, until) ? &reservation : nullptr;
  }

  // The job has that place from `at` on, or none if `where` is empty. What was reserved for it is
  // free then, unless it is the same room, for as long, or the job starts there after its time.
  void Took(JobId id, const std::vector<Placement>& where, TimeMs at) {
    const Reservation& before = snapshot_.job(id).reservation;
    const bool same = before.at != 0 && before.where == where && before.run == RunOf(id);
    if (same && before.at == at) return;
    const bool starts_late = same && before.at < at && at <= snapshot_.now();
    if (before.at != 0 && !starts_late) none_left_ = false;
    if (where.empty()) return;
    Taken& taken = taken_.emplace_back(Taken{at, Until(at, RunOf(id)), {}});
    for (const Placement& one : where) taken.nodes.insert(one.node);
  }

  Answer Search(const GangAsk& ask) {
    const DurationMs run = RunOf(ask.job);
    const Reservation* before = Stands(ask);
    if (before != nullptr) confirmed_.push_back(ask.job);
    if (given_.empty()) return ReserveFirst(ask, before);
    std::int32_t tries = 0;
    RoomAhead::Sweep sweep(Room(), ask, run);
    for (TimeMs at = sweep.Next(); at != kForever; at = sweep.Next()) {
      if (before != nullptr && at >= before->at) break;
      if (++tries > kTriedOneByOne && (tries & (tries - 1)) != 0) continue;
      if (!MayFit(ahead_.At(at), ask)) continue;
      if (auto where = PlaceBesides(ask, at, Until(at, run))) {
        return GiveNew(ask, at, *std::move(where));
      }
    }
    if (before != nullptr) return Give(ask, *before);
    return {{}, Untimed::kEnds};
  }

  // Where nothing else is reserved, room only grows with time: few times have to be tried.
  Answer ReserveFirst(const GangAsk& ask, const Reservation* before) {
    const std::vector<TimeMs> times = ahead_.Ends(before != nullptr ? before->at : kForever);
    std::optional<std::vector<Placement>> found;
    const auto fits = [&](std::size_t t) {
      Workbench& bench = ahead_.At(times[t]);
      if (!MayFit(bench, ask)) return false;
      Attempt undo(bench.ledger());
      auto where = PlaceOn(bench, ask);
      if (where) found = std::move(where);
      return found.has_value();
    };
    std::size_t none = 0, some = times.size();  // no room before `none`, room at `some`
    if (before != nullptr && !times.empty() && !fits(some - 1)) return Give(ask, *before);
    if (before != nullptr && !times.empty()) --some;
    for (std::size_t step = 1; before == nullptr && none < times.size(); step *= 2) {
      const std::size_t next = std::min(none + step, times.size()) - 1;
      if (fits(next)) {
        some = next;
        break;
      }
      none = next + 1;
    }
    while (none < some && some < times.size()) {
      const std::size_t middle = none + (some - none) / 2;
      found.reset();
      if (fits(middle)) {
        some = middle;
      } else {
        none = middle + 1;
      }
    }
    if (some < times.size()) {
      if (!found && !fits(some)) return {{}, Untimed::kEnds};
      return GiveNew(ask, times[some], *std::move(found));
    }
    if (before != nullptr) return Give(ask, *before);
    return {{}, Untimed::kEnds};
  }

  // A reservation by counts alone has no place yet.
  void Stand(const GangAsk& ask) {
    const Reservation& reservation = snapshot_.job(ask.job).reservation;
    if (!reservation.where.empty()) return static_cast<void>(Give(ask, reservation));
    auto where = PlaceBesides(ask, reservation.at, Until(reservation.at, RunOf(ask.job)));
    if (where) {
      Give(ask, Reservation::Start(reservation.at, reservation.tasks, std::move(*where)));
    } else if (Reserve(ask).reservation.at == 0) {
      return;
    }
    none_left_ = false;
    given_.back().moved = true;
  }

  void Reserve(RoomAhead& room, const Given& one) const {
    for (const Placement& place : one.reservation.where) {
      const TaskClass& cls = snapshot_.cls(snapshot_.task(place.task).cls);
      room.Reserve(one.reservation.at, one.until, cls, place);
    }
  }

  // Beside what runs and what is reserved.
  const RoomAhead& Room() {
    if (room_) return *room_;
    room_.emplace(ahead_.Room());
    for (const Given& one : given_) Reserve(*room_, one);
    return *room_;
  }

  // Whether each role has room for its tasks there, were nothing reserved.
  bool MayFit(Workbench& bench, const GangAsk& ask) const {
    return std::all_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
      return bench.rankings().WithRoom(role.cls, ask.without).room(ask.within) >= role.least;
    });
  }

  void Charge(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& where) const {
    for (const Placement& one : where) {
      bench.ledger().Charge(snapshot_.task(one.task).cls, ask.queue, one);
    }
  }

  // Takes what is reserved for other jobs in that time off the bench: on these nodes, or on all.
  void ChargeOthers(Workbench& bench, JobId except, TimeMs from, TimeMs until,
                    const std::set<NodeId>* nodes = nullptr) const {
    for (const Given& one : given_) {
      if (one.ask.job == except || one.reservation.at >= until || one.until <= from) continue;
      for (const Placement& place : one.reservation.where) {
        if (nodes != nullptr && !nodes->contains(place.node)) continue;
        bench.ledger().Charge(snapshot_.task(place.task).cls, one.ask.queue, place);
      }
    }
  }

  // Whether pods elsewhere count for where the gang's tasks may be.
  bool AnyLimit(const GangAsk& ask) const {
    return std::any_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
      return !snapshot_.cls(role.cls).limits.empty();
    });
  }

  // A place for the gang from that time on, beside what is reserved for other jobs while it runs.
  std::optional<std::vector<Placement>> PlaceBesides(const GangAsk& ask, TimeMs from,
                                                     TimeMs until) {
    Workbench& bench = ahead_.At(from);
    Attempt undo(bench.ledger());
    ChargeOthers(bench, ask.job, from, until);
    return PlaceOn(bench, ask);
  }

  // Whether the gang has that place from that time on, beside the same.
  bool StandsBeside(const GangAsk& ask, const std::vector<Placement>& where, TimeMs from,
                    TimeMs until) {
    Workbench& bench = ahead_.At(from);
    Attempt undo(bench.ledger());
    std::set<NodeId> nodes;
    for (const Placement& place : where) nodes.insert(place.node);
    ChargeOthers(bench, ask.job, from, until, AnyLimit(ask) ? nullptr : &nodes);
    Charge(bench, ask, where);
    return IsClear(bench, ask, where);
  }

  std::optional<std::vector<Placement>> PlaceOn(Workbench& bench, const GangAsk& ask) const {
    const std::size_t mark = bench.ledger().mark();
    const Entitled tried = PlaceEntitled(bench, ask, [&](const GangAsk& trial) {
      return bench.policies().placer->Place(bench, trial);
    });
    if (tried.denied || tried.answer.outcome != Placer::Outcome::kPlaced) return std::nullopt;
    return bench.ledger().Since(mark);
  }

  // With the gang started on `found`, other reservations may have a place at the same time
  // elsewhere. The first that has none; invalid: all have one, and keep it from now on.
  JobId Rearrange(const GangAsk& ask, const std::vector<Placement>& found, TimeMs until) {
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
        none_left_ = false;
        room_.reset();
      }
      one.reservation.where = std::move(*where);
    }
    return JobId();
  }

  // A single task may be in the way of no reservation on another node than the best one for it.
  bool PlaceElsewhere(const GangAsk& ask, const std::vector<Placement>& found, TimeMs until) {
    if (ask.roles.size() != 1 || ask.least != 1 || !ask.groups.empty()) return false;
    GangAsk there = ask;
    std::int32_t tries = 0;
    for (std::uint32_t rank = 0; rank < snapshot_.hardware().ranked().size(); ++rank) {
      const Ranking& ranking = bench_.rankings().For(ask.roles[0].cls, ask.without);
      if (!ranking.Fits(rank) || snapshot_.hardware().rank(found.front().node) == rank) continue;
      if (++tries > kNodesTried) return false;
      there.within = {rank, rank + 1};
      Attempt attempt(bench_.ledger());
      const auto place = PlaceOn(bench_, there);
      if (!place || Rearrange(ask, *place, until).valid()) continue;
      attempt.Keep();
      return true;
    }
    return false;
  }

  // The reservation of the last plan, if the gang still has room there beside the others.
  const Reservation* Stands(const GangAsk& ask) {
    const Reservation& reservation = snapshot_.job(ask.job).reservation;
    if (reservation.at <= snapshot_.now() || reservation.where.empty()) return nullptr;
    if (!Serves(snapshot_, ask, reservation.where)) return nullptr;
    const TimeMs until = Until(reservation.at, RunOf(ask.job));
    return StandsBeside(ask, reservation.where, reservation.at, until) ? &reservation : nullptr;
  }

  Workbench& bench_;
  const Snapshot& snapshot_;
  Ahead ahead_;
  std::vector<Given> given_;  // by whose turn it was
  std::optional<RoomAhead> room_;  // as of given_, if it was asked
  std::vector<JobId> confirmed_;
  struct Taken {
    TimeMs from;
    TimeMs until;
    std::set<NodeId> nodes;
  };
  std::vector<Taken> taken_;  // by decisions so far and by given_: what the job did not have before
  bool none_left_ = true;     // no job left room so far that was reserved for it
  struct TurnedAway {
    TimeMs until;
    JobId late;
  };
  std::map<Proofs::Shape, TurnedAway> turned_away_;
};

}  // namespace

std::unique_ptr<ReservationPlan> MakePlacedPlan(Workbench& now, Workbench& ahead,
                                             const std::vector<JobId>& standing) {
  return std::make_unique<PlacedPlan>(now, ahead, standing);
}

}  // namespace tephra
