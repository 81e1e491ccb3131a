"""The workload of the deep queue: most of its jobs wait."""

SHAPES = "[{ gpus: 1, share: 12 }, { gpus: 4, share: 4 }, { gpus: 8, share: 3 }, { gpus: 32, share: 1 }]"


def simulation(jobs, queues=("{ name: a }", "{ name: b }"), leaves=("a", "b"), policies="disabled_actions: [preempt, reclaim]"):
    """The simulation as YAML: 128 nodes of 8 GPUs, one job a second, 4 h each in the mean, exact estimates.
    `leaves`: the queues that get jobs."""
    return ("cluster: { nodes: 128, gpus_per_node: 8 }\n"
            f"queues: [{', '.join(queues)}]\n"
            f"workload: {{ generate: {{ seed: 1, jobs: {jobs}, mean_interarrival: 1s, mean_runtime: 4h, "
            f"queues: [{', '.join(leaves)}], estimate: actual, gpus: {SHAPES} }} }}\n"
            f"policies: {{ {policies} }}\n")


def three_levels():
    """(all queues, the 200 queues that get jobs): 5 x 5 x 8 queues in three levels."""
    queues, leaves = [], []
    for d in range(5):
        queues.append(f"{{ name: d{d} }}")
        for t in range(5):
            queues.append(f"{{ name: d{d}t{t}, parent: d{d} }}")
            for q in range(8):
                leaves.append(f"d{d}t{t}q{q}")
                queues.append(f"{{ name: {leaves[-1]}, parent: d{d}t{t} }}")
    return queues, leaves
