// Laws of the Ledger: what is tried and not kept leaves no trace, and each new cycle finds the
// truth.
#include "engine/ledger.h"
#include "engine/state.h"
#include "tests/property/laws.h"
#include "tests/support/mirror.h"
#include "tests/support/random_history.h"

namespace tephra {
namespace {

struct Candidate {
  ClassId cls;
  QueueId queue;
  PodTemplate pod;
};

std::vector<Candidate> CandidatesOf(const Books& books) {
  std::vector<Candidate> all;
  for (const JobRow& job : books.jobs) {
    for (const RoleRow& role : job.roles) {
      all.push_back({role.cls, job.queue, books.classes[role.cls].pod});
    }
  }
  return all;
}

// Charges at random, and a deeper attempt now and then; after each attempt that is not kept the
// ledger must be what it was.
void TryAtRandom(Ledger& ledger, Dice& dice, const std::vector<Candidate>& candidates, int depth) {
  const Occupancy before = ledger.occupancy();
  const bool keep = dice.Percent(30);
  {
    Attempt attempt(ledger);
    const std::size_t mark = ledger.mark();
    std::size_t charged = 0;
    for (int i = dice.Below(6); i > 0; --i) {
      const Candidate& one = dice.Pick(candidates);
      const NodeId node = dice.Pick(ledger.snapshot().hardware().ranked());
      ledger.Charge(one.cls, one.queue,
                    {TaskId(), node, RandomSlices(dice, one.pod, ledger.View(node).spec)});
      ++charged;
      if (depth > 0 && dice.Percent(40)) {
        const std::size_t inner = ledger.mark();
        TryAtRandom(ledger, dice, candidates, depth - 1);
        charged += ledger.mark() - inner;
      }
    }
    REQUIRE(ledger.Since(mark).size() == charged);
    if (keep) {
      REQUIRE(attempt.placements().size() == charged);
      attempt.Keep();
      return;
    }
  }
  REQUIRE(ledger.occupancy().SameColumns(before));
}

TEST_CASE("Rollback restores every column") {
  ForEachSeed(2000, [](std::uint64_t seed) {
    Dice dice(seed);
    State state;
    for (const Event& event : RandomCase(dice, {.queue_limits = true})) {
      REQUIRE(state.Apply(event).ok());
    }
    const Snapshot snapshot = state.Freeze(0);
    for (Ledger::Basis basis : {Ledger::Basis::kNow, Ledger::Basis::kEmpty}) {
      Ledger ledger(basis);
      ledger.Begin(snapshot);
      const Occupancy before = ledger.occupancy();
      const auto candidates = CandidatesOf(snapshot.books());
      for (int i = 0; i < 5; ++i) TryAtRandom(ledger, dice, candidates, 3);
      ledger.RollBackTo(0);
      REQUIRE(ledger.occupancy().SameColumns(before));
    }
  });
}

TEST_CASE("A placement undone after it was settled leaves no trace") {
  ForEachSeed(300, [](std::uint64_t seed) {
    Dice dice(seed);
    State state;
    for (const Event& event : RandomCase(dice, {})) REQUIRE(state.Apply(event).ok());
    const Snapshot snapshot = state.Freeze(0);
    Ledger ledger(Ledger::Basis::kNow);
    ledger.Begin(snapshot);
    const Occupancy before = ledger.occupancy();
    const auto candidates = CandidatesOf(snapshot.books());
    std::vector<std::pair<Candidate, Placement>> charged;
    for (int i = 0; i < 8; ++i) {
      const Candidate& one = dice.Pick(candidates);
      const NodeId node = dice.Pick(snapshot.hardware().ranked());
      charged.push_back(
          {one, {TaskId(), node, RandomSlices(dice, one.pod, ledger.View(node).spec)}});
      ledger.Charge(one.cls, one.queue, charged.back().second);
    }
    ledger.Settle();
    dice.Shuffle(charged);
    for (const auto& [one, placement] : charged) ledger.Uncharge(one.cls, one.queue, placement);
    REQUIRE(ledger.occupancy().SameColumns(before));
  });
}

// The same rows, node by node: rows of devices that are gone do not count.
std::string Differs(const Occupancy& a, const Occupancy& b, const Books& books) {
  for (NodeId node : books.hardware.ranked()) {
    const NodeView x = a.View(books.hardware, node), y = b.View(books.hardware, node);
    if (x.row.free != y.row.free || x.row.gpu_tasks != y.row.gpu_tasks ||
        !std::equal(x.devices.begin(), x.devices.end(), y.devices.begin(), y.devices.end())) {
      return "node " + x.spec.name;
    }
  }
  for (std::size_t q = 0; q < books.queues.size(); ++q) {
    if (a.queue_total(QueueId(q)) != b.queue_total(QueueId(q))) return "a queue's total";
    if (a.queue_own(QueueId(q)) != b.queue_own(QueueId(q))) return "a queue's own";
  }
  for (std::size_t l = 0; l < books.classes.limit_count(); ++l) {
    for (std::uint32_t domain = 0; domain < 20; ++domain) {
      if (a.limit_count(LimitId(l), domain) != b.limit_count(LimitId(l), domain)) return "a limit";
    }
  }
  return a.free_total() == b.free_total() ? "" : "the total";
}

std::string ClaimsDiffer(const Occupancy& a, const Occupancy& b, const Books& books) {
  if (!books.queues.guarantees()) return "";
  for (std::size_t q = 0; q < books.queues.size(); ++q) {
    if (a.queue_claim(QueueId(q)) != b.queue_claim(QueueId(q))) return "a queue's claim";
  }
  return a.kept_free() == b.kept_free() ? "" : "what is kept free";
}

TEST_CASE("A standing ledger begins each cycle with the truth") {
  ForEachSeed(600, [](std::uint64_t seed) {
    Dice dice(seed + 3000000);
    RandomHistory history(seed, {.queue_limits = true}, {});
    State state;
    Mirror mirror;
    Ledger standing(Ledger::Basis::kNow), empty(Ledger::Basis::kEmpty);
    for (const Event& event : history.Opening()) {
      REQUIRE(state.Apply(event).ok());
      mirror.Apply(event);
    }
    for (int i = 0; i < 80; ++i) {
      const Event event = history.Next(mirror);
      REQUIRE(state.Apply(event).ok());
      mirror.Apply(event);
      if (dice.Percent(50)) continue;
      const Snapshot snapshot = state.Freeze(i);
      standing.Begin(snapshot);
      INFO("event " << i);
      REQUIRE(Differs(standing.occupancy(), snapshot.occupancy(), snapshot.books()) == "");
      REQUIRE(ClaimsDiffer(standing.occupancy(), snapshot.occupancy(), snapshot.books()) == "");
      empty.Begin(snapshot);
      Ledger fresh(Ledger::Basis::kEmpty);
      fresh.Begin(snapshot);
      REQUIRE(Differs(empty.occupancy(), fresh.occupancy(), snapshot.books()) == "");
      // What a cycle would leave charged, and no fact confirms.
      const auto candidates = CandidatesOf(snapshot.books());
      if (!candidates.empty() && !snapshot.hardware().ranked().empty()) {
        TryAtRandom(standing, dice, candidates, 1);
        TryAtRandom(empty, dice, candidates, 1);
        standing.RollBackTo(0);
        empty.RollBackTo(0);
      }
    }
  });
}

}  // namespace
}  // namespace tephra
