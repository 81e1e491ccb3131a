#include "plugins/explain/quota_search.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tephra {
namespace {

// Changes of one relaxation: levels of the queue tree times kinds.
constexpr int kMostChanges = 32;

bool IsQuotaChange(const Change& change) {
  return change.easing == Easing::kLimit || change.easing == Easing::kDeserved || change.easing == Easing::kLend;
}

// Adds the amount to the change of that queue and kind, or adds such a change. False if there is
// nothing to add.
bool AddTo(std::vector<Change>& changes, Easing easing, const std::string& queue, Kind kind,
           std::int64_t by, std::int64_t now) {
  if (by <= 0) return false;
  for (Change& change : changes) {
    if (change.easing != easing || change.queue != queue || change.kind != kind) continue;
    change.amount += by;
    return true;
  }
  Change change;
  change.easing = easing;
  change.queue = queue;
  change.kind = kind;
  change.amount = by;
  change.now = now;
  changes.push_back(change);
  return true;
}

// The changes with this amount at the index; without that change if the amount is 0.
std::vector<Change> With(std::vector<Change> changes, std::size_t at, std::int64_t amount) {
  changes[at].amount = amount;
  if (amount == 0) changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(at));
  return changes;
}

}  // namespace

QuotaSearch::Outcome QuotaSearch::Run(std::vector<Change> changes, May may) {
  Outcome outcome;
  outcome.changes = std::move(changes);
  for (int round = 0; round < kMostChanges; ++round) {
    outcome.last = scratch_.Try(outcome.changes);
    outcome.starts = outcome.last.starts;
    outcome.unknown = outcome.last.unknown;
    if (outcome.starts || !Raise(outcome.last.reason, may, outcome.changes)) break;
  }
  return outcome;
}

bool QuotaSearch::Raise(const Reason& reason, May may, std::vector<Change>& changes) const {
  const QueueTree& queues = scratch_.books().queues;
  if (reason.obstacle == Obstacle::kQueueLimit || reason.obstacle == Obstacle::kQueueDeserved) {
    const QueueId queue = queues.Find(reason.queue);
    if (!queue.valid()) return false;
    const bool limit = reason.obstacle == Obstacle::kQueueLimit;
    const QueueSpec& spec = queues.spec(queue);
    return AddTo(changes, limit ? Easing::kLimit : Easing::kDeserved, reason.queue, reason.binding,
                 reason.used + reason.asked - reason.limit,
                 limit ? spec.limit[reason.binding] : std::max(spec.deserved[reason.binding], spec.guarantee[reason.binding]));
  }
  if (reason.obstacle != Obstacle::kQueueGuarantee || may == May::kRaiseLimits) return false;
  const QueueId queue = queues.Find(reason.kept_for);
  if (!queue.valid()) return false;
  const std::int64_t left = reason.queue.empty()
                                ? std::max<std::int64_t>(reason.limit - reason.asked, 0)
                                : reason.limit - reason.used - reason.asked;
  std::int64_t idle = queues.spec(queue).guarantee[reason.binding] -
                      scratch_.books().occupancy.queue_total(queue)[reason.binding];
  for (const Change& change : changes) {
    const bool same = change.easing == Easing::kLend && change.queue == reason.kept_for;
    if (same && change.kind == reason.binding) idle -= change.amount;
  }
  return AddTo(changes, Easing::kLend, reason.kept_for, reason.binding,
               std::min(reason.kept - left, idle), queues.spec(queue).guarantee[reason.binding]);
}

Relaxation QuotaSearch::Trimmed(Outcome outcome) {
  Relaxation made{std::move(outcome.changes), true};
  for (std::size_t i = 0; i < made.changes.size();) {
    if (IsQuotaChange(made.changes[i])) {
      const std::int64_t amount = Smallest(made.changes, i, made.smallest);
      made.changes = With(std::move(made.changes), i, amount);
      if (amount == 0) continue;
    }
    ++i;
  }
  return made;
}

// The smallest amount at the index with which the job starts: with one less it does not. As a rule
// that is the amount itself, so that is tried first.
std::int64_t QuotaSearch::Smallest(const std::vector<Change>& changes, std::size_t at,
                                   bool& proven) {
  bool last_unknown = false;
  const auto starts = [&](std::int64_t amount) {
    const Scratch::Result result = scratch_.Try(With(changes, at, amount));
    if (!result.starts) last_unknown = result.unknown;
    return result.starts;
  };
  std::int64_t enough = changes[at].amount;
  if (enough <= 0) return enough;
  if (starts(enough - 1)) {
    std::int64_t too_few = -1;
    --enough;
    while (enough - too_few > 1) {
      const std::int64_t middle = too_few + (enough - too_few) / 2;
      (starts(middle) ? enough : too_few) = middle;
    }
    if (enough == 0) return 0;
  }
  proven = proven && !last_unknown;
  return enough;
}

}  // namespace tephra
