#!/usr/bin/env python3
"""Tests of tests/bench/growth with a made-up depth_bench: the laws, the table, the results and their picture."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import laws  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = [100, 1_000, 10_000, 100_000]
CURVES = ["nodes", "pending", "queues", "shapes", "running"]

# Prints figures that follow laws: constant in nodes, linear in pending jobs.
GOOD = """#!/usr/bin/env python3
import json, sys
nodes, pending, queues, shapes, running, events = map(int, sys.argv[1:])
ms = lambda scale: {"median": scale * pending, "p99": 2 * scale * pending, "worst": 3 * scale * pending}
print(json.dumps({"event_ms": ms(1e-3), "arrival_ms": ms(2e-3), "end_ms": ms(3e-3), "memory_mb": 7}))
"""


class Laws(unittest.TestCase):
    def law(self, function, sizes=tuple(SIZES), noise=(1.05, 0.97, 1.02, 0.96)):
        return laws.law_of(list(sizes), [function(x) * noise[i % len(noise)] for i, x in enumerate(sizes)])

    def test_the_exponent_is_the_slope_of_the_logarithms(self):
        law = self.law(lambda x: 3 * x**0.7, noise=(1,))
        self.assertAlmostEqual(law.exponent, 0.7)
        self.assertAlmostEqual(law.last, 0.7)

    def test_each_law_gets_its_name_in_spite_of_some_noise(self):
        for function, words in ((lambda x: 5, "constant"), (lambda x: 2 * math.log(x) - 3, "logarithmic"), (lambda x: 0.2 * x, "linear"),
                                (lambda x: 3_000 + 0.2 * x, "linear above a fixed part"), (lambda x: x**2, "quadratic"),
                                (lambda x: x**0.5, "power law"), (lambda x: 1 / x, "falls")):  # fmt: skip
            with self.subTest(words=words):
                self.assertEqual(self.law(function).words, words)

    def test_the_last_step_shows_what_a_fixed_part_hides(self):
        law = self.law(lambda x: 3_000 + 0.2 * x, noise=(1,))
        self.assertLess(law.exponent, 0.5)
        self.assertGreater(law.last, 0.6)

    def test_values_that_follow_no_law_get_no_name(self):
        self.assertEqual(laws.law_of(SIZES, [1, 5, 2, 9]).words, laws.NONE)
        self.assertEqual(laws.law_of(SIZES, [9, 1, 1, 9]).words, laws.NONE)

    def test_values_that_follow_two_laws_get_no_name(self):
        self.assertEqual(laws.law_of(SIZES, [1.0, 1.1, 1.1, 1.4]).words, laws.SEVERAL)

    def test_few_or_near_sizes_support_no_law(self):
        self.assertEqual(laws.law_of([100], [5]), laws.Law(None, None, laws.TOO_FEW))
        self.assertEqual(laws.law_of([], []), laws.Law(None, None, laws.TOO_FEW))
        self.assertEqual(self.law(lambda x: x, SIZES[:3]).words, laws.TOO_FEW)
        self.assertEqual(self.law(lambda x: x, [1, 2, 3, 4, 5]).words, laws.TOO_FEW)

    def test_values_that_have_no_logarithm_are_refused(self):
        for sizes, values in (([1, 2], [1, 0]), ([0, 2], [1, 1]), ([2, 1], [1, 1]), ([1, 2], [1])):
            with self.assertRaisesRegex(ValueError, "expected one positive value"):
                laws.law_of(sizes, values)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "results.json"

    def run_it(self, *arguments, program=GOOD):
        fake = self.folder / "depth_bench"
        fake.write_text(program)
        fake.chmod(0o755)
        return self.run_bare("--program", fake, *arguments)

    def run_bare(self, *arguments):
        return subprocess.run([ROOT / "tests/bench/growth", *arguments], capture_output=True, text=True, check=False)

    def points(self, curve="nodes"):
        return json.loads(self.out.read_text())["curves"][curve]["points"]

    def assert_refused(self, done, expected):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(expected, done.stderr)

    def assert_not_measured(self, program, expected, *arguments):
        done = self.run_it("--quick", "--curve", "nodes", "--out", self.out, *arguments, program=program)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"| not measured: {expected}", done.stdout)
        return self.points()

    def test_a_run_prints_each_size_and_the_laws(self):
        done = self.run_it("--quick", "--curve", "pending", "--curve", "nodes", "--out", self.out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\| 30,000 +\| 30 +\| 60 +\| 90 +\| 7 +\| 60 +\| 90 +\|\n")
        self.assertIn("| pending jobs, 300 to 30,000 | median | 0.3 to 30 ms | 1.00 | 1.00 | linear |\n", done.stdout)
        self.assertIn("| nodes, 10 to 1,000 | memory | 7 to 7 MB | 0.00 | 0.00 | constant |\n", done.stdout)
        results = json.loads(self.out.read_text())
        self.assertEqual(list(results["curves"]), ["nodes", "pending"])
        self.assertEqual(self.points("pending")[-1]["result"]["memory_mb"], 7)

    def test_saved_results_print_the_same_again(self):
        done = self.run_it("--quick", "--out", self.out)
        again = self.run_bare("--read", self.out)
        self.assertEqual((again.returncode, again.stdout), (0, done.stdout), again.stderr)

    def test_only_the_varied_number_differs_from_the_base(self):
        program = GOOD + "with open(sys.argv[0] + '.log', 'a') as log: print(*sys.argv[1:], file=log)\n"
        self.run_it("--quick", "--curve", "queues", "--events", "50", program=program)
        log = (self.folder / "depth_bench.log").read_text().splitlines()
        self.assertEqual(log[0], "1000 10000 2 10 0 50")
        self.assertEqual({line.split(" ", 3)[3] for line in log}, {"10 0 50"})

    def test_of_several_runs_the_least_p99_counts(self):
        program = GOOD.replace("ms = lambda", "import os\ncount = sys.argv[0] + '.count'\nopen(count, 'a').write('x')\n"
                               "pending = {1: 5, 2: 3}.get(os.path.getsize(count), 4)\nms = lambda")
        self.run_it("--quick", "--curve", "nodes", "--repeat", "3", "--out", self.out, program=program)
        self.assertEqual(self.points()[0]["result"]["event_ms"]["median"], 0.003)

    def test_a_size_that_takes_too_long_ends_its_curve_and_no_other(self):
        program = GOOD.replace("ms = lambda", "import time\ntime.sleep(60 if nodes == 300 else 0)\nms = lambda")
        done = self.run_it("--quick", "--limit", "5", "--out", self.out, program=program)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([point.get("not_measured") for point in self.points()],
                         [None, None, "takes more than 5 s", "skipped, because 300 was not measured"])
        self.assertIn("| nodes, 10 to 100 | median | 10 to 10 ms | 0.00 | 0.00 | too few sizes |\n", done.stdout)
        self.assertTrue(all("result" in point for curve in CURVES[1:] for point in self.points(curve)))
        self.assertEqual(self.run_bare("--read", self.out).returncode, 1)

    def test_a_run_without_figures_says_why(self):
        self.assert_not_measured("#!/bin/sh\necho 'nodes: too many' >&2\nexit 3\n", "depth_bench ended with status 3: nodes: too many |")
        self.assert_not_measured("#!/bin/sh\nkill -SEGV $$\n", "depth_bench ended with SIGSEGV |")
        self.assert_not_measured("#!/bin/sh\necho bad_alloc >&2\nkill -ABRT $$\n", "needs more than 512 MB |", "--memory", "512")
        self.assert_not_measured("#!/bin/sh\necho 7\n", "depth_bench printed no JSON with all figures")
        self.assert_not_measured("#!/bin/sh\n", "depth_bench printed no JSON with all figures")
        self.assert_not_measured(GOOD.replace('"memory_mb": 7', '"memory_mb": 0'), "depth_bench printed memory_mb: expected more than 0 |")
        points = self.assert_not_measured("#!/no/such/interpreter\n", "depth_bench does not start: No such file")
        self.assertEqual(points[-1]["not_measured"], "skipped, because 10 was not measured")

    def test_wrong_usage_is_refused_with_what_is_expected(self):
        self.assert_refused(self.run_it("--curve", "gpus"), "'gpus' (choose from 'nodes'")
        self.assert_refused(self.run_it("--limit", "0"), "'0': expected a whole number from 1 to 86,400")
        self.assert_refused(self.run_it("--repeat", "x"), "'x': expected a whole number from 1 to 100")
        self.assert_refused(self.run_it("--out", self.folder / "none/results.json"), "expected a file in a folder that exists")
        self.assert_refused(self.run_it("--out", self.folder), "expected a file in a folder that exists")
        self.assert_refused(self.run_bare("--program", self.folder / "none"), "no such program, expected depth_bench")
        self.assert_refused(self.run_bare("--read", self.out), "No such file or directory, expected a file of --out")
        self.assert_refused(self.run_bare("--read", self.out, "--quick"), "expected no --quick")
        for words in ("{", "[]", "{}", '{"curves": {"gpus": {"points": []}}, "base": {}}'):
            self.out.write_text(words)
            self.assert_refused(self.run_bare("--read", self.out), "expected a file of --out")

    def draw(self, path):
        return subprocess.run([sys.executable, "-B", ROOT / "hack/pictures/draw.py", "growth", path], capture_output=True, text=True,
                              check=False)

    def test_the_picture_has_both_lines_of_each_curve_and_marks_what_is_missing(self):
        program = GOOD.replace("ms = lambda", "if shapes == 100: sys.exit(1)\nms = lambda")
        self.run_it("--quick", "--out", self.out, program=program)
        picture = xml.etree.ElementTree.fromstring(self.draw(self.out).stdout)
        tag = "{http://www.w3.org/2000/svg}"
        self.assertEqual(len(picture.findall(tag + "polyline")), 2 * len(CURVES))
        self.assertEqual(len(picture.findall(tag + "circle")), 2 * (4 * len(CURVES) - 1))
        words = [text.text for text in picture.iter(tag + "text")]
        self.assertEqual(words.count("\u00d7"), 1)
        self.assertIn("Small sizes only (--quick)", words)

    def test_a_picture_needs_all_curves(self):
        self.run_it("--quick", "--curve", "nodes", "--out", self.out)
        done = self.draw(self.out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected all curves of tests/bench/growth --out", done.stderr)

    def test_the_picture_of_the_documents_is_that_of_its_results(self):
        picture = (ROOT / "docs/pictures/growth.svg").read_text()
        self.assertEqual(self.draw(ROOT / "docs/growth.json").stdout, picture, "expected hack/pictures.sh growth after new results")


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    unittest.main()
