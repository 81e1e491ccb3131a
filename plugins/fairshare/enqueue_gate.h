// VolcanoGate: a job is let in while the minimums of all that were let in fit into its queue and
// those above it, and into the cluster with some overcommitment (Volcano: action enqueue with the
// plugins capacity and overcommit).
//
// With M(q) the minimums of those let in in q and under it, and m that of the job, for each kind
// that m asks for:
//   at each level q from the job's queue up:  M(q) + m <= most(q)
//   in the cluster:                           used + lacking + m <= total x factor
// most(q) is Volcano's real capability: the limit of q, and, where one above it has a limit, no
// more than that leaves beside what others under it are guaranteed. `lacking` is what those let in
// have yet to get, `used` all that is held, by whomever.
//
// Who is let in stays in as long as it holds anything or waits for something else than the gate
// (JobRow::let_in), so nothing is remembered but what was last said of it.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class VolcanoGate final : public Admission {
 public:
  explicit VolcanoGate(std::int32_t overcommit_permille) : overcommit_(overcommit_permille) {}
  std::unique_ptr<Gate> Open(const Snapshot&) const override;

 private:
  std::int32_t overcommit_;
};

// By QueueId: what each queue may have at most; kMaxSum where nothing limits it.
std::vector<Resources> RealCapabilities(const QueueTree& queues);

}  // namespace tephra
