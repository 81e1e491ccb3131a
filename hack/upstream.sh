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
ours=$(run)
cat >docs/upstream.md <<MD
# Volcano's own cases

Made by \`hack/upstream.sh\`; \`tests/claims/live-upstream\` checks the same.

Each case of Volcano v1.15.1's tests is a cluster, the actions of one session, and what is to come of them. It is run
through Volcano's real cache and session. With the actions that the case names: $stock
With \`tephra\` in place of enqueue, allocate and backfill:

$ours

* \`equal\`: the binds pod by pod, evictions, pipelined tasks, phases of pod groups and numbers of tasks are those that
  upstream expects. \`invariant\`: as many binds.
* Of either it is also asked that no gang starts in part, no node is given more than it has, and no queue that is not open
  starts anything.
* What an API server, its admission and a kubelet would have added to a case's objects is added: uids, the scheduler's
  name, a phase, and a node's word that it is ready.

The cases are derived from the tests of Volcano (https://github.com/volcano-sh/volcano), Copyright The Volcano Authors,
Apache License 2.0; changed: form (JSON instead of Go).
MD
echo "$ours" | grep ' hold, '
