#!/usr/bin/env python3
"""Without the data folder each claim that needs it is skipped at once, before it needs a build, and the summary counts
exactly these claims."""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CLAIM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
LEAST = 15  # claims that need data; finding fewer means that this test does not see them any more
MOST_S = 10


def calls(node, module):
    """What the code calls, as "module.function"; a call without a module is of this one."""
    functions = (call.func for call in ast.walk(node) if isinstance(call, ast.Call))
    return {f"{module}.{f.id}" if isinstance(f, ast.Name) else f"{f.value.id}.{f.attr}" for f in functions
            if isinstance(f, ast.Name) or isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name)}  # fmt: skip


def functions_that_need_data():
    """lib.need_data, and the functions of lib_*.py that call it, directly or not."""
    bodies = {f"{path.stem}.{node.name}": calls(node, path.stem) for path in HERE.glob("lib_*.py")
              for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}  # fmt: skip
    needing, before = {"lib.need_data"}, 0
    while len(needing) != before:
        before = len(needing)
        needing |= {name for name, called in bodies.items() if called & needing}
    return needing


def claims_that_need_data():
    needing = functions_that_need_data()
    python = ((path, path.read_text()) for path in sorted(HERE.iterdir())
              if CLAIM.fullmatch(path.name) and path.read_bytes().startswith(b"#!/usr/bin/env python3"))  # fmt: skip
    return [path for path, text in python if calls(ast.parse(text), path.name) & needing]


class WithoutData(unittest.TestCase):
    def test_claims_are_skipped_at_once_and_counted(self):
        claims = claims_that_need_data()
        self.assertGreaterEqual(len(claims), LEAST, [path.name for path in claims])
        with tempfile.TemporaryDirectory() as folder:
            # A tree without a build: a claim that asks for a program before it asks for data breaks here.
            home = pathlib.Path(folder) / "tree/tests/claims"
            home.mkdir(parents=True)
            for path in [HERE / "all", *HERE.glob("lib*.py"), *claims]:
                shutil.copy2(path, home)
            shutil.copytree(HERE.parents[1] / "hack/data", home.parents[1] / "hack/data")
            notes = pathlib.Path(folder) / "notes"
            done = subprocess.run([home / "all", "--quick", "--output", "json", "--notes", notes], capture_output=True, text=True,
                                  env={**os.environ, "TEPHRA_DATA": f"{folder}/nonexistent"})  # fmt: skip
            rows = {row["claim"]: row for row in json.loads(done.stdout)["claims"]}
            self.assertEqual(sorted(rows), [path.name for path in claims])
            for name, row in rows.items():
                with self.subTest(claim=name):
                    self.assertEqual(row["status"], "skipped: data absent", row["details"])
                    self.assertLess(row["seconds"], MOST_S)
                    self.assertIn("hack/data.sh", row["figure"])
            self.assertEqual(done.returncode, 0, done.stderr)
            to_get = sum("hack/data.sh gets it" in row["figure"] for row in rows.values())
            self.assertEqual(notes.read_text(), f"{to_get} comparisons with published results were skipped: their data is not "
                             f"here; hack/data.sh gets it\n{len(claims) - to_get} more need data that has no public home in its "
                             "form: see hack/data.sh --list\n")  # fmt: skip


if __name__ == "__main__":
    unittest.main()
