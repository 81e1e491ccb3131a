// Laws of the enqueue gate: in the order of jobs it admits each one exactly if its minimum fits
// beside the admitted jobs, and no job waits at a gate that is open to it.
#include <map>
#include <optional>

#include "engine/engine.h"
#include "plugins/registry.h"
#include "tests/property/laws.h"
#include "tests/support/mirror.h"
#include "tests/support/random_history.h"

namespace tephra {
namespace {

constexpr int kEvents = 120;
constexpr int kUntilQuiet = 8;  // cycles

// The bounds, computed again from all jobs, queue by queue, as described in
// plugins/fairshare/enqueue_gate.h.
class Bounds {
 public:
  explicit Bounds(const Books& books) : books_(books) {
    for (const JobRow& job : books.jobs) {
      if (!job.live || !job.admitted()) continue;
      const Claim claim = ClaimOf(books, job);
      Add(job.queue, claim.minimum);
      lacking_.Add(claim.missing);
    }
  }
  bool Exceeds(const JobRow& job) const {
    const Resources asked = ClaimOf(books_, job).minimum;
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if (asked[k] == 0) continue;
      for (QueueId up = job.queue; up.valid(); up = books_.queues.parent(up)) {
        const auto in = claimed_.find(up);
        const std::int64_t claimed = in == claimed_.end() ? 0 : in->second[k];
        const auto most = Most(up, k);
        if (most && claimed + asked[k] > *most) return true;
      }
      const std::int64_t total = books_.hardware.total()[k];
      const std::int64_t used = total - books_.occupancy.free_total()[k];
      const auto with = static_cast<double>(total) * books_.config.overcommit_permille / 1000;
      if (static_cast<double>(used + lacking_[k] + asked[k]) > with) return true;
    }
    return false;
  }
  void Enter(const JobRow& job) {
    const Resources asked = ClaimOf(books_, job).minimum;
    Add(job.queue, asked);
    lacking_.Add(asked);
  }

 private:
  void Add(QueueId queue, const Resources& amount) {
    for (QueueId up = queue; up.valid(); up = books_.queues.parent(up)) claimed_[up].Add(amount);
  }
  // The real capability; none: unlimited.
  std::optional<std::int64_t> Most(QueueId id, Kind k) const {
    const QueueTree& queues = books_.queues;
    const QueueSpec& spec = queues.spec(id);
    std::optional<std::int64_t> most;
    const QueueId up = queues.parent(id);
    if (const auto above = up.valid() ? Most(up, k) : std::nullopt) {
      std::int64_t others = 0;
      for (std::size_t q = 0; q < queues.size(); ++q) {
        const bool sister = queues.present(QueueId(q)) && queues.parent(QueueId(q)) == up;
        if (sister) others += queues.spec(QueueId(q)).guarantee[k];
      }
      most = std::max<std::int64_t>(*above - others, 0) + spec.guarantee[k];
    }
    if (!queues.present(id) || (spec.limited_kinds >> k & 1) == 0) return most;
    return most ? std::min(*most, spec.limit[k]) : spec.limit[k];
  }

  const Books& books_;
  std::map<QueueId, Resources> claimed_;  // each with those under it
  Resources lacking_;
};

bool WasAsked(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kQuarantine:
    case Obstacle::kQueueMissing:
    case Obstacle::kQueueClosed:
    case Obstacle::kQueueCycle:
    case Obstacle::kQueueParent:
    case Obstacle::kBehind:
      return false;
    default:
      return true;
  }
}

// One cycle, each of whose decisions the bounds bear out.
NamedPlan Tick(Engine& engine, TimeMs now, int& admitted, int& kept_out) {
  const Books before = engine.state().books();
  Bounds bounds(before);
  const Plan plan = engine.Tick(now);
  for (const Decision& decision : plan.decisions) {
    const JobRow& job = before.jobs[decision.job.index()];
    if (decision.part != Part::kMinimum || job.admitted()) continue;
    if (!WasAsked(decision.reason->obstacle)) continue;
    const bool no = decision.reason->obstacle == Obstacle::kGate;
    INFO(job.name << ": " << ReasonText(before.kinds, decision.reason));
    REQUIRE(no == bounds.Exceeds(job));
    ++(no ? kept_out : admitted);
    if (!no) bounds.Enter(job);
  }
  return NameOf(engine.state(), plan);
}

TEST_CASE("The gate admits each job exactly if it fits, and no job waits at an open gate") {
  int admitted = 0, kept_out = 0, waited = 0;
  ForEachSeed(300, {492, 617}, [&](std::uint64_t seed) {
    Dice dice(seed + 5000000);
    Engine engine(DefaultAssembly());
    RandomHistory history(seed, {.queue_limits = true}, {});
    Mirror mirror;
    EngineConfig config;
    config.assume_timeout_ms = 24 * 3600 * kSecondMs;  // nothing changes but by events and plans
    config.enqueue_gate = EnqueueGate::kVolcano;
    config.overcommit_permille = dice.Pick(std::vector<std::int32_t>{1000, 1200, 3000});
    const auto tell = [&](const Event& event) {
      const absl::Status status = engine.Apply(event);
      INFO(status.ToString());
      REQUIRE(status.ok());
      mirror.Apply(event);
    };
    tell(ConfigChanged{config});
    for (const Event& event : history.Opening()) tell(event);
    TimeMs now = 0;
    const auto tick = [&] {
      const NamedPlan plan = Tick(engine, now, admitted, kept_out);
      REQUIRE(mirror.Follow(plan, now, Mirror::Judge::kSoundness) == "");
      REQUIRE(engine.state().CheckBooks() == "");
      return !plan.decisions.empty();
    };
    for (int i = 0; i < kEvents; ++i) {
      INFO("event " << i);
      tell(history.Next(mirror));
      if (dice.Percent(40)) continue;
      now += dice.Below(8) * kSecondMs;
      if (!tick() || dice.Percent(50)) continue;
      int more = 0;
      while (tick()) REQUIRE(++more < kUntilQuiet);
      const Books& books = engine.state().books();
      const Bounds bounds(books);
      for (const JobRow& job : books.jobs) {
        if (!job.live || job.admitted() || !job.standing.asked) continue;
        if (job.standing.reason->obstacle != Obstacle::kGate || job.pending() == 0) continue;
        INFO(job.name << ": " << ReasonText(books.kinds, job.standing.reason));
        REQUIRE(bounds.Exceeds(job));
        ++waited;
      }
    }
  });
  if (std::getenv("TEPHRA_PROPERTY_SEED") != nullptr) return;
  WARN(admitted << " admitted, " << kept_out << " kept out, " << waited << " waits looked at");
  if (kSlowdown > 1) return;
  CHECK(admitted >= 500);
  CHECK(kept_out >= 1000);
  CHECK(waited >= 500);
}

}  // namespace
}  // namespace tephra
