#!/usr/bin/env python3
"""The policies of this folder decide in the programs that have them, and the usual program does not know them.

    policy_test.py EXAMPLE-TEPHRA EXAMPLE-TEPHRA-ENGINE TEPHRA
"""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

EXAMPLE, ENGINE, USUAL = sys.argv[1:4]
CLUSTER = pathlib.Path(__file__).parent / "cluster.yaml"


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=60)


def tasks(program, simulation):
    """Job: (start in seconds, nodes)."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(program, "simulate", simulation, "--out", folder)
        assert done.returncode == 0, done.stderr
        found = {}
        with open(pathlib.Path(folder) / "tasks.csv", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["job"], (float(row["start_s"]), []))[1].append(row["node"])
        return found


class PolicyTest(unittest.TestCase):
    def test_small_jobs_start_first_and_on_the_cheap_node(self):
        found = tasks(EXAMPLE, CLUSTER)
        self.assertEqual(found["small"], (0, ["b-cheap"]))
        self.assertEqual(found["medium"], (0, ["b-cheap"]))
        self.assertEqual(found["large"][0], 1800)

    def test_the_order_holds_in_a_fifo_queue_too(self):
        jobs = """  - { name: runs, gpus: 8, runtime: 1h }
  - { name: large, at: 1m, gpus: 8, runtime: 1h }
  - { name: small, at: 2m, gpus: 1, runtime: 10m }
"""
        with tempfile.TemporaryDirectory() as folder:
            fifo = pathlib.Path(folder) / "fifo.yaml"
            fifo.write_text('cluster: { nodes: [ { name: n, gpus: 8, labels: { example.com/price: "1" } } ] }\n'
                            f"jobs:\n{jobs}"
                            "policies: { node_scores: cheapest, backfill: { mode: none }, dequeue_strategy: fifo, "
                            "report_job_ahead: false }\n")
            self.assertEqual(tasks(EXAMPLE, fifo)["small"][0], 3600)

    def test_the_usual_program_starts_the_first_job_first(self):
        with tempfile.TemporaryDirectory() as folder:
            usual = pathlib.Path(folder) / "cluster.yaml"
            usual.write_text(CLUSTER.read_text().replace("node_scores: cheapest", "node_scores: binpack"))
            self.assertEqual(tasks(USUAL, usual)["large"][0], 0)

    def test_only_the_example_programs_know_the_score(self):
        refused = run(USUAL, "simulate", CLUSTER)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("cheapest", refused.stderr)
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "engine.yaml"
            config.write_text("engine: { node_scores: cheapest }\n")
            checked = run(ENGINE, "--config", config, "--check-config")
            self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
