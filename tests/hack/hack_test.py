#!/usr/bin/env python3
"""Tests of the scripts in hack/: which Go they take, and the summary of a test run."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tree = self.folder / "tree"
        shutil.copytree(ROOT / "hack", self.tree / "hack")
        (self.tree / "lab").mkdir()
        (self.tree / "lab/go.mod").write_text("module x\n\ngo 98.1.0\n")

    def fake_go(self, path, version):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n[ \"$1 $2\" = 'env GOVERSION' ] && echo {version} || echo \"{version} ran $*\"\n")
        path.chmod(0o755)

    def run_go(self, *arguments):
        """hack/go with no other Go on PATH than the fake one; /usr/local/go is too old for the tree's go.mod."""
        return subprocess.run([self.tree / "hack/go", *arguments], capture_output=True, text=True, cwd=self.folder, env={
            "PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder / "home")})  # fmt: skip

    def test_a_go_on_path_that_is_new_enough_is_used(self):
        for version in ("go98.1.0", "go98.1.12", "go98.10.0", "go100.0.1"):
            self.fake_go(self.folder / "bin/go", version)
            done = self.run_go("list", "-m")
            self.assertEqual((done.returncode, done.stdout), (0, f"{version} ran list -m\n"), done.stderr)

    def test_an_old_go_is_not_used(self):
        for version in ("go98.0.9", "go9.9.9", "go97.20.1", "devel"):
            self.fake_go(self.folder / "bin/go", version)
            done = self.run_go("version")
            self.assertEqual(done.returncode, 1, version)
            self.assertIn("hack/setup.sh downloads Go", done.stderr)

    def test_the_downloaded_toolchain_is_used_instead(self):
        self.fake_go(self.folder / "bin/go", "go1.19.8")
        installs = next(line for line in (ROOT / "hack/go.sh").read_text().splitlines() if line.startswith("go_installs="))
        version = installs.split("=")[1].split()[0]
        architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()
        toolchain = f"home/go/pkg/mod/golang.org/toolchain@v0.0.1-go{version}.linux-{architecture}"
        self.fake_go(self.folder / toolchain / "bin/go", "go98.1.0")
        self.assertEqual(self.run_go("build").stdout, "go98.1.0 ran build\n")
        os.chmod(self.folder / toolchain / "bin/go", 0o644)  # a download that was not verified
        self.assertEqual(self.run_go("build").returncode, 1)

    def test_a_run_ends_with_its_steps_its_notes_and_the_counts(self):
        done = subprocess.run(["bash", "-c", "source hack/steps.sh; note() { echo '7 comparisons were skipped' >>\"$TEPHRA_NOTES\"; }; "
                               "step good note; step bad false; finish"], cwd=self.tree, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[-2:], ["7 comparisons were skipped", "1 passed, 1 failed"])
        self.assertRegex(done.stdout, r"passed +good +\d+ s\nFAILED +bad +\d+ s\n")

    def test_unknown_arguments_are_refused_with_what_is_known(self):
        for command, expected in ((["test.sh", "--only", "nothing"], "expected one of release volcano"), (["setup.sh", "x"], "[browser|release]"),
                                  (["test-slow.sh", "nothing"], "expected one of setup asan"), (["demo.sh", "x"], "[--keep]"),
                                  (["build-images.sh", "x"], "expected --no-build"), (["release.sh", "--arch", "x"], "[--arch amd64|arm64]"),
                                  (["build-images.sh", "--arch", "x"], "--arch amd64 or --arch arm64"),
                                  (["sysroot.sh", "x"], "amd64|arm64"), (["build-scheduler.sh", "x"], "[--arch arm64]"), (["fuzz.sh", "0"], "[SECONDS|RUNSx]"),
                                  (["data.sh", "x"], "expected one of openb")):  # fmt: skip
            with self.subTest(command=command):
                done = subprocess.run([self.tree / "hack" / command[0], *command[1:]], capture_output=True, text=True, cwd=self.tree)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    unittest.main()
