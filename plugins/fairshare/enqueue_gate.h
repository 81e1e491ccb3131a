// VolcanoGate: admits a job if the minimums of all admitted jobs fit into its queue, into the
// queues above it, and into the cluster with some overcommitment. These are the rules of Volcano's
// action enqueue with the plugins capacity and overcommit.
//
// Let M(q) be the minimums of the admitted jobs in q and under it, and m the minimum of the job.
// For each kind that m requests:
//   at each level q from the job's queue up:  M(q) + m <= most(q)
//   in the cluster:                           used + missing + m <= total x factor
// most(q) is Volcano's real capability: the limit of q. If a queue above it has a limit, most(q) is
// at most what that limit leaves beside the guarantees of the other queues under it. `missing` is
// what admitted jobs still lack, and `used` is everything in use, including foreign pods.
//
// An admitted job stays admitted until all of its resources are released and it waits for nothing
// but the gate, so the gate keeps no state of its own. Immutable; any thread.
#pragma once

#include "engine/policy.h"

namespace tephra {

class VolcanoGate final : public Admission {
 public:
  explicit VolcanoGate(std::int32_t overcommit_permille) : overcommit_(overcommit_permille) {}
  std::unique_ptr<Gate> Open(const Snapshot&) const override;

 private:
  std::int32_t overcommit_;
};

// By QueueId: the most that each queue may use; kMaxSum without a limit.
std::vector<Resources> RealCapabilities(const QueueTree& queues);

}  // namespace tephra
