#include "plugins/backfill/placed_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/gang_ask.h"
#include "engine/kept_place.h"
#include "engine/missing.h"
#include "engine/proofs.h"
#include "plugins/backfill/profile.h"
#include "plugins/backfill/reserved_places.h"

namespace tephra {
namespace {

// On so many nodes a task is tried that may be in the way of a reservation.
constexpr std::int32_t kNodesTried = 16;

class PlacedPlan final : public ReservationPlan {
 public:
  PlacedPlan(Workbench& now, Workbench& ahead, const std::vector<JobId>& standing,
             StandingRoom& standing_room)
      : bench_(now), snapshot_(now.ledger().snapshot()), places_(now, ahead, standing_room) {
    for (const JobId id : snapshot_.books().reserved_starts) {
      const Reservation& reservation = snapshot_.job(id).reservation;
      if (reservation.at != 0) to_come_.emplace(reservation.turn, id);
    }
    for (const JobId id : standing) Came(id);
    for (const JobId id : standing) Stand(MissingMinimum(snapshot_, id));
  }

  JobId Delays(const GangAsk& ask, std::size_t mark) override {
    const TimeMs now = snapshot_.now();
    const TimeMs until = Until(now, RunOf(ask.job));
    const auto touched = [&](const Given& one) { return one.reservation.at < until; };
    if (std::none_of(places_.given().begin(), places_.given().end(), touched)) return JobId();
    Ledger& ledger = bench_.ledger();
    // A gang that is turned away is so for all of its shape in this cycle that end no earlier.
    const Proofs::Shape shape = Proofs::ShapeOf(ask);
    const auto known = turned_away_.find(shape);
    if (known != turned_away_.end() && known->second.until <= until) {
      ledger.RollBackTo(mark);
      return known->second.late;
    }
    const std::vector<Placement> found = ledger.Since(mark);
    const auto turn_away = [&](JobId late) {
      ledger.RollBackTo(mark);
      turned_away_[shape] = {until, late};
      return late;
    };
    const Leeway* const leeway = places_.LeewayNow();
    if (leeway != nullptr && !leeway->MayStart(ask, found)) {
      return turn_away(places_.given().front().ask.job);
    }
    if (places_.LeavesAll(ask, found, until)) return JobId();
    if (auto aside = places_.PlaceBesides(ask, now, until)) {
      ledger.RollBackTo(mark);
      places_.Charge(bench_, ask, *aside);
      // Reserved room may have been left, or given, and the other bench does not know.
      if (IsClear(bench_, ask, *aside)) return JobId();
      ledger.RollBackTo(mark);
      places_.Charge(bench_, ask, found);
    }
    const JobId late = Rearrange(ask, found, until);
    if (!late.valid()) return late;
    ledger.RollBackTo(mark);
    return PlaceElsewhere(ask, found, until) ? JobId() : turn_away(late);
  }

  Answer Reserve(const GangAsk& ask) override {
    Came(ask.job);
    if (const Reservation* known = IsKnown(ask)) {
      confirmed_.push_back(ask.job);
      return Give(ask, *known);
    }
    const Answer answer = Search(ask);
    if (answer.reservation.at != 0) confirmed_.push_back(ask.job);
    Took(ask.job, answer.reservation.where, answer.reservation.at);
    return answer;
  }

  DurationMs MostRun(const TaskNeed& need, NodeId node) override {
    const Leeway* const leeway = places_.LeewayNow();
    const bool may = leeway == nullptr || leeway->MayTake({need.cpu(), need.gpu()}, node);
    return may ? WaitingLine::kAnyRun : places_.given().front().reservation.at - snapshot_.now();
  }

  const Reservation* ReservationOf(JobId id) const override {
    const Given* const found = places_.Find(id);
    return found == nullptr ? nullptr : &found->reservation;
  }

  std::vector<JobId> Moved() const override {
    std::vector<JobId> moved;
    for (const Given& one : places_.given()) {
      if (one.moved) moved.push_back(one.ask.job);
    }
    return moved;
  }

  std::vector<JobId> Confirmed() const override { return confirmed_; }

  void Follow(const Decision& decision) override {
    Came(decision.job);
    if (decision.verdict == Verdict::kStart && decision.evictions.empty()) {
      Took(decision.job, decision.placements, snapshot_.now());
    } else {
      none_left_ = false;
    }
    places_.Follow(decision);
  }

 private:
  using Given = ReservedPlaces::Given;

  DurationMs RunOf(JobId id) const { return snapshot_.job(id).estimated_runtime_ms; }

  Answer Give(const GangAsk& ask, Reservation reservation) {
    places_.Give(ask, reservation);
    return {std::move(reservation), Untimed::kNotAsked};
  }

  // The job has its turn in this plan.
  void Came(JobId id) { to_come_.erase({snapshot_.job(id).reservation->turn, id}); }

  // Whether a job that was planned before this one, and may have been in its way, comes after it now.
  bool WentAhead(const Reservation& reservation) const {
    const auto end = to_come_.lower_bound({reservation.turn, JobId(std::size_t{0})});
    return std::any_of(to_come_.begin(), end, [&](const auto& other) {
      return snapshot_.job(other.second).reservation->at < reservation.at;
    });
  }

