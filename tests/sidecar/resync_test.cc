// Messages between scheduler and engine that are lost, doubled or out of order, at random, in the
// midst of a random cluster's life.
#include <iostream>
#include <map>

#include <catch2/catch.hpp>

#include "tests/sidecar/running_server.h"
#include "tests/sidecar/scheduler_client.h"
#include "tests/support/random_case.h"

namespace tephra {
namespace {

// What is true of the cluster: what a scheduler would send in a full sync.
class Truth {
 public:
  Truth(Dice& dice, const CaseSize& size) : dice_(dice), size_(size) {
    for (const Event& event : RandomCase(dice, size)) Note(event);
  }

  std::vector<Event> Everything() const {
    std::vector<Event> events;
    for (const auto& [key, event] : facts_) events.push_back(event);
    return events;
  }

  // Something happens to the cluster; what a scheduler would say of it.
  Event Change() {
    const int which = dice_.Below(6);
    if (which == 0) return Note(Cordoned());
    if (which == 1) return Note(MaskOf());
    if (which == 4) return DomainOrNone();
    if (which == 5) return BudgetOrNone();
    const std::string name = "new" + std::to_string(dice_.Below(6));
    if (which == 2) {
      if (facts_.erase("4 foreign " + name) > 0) return TaskRemoved{name};
      TaskUpserted foreign{RandomForeign(dice_, name, AnyNode().node, size_), ++version_};
      if (dice_.Percent(50)) foreign.task.disruption_budgets = {"team/b0", "team/b1"};
      return Note(foreign);
    }
    if (facts_.erase("5 job " + name) > 0) return JobRemoved{name};
    JobUpserted job{RandomJob(dice_, name, size_), ++version_};
    job.job.uid = name;
    return Note(job);
  }

 private:
  // The key begins with the place that the kind has in a sync.
  static std::string KeyOf(const Event& event) {
    if (const auto* queue = std::get_if<QueueUpserted>(&event))
      return "1 queue " + queue->queue.name;
    if (const auto* mask = std::get_if<MaskUpserted>(&event)) return "2 mask " + mask->name;
    if (const auto* node = std::get_if<NodeUpserted>(&event)) return "3 node " + node->node.name;
    if (const auto* task = std::get_if<TaskUpserted>(&event)) return "4 foreign " + task->task.uid;
    if (const auto* job = std::get_if<JobUpserted>(&event)) return "5 job " + job->job.uid;
    if (const auto* domain = std::get_if<DomainUpserted>(&event))
      return "6 domain " + domain->domain.name;
    if (const auto* budget = std::get_if<DisruptionBudgetUpserted>(&event))
      return "7 budget " + budget->name;
    return "0 kinds";
  }

  Event Note(Event event) { return facts_[KeyOf(event)] = std::move(event); }

  const NodeUpserted& AnyNode() const {
    std::vector<const NodeUpserted*> nodes;
    for (const auto& [key, event] : facts_) {
      if (const auto* node = std::get_if<NodeUpserted>(&event)) nodes.push_back(node);
    }
    return *dice_.Pick(nodes);
  }

  Event Cordoned() {
    NodeUpserted node = AnyNode();
    node.node.unschedulable = !node.node.unschedulable;
    node.version = ++version_;
    return node;
  }

  Event MaskOf() {
    MaskUpserted mask = RandomMask(dice_, dice_.Percent(50) ? "m0" : "m1", size_);
    mask.version = ++version_;
    return mask;
  }

  Event DomainOrNone() {
    const std::string name = dice_.Percent(50) ? "d0" : "d1";
    if (facts_.erase("6 domain " + name) > 0 && dice_.Percent(30)) return DomainRemoved{name};
    const DomainSpec spec{name, dice_.Below(3), "rack", {AnyNode().node.name, "not-there"}, {"d2"}};
    return Note(DomainUpserted{spec, ++version_});
  }

  Event BudgetOrNone() {
    const std::string name = dice_.Percent(50) ? "team/b0" : "team/b1";
    if (facts_.erase("7 budget " + name) > 0 && dice_.Percent(30)) {
      return DisruptionBudgetRemoved{name};
    }
    return Note(DisruptionBudgetUpserted{name, dice_.Below(3), ++version_});
  }

  Dice& dice_;
  const CaseSize size_;
  std::map<std::string, Event> facts_;
  std::uint64_t version_ = 1;
};

enum class Fate { kArrives, kLost, kDoubled, kOvertaken };

// Sends the messages; one of them meets its fate.
void Deliver(SchedulerClient& client, const std::vector<std::vector<Event>>& messages,
             std::size_t unlucky, Fate fate) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i != unlucky || fate == Fate::kArrives) {
      client.Delta(messages[i]);
    } else if (fate == Fate::kLost) {
      ++client.sequence;
    } else if (fate == Fate::kDoubled) {
      client.Delta(messages[i]);
      --client.sequence;
      client.Delta(messages[i]);
    } else {  // the next one arrives first
      ++client.sequence;
      client.Delta(i + 1 < messages.size() ? messages[i + 1] : messages[i]);
      client.sequence -= 2;
      client.Delta(messages[i]);
      ++client.sequence;
      ++i;
    }
  }
}

// The whole state but its place in a conversation, and how many facts it took to get there.
std::string StateWithoutPlace(const RunningServer& running) {
  v1::GetStateReply state = StateOf(ConnectTo(running.socket()));
  state.clear_epoch();
  state.clear_sequence();
  state.clear_version();
  return state.DebugString();
}

TEST_CASE(
    "After each lost, doubled or overtaken message the engine is as after a fresh full sync") {
  constexpr CaseSize kSize{.queue_limits = true};
  constexpr std::uint64_t kSeeds = 40;
  constexpr int kRounds = 12;
  int faults = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    Truth truth(dice, kSize);
    RunningServer running;
    SchedulerClient client(ConnectTo(running.socket()));
    client.Sync(truth.Everything());
    client.Cycle(0);
    for (TimeMs now = 1; now <= kRounds; ++now) {
      CAPTURE(now);
      std::vector<std::vector<Event>> messages(static_cast<std::size_t>(dice.From(1, 4)));
      for (auto& message : messages) {
        for (int n = dice.From(1, 2); n > 0; --n) message.push_back(truth.Change());
      }
      const Fate fate = static_cast<Fate>(dice.Below(4));
      const auto unlucky = static_cast<std::size_t>(dice.Below(static_cast<int>(messages.size())));
      Deliver(client, messages, unlucky, fate);
      const v1::ScheduleReply reply = client.Cycle(now);
      REQUIRE(reply.has_resync() == (fate != Fate::kArrives));
      if (fate == Fate::kArrives) continue;
      ++faults;
      client.Sync(truth.Everything(), static_cast<std::size_t>(dice.From(1, 3)));
      const v1::ScheduleReply plan = client.Cycle(now);
      REQUIRE(plan.has_cycle());

      RunningServer fresh;
      SchedulerClient synced(ConnectTo(fresh.socket()));
      synced.Sync(truth.Everything());
      REQUIRE(synced.Cycle(now).cycle().plan().decisions_size() ==
              plan.cycle().plan().decisions_size());
      REQUIRE(StateWithoutPlace(running) == StateWithoutPlace(fresh));
    }
  }
  std::cout << faults << " faults, each followed by a resync; " << kSeeds << " seeds, from 1\n";
}

}  // namespace
}  // namespace tephra
