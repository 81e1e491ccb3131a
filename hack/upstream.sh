#!/usr/bin/env bash
# Writes docs/reference/upstream.md: the cases of Volcano's own tests, run with our action. Needs the release
# build, hack/build-bench.sh and volcano-vectors.tar.xz of the data folder (hack/data.sh --list).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cases=$(hack/data.sh --where)/volcano-vectors.tar.xz
[ -e "$cases" ] || { echo "upstream: no $cases: hack/data.sh --list says how to get it" >&2; exit 3; }
export TEPHRA_ENGINE=${TEPHRA_ENGINE:-build/release/sidecar/tephra-engine}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tar -xJf "$cases" -C "$scratch"

run() { build/scheduler/upstream --cases "$scratch/volcano-vectors" "$@"; }
stock=$(run --with stock --output summary)
ours=$(run --reasons tests/peers/volcano_reasons.json)
python3 hack/wrap_tables.py >docs/reference/upstream.md <<MD
# Volcano's own cases

This page shows which test cases of Volcano Tephra's action passes, and why it differs in the others. It is made
by \`hack/upstream.sh\`; the claims \`live-upstream\` and \`queues-volcano\` check the same.

Each case of Volcano v1.15.1's tests is a cluster, the actions of one session, and the expected result. It runs
through Volcano's real cache and session. With the actions that the case names: $stock With \`tephra\` in place of
enqueue, allocate, backfill, reclaim and preempt:

$ours

## How a case is judged

* \`equal\`: the binds, the evictions and the pipelined tasks are the expected ones, pod by pod and node by node.
  Phases of pod groups and numbers of tasks count too, if the case has some. \`invariant\`: the same number of
  binds. Pipelined means reserved room (\`start-after-eviction\`).
* A case without reclaim, or without preempt, runs with that action off in the engine.
* A case without allocate starts no task in free room with Volcano, but Tephra always uses free room. There the
  binds and the pipelined tasks are compared with stock Volcano with allocate first. The evictions are the case's
  own.
* Every case is also checked for three laws. No gang starts or is evicted in part. No node gets more than it has.
  No queue starts a job unless it is open.
* What an API server, its admission and a kubelet would add to the objects of a case is added. These are UIDs, the
  name of the scheduler, a phase, limits of devices, and the readiness of the nodes.

The cases are derived from the tests of Volcano (https://github.com/volcano-sh/volcano), Copyright The Volcano
Authors, Apache License 2.0; changed: form (JSON instead of Go).
MD
echo "$ours" | grep ' hold, '
