// A history of events and ticks for a small cluster, by the laws:
//   - the books equal what a full recomputation gives, and hold each pod once;
//   - no plan over-commits a node, a device or a queue, and none is dropped by the engine's check;
//   - a gang starts with its minimum met, or not at all;
//   - a second engine that heard the events as they come off the wire, and forgets everything
//     derived before each tick, decides the same.
//
// With FUZZ_TRACE set it prints the history, for the person who makes a scenario of it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "plugins/registry.h"
#include "sidecar/wire/event_codec.h"
#include "sidecar/wire/plan_codec.h"
#include "tephra/v1/event.pb.h"
#include "tephra/v1/plan.pb.h"
#include "tests/fuzz/history.h"
#include "tests/fuzz/law.h"

namespace tephra {
namespace {

bool Traced() {
  static const bool kTraced = std::getenv("FUZZ_TRACE") != nullptr;
  return kTraced;
}

Event OffTheWire(const Event& event) {
  v1::Event wire, parsed;
  Law(EncodeEvent(event, &wire).ok(), "an event can be encoded");
  Law(parsed.ParseFromString(wire.SerializeAsString()), "an encoded event can be parsed");
  absl::StatusOr<Event> back = DecodeEvent(parsed);
  Law(back.ok(), "an encoded event can be decoded");
  return *std::move(back);
}

// After the plan was assumed. What it placed had room, so nothing that it took is below zero now.
void CheckRoom(const TaskRow& task, const Books& books) {
  // A reservation of another job may overlap with tasks that still have to leave.
  const auto& here = books.tasks_on[task.node.index()];
  if (std::any_of(here.begin(), here.end(), [&](TaskId id) {
        return books.tasks[id.index()].phase == TaskPhase::kReserved;
      })) {
    return;
  }
  const TaskClass& cls = books.classes[task.cls];
  const NodeView view = books.occupancy.View(books.hardware, task.node);
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if (cls.demand[kind] == 0 || kind == kGpu || kind == kGpuMemory) continue;
    Law(view.row.free[kind] >= 0, "node " + view.spec.name + " is not over-committed by a plan");
  }
  for (const Slice& slice : task.slices) {
    Law(slice.device < view.devices.size(), "a slice is of a device that is there");
    const DeviceRow& device = view.devices[slice.device];
    Law(view.spec.devices[slice.device].healthy, "a slice is of a healthy device");
    Law(slice.compute == 0 || device.free_compute >= 0, "compute is not over-committed");
    Law(slice.memory_mib == 0 || device.free_memory_mib >= 0, "memory is not over-committed");
    Law(Sound(view.device(slice.device), cls.pod.user_id), "a device is in one mode, by its rules");
  }
  if (!books.releasing.empty()) return;
  for (QueueId queue = books.jobs[task.job.index()].queue; queue.valid();
       queue = books.queues.parent(queue)) {
    const QueueSpec& spec = books.queues.spec(queue);
    for (Kind kind = 0; kind < kMaxKinds; ++kind) {
      if ((spec.limited_kinds >> kind & 1) == 0 || cls.demand[kind] == 0) continue;
      Law(books.occupancy.queue_total(queue)[kind] <= spec.limit[kind],
          "queue " + spec.name + " is not over its limit by a plan");
    }
  }
}

void CheckPlan(const Plan& plan, const Books& books) {
  Law(plan.dropped.empty(), "the engine's own check finds nothing wrong with its plan");
  std::set<TaskId> placed;
  for (const Decision& decision : plan.decisions) {
    const JobRow& job = books.jobs[decision.job.index()];
    const bool starts = decision.verdict == Verdict::kStart;
    Law(job.live, "a decision is about a job that is there");
    const bool later = decision.verdict == Verdict::kStartAfterEviction;
    Law(starts || later || decision.placements.empty(), "only a start places tasks");
    Law(!(starts || later) || !decision.placements.empty(), "a start places tasks");
    Law(!starts || job.satisfied(), "gang " + job.uid + " starts with its minimum met");
    for (const Placement& placement : decision.placements) {
      const TaskRow& task = books.tasks[placement.task.index()];
      Law(task.job == decision.job, "a decision places tasks of its own job");
      Law(placed.insert(placement.task).second, "a task is placed once");
      Law(task.phase == (starts ? TaskPhase::kAssumed : TaskPhase::kPending) &&
              starts != task.reserved_row.valid(),
          "a placed task is assumed, or has a reservation");
      const TaskRow& room = starts ? task : books.tasks[task.reserved_row.index()];
      Law(room.node == placement.node && room.slices == placement.slices,
          "it is assumed, or has reserved room, where the decision places it");
      Law(books.hardware.present(room.node), "it is placed on a node that is there");
      if (starts) CheckRoom(task, books);
    }
    for (const TaskId id : decision.evictions) {
      const TaskRow& task = books.tasks[id.index()];
      Law(task.phase == TaskPhase::kReleasing, "what is evicted is on its way out");
      const JobRow& victim = books.jobs[task.job.index()];
      const bool some_run =
          std::any_of(victim.roles.begin(), victim.roles.end(), [&](const RoleRow& role) {
            return std::any_of(role.tasks.begin(), role.tasks.end(), [&](TaskId one) {
              return books.tasks[one.index()].phase == TaskPhase::kRunning;
            });
          });
      Law(victim.satisfied() || !some_run, "no gang is left in part");
    }
  }
}

// A pod is in one place at most.
void CheckPods(const Books& books) {
  std::set<std::string> uids;
  for (const TaskRow& task : books.tasks) {
    if (task.uid.empty()) continue;
    Law(uids.insert(task.uid).second, "pod " + task.uid + " is counted once");
  }
}

class Target {
 public:
  explicit Target(Bytes& bytes) : bytes_(bytes), history_(bytes) {}

