"""The engine's benchmark cases: what each is, its target, and what peers need for the same work.

Peers as measured on a machine of this kind (2 cores); docs/benchmarks.md has the history.
"""

import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

# name of the Google Benchmark case: (what, target in ms, peers)
CASES = {
    "FillGpu/500": ("500 nodes x 8 GPUs filled by 4,000 one-GPU jobs", 150,
                    "Fluxion first-match 1,930 ms, Volcano 6,700 ms"),
    "FillGpu/1000": ("1,000 x 8 by 8,000", 300, "Volcano 25,500 ms"),
    "SmallJobs": ("32,000 small jobs on 1,000 nodes", 300, "Armada, as one gang, 540 ms"),
    "SmallJobsOneGang": ("the same as one gang", 100, "Armada 540 ms"),
    "PodsOnNodes/5000": ("10,000 pods on 5,000 nodes", 150, "YuniKorn 2,400 ms"),
    "BestFitDecision/5000": ("best fit for one GPU on 5,000 x 8", 0.020, "Fluxion 79 ms"),
    "OnlyOneNodeFits": ("the one node among 1,000 that fits", 0.020, "Armada 0.020 ms"),
    "GangOfWholeNodes": ("one gang of 512 x 8 GPUs", 5, "Fluxion about 20 ms"),
    "FairSharesOfATree": ("the fair shares of 10,000 queues in five levels", 20, ""),
    "OnlyTimeMoved": ("a cycle in which only the time moved: 5,000 nodes, 40,000 running tasks, "
                      "1,000 waiting gangs", 1, ""),
    "ReclaimManySmall": ("4,000 one-GPU jobs reclaim 500 x 8 GPUs from 4,000 jobs, to the end",
                         500, "KAI 86,000 ms"),
    "ReclaimLargeGang/1000": ("half of 1,000 x 8 GPUs reclaimed by one gang, the fewest evictions "
                              "proven", 100, "Volcano 640 ms, KAI 24,000 ms"),
    "ImpossibleGang/200": ("no eviction for a gang of 10 x 8 GPUs that may not reclaim the last "
                           "8 GPUs, on 200 nodes", 10, ""),
    "ImpossibleGang/1000": ("the same on 1,000 nodes", 50, "KAI \"not practical\""),
    "ImpossibleGangFirm/200": ("no eviction for a gang of 10 x 8 GPUs for which nine of 200 "
                               "nodes could be freed", 10, ""),
    "ImpossibleGangFirm/1000": ("the same of 1,000 nodes", 50, "KAI \"not practical\""),
    "HyperNodesTied": ("a gang of 48 x 8 GPUs in one of 100 domains; 6,000 nodes, 9,600 domains in "
                       "four tiers", 10, "Volcano minutes, with a patch seconds"),
    "HyperNodesFree": ("one of 1,024 x 8 GPUs there on the fewest domains", 10, ""),
    "HyperNodesNever": ("a gang of 61 nodes there that no domain can take: infeasible", 10, ""),
    "GangsInRacks": ("32 gangs of 16 x 8 GPUs, each in one rack of 512 nodes", 5,
                     "Fluxion 120 ms"),
    "GroupsInRacks": ("the same as one gang of 32 sub-groups", 10, ""),
    "PlanThousand": ("1,000 gangs of 1 to 64 whole nodes planned with reservations on 500 x 8 GPUs", 50,
                     "Slurm 500 ms"),
    "ReplanHundredAndEight": ("a full cluster with 108 reservations, planned again", 10,
                              "Slurm 120 ms, Fluxion 3,300 ms"),
    "Fractions": ("10,000 pods of a fraction each, of five sizes, on 1,000 x 8 GPUs", 300, ""),
}

ONE_EVENT = "OneEventOneTick/nodes:{}/full_verify_every:1000"


def run(binary, pattern, repetitions=5):
    """Milliseconds by case: the least of the repetitions."""
    out = subprocess.run(
        [binary, f"--benchmark_filter={pattern}", f"--benchmark_repetitions={repetitions}",
         "--benchmark_min_time=0.1", "--benchmark_format=json"],
        check=True, capture_output=True, text=True).stdout
    to_ms = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
    least = {}
    for entry in json.loads(out)["benchmarks"]:
        if entry["run_type"] != "iteration":
            continue
        name = re.sub(r"/(manual_time|iterations:\d+)", "", entry["run_name"])
        took = entry["real_time"] * to_ms[entry["time_unit"]]
        least[name] = min(took, least.get(name, took))
    return least
