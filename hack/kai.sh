#!/usr/bin/env bash
# Writes docs/reference/kai.md: the cases of KAI-Scheduler's own tests, run on our engine. Needs the release
# build and kai-vectors of the data folder (hack/data.sh --list).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cases=$(hack/data.sh --where)/kai-vectors
[ -e "$cases" ] || { echo "kai: no $cases: hack/data.sh --list says how to get it" >&2; exit 3; }
run=${TEPHRA_KAI_CASES:-build/release/tests/peers/kai_cases}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for file in "$cases"/*.json.xz; do
  xz -dc "$file" >"$scratch/$(basename "$file" .xz)"
done

status=0
ours=$("$run" --reasons tests/peers/kai_reasons.json --output markdown "$scratch") || status=$?
[ $status -le 1 ] || exit $status
python3 hack/wrap_tables.py >docs/reference/kai.md <<MD
# KAI-Scheduler's own cases

This page shows which test cases of KAI-Scheduler Tephra passes, and why it differs in the others. It is made by
\`hack/kai.sh\`; the claims \`queues-kai\`, \`topology-kai\` and \`decide-peers\`
check the same.

Each case of KAI-Scheduler's tests (commit d5bc503) is a cluster with queues and jobs, the actions to run, and the
expected state of each task. It is translated for the engine:

| with KAI | with Tephra |
|---|---|
| queue, department | a queue of the tree: deserved amount, limit, weight of GPUs, priority |
| job, pod set | a gang, a role with a minimum; tasks beyond the minimum are elastic |
| pod set of unlike pods | a group with a role for each kind of pod |
| sub-group | a group inside that of the sub-group around it; elastic if that needs only some of its sub-groups |
| pod affinity | the domains of the selected pods; among the tasks of one job, one required domain |
| pod anti-affinity | a limit of one in each domain |
| topology, level | domains of nodes, one tier each |
| part of a GPU, GPU memory | a part of its compute and of its memory, in the same proportion |
| MIG instances that a node counts | a device each, in MIG mode and with room for one instance of the profile |
| MIG by an annotation without a profile | all instances of the pod's node; before it has one, an instance of no node |
| stuck in releasing | a terminating pod whose grace period ended an hour ago (\`stuck_pod_timeout\`) |
| pipelined | room is reserved until the victims are gone (\`start-after-eviction\`) |
| preemption delay of a pending job | the eviction delay of its queue |
| a gang below its minimum for some time | a cycle at the beginning of that time, and \`incomplete_gang_timeout\` |
| one action: allocate, reclaim or preempt | one cycle without evictions for other purposes; free room is used in any |
| reclaim or preempt | all preemptible jobs may migrate, too, at any price |
| action consolidation alone | one cycle without evictions, in which all preemptible jobs may migrate, at any price |
| round | a cycle with consolidation; then placed tasks run, and victims are gone and requested again |

- **Queues.** No bound on the deserved amount means the whole cluster. Weight 0 means almost nothing, and so does a
  deserved amount of 0 for a department. In a case that requests only MIG instances, a GPU of a quota is one of their
  compute slices, as with KAI.
- **Nodes.** A task names types of nodes. The type is a label of the node, by default the node's name.
- **Fields.** A case with a field or value that the translation does not read is excluded, and the reason names it.
- **Sub-groups** that have started are needed, then the first ones. A needed sub-group without a topology is no
  more than its pod sets.
- **Topology.** Required means one domain of at most that tier. Preferred means as near as there is room. A job
  without either is placed by score alone.

A case passes if the status of each named task is the same. The node must be the same too, unless the case does
not distinguish the nodes, or whole domains of them (two equal racks). There may be no more evictions, binds (of a
single cycle) and reserved tasks than with KAI. Equal tasks may change places. Which part of which GPU a task gets
is not compared.

$ours

The cases are derived from the tests of KAI-Scheduler (https://github.com/kai-scheduler/KAI-Scheduler), Copyright
The KAI-Scheduler Authors and NVIDIA Corporation, Apache License 2.0; changed: form (JSON instead of Go).
MD
"$run" --reasons tests/peers/kai_reasons.json "$scratch" | tail -1
