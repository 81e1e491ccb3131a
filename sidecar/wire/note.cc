#include "sidecar/wire/note.h"

#include <string>

#include "engine/reason.h"
#include "engine/start_interval.h"
#include "sidecar/wire/field_path.h"
#include "tephra/v1/service.pb.h"

namespace tephra {
namespace {

// In the words of Kubernetes where it has one.
std::string BindingName(const ResourceKinds& kinds, Kind kind) {
  switch (kind) {
    case kGpu:
      return "nvidia.com/gpu";
    case kGpuMemory:
      return "volcano.sh/vgpu-memory";
    default:
      if (kinds.CountsModel(kind)) return "nvidia.com/" + kinds.Name(kind);
      return kind < kinds.size() ? kinds.Name(kind) : "";
  }
}

bool NamesKind(Obstacle obstacle) {
  return IsQuota(obstacle) ||
         obstacle == Obstacle::kRoom || obstacle == Obstacle::kTogether ||
         obstacle == Obstacle::kSearch || obstacle == Obstacle::kGate ||
         obstacle == Obstacle::kLocality;
}

}  // namespace

const char* ObstacleWord(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kNone:
      return "None";
    case Obstacle::kQueueMissing:
      return "QueueMissing";
    case Obstacle::kQueueClosed:
      return "QueueClosed";
    case Obstacle::kQueueLimit:
      return "QueueLimit";
    case Obstacle::kMembers:
      return "Members";
    case Obstacle::kRoom:
      return "Room";
    case Obstacle::kTogether:
      return "Together";
    case Obstacle::kSearch:
      return "Search";
    case Obstacle::kQueueCycle:
      return "QueueCycle";
    case Obstacle::kQueueGuarantee:
      return "QueueGuarantee";
    case Obstacle::kBehind:
      return "Behind";
    case Obstacle::kReleasing:
      return "Releasing";
    case Obstacle::kQueueParent:
      return "QueueParent";
    case Obstacle::kGate:
      return "Gate";
    case Obstacle::kLocality:
      return "Locality";
    case Obstacle::kGroups:
      return "SubGroups";
    case Obstacle::kReserved:
      return "Reserved";
    case Obstacle::kLimitReserved:
      return "LimitReserved";
    case Obstacle::kUnhealthy:
      return "Unhealthy";
    case Obstacle::kQueueDeserved:
      return "QueueDeserved";
    case Obstacle::kIncomplete:
      return "Incomplete";
    case Obstacle::kQuarantine:
      return "Quarantine";
  }
  return "Unknown";
}

void FillNote(const Decision& decision, const Books& books, v1::Note* out) {
  const JobRow& job = books.jobs[decision.job.index()];
  const Reason& reason = decision.reason;
  out->set_job(job.uid);
  out->set_part(ToWire<v1::Part>(decision.part));
  std::string text = ReasonText(books.kinds, reason);
  if (decision.part == Part::kMinimum && WaitEnds(decision.verdict, reason.obstacle)) {
    if (const StartInterval interval = books.starts.Of(decision.job); interval.known()) {
      text += "; " + StartIntervalText(interval);
      out->set_start_low_ms(interval.low);
      out->set_start_high_ms(interval.high);
    }
  }
  out->set_text(text);
  out->set_obstacle(ObstacleWord(reason.obstacle));
  if (NamesKind(reason.obstacle)) out->set_binding(BindingName(books.kinds, reason.binding));
  out->set_since_ms(job.standing.since);
}

}  // namespace tephra
