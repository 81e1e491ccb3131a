#include "plugins/gang/gang_placer.h"

#include <algorithm>
#include <optional>

#include "engine/gang_ask.h"
#include "plugins/gang/gang_search.h"

namespace tephra {
namespace {

// The recursion of the exact search is as deep as the gang has tasks.
constexpr std::int32_t kMostSearchedTasks = 512;

class Greedy {
 public:
  Greedy(Workbench& bench, const GangAsk& ask)
      : bench_(bench), ask_(ask), placed_(ask.roles.size()) {}

  // One more task of the role, on its best node.
  bool PlaceOne(std::size_t r) {
    const RoleAsk& role = ask_.roles[r];
    Ledger& ledger = bench_.ledger();
    const std::uint64_t draw = DrawOf(ledger.snapshot(), ask_, role, placed_[r]);
    const NodeId node =
        bench_.rankings().For(role.cls, ask_.without).Best(ledger.snapshot(), draw, ask_.within);
    if (!node.valid()) return false;
    Slices slices = bench_.policies().fit->Choose(
        ledger.View(node), bench_.rankings().ClassOf(role.cls, ask_.without), draw);
    ledger.Charge(role.cls, ask_.queue,
                  {role.tasks[static_cast<std::size_t>(placed_[r])], node, std::move(slices)});
    ++placed_[r];
    ++total_;
    return true;
  }
  bool HasMore(std::size_t r) const {
    return placed_[r] < static_cast<std::int32_t>(ask_.roles[r].tasks.size());
  }
  std::int32_t placed(std::size_t r) const { return placed_[r]; }
  std::int32_t total() const { return total_; }

 private:
  Workbench& bench_;
  const GangAsk& ask_;
  std::vector<std::int32_t> placed_;
  std::int32_t total_ = 0;
};

}  // namespace

Placer::Answer GangPlacer::Place(Workbench& bench, const GangAsk& ask) const {
  const std::vector<std::size_t> order = HardestFirst(bench.ledger().snapshot(), ask);
  Answer answer;
  // A role without room for its own minimum settles it.
  for (std::size_t r : order) {
    const RoleAsk& role = ask.roles[r];
    if (role.least < 2) continue;
    if (bench.rankings().WithRoom(role.cls, ask.without).room(ask.within) < role.least) {
      answer.role_short = static_cast<std::int32_t>(r);
      return answer;
    }
  }
  {
    Attempt attempt(bench.ledger());
    Greedy greedy(bench, ask);
    bool fits = true;
    for (std::size_t i = 0; i < order.size() && fits; ++i) {
      const std::size_t r = order[i];
      while (fits && greedy.placed(r) < ask.roles[r].least) fits = greedy.PlaceOne(r);
      if (!fits) answer.role_short = static_cast<std::int32_t>(r);
    }
    for (std::size_t i = 0; i < order.size() && fits && greedy.total() < ask.least; ++i) {
      const std::size_t r = order[i];
      while (greedy.total() < ask.least && greedy.HasMore(r) && greedy.PlaceOne(r)) continue;
      if (greedy.total() < ask.least) answer.role_short = static_cast<std::int32_t>(r);
    }
    if (fits && greedy.total() == ask.least) {
      attempt.Keep();
      answer.outcome = Outcome::kPlaced;
      return answer;
    }
  }
  // One task alone was offered every node: that is the proof.
  if (ask.least == 1 && ask.roles.size() == 1) return answer;
  std::int64_t could = 0;
  std::optional<std::size_t> short_of;  // the hardest role with less room than tasks
  for (std::size_t r : order) {
    const std::int64_t room =
        bench.rankings().WithRoom(ask.roles[r].cls, ask.without).room(ask.within);
    if (room < ask.roles[r].least) {
      answer.role_short = static_cast<std::int32_t>(r);
      return answer;
    }
    const auto tasks = static_cast<std::int64_t>(ask.roles[r].tasks.size());
    if (room < tasks && !short_of) short_of = r;
    could += std::min(room, tasks);
  }
  if (could < ask.least) {
    answer.role_short = static_cast<std::int32_t>(*short_of);
    return answer;
  }
  answer.together = true;
  if (ask.least > kMostSearchedTasks) {
    answer.outcome = Outcome::kUnknown;
    return answer;
  }
  GangSearch search(bench, ask, order, search_budget_);
  answer.outcome = search.Run();
  answer.steps = search.steps();
  return answer;
}

}  // namespace tephra
