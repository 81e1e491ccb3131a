// History: events about a small cluster, chosen by the bytes of a fuzzer: mostly such as a real
// one sees, some that make no sense.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/event.h"
#include "engine/plan.h"
#include "engine/snapshot.h"
#include "tests/fuzz/bytes.h"

namespace tephra {

class History {
 public:
  explicit History(Bytes& bytes) : bytes_(bytes) {}

  // Always first: a cluster to begin with.
  std::vector<Event> Opening();
  Event Next();
  // What the outside makes of a plan: its placements come up, or are refused, or nothing happens.
  // REQUIRES: as of EncodePlan.
  std::vector<Event> Answers(const Plan& plan, const Books& books);

 private:
  std::int64_t Amount(const std::vector<std::int64_t>& usual);
  std::string Node() { return "n" + std::to_string(bytes_.Below(5)); }
  std::string Job() { return "j" + std::to_string(bytes_.Below(6)); }
  std::string Queue() { return "q" + std::to_string(bytes_.Below(4)); }
  std::string Role() { return bytes_.Below(3) == 0 ? "b" : "a"; }
  std::string Uid() { return "pod" + std::to_string(bytes_.Below(12)); }
  std::uint64_t Version() { return bytes_.Once(16) ? bytes_.Byte() : ++version_; }

  NodeSpec MakeNode(std::string name);
  Event MakeMask();
  MemoryRestored MakeMemory();
  QueueSpec MakeQueue(std::string name);
  JobSpec MakeJob(std::string uid);
  PodTemplate MakePod();
  DeviceRequest MakeDevices();
  NodeConstraints MakeConstraints();
  TaskFact MakeTask();
  EngineConfig MakeConfig();
  Slices MakeSlices();

  Bytes& bytes_;
  std::uint64_t version_ = 256;
};

}  // namespace tephra
