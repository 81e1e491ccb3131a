#!/usr/bin/env python3
"""The command line as its users see it: command_test.py TEPHRA SOURCE_ROOT

Exit codes, equal bytes for equal input, and nothing half-written after bad input.
"""

import errno
import json
import os
import pathlib
import pty
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

TEPHRA, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
EXAMPLES = sorted((ROOT / "simulations/examples").glob("*.yaml"))


# Lines of `tephra explain` for job train of reclaim.yaml.
RECLAIM_LINES = [
    "job train is pending; status unchanged for 4m00s, since 1m00s of simulated time",
    "  queue research, priority 0, needs at least 2 tasks to start; the job was created at 1m00s of simulated "
    "time and has no pods yet",
    "  - fits if each task of role worker requests 2 GPUs",
    "  - fits with 2 more nodes like node-0",
    "  queue research has a share of 16 GPUs (deserved: 16 GPUs) and uses 0 GPUs; queues with the same "
    "parent that use more than their fair share:",
    "  - queue batch uses 10 GPUs (6 GPUs above its share): 10 GPUs cannot be reclaimed "
    "(the queue or a child queue has reclaimable: false)",
]


def run(*arguments):
    return subprocess.run([TEPHRA, *map(str, arguments)], capture_output=True, check=False)


def files(folder):
    return {p.name: p.read_bytes() for p in sorted(pathlib.Path(folder).iterdir())}


