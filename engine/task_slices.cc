// Slices of running tasks whose slices no fact has reported yet.
#include <algorithm>
#include <utility>

#include "engine/task_table.h"

namespace tephra {

Slices TaskTable::GuessSlices(ClassId cls, NodeId node) const {
  const TaskClass& wanted = books_.classes[cls];
  Slices guess;
  if (!books_.hardware.present(node)) return guess;
  const NodeView view = books_.occupancy.View(books_.hardware, node);
  for (const std::vector<DeviceAsk>* asks : {&wanted.lasting, &wanted.init}) {
    for (const DeviceAsk& ask : *asks) {
      std::int32_t missing = ask.request.count;
      for (std::size_t d = 0; d < view.devices.size() && missing > 0; ++d) {
        const auto taken =
            std::any_of(guess.begin(), guess.end(), [&](const Slice& s) { return s.device == d; });
        const DeviceRequest& asked = ask.request;
        const DeviceState device = view.device(d);
        // A pod that runs may hold more than is free: of its amounts only compute is asked about.
        const bool may = asked.whole() ? device.row.users() == 0
                         : asked.mode() == SliceMode::kFraction
                             ? device.row.free_compute >= asked.compute
                             : HasRoom(device, asked, wanted.pod.user_id);
        if (taken || !may) continue;
        guess.push_back(SliceOf(device, asked, ask.container, static_cast<std::uint16_t>(d)));
        --missing;
      }
    }
  }
  return guess;
}

// The node's devices may have become known after the pods that run there. By uid, so that the
// order in which they came does not matter.
void TaskTable::GuessMissingSlices(NodeId node) {
  std::vector<TaskId> bare;
  for (TaskId id : books_.tasks_on[node.index()]) {
    const TaskRow& task = books_.tasks[id.index()];
    if (task.slices.empty() && books_.classes[task.cls].needs_devices()) bare.push_back(id);
  }
  std::sort(bare.begin(), bare.end(), [&](TaskId a, TaskId b) {
    return books_.tasks[a.index()].uid < books_.tasks[b.index()].uid;
  });
  for (TaskId id : bare) {
    TaskRow& task = books_.tasks[id.index()];
    Slices guess = GuessSlices(task.cls, node);
    if (guess.empty()) continue;
    Charge(task, -1);
    task.slices = std::move(guess);
    Charge(task, +1);
  }
}

}  // namespace tephra
