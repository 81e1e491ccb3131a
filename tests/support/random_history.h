// RandomHistory: what happens to a small cluster over time. Nodes come and go, change and are
// cordoned, devices fail, jobs arrive, change and leave, pods are bound, end, fail and restart,
// foreign pods appear and vanish, placements are refused or simply never confirmed.
//
// It hears the plans, and says only what a cluster could say: each event is one that the engine
// must accept.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/event.h"
#include "tests/support/mirror.h"
#include "tests/support/random_case.h"

namespace tephra {

class RandomHistory {
 public:
  struct Kinds {
    bool refusals = true;
  };
  RandomHistory(std::uint64_t seed, const CaseSize& size, Kinds kinds)
      : dice_(seed), size_(size), kinds_(kinds) {}

  std::vector<Event> Opening();
  // The next few facts, by what `mirror` knows now.
  Event Next(const Mirror& mirror);

 private:
  struct Seat {
    std::string job, role;
    int index;
    const MirrorTask* task;
  };
  std::vector<Seat> Seats(const Mirror& mirror, bool (*wanted)(const MirrorTask&)) const;
  Event NodeEvent(const Mirror& mirror);
  Event JobEvent(const Mirror& mirror);
  void AddGroups(JobSpec& job);
  void FitGroups(JobSpec& job) const;
  Event TaskEvent(const Mirror& mirror);
  Event ForeignEvent(const Mirror& mirror);
  Event MaskEvent(const Mirror& mirror);
  Event OutcomeEvent(const Seat& seat);
  Event Bound(const Seat& seat, TaskPhase phase);

  Dice dice_;
  CaseSize size_;
  Kinds kinds_;
  std::uint64_t version_ = 1;
  int names_ = 0;
  std::vector<std::string> foreign_;
  std::map<std::string, NodeSpec> lost_nodes_;
};

}  // namespace tephra
