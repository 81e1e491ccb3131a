// GpuTasks runs work that calls the driver, each task on its own thread, and at most one task at a
// time for each GPU. A driver that does not answer thus holds up its GPUs alone, and its callers no
// longer than they want to wait.
//
// Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "topology/base/status.h"

namespace tephra::node {

class GpuTasks {
 public:
  using Clock = std::chrono::steady_clock;
  using Uuids = std::set<std::string>;
  using Work = std::function<absl::Status()>;
  class Task;

  GpuTasks() = default;
  // Waits for all tasks.
  ~GpuTasks();
  GpuTasks(const GpuTasks&) = delete;

  // Runs `work` once no other task has any of the GPUs. If that is not before `until`, the work does
  // not run. `name`: what the task does, for errors: "binding pod a, container b".
  std::shared_ptr<Task> Start(Uuids gpus, std::string name, Work work, Clock::time_point until);
  // What the work returned. UNAVAILABLE: it did not begin or did not end before `until`; work that
  // began goes on. The error names the GPU, and the task that has it.
  absl::Status Wait(const std::shared_ptr<Task>& task, Clock::time_point until);

  // The name of a task that has run for longer than `limit`; nothing: there is none.
  std::optional<std::string> Hung(Clock::duration limit) const;

 private:
  // REQUIRES of both: mutex_ is held.
  const Task* HolderOf(const Uuids& gpus) const;
  void Run(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Task>& task,
           const Work& work, Clock::time_point until);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::shared_ptr<Task>> running_;
  int threads_ = 0;
};

}  // namespace tephra::node
