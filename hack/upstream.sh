#!/usr/bin/env bash
# Writes docs/upstream.md: the cases of Volcano's own tests, run with our action. Needs the release
# build, hack/build-bench.sh and volcano-vectors.tar.xz in $TEPHRA_DATA (default ../shared/data).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cases=${TEPHRA_DATA:-../shared/data}/volcano-vectors.tar.xz
[ -e "$cases" ] || { echo "no volcano-vectors.tar.xz in the data directory (TEPHRA_DATA)" >&2; exit 3; }
export TEPHRA_ENGINE=${TEPHRA_ENGINE:-build/release/sidecar/tephra-engine}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tar -xJf "$cases" -C "$scratch"

run() { build/scheduler/upstream --cases "$scratch/volcano-vectors" "$@"; }
stock=$(run --with stock --output summary)
ours=$(run --reasons tests/peers/volcano_reasons.json)
cat >docs/upstream.md <<MD
# Volcano's own cases

Made by \`hack/upstream.sh\`; \`tests/claims/live-upstream\` and \`tests/claims/queues-volcano\` check the same.

Each case of Volcano v1.15.1's tests is a cluster, the actions of one session, and what is to come of them. It is run
through Volcano's real cache and session. With the actions that the case names: $stock
With \`tephra\` in place of enqueue, allocate, backfill, reclaim and preempt:

$ours

## How a case is judged

* \`equal\`: the binds, the evictions and the pipelined tasks are those that upstream expects, pod by pod and node by node;
  phases of pod groups and numbers of tasks too where it expects some. \`invariant\`: as many binds. Pipelined is with us: room is
  held until those in it have gone (\`start-after-eviction\`).
* A case that does not name reclaim, or preempt, is run with that switched off in the engine. One that does not name allocate
  starts nobody in free room with Volcano, though with us whoever finds room starts: there the binds and the pipelined tasks are those of
  stock Volcano with allocate ahead of the case's actions. The evictions are the case's all the same.
* Of each case, of one that differs too, it is also asked that no gang starts in part or is evicted in part, no node is given more than it has, and no
  queue that is not open starts anything.
* What an API server, its admission and a kubelet would have added to a case's objects is added: uids, the scheduler's
  name, a phase, limits of devices, and a node's word that it is ready.

The cases are derived from the tests of Volcano (https://github.com/volcano-sh/volcano), Copyright The Volcano Authors,
Apache License 2.0; changed: form (JSON instead of Go).
MD
echo "$ours" | grep ' hold, '
