"""Timed traces of the data directory, replayed by the release build."""

import csv
import json
import pathlib
import subprocess
import tempfile
import time

import lib

# Nodes of 8 GPUs of each virtual cluster at full size.
PHILLY_NODES = {"0e4a51": 32, "103959": 8, "11cb48": 16, "2869ce": 16, "6214e9": 64, "6c71a0": 32, "7f04ca": 32,
                "b436b2": 64, "e13805": 16, "ed69ec": 8, "ee9e8c": 64}
# Seconds that a restart takes after an eviction, by the GPUs of a job, as in Helios' simulator.
RESTARTS = ("{ checkpoint_interval: 0s, restart_delay: [{ gpus: 1, delay: 7s }, { gpus: 8, delay: 30s }, { delay: 60s }] }")
BEST_FIT = "node_scores: binpack, device_scores: binpack, gang_locality: none"
NO_BACKFILL = "backfill: { mode: none }"
LEAST_LEFT = "disabled_actions: [reclaim], victim_costs: time-left"


def simulate(text, name="run"):
    """(the JSON summary, seconds of wall time) of a simulation given as YAML text."""
    tephra = lib.release_binary("simulations/tephra")
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / f"{name}.yaml"
        path.write_text(text)
        began = time.perf_counter()
        done = subprocess.run([tephra, "simulate", path, "--output", "json"], capture_output=True, text=True)
        took = time.perf_counter() - began
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), took


def philly(order, divisor):
    """The simulation of the Philly trace: each virtual cluster is a queue with its own nodes, first in, first
    out by `order`. With srtf a job with less remaining time evicts other jobs, and only the time of a restart is lost."""
    trace = lib.need_data("philly/philly_oct_nov_11vc.csv")
    nodes = "".join(f"    - {{ name: '{vc}', count: {nodes // divisor}, gpus: 8, labels: {{ vc: '{vc}' }} }}\n"
                    for vc, nodes in PHILLY_NODES.items())
    queues = "".join(f"  - {{ name: '{vc}', dequeue_strategy: fifo }}\n" for vc in PHILLY_NODES)
    evicts = LEAST_LEFT if order == "srtf" else "disabled_actions: [preempt, reclaim]"
    return (f"cluster:\n  nodes:\n{nodes}queues:\n{queues}"
            f"workload: {{ trace: {{ file: '{trace}', min_runtime: 1s, partition_label: vc, estimate: actual }} }}\n"
            f"restarts: {RESTARTS}\n"
            f"policies: {{ {BEST_FIT}, job_order: {order}, report_job_ahead: false, {NO_BACKFILL}, {evicts} }}\n")


def philly_reference():
    """{(order, divisor, virtual cluster): row} of reference.csv."""
    with open(lib.need_data("philly/reference.csv"), newline="") as file:
        return {(row["policy"], int(row["node_divisor"]), row["vc"]): row
                for row in csv.DictReader(file) if row["avg_queue"]}


def muri(trace, order):
    """A Muri trace on its 8 nodes of 8 GPUs: one queue, by remaining time, with evictions."""
    file = lib.need_data(f"muri/{trace}.csv")
    return (f"cluster: {{ nodes: 8, gpus_per_node: 8 }}\n"
            f"workload: {{ trace: {{ file: '{file}', format: muri, estimate: actual }} }}\n"
            f"restarts: {RESTARTS}\n"
            f"policies: {{ {BEST_FIT}, job_order: {order}, {NO_BACKFILL}, {LEAST_LEFT} }}\n")


def kth(policies=NO_BACKFILL, queue="dequeue_strategy: fifo"):
    """KTH-SP2 on its 100 processors, run times cut at the estimate, with these policies in one queue."""
    file = lib.need_data("swf/KTH-SP2-1996-2.1-cln.swf")
    return (f"workload: {{ trace: {{ file: '{file}', format: swf, clamp_to_requested: true }} }}\n"
            f"queues: [{{ name: default, {queue} }}]\n"
            f"policies: {{ node_scores: binpack, device_scores: binpack, report_job_ahead: false, {policies} }}\n")


def off(figure, reference):
    """The relative difference of the figure to the reference."""
    return abs(figure - reference) / abs(reference) if reference else abs(figure)


def philly_off(orders, divisors):
    """Simulates the Philly trace, prints each virtual cluster that is off, and returns (all within their bounds, {order: the largest
    difference of those}): queueing delay within 0.1 % of the reference, for srtf completion time within 2 %."""
    half_cent = 0.0051  # the reference has two decimals
    reference = philly_reference()
    good, worst = True, dict.fromkeys(orders, 0.0)
    for divisor in divisors:
        for order in orders:
            report, took = simulate(philly(order, divisor))
            queued = jobs = 0
            for vc, group in report["by_queue"].items():
                row = reference.get((order, divisor, vc))
                queued += group["wait_s"]["mean"] * group["jobs"]
                jobs += group["jobs"]
                if row is None:
                    continue  # two are not in the reference
                what, bound = ("jct_s", 0.02) if order == "srtf" else ("wait_s", 0.001)
                want, have = float(row["avg_jct" if order == "srtf" else "avg_queue"]), group[what]["mean"]
                differs = off(have, want) if abs(have - want) > half_cent else 0.0
                worst[order] = max(worst[order], differs)
                if int(row["n"]) != group["finished"] or differs > bound:
                    good = False
                    print(f"OFF {order} 1/{divisor} {vc}: {what} {have:.2f} of {group['finished']} jobs, reference {want} of {row['n']}")
            print(f"{order}, 1/{divisor} of the nodes: {jobs} jobs, mean wait to the first start {queued / jobs:.1f} s, "
                  f"{report['all']['evictions']} evictions; {took:.1f} s")
    return good, worst
