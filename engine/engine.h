// Engine: Event in, Plan out. The same object decides live, in the simulator and in replay.
//
// The plans are a pure function of the events applied, the configuration among them, and the
// times given. One owner thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.h"
#include "engine/run_cycle.h"
#include "engine/state.h"
#include "topology/base/status.h"
#include "topology/base/value_pool.h"

namespace tephra {

// How an engine is put together: plugins/registry.h has the one of this build.
struct Assembly {
  // INVALID_ARGUMENT names the setting, its value and what is known.
  std::function<absl::Status(const EngineConfig&)> validate;
  // Both REQUIRE that validate(config) was OK. The score depends on the config, on what hardware
  // there is, and on the list of recent pods; it is asked for again when one of them has changed,
  // and is `current`, the one in use for the same config (null: none), unless it would answer
  // otherwise. The other policies depend on the config and the score alone.
  std::function<std::shared_ptr<const Score>(const EngineConfig&, const Books&,
                                             std::shared_ptr<const Score> current)>
      score;
  std::function<Policies(const EngineConfig&, std::shared_ptr<const Score>)> policies;
  std::vector<std::unique_ptr<Action>> actions;  // least disruptive first
};

class Engine {
 public:
  explicit Engine(Assembly assembly) : assembly_(std::move(assembly)) {}

  // Folds one fact in, or refuses it whole with the object, field and value.
  absl::Status Apply(const Event& event);
  // One cycle. What it decides counts as done until events confirm or deny it. A cycle in which
  // only the time moved looks at no node.
  Plan Tick(TimeMs now);

  const State& state() const { return state_; }
  void Observe(CycleObserver* observer) { observer_ = observer; }
  // Forgets everything derived; decides the same afterwards, only slower.
  void DropDerived() { tools_ = std::make_unique<CycleTools>(); }

 private:
  void AuditBooks();
  void RenewPolicies();
  // Equal reasons of the plan and of earlier plans share one box.
  void ShareReasons(Plan& plan);

  Assembly assembly_;
  State state_;
  std::unique_ptr<CycleTools> tools_ = std::make_unique<CycleTools>();
  std::optional<Policies> policies_;  // of the current config; none until asked for
  // Hardware::version and RecentPods::version that the score was asked for.
  std::uint64_t hardware_scored_ = 0, pods_scored_ = 0;
  ValuePool<Reason, ReasonHash> reasons_;
  CycleObserver* observer_ = nullptr;
  std::size_t cycles_since_audit_ = 0;
};

}  // namespace tephra
