"""Pod lists of the openb family, drawn from the public lists, for mixes of pods that the public lists do not have.

A list is drawn with replacement until its pods request as many GPUs as the list default. It is the same on every
machine, because it uses only random() of a generator with a text as its seed.
"""

import bisect
import csv
import dataclasses
import itertools
import json
import math
import random
import subprocess

import lib

GPUS = 6212  # of the cluster
ASKED = 6087  # GPUs that the pods of a list request
ARRIVED = 1.3  # of the cluster's GPUs, with clones
CPU_PODS = 1088  # of the list default


@dataclasses.dataclass(frozen=True)
class Mix:
    """What a list is like. `tilt`: each shape is drawn more or less often, by a factor of about e^tilt."""
    shares: int  # % of the GPUs requested by pods that request a part of a GPU
    several: int  # % of the GPUs requested by pods of several GPUs
    bound: int = 0  # % of the GPU pods that name models
    cpu: int = 100  # % of the CPU pods of the list default
    tilt: float = 0

    @property
    def name(self):
        return f"s{self.shares}-m{self.several}-b{self.bound}-c{self.cpu}" + (f"-t{self.tilt}" if self.tilt else "")


class Pool:
    """Pods to draw from."""

    def __init__(self, pods, mix, dice):
        weights = {}
        for pod in pods:
            weights.setdefault(shape(pod), dice.random())
        # The sum of three uniform numbers is near enough to a normal one.
        weights = {key: math.exp(mix.tilt * 2 * (first + dice.random() + dice.random() - 1.5))
                   for key, first in weights.items()}
        self.pods = pods
        self.sums = list(itertools.accumulate(weights[shape(pod)] for pod in pods))

    def draw(self, dice):
        return self.pods[bisect.bisect_right(self.sums, dice.random() * self.sums[-1])]


# The parameters of score stranding were chosen with these lists, in other orders (plugins/stranding/README.md).
TUNED = (Mix(28, 7), Mix(28, 7, cpu=250), Mix(60, 3), Mix(28, 7, 20), Mix(21, 30), Mix(100, 0), Mix(80, 2), Mix(15, 50),
         Mix(0, 0), Mix(0, 60), Mix(40, 20, 33), Mix(100, 0, 33), Mix(60, 30), Mix(50, 10, 10, 200),
         Mix(10, 10, 25, tilt=1), Mix(5, 35), Mix(25, 50), Mix(80, 10, 33), Mix(50, 20, tilt=1))
# These lists had no part in it.
HELD_BACK = (Mix(35, 10), Mix(40, 7), Mix(65, 25), Mix(70, 5), Mix(85, 3), Mix(90, 8), Mix(90, 5, tilt=0.7),
             Mix(100, 0, 10), Mix(100, 0, cpu=200), Mix(60, 3, 20), Mix(0, 20), Mix(45, 30), Mix(10, 60), Mix(0, 50, 10),
             Mix(0, 60, 15), Mix(28, 7, 15), Mix(28, 7, 30), Mix(28, 7, cpu=50), Mix(20, 20, 20, 50),
             Mix(15, 30, 20, tilt=1), Mix(30, 15, 0, 250), Mix(8, 30), Mix(30, 45), Mix(0, 40), Mix(2, 52),
             Mix(75, 12, 33), Mix(95, 0, 33), Mix(60, 20, 25), Mix(45, 25, tilt=1))


def wrong_for(mix):
    """A list that is as unlike as can be."""
    return Mix(0, 60) if mix.shares >= 50 else Mix(100, 0)


def shape(pod):
    return pod["cpu_milli"], pod["num_gpu"], pod["gpu_milli"]


def gpus(pod):
    return int(pod["num_gpu"]) * min(int(pod["gpu_milli"]), 1000) / 1000


def kind(pod):
    if int(pod["num_gpu"]) == 0:
        return "cpu"
    return "several" if int(pod["num_gpu"]) > 1 else "share" if int(pod["gpu_milli"]) < 1000 else "one"


def pods_of(mix):
    dice = random.Random("openb " + mix.name)
    with open(lib.need_data("openb") / "openb_pod_list_gpuspec20.csv", newline="") as file:
        pods = list(csv.DictReader(file))
    for pod in pods:
        pod["gpu_spec"] = pod["gpu_spec"] or ""
    drawn = []

    def draw(of, until):
        free = Pool([dict(pod, gpu_spec="") for pod in pods if kind(pod) == of], mix, dice)
        bound = Pool([pod for pod in pods if kind(pod) == of and pod["gpu_spec"]], mix, dice) if of != "cpu" else free
        have = 0
        while have < until:
            pod = (bound if dice.random() * 100 < mix.bound else free).draw(dice)
            have += gpus(pod) or 1
            drawn.append(pod)

    draw("share", ASKED * mix.shares / 100)
    draw("several", ASKED * mix.several / 100)
    draw("one", ASKED * (100 - mix.shares - mix.several) / 100)
    draw("cpu", CPU_PODS * mix.cpu / 100)
    return drawn


def shuffled(items, dice):
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        j = int(dice.random() * (i + 1))
        items[i], items[j] = items[j], items[i]
    return items


def order_of(mix, pods, nodes, seed):
    """An arrival order as tephra openb reads it: all pods, then clones until ARRIVED is requested."""
    dice = random.Random(f"order {seed} of {mix.name}")
    rows = shuffled(range(len(pods)), dice)
    asked = sum(map(gpus, pods))
    while asked < ARRIVED * GPUS:
        rows.append(int(dice.random() * len(pods)))
        asked += gpus(pods[rows[-1]])
    keys = shuffled(range(len(nodes)), dice)
    return "".join(f"{line}\n" for line in
                   [len(rows), *rows, len(nodes), *(f"{name} {key}" for name, key in zip(nodes, keys))])


def write(mix, seeds, folder):
    """Writes FOLDER/NAME.csv and FOLDER/NAME_SEED.txt; returns the path of the list."""
    pods = pods_of(mix)
    path = folder / (mix.name + ".csv")
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        columns = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"]
        out.writerow(["name", *columns])
        out.writerows([f"pod-{i:05}", *(pod[column] for column in columns)] for i, pod in enumerate(pods))
    with open(lib.need_data("openb") / "openb_node_list_gpu_node.csv", newline="") as file:
        nodes = [row["sn"] for row in csv.DictReader(file)]
    for seed in seeds:
        (folder / f"{mix.name}_{seed}.txt").write_text(order_of(mix, pods, nodes, seed))
    return path


def unallocated(mix, seeds, folder, policy, *options):
    """By seed, the GPUs that stay unallocated at 100 % arrived, in %, and the ms of the run. REQUIRES: write(mix)."""
    done = subprocess.run(
        [lib.release_binary("simulations/tephra"), "openb", "--nodes",
         lib.need_data("openb") / "openb_node_list_gpu_node.csv", "--pods", folder / (mix.name + ".csv"), "--orders",
         folder, "--seeds", ",".join(map(str, seeds)), "--policies", policy, "--output", "json", *options],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return {run["seed"]: (run["unallocated_100"], run["ms"]) for run in json.loads(done.stdout)["runs"]}