class Command(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_every_example_gives_the_same_bytes_twice(self):
        self.assertTrue(EXAMPLES)
        for example in EXAMPLES:
            with self.subTest(example=example.name):
                first = run("simulate", example, "--out", self.folder / "1")
                second = run("simulate", example, "--out", self.folder / "2")
                self.assertEqual((first.returncode, first.stderr), (0, b""))
                self.assertTrue(first.stdout)
                self.assertEqual(first.stdout, second.stdout)
                self.assertEqual(files(self.folder / "1"), files(self.folder / "2"))
                self.assertEqual(
                    set(files(self.folder / "1")),
                    {"tasks.csv", "jobs.csv", "timeline.csv", "queues.csv", "curve.csv", "summary.json"},
                )

    def test_a_report_is_made_of_every_example_and_of_any_two(self):
        folders = []
        for example in EXAMPLES:
            with self.subTest(example=example.name):
                folders.append(self.folder / example.stem)
                run("simulate", example, "--out", folders[-1])
                pages = [self.folder / "1.html", self.folder / "2.html"]
                for page in pages:
                    done = run("report", folders[-1], "--out", page)
                    self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(pages[0].read_bytes(), pages[1].read_bytes())
        both = self.folder / "both.html"
        self.assertEqual(run("report", *folders[:2], "--out", both).returncode, 0)
        self.assertIn(b'"changes":{', both.read_bytes())

    def test_a_report_of_what_is_no_run_names_the_fault_and_writes_nothing(self):
        page = self.folder / "report.html"
        none = run("report", self.folder / "none", "--out", page)
        self.assertEqual((none.returncode, none.stdout), (2, b""))
        self.assertIn(b"none/summary.json: cannot read the file", none.stderr)
        run("simulate", EXAMPLES[0], "--out", self.folder / "run")
        with open(self.folder / "run/jobs.csv", "a", encoding="utf-8") as jobs:
            jobs.write("cut")
        cut = run("report", self.folder / "run", "--out", page)
        self.assertEqual((cut.returncode, cut.stdout), (2, b""))
        self.assertIn(b"the file may be truncated", cut.stderr)
        self.assertFalse(page.exists())

    def test_json_on_stdout_is_the_summary_file(self):
        for example in EXAMPLES:
            done = run("simulate", example, "--output", "json", "--out", self.folder)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stdout, (self.folder / "summary.json").read_bytes())
            states = json.loads(done.stdout)["jobs_by_state"]
            now = ("running", "finished", "pending", "infeasible", "dropped", "removed")
            self.assertEqual(states["arrived"], sum(states[key] for key in now))

    def test_a_run_that_is_interrupted_writes_what_is_known(self):
        endless = self.folder / "endless.yaml"
        endless.write_text(
            "cluster: { nodes: 1, gpus_per_node: 1 }\n"
            "jobs: [{ name: j, copies: 100000, gpus: 1, runtime: 1s }]\n"
        )
        process = subprocess.Popen(
            [TEPHRA, "simulate", endless, "--output", "json", "--out", self.folder / "out"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not (self.folder / "out" / "jobs.csv.part").exists():  # the run begins
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, shown = process.communicate()
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"interrupted", shown)
        self.assertTrue(json.loads(out)["interrupted"])
        self.assertIn("jobs.csv", files(self.folder / "out"))

    def test_large_gangs_have_statistics_of_their_own(self):
        made = self.folder / "made.yaml"
        made.write_text(
            "cluster: { nodes: 1, gpus_per_node: 4 }\n"
            "outputs: { large_gangs: { gpus: 3, tasks: 1 } }\n"
            "jobs:\n"
            "  - { name: a, gpus: 2, runtime: 10s }\n"
            "  - { name: b, members: 3, gpus: 1, at: 1s, runtime: 10s }\n"
            "  - { name: c, gpus: 4, at: 2s, runtime: 10s }\n"
        )
        shown = json.loads(run("simulate", made, "--output", "json").stdout)
        large = shown["large_gangs"]
        self.assertEqual((large["gpus"], large["jobs"], large["finished"]), (3, 2, 2))
        self.assertEqual(large["wait_s"]["mean"], (9 + 18) / 2)
        # Until the last came, after 2 s, two of four were held; 10 s by 2, 3 and 4 in 30 s.
        gpu = next(one for one in shown["resources"] if one["name"] == "gpu")
        self.assertEqual(gpu["mean_percent_while_jobs_come"], 50)
        self.assertEqual(gpu["mean_percent"], 75)

    def test_a_trace_is_simulated_with_its_faults_counted(self):
        timed = ROOT / "simulations/examples/timed.yaml"
        shown = json.loads(run("simulate", timed, "--output", "json").stdout)
        self.assertEqual(shown["trace"]["records"], 6)
        self.assertEqual(shown["trace"]["skipped"], 2)
        self.assertEqual(shown["jobs_by_state"]["finished"], 4)
        done = run("simulate", timed, "--strict")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"jobs.swf:7: ", done.stderr)

    def test_a_journal_replays(self):
        for example in EXAMPLES:
            journal = self.folder / "journal"
            self.assertEqual(run("simulate", example, "--journal", journal).returncode, 0)
            done = run("replay", "--strict", journal)
            self.assertEqual((done.returncode, done.stderr), (0, b""), example)

    def test_a_whatif_reports_what_differs_and_writes_both_runs(self):
        journal, changes = self.folder / "run.journal", self.folder / "changes.yaml"
        run("simulate", ROOT / "simulations/examples/demo.yaml", "--journal", journal)
        changes.write_text("- set_queue: { name: vision, limit: { gpu: 48 } }\n- add_node: { like: rack-a-0, count: 8 }\n")
        ask = ("whatif", journal, "--at", "10m", "--default-runtime", "1h", "--changes", changes)
        first = run(*ask, "--out", self.folder / "both", "--output", "json")
        self.assertEqual((first.returncode, first.stderr), (0, b""))
        self.assertEqual(first.stdout, run(*ask, "--output", "json").stdout)
        shown = json.loads(first.stdout)
        self.assertEqual({job["job"] for job in shown["differences"]}, {"giant", "next", "detect-5", "detect-6", "detect-7"})
        self.assertEqual((shown["recorded"]["same_starts"], shown["recorded"]["same_ends"]), (1, 2))
        report = run("report", self.folder / "both/as-is", self.folder / "both/changed", "--out", self.folder / "both.html")
        self.assertEqual(report.returncode, 0)
        self.assertIn(b"5 jobs differ", run(*ask).stdout)
        self.assertIn(b"no job differs", run("whatif", journal).stdout)
        for wrong in (["--at", "soon"], ["--at", "9h"], ["--eviction-grace", "-1s"], ["--change", "{ cordon: n }"]):
            with self.subTest(wrong=wrong):
                refused = run("whatif", journal, *wrong)
                self.assertEqual((refused.returncode, refused.stdout, refused.stderr.count(b"\n")), (2, b"", 1))

    def test_topology_draws_domains_and_nodes(self):
        example = ROOT / "simulations/examples/near.yaml"
        done = run("topology", example)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(
            done.stdout.decode().splitlines(),
            [
                "north (row, tier 2): 4 nodes, 32 GPU",
                "  north/r1 (rack, tier 1): 2 nodes, 16 GPU",
                "  north/r2 (rack, tier 1): 2 nodes, 16 GPU",
                "south (row, tier 2): 2 nodes, 16 GPU",
                "  south/r1 (rack, tier 1): 2 nodes, 16 GPU",
            ],
        )
        self.assertIn(b"    b1: 8 GPU\n", run("topology", "--nodes", example).stdout)
        dot = run("topology", "--output", "dot", "--nodes", example).stdout.decode()
        self.assertEqual((dot.count("shape=box"), dot.count("--")), (11, 9))
        self.assertEqual(run("topology", self.folder / "none.yaml").returncode, 2)

    def test_an_all_reduce_is_estimated_where_bandwidths_are_given(self):
        jobs = (
            "jobs: [{ name: in, gpus: 4 }, { name: out, members: 3, gpus: 4 }, { name: one, gpus: 1 },"
            " { name: shared, members: 2, gpu_share: 0.5 }]\n"
        )
        path = self.folder / "f.yaml"
        path.write_text("cluster: { nodes: 4, gpus_per_node: 8 }\n" + jobs)
        done = run("simulate", path, "--output", "json")
        self.assertNotIn(b"all_reduce", done.stdout)
        self.assertNotIn(b"all-reduce", run("simulate", path).stdout)
        path.write_text(
            "cluster: { nodes: 4, gpus_per_node: 8, bandwidth: { node: 3600, uplinks: [400] } }\n"
            + jobs
        )
        done = run("simulate", path, "--output", "json")
        said = {job["name"]: job.get("all_reduce") for job in json.loads(done.stdout)["jobs"]}
        self.assertEqual(said["in"], {"gb_per_s": 450.0, "slowest": "in a node"})
        # 8 GPUs on one node, 4 on the other, whose uplinks are 4 x 400 Gbit/s.
        self.assertEqual(said["out"]["gb_per_s"], 200.0)
        self.assertRegex(said["out"]["slowest"], "^out of n-[0-3]$")
        self.assertEqual((said["one"], said["shared"]), (None, None))
        self.assertIn(b"200 GB/s, out of n-", run("simulate", path).stdout)
        # Where a node is gone nothing is said any more.
        path.write_text(path.read_text() + "events: [{ at: 1s, remove_node: n-0 }]\n")
        self.assertEqual(run("simulate", path).returncode, 0)

    def test_bad_input_is_exit_code_2_with_file_and_line_and_leaves_nothing(self):
        cluster = "cluster: { nodes: 1, gpus_per_node: 1 }\n"
        bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n"
            for i in range(9)
        )
        trace = "cluster: { openb: { nodes: n.csv } }\nworkload: { openb: { pods: p.csv } }\n"
        (self.folder / "n.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,T4\n")
        pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,500,T4\n"
        cases = {
            "truncated CSV": (trace, pods + "b,1,1,1,5", "p.csv:3"),
            "truncated row": (trace, pods + "b,1,1\n", "p.csv:3"),
            "negative amount": (trace, pods + "b,-1,1,0,0,\n", "p.csv:3: cpu_milli: \"-1\""),
            "unknown model": (trace, pods + "b,1,1,1,9,A1\n", "p.csv:3: gpu_spec: \"A1\""),
            "duplicate name": (trace, pods + "a,1,1,0,0,\n", "p.csv:3: name: \"a\""),
            "long line": (trace, pods + "b" * 10_000_000 + "\n", "p.csv:3"),
            "no UTF-8": (trace, pods + "\udcff,1,1,0,0,\n", "p.csv:3"),
            "YAML amount": (cluster + "jobs:\n- { name: j, gpus: -1 }\n", None, "bad.yaml:3: jobs[0].gpus: \"-1\""),
            "YAML model": (cluster + "jobs:\n- { name: j, gpu_models: B200 }\n", None, "bad.yaml:3"),
            "YAML cycle": (cluster + "queues:\n- { name: q, parent: q }\n", None, "bad.yaml:3: queues[0].parent"),
            "YAML duplicate": (cluster + "jobs:\n- { name: j }\n- { name: j }\n", None, "bad.yaml:4: jobs[1].name"),
            "YAML long line": (cluster + "# " + "x" * 10_000_000 + "\n", None, "bad.yaml:2"),
            "YAML no UTF-8": (cluster + "name: \udcfe\n", None, "bad.yaml:2"),
            "YAML bomb": (cluster + bomb, None, "bad.yaml:7"),
            "no file": (trace, None, "p.csv"),
        }
        for name, (text, rows, expected) in cases.items():
            with self.subTest(name):
                path, out = self.folder / "bad.yaml", self.folder / "out"
                path.write_bytes(text.encode(errors="surrogateescape"))
                (self.folder / "p.csv").unlink(missing_ok=True)
                if rows is not None:
                    (self.folder / "p.csv").write_bytes(rows.encode(errors="surrogateescape"))
                done = run("simulate", path, "--out", out, "--journal", self.folder / "j")
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertIn(expected, done.stderr.decode())
                self.assertLess(len(done.stderr), 1000)
                self.assertFalse(out.exists() and os.listdir(out))
                self.assertFalse((self.folder / "j").exists())

    def test_progress_is_drawn_on_a_terminal_only(self):
        slow = self.folder / "slow.yaml"
        slow.write_text(
            "cluster: { nodes: 16, gpus_per_node: 8 }\n"
            "workload: { generate: { jobs: 50000, mean_interarrival: 20m, gpus: [{ gpus: 1 }, { gpus: 16 }], mean_runtime: 1h } }\n"
        )
        self.assertEqual(run("simulate", slow).stderr, b"")
        terminal, end = pty.openpty()
        with subprocess.Popen([TEPHRA, "simulate", slow], stdout=subprocess.DEVNULL, stderr=end) as process:
            os.close(end)
            shown = b""
            while b" jobs, " not in shown:
                try:
                    shown += os.read(terminal, 4096)
                except OSError as error:  # EIO: the process ended, and nothing is left to read.
                    self.assertEqual(error.errno, errno.EIO)
                    break
            self.assertIn(b" jobs, ", shown)
            process.kill()
        os.close(terminal)

    def test_a_full_disk_is_exit_code_2_and_leaves_no_file(self):
        with open("/dev/full", "wb") as full:
            for command in (("simulate", EXAMPLES[0]), ("topology", EXAMPLES[0])):
                done = subprocess.run([TEPHRA, *command], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 2)
                self.assertIn(b"cannot write to stdout", done.stderr)

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

        out = self.folder / "full"
        done = subprocess.run([TEPHRA, "simulate", EXAMPLES[0], "--out", out], preexec_fn=small_files,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b": cannot write the file: File too large", done.stderr)
        self.assertEqual(list(out.iterdir()), [])

    def test_wrong_usage_is_exit_code_2_and_help_is_0(self):
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("simulate").returncode, 2)
        self.assertEqual(run("simulate", "x.yaml", "--output", "xml").returncode, 2)
        self.assertEqual(run("simulate", self.folder / "none.yaml").returncode, 2)
        wrong = run("simulat", "x.yaml")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn(b'tephra: "simulat", expected a command: simulate, sweep', wrong.stderr)
        self.assertIn(b'did you mean "simulate"?', wrong.stderr)
        self.assertIn(b"tephra simulate: --seed: ", run("simulate", "x.yaml", "--seed", "-1").stderr)
        unused = run("simulate", EXAMPLES[0], "--trace", "x.swf")
        self.assertEqual(unused.returncode, 2)
        self.assertIn(b"workload.trace: \"\", expected this field, because --trace is set", unused.stderr)
        self.assertEqual(run("--help").returncode, 0)
        version = run("--version")
        self.assertEqual(version.returncode, 0)
        self.assertTrue(version.stdout.startswith(b"tephra "))

    def test_a_job_of_a_simulation_is_explained_as_it_stood(self):
        reclaim = ROOT / "simulations/examples/reclaim.yaml"
        done = run("explain", "job/train", "--simulation", reclaim, "--at", "5m")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, run("explain", "train", "--simulation", reclaim, "--at", "5m").stdout)
        for line in RECLAIM_LINES:
            self.assertIn(line + "\n", done.stdout.decode())
        answer = json.loads(
            run("explain", "train", "--simulation", reclaim, "--output", "json").stdout
        )
        self.assertEqual(answer["shortfalls"][0]["queue"], "research")
        self.assertTrue(answer["relaxations"])
        early = run("explain", "train", "--simulation", reclaim, "--at", "30s")
        self.assertEqual(early.returncode, 1)
        self.assertIn(b'job "train": not found in', early.stderr)
        for bad in (["--at", "soon"], ["--address", "127.0.0.1:1"]):
            self.assertEqual(run("explain", "train", "--simulation", reclaim, *bad).returncode, 2)
        self.assertEqual(run("explain", "train", "--at", "5m").returncode, 2)
        none = run("explain", "train", "--simulation", self.folder / "none.yaml")
        self.assertEqual(none.returncode, 2)

    def test_a_trace_is_summed_up_with_its_faults(self):
        example = ROOT / "simulations/examples/trace/jobs.swf"
        shown = json.loads(run("trace", example, "--output", "json").stdout)
        self.assertEqual((shown["format"], shown["records"], shown["jobs"]), ("swf", 6, 4))
        self.assertEqual(shown["machine"]["cpus"], 16)
        faults = {kind: of["first"]["line"] for kind, of in shown["faults"].items()}
        self.assertEqual(faults, {"too-large": 7, "back-in-time": 8, "over-requested": 9})
        self.assertIn(b"jobs.swf:7: size: \"32 CPUs\", expected at most the 16 CPUs",
                      run("trace", example).stdout)
        strict = run("trace", example, "--strict")
        self.assertEqual((strict.returncode, strict.stdout), (1, b""))
        self.assertIn(b"jobs.swf:7: size", strict.stderr)
        good = run("trace", example, "--strict", "--sort-window", "2", "--cpus", "32", "--queues", "1,2")
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertEqual(run("trace", self.folder / "none.swf").returncode, 2)
        piped = subprocess.run([TEPHRA, "trace", "/dev/stdin"], input=example.read_bytes(),
                               capture_output=True, check=False)
        self.assertIn(b"6 records: 4 jobs, 2 skipped", piped.stdout)

    def test_parity_fails_on_a_curve_that_differs(self):
        examples = ROOT / "simulations/examples/trace"
        pods = (examples / "pods.csv").read_text().splitlines()[1:]
        nodes = (examples / "nodes.csv").read_text().splitlines()[1:]
        order = [str(len(pods)), *map(str, range(len(pods))), str(len(nodes))]
        order += [f"{row.split(',')[0]} {key}" for key, row in enumerate(nodes)]
        (self.folder / "pods_7.txt").write_text("\n".join(order) + "\n")
        header = "workload,sc_policy,seed," + ",".join(map(str, range(131)))
        published = self.folder / "published.csv"
        published.write_text(header + "\npods,02-DotProd,7" + "," * 131 + "\n")
        arguments = ["openb", "--nodes", examples / "nodes.csv", "--pods", examples / "pods.csv",
                     "--orders", self.folder, "--seeds", "7", "--policies", "dotprod"]
        ours = self.folder / "ours.csv"
        miss = run(*arguments, "--published", published, "--curves", ours)
        self.assertEqual(miss.returncode, 1, miss.stderr)
        self.assertIn(b"MISS", miss.stdout)
        self.assertEqual(run(*arguments, "--published", ours).returncode, 0)
        self.assertEqual(run(*arguments, "--published", ours, "--seeds", "8").returncode, 2)
        # A score without a published curve.
        arguments[-1] = "stranding"
        own = run(*arguments, "--published", published, "--curves", ours)
        self.assertEqual(own.returncode, 0, own.stderr)
        self.assertIn("pods,stranding,7", ours.read_text())
        other = self.folder / "other.csv"
        other.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,0,1,500\n")
        self.assertEqual(run(*arguments, "--expected", other).returncode, 0)
        self.assertEqual(run(*arguments, "--expected", other, "--learn-pods").returncode, 2)
        self.assertEqual(run(*arguments, "--expected", self.folder / "none.csv").returncode, 2)
        # Nothing to compare with.
        arguments[-1] = "fgd"
        plain = run(*arguments)
        self.assertEqual((plain.returncode, b"curves match" in plain.stdout), (0, False), plain.stderr)
        arguments[-1] = "best"
        self.assertEqual(run(*arguments, "--published", ours).returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