  void Run() {
    for (const Event& event : history_.Opening()) Tell(event);
    for (int steps = 0; !bytes_.empty() && steps < kMostSteps; ++steps) {
      if (bytes_.Below(4) == 0) {
        Tick();
      } else {
        Tell(history_.Next());
      }
    }
    Tick();
  }

 private:
  static constexpr int kMostSteps = 200;

  void Tell(const Event& event) {
    const absl::Status status = engine_.Apply(event);
    if (Traced()) Print(event, status);
    Law(status == twin_.Apply(OffTheWire(event)), "both engines take or refuse an event");
  }

  static void Print(const Event& event, const absl::Status& status) {
    v1::Event wire;
    (void)EncodeEvent(event, &wire);
    std::fprintf(stderr, "%s%s\n", wire.ShortDebugString().c_str(),
                 status.ok() ? "" : (" REFUSED: " + std::string(status.message())).c_str());
  }

  static void Print(const Plan& plan, const Books& books) {
    v1::Plan wire;
    EncodePlan(plan, books, &wire);
    std::fprintf(stderr, "--- plan: %s\n", wire.ShortDebugString().c_str());
  }

  void Tick() {
    now_ += bytes_.Byte();
    const Plan plan = engine_.Tick(now_);
    if (Traced()) Print(plan, engine_.state().books());
    const std::string fault = engine_.state().CheckBooks();
    Law(fault.empty(), "the books add up: " + fault);
    CheckPods(engine_.state().books());
    CheckPlan(plan, engine_.state().books());
    twin_.DropDerived();
    const Plan other = twin_.Tick(now_);
    if (Traced()) Print(other, twin_.state().books());
    Law(PlanBytes(plan, engine_.state().books()) == PlanBytes(other, twin_.state().books()),
        "what is derived changes no decision");
    for (const Event& event : history_.Answers(plan, engine_.state().books())) Tell(event);
  }

  Bytes& bytes_;
  History history_;
  Engine engine_{DefaultAssembly()};
  Engine twin_{DefaultAssembly()};
  TimeMs now_ = 0;
};

}  // namespace
}  // namespace tephra

// The schedule by entropy takes six times as long as the histories themselves.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static std::vector<char*> arguments(*argv, *argv + *argc);
  static char option[] = "-entropic=0";
  arguments.insert(arguments.begin() + 1, option);
  *argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  *argv = arguments.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tephra::Bytes bytes(data, size);
  tephra::Target(bytes).Run();
  return 0;
}
