#!/usr/bin/env python3
"""tephra sweep as its users see it: sweep_command_test.py TEPHRA SOURCE_ROOT"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TEPHRA, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*arguments):
    return subprocess.run([TEPHRA, *map(str, arguments)], capture_output=True, check=False)


def files(folder):
    return {p.name: p.read_bytes() for p in sorted(pathlib.Path(folder).iterdir())}

class SweepCommand(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_a_sweep_is_interrupted_and_goes_on(self):
        made = self.folder / "made.yaml"
        made.write_text(
            "cluster: { nodes: 4, gpus_per_node: 8 }\n"
            "workload: { generate: { jobs: 5000, mean_interarrival: 20m, gpus: [{ gpus: 1 }, { gpus: 16 }], mean_runtime: 1h } }\n"
        )
        sweep = self.folder / "sweep.yaml"
        sweep.write_text(
            "simulation: made.yaml\nseeds: 1-20\n"
            "policies: { fifo: { dequeue_strategy: fifo }, none: { backfill: { mode: none } } }\n"
        )
        out = self.folder / "out"
        arguments = ["sweep", sweep, "--out", out, "--jobs", "2"]
        process = subprocess.Popen([TEPHRA, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not list(out.glob("*/*/*/inputs.txt")):  # the first is there
            self.assertIsNone(process.poll())
        beside = run(*arguments)
        self.assertEqual(beside.returncode, 2)
        self.assertEqual(beside.stderr.decode(), f"tephra sweep: --out: {out}/.lock is locked by another process\n")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
        self.assertEqual((process.returncode, stdout), (130, b""))
        self.assertIn(b"run the same command again to continue", stderr)
        kept = len(list(out.glob("*/*/*/inputs.txt")))
        self.assertTrue(0 < kept < 40)
        self.assertEqual(len(list(out.glob("*/*/*/summary.json"))), kept)
        sweep.write_text(sweep.read_text().replace("1-20", "1-2"))
        kept = len([p for p in out.glob("*/*/*/inputs.txt") if p.parent.name in "12"])
        done = run(*arguments)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.decode(), f"tephra sweep: {4 - kept} runs finished, {kept} reused, 0 failed, 4 in total\n")
        again = run(*arguments)
        self.assertEqual(again.stdout, done.stdout)
        self.assertIn(b"0 runs finished, 4 reused", again.stderr)
        shown = json.loads(run(*arguments, "--output", "json").stdout)
        self.assertEqual(shown["baseline"], "fifo")
        self.assertIn(b"load,metric,policy,", run(*arguments, "--output", "csv").stdout)

    def test_a_sweep_of_what_is_wrong_runs_nothing_and_its_folders_can_be_reported(self):
        demo = ROOT / "simulations/examples/demo.yaml"
        sweep = self.folder / "sweep.yaml"
        sweep.write_text(f"simulation: {demo}\npolicies: {{ a: , b: {{ job_order: tallest }} }}\n")
        out = self.folder / "out"
        bad = run("sweep", sweep, "--out", out)
        self.assertEqual((bad.returncode, bad.stdout), (2, b""))
        self.assertIn(b'sweep.yaml:2: policies.b.job_order: "tallest", expected', bad.stderr)
        self.assertFalse(out.exists())
        sweep.write_text(f"simulation: {demo}\npolicies: {{ a: , b: {{ job_order: sjf }} }}\n")
        self.assertEqual(run("sweep", sweep, "--out", out, "--files").returncode, 0)
        page = self.folder / "page.html"
        done = run("report", out / "a/1/1", out / "b/1/1", "--out", page)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        (out / "a/1/1/inputs.txt").unlink()
        (out / "a/1/1/summary.json").unlink()
        (out / "a/1/1/summary.json").mkdir()  # in the way
        failed = run("sweep", sweep, "--out", out, "--files")
        self.assertEqual(failed.returncode, 2)
        self.assertIn(b"tephra sweep: a/1/1: ", failed.stderr)
        self.assertIn(b"b ", failed.stdout)

    def test_every_experiment_can_be_made(self):
        folder = self.folder / "experiments"
        shutil.copytree(ROOT / "simulations/experiments", folder)
        for made in ("made.yaml", "made-unsaved.yaml", "departments.yaml"):
            (folder / made).write_text((folder / made).read_text().replace("jobs: 2000", "jobs: 20"))
        philly = self.folder / "philly.csv"
        philly.write_text("id,vc,gpu,submit,dur\n1,6214e9,16,0,90\n2,ed69ec,3,5,60\n")
        alea = self.folder / "alea.swf"
        rest = "0 60 2 60 1 2 600 1 1 0 1 -1 0 -1 -1 -1 0 60"
        alea.write_text(f"; Version: 1.0\n1 5 {rest} all\n2 6 {rest} normal\n")
        kth = self.folder / "kth.swf"
        kth.write_text("; Version: 2.2\n; MaxProcs: 4\n1 0 0 60 2 -1 -1 2 600 -1 1 1 1 1 1 -1 -1 -1\n")
        pathlib.Path(f"{alea}.queues").write_text("0 priority_queue 100 50\n")
        pathlib.Path(f"{alea}.machines").write_text("0 cl 8 1 1 256 normal 4\n")
        sweeps = sorted(folder.glob("*-sweep.yaml"))
        self.assertEqual(len(sweeps), 7)
        traces = {"philly": philly, "alea": alea, "kth": kth}
        for sweep in sweeps:
            with self.subTest(sweep=sweep.name):
                trace = [option for name, file in traces.items() if sweep.name.startswith(name) for option in ("--trace", file)]
                done = run("sweep", sweep, "--out", self.folder / sweep.stem, "--output", "json", *trace)
                self.assertEqual(done.returncode, 0, done.stderr)
                values = {(row["metric"], row["policy"]): row["value"] for row in json.loads(done.stdout)["comparison"]}
                self.assertIsNotNone(values["evictions", "no-backfill"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
