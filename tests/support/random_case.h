// Random small clusters, jobs and foreign pods, of every kind that the engine knows. The same dice
// give the same case.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/event.h"
#include "tests/support/dice.h"

namespace tephra {

struct CaseSize {
  int nodes = 6;
  int devices = 4;  // of a node, at most
  int jobs = 8;
  int tasks = 6;  // of a gang, at most
  bool queue_limits = false;
  bool groups = false;     // some gangs have groups
  bool modes = false;      // most devices and pods know other modes than whole and fraction
  bool intricate = false;  // mostly pods of several containers, and roomy hosts with few devices
};

// Volumes of two drivers and a claim of one pod, each with about that chance; how many volumes a node has room for.
void AddVolumes(Dice& dice, int percent, PodTemplate& pod);
void AddVolumeLimits(Dice& dice, NodeSpec& node);
NodeSpec RandomNode(Dice& dice, const std::string& name, const CaseSize& size);
PodTemplate RandomPod(Dice& dice, const CaseSize& size);
JobSpec RandomJob(Dice& dice, const std::string& name, const CaseSize& size);
QueueSpec RandomQueue(Dice& dice, const std::string& name, const std::string& parent,
                      const CaseSize& size);
// Over nodes n1, n2 and so on, whether they exist or not.
MaskUpserted RandomMask(Dice& dice, const std::string& name, const CaseSize& size);
// A pod of no known job, on the node, on slices that it may over-commit.
TaskFact RandomForeign(Dice& dice, const std::string& uid, const NodeSpec& node,
                       const CaseSize& size);
// Slices of the pod's shape on random devices of the node.
Slices RandomSlices(Dice& dice, const PodTemplate& pod, const NodeSpec& node);

// What the queue may hold, is guaranteed or deserves of GPU models A and B. REQUIRES: kinds are
// declared as kModelKinds.
void AddModelQuotas(Dice& dice, QueueSpec& queue);
extern const KindsDeclared kModelKinds;
// Dice of their own for what was added to the cases later, so that seeds keep theirs.
inline Dice Aside(Dice dice) { return Dice(dice.Next() + 9000000); }

// Facts of a whole case in an order in which an engine may hear them: queues, nodes, jobs and
// foreign pods, versions from 1 on. In some GPU models are counted, and with queue_limits have
// quotas.
std::vector<Event> RandomCase(Dice& dice, const CaseSize& size);

}  // namespace tephra
