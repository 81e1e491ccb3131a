#include "plugins/node/binding/gpu_tasks.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace tephra::node {

class GpuTasks::Task {
 public:
  Task(Uuids gpus, std::string name) : gpus_(std::move(gpus)), name_(std::move(name)) {}

 private:
  friend class GpuTasks;

  std::string Seconds() const {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_).count();
    return std::to_string(seconds) + " s";
  }

  const Uuids gpus_;
  const std::string name_;
  Clock::time_point began_{};
  std::optional<absl::Status> result_;
};

GpuTasks::~GpuTasks() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return threads_ == 0; });
}

const GpuTasks::Task* GpuTasks::HolderOf(const Uuids& gpus) const {
  for (const std::shared_ptr<Task>& task : running_) {
    const bool shares = std::any_of(gpus.begin(), gpus.end(), [&](const std::string& uuid) {
      return task->gpus_.count(uuid) > 0;
    });
    if (shares) return task.get();
  }
  return nullptr;
}

std::shared_ptr<GpuTasks::Task> GpuTasks::Start(Uuids gpus, std::string name, Work work,
                                                Clock::time_point until) {
  auto task = std::make_shared<Task>(std::move(gpus), std::move(name));
  {
    const std::lock_guard lock(mutex_);
    ++threads_;
  }
  std::thread([this, task, until, work = std::move(work)] {
    std::unique_lock lock(mutex_);
    Run(lock, task, work, until);
    --threads_;
    changed_.notify_all();
  }).detach();
  return task;
}

void GpuTasks::Run(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Task>& task,
                   const Work& work, Clock::time_point until) {
  const Task* holder = nullptr;
  while ((holder = HolderOf(task->gpus_)) != nullptr) {
    if (Clock::now() >= until) {
      task->result_ = absl::UnavailableError("its GPU is busy: " + holder->name_ + " has run for " +
                                             holder->Seconds());
      return;
    }
    changed_.wait_until(lock, until);
  }
  task->began_ = Clock::now();
  running_.insert(task);
  lock.unlock();
  absl::Status result = work();
  lock.lock();
  task->result_ = std::move(result);
  running_.erase(task);
}

absl::Status GpuTasks::Wait(const std::shared_ptr<Task>& task, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return task->result_.has_value(); });
  if (task->result_.has_value()) return *task->result_;
  if (task->began_ == Clock::time_point()) return absl::UnavailableError("its GPU is busy");
  return absl::UnavailableError(task->name_ + " has run for " + task->Seconds() +
                                ", and the driver has not answered yet");
}

std::optional<std::string> GpuTasks::Hung(Clock::duration limit) const {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Task>& task : running_) {
    if (Clock::now() - task->began_ > limit) return task->name_;
  }
  return std::nullopt;
}

}  // namespace tephra::node
