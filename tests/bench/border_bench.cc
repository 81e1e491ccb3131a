// What the border costs, as a scheduler sees it: one run against a tephra-engine at a socket.
//
//   border_bench SOCKET plan    a plan of 8,000 placements on 1,000 nodes
//   border_bench SOCKET sync    a full sync of 5,000 nodes x 8 GPUs and 40,000 pods that run
//
// Prints one JSON object. What the engine itself needed for the cycle is in its metrics.
#include <chrono>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/bench/cases.h"
#include "tests/sidecar/scheduler_client.h"

namespace tephra::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFactsAMessage = 1000;

double MsSince(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

std::vector<Event> Nodes(int count) {
  QueueUpserted queue;
  queue.queue.name = "team";
  std::vector<Event> events = {queue};
  for (int i = 0; i < count; ++i) events.push_back(NodeEvent(i, {}));
  return events;
}

// Gangs of eight, one on each node, each task on a device of its own.
void AddRunningPods(int nodes, std::vector<Event>& events) {
  for (int n = 0; n < nodes; ++n) {
    JobUpserted job = JobEvent("job-" + std::to_string(n), 8, {});
    job.job.pods_exist = true;
    const std::string node = NodeEvent(n, {}).node.name;
    events.push_back(job);
    for (std::uint16_t i = 0; i < 8; ++i) {
      TaskUpserted pod;
      pod.version = 1;
      pod.task.uid = "2f1c3a5e-0000-4000-8000-" + std::to_string(100'000'000'000 + n * 8 + i);
      pod.task.job = job.job.uid;
      pod.task.role = "worker";
      pod.task.index = i;
      pod.task.phase = TaskPhase::kRunning;
      pod.task.node = node;
      pod.task.slices = {{0, i, SliceMode::kWhole, static_cast<std::int32_t>(kWholeGpu), 81920}};
      events.push_back(pod);
    }
  }
}

// Until the engine has taken in all that was sent.
void WaitForSync(const std::shared_ptr<grpc::Channel>& channel, std::uint64_t epoch) {
  while (true) {
    try {
      if (StateOf(channel, false).epoch() == epoch) return;
    } catch (const std::runtime_error&) {  // no sync has ended yet
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::size_t Placements(const v1::ScheduleReply& reply) {
  std::size_t count = 0;
  for (const auto& decision : reply.cycle().plan().decisions()) {
    count += static_cast<std::size_t>(decision.placements_size());
  }
  return count;
}

nlohmann::ordered_json Run(const std::string& socket, const std::string& what) {
  const auto channel = ConnectTo(socket);
  SchedulerClient client(channel);
  const bool plan = what == "plan";
  std::vector<Event> events = Nodes(plan ? 1000 : 5000);
  if (plan) {
    for (Event& job : Jobs(8000, 1, {})) events.push_back(std::move(job));
  } else {
    AddRunningPods(5000, events);
  }
  const std::size_t messages = events.size() / kFactsAMessage + 1;
  auto began = Clock::now();
  client.Sync(events, messages);
  if (plan) {
    WaitForSync(channel, client.epoch);
    began = Clock::now();
  }
  const v1::ScheduleReply reply = client.Cycle(1);
  const double took = MsSince(began);
  return {{"took_ms", took},
          {"placements", Placements(reply)},
          {"bytes", reply.ByteSizeLong()},
          {"facts", events.size()},
          {"refused", client.refused.size()}};
}

}  // namespace
}  // namespace tephra::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: border_bench SOCKET plan|sync\n";
    return 2;
  }
  std::cout << tephra::bench::Run(argv[1], argv[2]) << "\n";
  return 0;
}
