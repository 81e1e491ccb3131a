#!/usr/bin/env python3
"""Tests of `all` and lib.py, on folders of made-up claims."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import lib

HERE = pathlib.Path(__file__).resolve().parent


def claim(exit_status, *details, figure="figure: 7 of 7"):
    lines = ["claim: Seven is prime.", *details] + ([figure] if figure else [])
    return "#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exit {exit_status}\n"


def python_claim(body):
    return f"#!/usr/bin/env python3\nimport lib\n{body}\n"


class Sources(unittest.TestCase):
    def test_no_claim_runs_whatever_go_is_on_the_path(self):
        wrong = [path.name for path in HERE.iterdir() if path.is_file() and '["go"' in path.read_text() and path != HERE / "lib_test.py"]
        self.assertEqual(wrong, [], "expected lib.GO, which is new enough")


class Claims(unittest.TestCase):
    def run_all(self, claims, *arguments, missed="", data=None):
        """Runs `all` on these claims, as JSON; returns (exit status, name -> row, answer)."""
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder) / "repository" / "tests" / "claims"
            home.mkdir(parents=True)
            shutil.copy(HERE / "all", home)
            shutil.copy(HERE / "lib.py", home)
            shutil.copytree(HERE.parents[1] / "hack/data", home.parents[1] / "hack/data")
            (home / "README.md").write_text("not a claim")
            (home / "missed").write_text(missed)
            for name, text in claims.items():
                (home / name).write_text(text)
                (home / name).chmod(0o755)
            if "plain-file" in claims:
                (home / "plain-file").chmod(0o644)
            environment = {k: v for k, v in os.environ.items() if k != "TEPHRA_DATA"}
            if data:
                environment["TEPHRA_DATA"] = data
            done = subprocess.run(
                [home / "all", "--output", "json", *arguments],
                capture_output=True, text=True, check=False, env=environment,
            )  # fmt: skip
            answer = json.loads(done.stdout) if done.stdout else {"claims": [], "problems": []}
            self.table = subprocess.run(
                [home / "all", *arguments], capture_output=True, text=True, check=False,
                env=environment,
            )  # fmt: skip
            self.assertEqual(self.table.returncode, done.returncode)
            return done.returncode, {row["claim"]: row for row in answer["claims"]}, answer

    def status_of(self, text, *arguments, **more):
        """(exit status of `all`, status shown) when text is the only claim."""
        status, rows, _ = self.run_all({"a-b": text}, *arguments, **more)
        return status, rows["a-b"]["status"]

    def test_a_claim_that_holds_passes(self):
        status, rows, answer = self.run_all({"gang-whole": claim(0, "detail")})
        self.assertEqual(status, 0)
        self.assertTrue(answer["ok"])
        self.assertEqual(rows["gang-whole"]["statement"], "Seven is prime.")
        self.assertEqual(rows["gang-whole"]["figure"], "7 of 7")
        self.assertEqual(rows["gang-whole"]["status"], "holds")
        for word in ("gang-whole", "Seven is prime.", "7 of 7", "holds", "1 claims: 1 holds"):
            self.assertIn(word, self.table.stdout)

    def test_a_claim_that_does_not_hold_fails_the_run_and_shows_its_details(self):
        self.assertEqual(self.status_of(claim(1, "row 12 is wrong")), (1, "missed"))
        self.assertIn("row 12 is wrong", self.table.stdout)

    def test_quick_forgives_only_a_machine_dependent_miss(self):
        slow = claim(1, "machine-dependent: yes")
        self.assertEqual(self.status_of(slow, "--quick"), (0, "missed"))
        self.assertEqual(self.status_of(slow), (1, "missed"))
        self.assertEqual(self.status_of(claim(1), "--quick"), (1, "missed"))

    def test_a_listed_claim_may_miss_and_must_leave_the_list_when_it_holds(self):
        listed = "# comment\n\na-b: needs faster undo\n"
        self.assertEqual(self.status_of(claim(1), missed=listed), (0, "known miss"))
        self.assertEqual(self.status_of(claim(0), missed=listed), (1, "holds"))
        self.assertEqual(self.status_of(claim(0), "--quick", missed=listed), (1, "holds"))
        fast = claim(0, "machine-dependent: yes")
        self.assertEqual(self.status_of(fast, "--quick", missed=listed), (0, "holds"))

    def test_the_list_names_existing_claims_with_a_reason_once(self):
        for missed in ("a-c: gone", "a-b:", "a-b", "nonsense", "a-b: one\na-b: two"):
            status, _, answer = self.run_all({"a-b": claim(1)}, missed=missed)
            self.assertEqual(status, 1, missed)
            self.assertTrue(any(p.startswith("missed") for p in answer["problems"]), missed)

    def test_absent_data_skips(self):
        absent = python_claim("lib.begin('Traces replay.')\nlib.need_data('philly')")
        self.assertEqual(self.status_of(absent), (0, "skipped: data absent"))
        present = python_claim(
            "lib.begin('Traces replay.')\nlib.need_data('lib.py')\nlib.finish(True, 'all')"
        )
        self.assertEqual(self.status_of(present, data=str(HERE)), (0, "holds"))

    def test_a_claim_that_cannot_be_checked_here_says_why(self):
        self.assertEqual(self.status_of(claim(3, "skipped: needs root", figure=None)), (0, "skipped"))
        self.assertEqual(self.status_of(claim(3, "needs root", figure=None)), (1, "broken"))

    def test_the_summary_counts_claims_without_data(self):
        absent = python_claim("lib.begin('Traces replay.')\nlib.need_data('muri')")
        self.run_all({"a-b": absent, "a-c": absent, "a-e": absent.replace("muri", "philly"), "a-d": claim(3, "skipped: needs root", figure=None)}, data="/nonexistent")
        self.assertIn("2 comparisons with published results were skipped: their data is not here; hack/data.sh gets it",
                      self.table.stdout)
        self.assertIn("1 more need data that has no public home in its form: see hack/data.sh --list", self.table.stdout)
        self.run_all({"a-b": claim(0)})
        self.assertNotIn("skipped", self.table.stdout)

    def test_what_breaks_the_protocol_is_broken_even_when_listed(self):
        crash = python_claim("lib.begin('Division works.')\n1 / 0")
        for text in (
            crash,
            claim(2),
            claim(0, figure=None),
            claim(1, figure=None),
            "#!/bin/sh\necho figure: 3\n",
            "#!/bin/sh\nkill -9 $$\n",
            "#!/no/such/interpreter\n",
        ):
            self.assertEqual(self.status_of(text), (1, "broken"), text)
            self.assertEqual(self.status_of(text, missed="a-b: why"), (1, "broken"), text)

    def test_a_lost_executable_bit_is_not_overlooked(self):
        status, rows, _ = self.run_all({"plain-file": claim(0)})
        self.assertEqual((status, rows["plain-file"]["status"]), (1, "broken"))

    def test_an_area_selects_and_an_unknown_area_is_an_error(self):
        claims = {"gang-one": claim(0), "gang-two": claim(0), "ganglion-x": claim(1)}
        status, rows, _ = self.run_all(claims, "gang")
        self.assertEqual((status, sorted(rows)), (0, ["gang-one", "gang-two"]))
        self.assertEqual(self.run_all(claims, "fair")[0], 2)

    def test_quick_reaches_the_claim(self):
        text = python_claim("q = lib.begin('Quick is quick.')\nlib.finish(q, f'quick {q}')")
        self.assertEqual(self.status_of(text, "--quick"), (0, "holds"))
        self.assertEqual(self.status_of(text), (1, "missed"))

    def test_a_missing_binary_is_broken_and_not_a_miss(self):
        text = python_claim("lib.begin('It runs.')\nlib.release_binary('simulations/tephra')")
        self.assertEqual(self.status_of(text), (1, "broken"))

    def test_no_claims_yet_is_no_failure(self):
        self.assertEqual(self.run_all({})[0], 0)


class Measuring(unittest.TestCase):
    def test_min_of_takes_the_smallest(self):
        figures = iter([3, 1, 2])
        self.assertEqual(lib.min_of(3, lambda: next(figures)), 1)

    def test_alternating_medians_alternates_in_both_orders(self):
        order = []

        def measure(name, figure):
            return lambda: order.append(name) or figure

        medians = lib.alternating_medians(3, measure("a", 5), measure("b", 8))
        self.assertEqual(medians, (5, 8))
        self.assertEqual("".join(order), "abbaab")

    def test_calibration_takes_time(self):
        self.assertGreater(lib.calibration_ms(), 1)


if __name__ == "__main__":
    unittest.main()
