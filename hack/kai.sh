#!/usr/bin/env bash
# Writes docs/kai.md: the cases of KAI-Scheduler's own tests, put to our engine. Needs the release
# build and kai-vectors in $TEPHRA_DATA (default ../shared/data).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cases=${TEPHRA_DATA:-../shared/data}/kai-vectors
[ -e "$cases" ] || { echo "no kai-vectors in the data directory (TEPHRA_DATA)" >&2; exit 3; }
run=${TEPHRA_KAI_CASES:-build/release/tests/peers/kai_cases}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for file in "$cases"/*.json.xz; do
  xz -dc "$file" >"$scratch/$(basename "$file" .xz)"
done

status=0
ours=$("$run" --reasons tests/peers/kai_reasons.json --output markdown "$scratch") || status=$?
[ $status -le 1 ] || exit $status
cat >docs/kai.md <<MD
# KAI-Scheduler's own cases

Made by \`hack/kai.sh\`; \`tests/claims/queues-kai\` and \`topology-kai\` check the same.

Each case of KAI-Scheduler's tests (commit d5bc503) is a cluster with queues and jobs, the actions to run, and what is to
have become of each task. It is put to the engine in its own words:

| with KAI | with us |
|---|---|
| queue, department | a queue of the tree: deserved, limit, weight of GPUs, priority. No bound on what is deserved: all there is. The queues of a department deserve no more than it does, cut in proportion. Weight 0: next to nothing |
| job, pod set | a gang, a role with a minimum; tasks beyond the minimum are elastic |
| sub-group | a group, elastic where the job needs so many of its sub-groups only: those that have begun are needed, then the first. One that is needed and has no topology is no more than its pod sets |
| topology, level | domains of nodes, a tier each. Required: in one domain of at most that tier; preferred: as near as there is room. Who says nothing of it is placed by score alone |
| part of a GPU, GPU memory | a part of its compute and of its memory, in the same proportion |
| MIG instances that a node counts | devices in MIG mode, each with room for one instance of the profile: somebody else has the rest |
| pipelined | room is held until those in it have gone (\`start-after-eviction\`) |
| action allocate, reclaim or preempt alone | one cycle in which nobody may be evicted, or not for the other purpose; whoever finds room starts in any |
| action consolidation alone | one cycle in which nobody may be evicted, and whoever may be preempted may be moved, at any price |
| round | a cycle, consolidation among it; then what was placed runs, what was evicted has gone and asks again |

The status of each task that the case names has to be the same, its node too unless the case does not tell the nodes
apart, or whole domains of them (two racks that are alike), and there are no more evictions, binds (of a single cycle) and
held tasks than KAI allows. Tasks that the case does not tell apart may change places; which part of which GPU is not
compared.

$ours

The cases are derived from the tests of KAI-Scheduler (https://github.com/kai-scheduler/KAI-Scheduler), Copyright The
KAI-Scheduler Authors and NVIDIA Corporation, Apache License 2.0; changed: form (JSON instead of Go).
MD
"$run" --reasons tests/peers/kai_reasons.json "$scratch" | tail -1
