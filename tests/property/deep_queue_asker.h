// Two engines for laws of deep queues: one keeps lines, one asks every pending job or checks what the
// first one skips. A test owns them.
#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/missing.h"
#include "engine/run_cycle.h"
#include "engine/state.h"
#include "plugins/registry.h"

namespace tephra {

// The order of the registry's policies, without keys: no job stands in a line.
class Keyless final : public Order {
 public:
  explicit Keyless(std::shared_ptr<const Order> order) : order_(std::move(order)) {}
  bool Before(const Snapshot& snapshot, JobId a, JobId b) const override {
    return order_->Before(snapshot, a, b);
  }
  bool HelpsAnywhere(const Books&) const override { return true; }
  std::unique_ptr<Line> LineUp(const Ledger& ledger, const Due& due) const override {
    return order_->LineUp(ledger, due);
  }

 private:
  std::shared_ptr<const Order> order_;
};

// The evictions of the registry. If these say without a search that no task may be evicted for a job,
// a search finds none.
class Checked final : public Eviction {
 public:
  explicit Checked(std::unique_ptr<Eviction> eviction) : eviction_(std::move(eviction)) {}
  bool HelpsAnywhere(const Books& books) const override { return eviction_->HelpsAnywhere(books); }
  Helped HelpedBy(const Books& books, const std::vector<JobId>& jobs) const override {
    return eviction_->HelpedBy(books, jobs);
  }
  bool Enabled(const EngineConfig& config) const override { return eviction_->Enabled(config); }
  bool Possible(const Snapshot& snapshot, const GangAsk& ask) const override {
    return eviction_->Possible(snapshot, ask);
  }
  std::unique_ptr<VictimSelection> Begin(Workbench& later) const override {
    return std::make_unique<Selection>(*eviction_, later);
  }

 private:
  class Selection final : public VictimSelection {
   public:
    Selection(const Eviction& eviction, Workbench& later)
        : eviction_(eviction), later_(later), selection_(eviction.Begin(later)) {}
    void Placed(JobId job) override {
      selection_->Placed(job);
      placed_.push_back(job);
    }
    void Evicted(TaskId task) override {
      selection_->Evicted(task);
      evicts_ = true;
    }
    Answer MakeRoom(const GangAsk& ask) override { return selection_->MakeRoom(ask); }
    bool MayHelp(JobId job, const Resources& least) override {
      // Another selection does not know of the victims of this cycle.
      if (selection_->MayHelp(job, least)) return true;
      if (evicts_) return false;
      const auto again = eviction_.Begin(later_);
      for (const JobId placed : placed_) again->Placed(placed);
      Attempt undo(later_.ledger());
      const Answer answer = again->MakeRoom(MissingMinimum(later_.ledger().snapshot(), job));
      REQUIRE((answer.outcome != Outcome::kPlaced || answer.victims.empty()));
      return false;
    }

   private:
    const Eviction& eviction_;
    Workbench& later_;
    std::unique_ptr<VictimSelection> selection_;
    std::vector<JobId> placed_;
    bool evicts_ = false;
  };
  std::unique_ptr<Eviction> eviction_;
};

enum class Asks {
  kLines,
  kEveryJob,
  kLinesChecked,  // and checks what is said of victims without a search
};

// An engine that keeps lines, or asks every pending job.
class Asker {
 public:
  explicit Asker(Asks asks) : assembly_(DefaultAssembly()), asks_(asks) {}

  void Apply(const Event& event) {
    if (std::holds_alternative<ConfigChanged>(event)) policies_.reset();
    const absl::Status status = state_.Apply(event);
    INFO(status.ToString());
    REQUIRE(status.ok());
  }
  Plan Tick(TimeMs now) {
    state_.Expire(now);
    if (!state_.NeedsCycle()) return {};
    state_.Settle();
    if (!policies_) {
      const Books& books = state_.books();
      policies_ = assembly_.policies(books.config, assembly_.score(books.config, books, nullptr));
      if (asks_ == Asks::kEveryJob) policies_->order = std::make_shared<Keyless>(policies_->order);
      if (asks_ == Asks::kLinesChecked) {
        policies_->eviction = std::make_unique<Checked>(std::move(policies_->eviction));
      }
      state_.Use(policies_->order);
    }
    Due due = state_.TakeDue(*policies_);
    asked_ += due.jobs.size() + due.lines.size();
    if (due.empty()) return {};
    Plan plan;
    {
      const Snapshot snapshot = state_.Freeze(now);
      plan = RunCycle(snapshot, *policies_, assembly_.actions, std::move(due), *tools_, nullptr);
    }
    state_.Assume(plan);
    REQUIRE(state_.CheckBooks() == "");
    return plan;
  }
  const State& state() const { return state_; }
  std::size_t asked() const { return asked_; }

 private:
  Assembly assembly_;
  Asks asks_;
  State state_;
  std::optional<Policies> policies_;
  std::unique_ptr<CycleTools> tools_ = std::make_unique<CycleTools>();
  std::size_t asked_ = 0;
};

}  // namespace tephra
