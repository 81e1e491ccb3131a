#!/usr/bin/env python3
"""Builds tests/volcano/whole, runs its seeds, and plants faults that it has to find.

    simulate.py seeds FROM COUNT       runs seeds, says which laws were broken
    simulate.py mutants [NAME...]      plants each fault of mutants.yaml, says which law found it

Both need the target engine_steps of the release preset, and hack/build-scheduler.sh once.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
VOLCANO = ROOT / "plugins" / "volcano"
MODULE = ROOT / "tests" / "volcano"
GO = ROOT / "hack" / "go"
MUTANTS = yaml.safe_load((pathlib.Path(__file__).parent / "mutants.yaml").read_text())
MOST_SEEDS = 200  # that look for a planted fault
SEEDS_PER_PROCESS = 40  # what a run leaves behind stays in the process


def build(into, overlay=None):
    """The simulation as a program. `overlay` is a file of `go build -overlay`."""
    command = [GO, "test", "-mod=readonly", "-trimpath", "-vet=off", "-c", "-o", into]
    command += ["-overlay", overlay] if overlay else []
    subprocess.run([*command, "./whole"], cwd=MODULE, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    return into


def run(program, first, count, *flags):
    """What the seeds did: lines of the program."""
    done = subprocess.run([program, "-test.run", "TestNoSeedBreaksALaw", "-from", str(first), "-seeds", str(count), *flags],
                          cwd=MODULE / "whole", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.splitlines()


class Report:
    """What came of many seeds."""

    def __init__(self):
        self.seeds, self.seconds, self.binds, self.evictions, self.same = 0, 0, 0, 0, 0
        self.broken, self.again, self.different = [], [], []

    def take(self, lines, count):
        before = self.seeds
        for line in lines:
            if found := re.match(r"seed \d+: (\d+) s, (\d+) binds, (\d+) evictions", line):
                self.seeds += 1
                self.seconds += int(found[1])
                self.binds += int(found[2])
                self.evictions += int(found[3])
            elif line.startswith("broken: "):
                self.broken.append(line.removeprefix("broken: "))
            elif line.startswith("again: "):
                self.again.append(line)
            elif line.startswith("same: "):
                self.same += 1
            elif "the second run differs" in line:
                self.different.append(line.strip())
        if self.seeds != before + count:
            self.broken.append(f"the program ended after {self.seeds - before} of {count} seeds: {lines[-3:]}")


def seeds(program, first, count, again, workers):
    """Runs seeds in several processes; of each process so many twice."""
    report = Report()
    parts = [(at, min(SEEDS_PER_PROCESS, first + count - at)) for at in range(first, first + count, SEEDS_PER_PROCESS)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for part, lines in zip(parts, pool.map(lambda part: run(program, *part, "-again", str(again)), parts)):
            report.take(lines, part[1])
    return report


def overlay_of(mutant, folder):
    """Writes the changed sources and the overlay that names them."""
    changed = {}
    for edit in mutant["edits"]:
        source = VOLCANO / edit["file"]
        text = changed.get(source) or source.read_text()
        if text.count(edit["before"]) != 1:
            raise SystemExit(f"mutants.yaml: {mutant['name']}: {edit['file']} has {text.count(edit['before'])} times "
                             f"{edit['before']!r}, expected once")
        changed[source] = text.replace(edit["before"], edit["after"])
    replace = {}
    for number, (source, text) in enumerate(changed.items()):
        replacement = folder / f"{number}.go"
        replacement.write_text(text)
        replace[str(source)] = str(replacement)
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"Replace": replace}))
    return overlay


def catch(mutant, program, folder, most):
    """The first seed that finds the planted fault, and the law that it breaks; None: no seed did."""
    flags = ["-again", "0", "-shrink=false"]
    if "model" in mutant:
        flags += ["-mutant", mutant["model"]]
    else:
        program = build(folder / "mutant.test", overlay_of(mutant, folder))
    start = mutant.get("from", 1)
    for first in range(start, start + most, 5):
        for line in run(program, first, 5, *flags):
            if found := re.match(r"broken: seed (\d+): ([^:]*): ", line):
                return int(found[1]), found[2]
    return None


def mutants(program, chosen, most, workers):
    """Each mutant with the seed and the law that found it."""
    def one(mutant):
        with tempfile.TemporaryDirectory() as folder:
            return catch(mutant, program, pathlib.Path(folder), most)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from zip(chosen, pool.map(one, chosen))


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = build(pathlib.Path(folder) / "whole.test")
        if sys.argv[1] == "seeds":
            began = time.time()
            report = seeds(program, int(sys.argv[2]), int(sys.argv[3]), 1, os.cpu_count())
            print(f"{report.seeds} seeds, {report.seconds} simulated seconds, {report.binds} binds, {report.evictions} evictions, "
                  f"{report.same} run twice with the same trace, in {time.time() - began:.0f} s")
            print(*report.broken, *report.again, *report.different, sep="\n")
            return 1 if report.broken or report.different else 0
        missed = 0
        for mutant, found in mutants(program, [m for m in MUTANTS if not sys.argv[2:] or m["name"] in sys.argv[2:]],
                                     MOST_SEEDS, os.cpu_count()):
            good = found is not None and found[1] in mutant["laws"]
            missed += not good
            print("caught" if good else "MISSED", mutant["name"], found, flush=True)
        return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