  // What was reserved for it is the earliest, too, if all has gone as expected since then, the jobs
  // before it are the same or more and keep what they had, and what they took besides is not in its
  // way.
  const Reservation* IsKnown(const GangAsk& ask) {
    const Reservation& reservation = snapshot_.job(ask.job).reservation;
    const bool known = none_left_ && reservation.as_of == snapshot_.books().surprises &&
                       reservation.run == RunOf(ask.job) && !WentAhead(reservation);
    return known ? Stands(ask) : nullptr;
  }

  // The reservation of the last plan, if the gang still has room there beside the others.
  const Reservation* Stands(const GangAsk& ask) {
    const Reservation& reservation = snapshot_.job(ask.job).reservation;
    if (reservation.at <= snapshot_.now() || reservation.where.empty()) return nullptr;
    if (!Serves(snapshot_, ask, reservation.where)) return nullptr;
    const TimeMs until = Until(reservation.at, RunOf(ask.job));
    const bool sure = none_left_ && reservation.held_as_of == snapshot_.books().losses &&
                      reservation.run == RunOf(ask.job);
    const auto meets = [&](const Taken& one) {
      return one.from < until && reservation.at < one.until &&
             std::any_of(reservation.where.begin(), reservation.where.end(),
                         [&](const Placement& place) { return one.nodes.contains(place.node); });
    };
    if (sure && std::none_of(taken_.begin(), taken_.end(), meets)) return &reservation;
    const bool stands = places_.StandsBeside(ask, reservation.where, reservation.at, until);
    return stands ? &reservation : nullptr;
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
    const Reservation* const before = Stands(ask);
    auto first = places_.First(ask, before != nullptr ? before->at : kForever);
    if (first) return Give(ask, *std::move(first));
    if (before == nullptr) return {{}, Untimed::kEnds};
    return Give(ask, *before);
  }

  // A reservation by counts alone has no place yet.
  void Stand(const GangAsk& ask) {
    const Reservation& reservation = snapshot_.job(ask.job).reservation;
    if (!reservation.where.empty()) return places_.Give(ask, reservation);
    const TimeMs until = Until(reservation.at, RunOf(ask.job));
    if (auto where = places_.PlaceBesides(ask, reservation.at, until)) {
      places_.Give(ask, Reservation::Start(reservation.at, reservation.tasks, *std::move(where)));
    } else if (Reserve(ask).reservation.at == 0) {
      return;
    }
    none_left_ = false;
    places_.MovedLast();
  }

  JobId Rearrange(const GangAsk& ask, const std::vector<Placement>& found, TimeMs until) {
    const JobId late = places_.Rearrange(ask, found, until);
    const auto moved = [](const Given& one) { return one.moved; };
    const std::vector<Given>& given = places_.given();
    if (!late.valid() && std::any_of(given.begin(), given.end(), moved)) none_left_ = false;
    return late;
  }

  // A single task may be in the way of no reservation on another node than the best one for it.
  bool PlaceElsewhere(const GangAsk& ask, const std::vector<Placement>& found, TimeMs until) {
    if (ask.roles.size() != 1 || ask.least != 1 || !ask.groups.empty()) return false;
    GangAsk there = ask;
    const Leeway* const leeway = places_.LeewayNow();
    const CountedNeed need = NeedOf(snapshot_.cls(ask.roles[0].cls));
    const std::vector<NodeId>& ranked = snapshot_.hardware().ranked();
    std::int32_t tries = 0;
    for (std::uint32_t rank = 0; rank < ranked.size(); ++rank) {
      const Ranking& ranking = bench_.rankings().For(ask.roles[0].cls, ask.without);
      if (!ask.within.contains(rank) || !ranking.Fits(rank)) continue;
      if (found.front().node == ranked[rank]) continue;
      if (leeway != nullptr && !leeway->MayTake(need, ranked[rank])) continue;
      if (++tries > kNodesTried) return false;
      there.within = {rank, rank + 1};
      Attempt attempt(bench_.ledger());
      const auto place = places_.PlaceOn(bench_, there);
      if (!place || Rearrange(ask, *place, until).valid()) continue;
      attempt.Keep();
      return true;
    }
    return false;
  }

  Workbench& bench_;
  const Snapshot& snapshot_;
  ReservedPlaces places_;
  std::vector<JobId> confirmed_;  // in turn
  std::set<std::pair<std::uint64_t, JobId>> to_come_;  // jobs with a reserved start, by their last turn
  struct Taken {
    TimeMs from;
    TimeMs until;
    std::set<NodeId> nodes;
  };
  std::vector<Taken> taken_;  // by decisions so far and by given(): what the job did not have before
  bool none_left_ = true;     // no job left room so far that was reserved for it
  struct TurnedAway {
    TimeMs until;
    JobId late;
  };
  std::map<Proofs::Shape, TurnedAway> turned_away_;
};

}  // namespace

std::unique_ptr<ReservationPlan> MakePlacedPlan(Workbench& now, Workbench& ahead,
                                             const std::vector<JobId>& standing,
                                             std::unique_ptr<ReservationMemory>& memory) {
  // Another policy may have left something else there.
  if (dynamic_cast<StandingRoom*>(memory.get()) == nullptr) memory = std::make_unique<StandingRoom>();
  return std::make_unique<PlacedPlan>(now, ahead, standing, dynamic_cast<StandingRoom&>(*memory));
}

}  // namespace tephra
