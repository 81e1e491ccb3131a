"""What a claim written in Python needs: the protocol of README.md, where things are, and timing.

    import lib

    quick = lib.begin("A gang of 64 is placed in under 5 ms on 1,000 nodes.", lib.MACHINE_DEPENDENT)
    took_ms = lib.min_of(5, lambda: lib.wall_ms(place_one_gang))
    lib.finish(took_ms < 5, f"{took_ms:.1f} ms; calibration {lib.calibration_ms():.0f} ms")
"""

import argparse
import hashlib
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The data folder: what TEPHRA_DATA names, else the first of these that exists. hack/data.sh fills the first.
DATA = pathlib.Path(os.environ.get("TEPHRA_DATA") or next(
    (folder for folder in (ROOT / "data", ROOT.parent / "shared" / "data") if folder.is_dir()), ROOT / "data"))

GO = ROOT / "hack" / "go"  # finds a Go that is new enough

MACHINE_DEPENDENT = "machine-dependent: yes"


def begin(statement, *facts):
    """Opens the protocol: the statement, then facts such as MACHINE_DEPENDENT. Returns --quick."""
    parser = argparse.ArgumentParser(description=statement)
    parser.add_argument("--quick", action="store_true", help="a smaller run of the same check")
    quick = parser.parse_args().quick
    print("claim:", statement)
    for fact in facts:
        print(fact)
    sys.stdout.flush()
    return quick


def finish(holds, figure):
    """Closes the protocol: the figure, and exit 0 when the claim holds, 1 when it does not."""
    print("figure:", figure)
    sys.exit(0 if holds else 1)


def skip(reason):
    """Closes the protocol: the claim cannot be checked here."""
    print("skipped:", reason)
    sys.exit(3)


def find_data(path):
    """The file or folder `path` of the data folder, or None."""
    found = DATA / path
    return found if found.exists() else None


def need_data(path):
    """The file or folder `path` of the data folder; ends the claim as skipped without it.

    REQUIRES: begin() was called. Call this before anything that takes time or needs a build.
    """
    return find_data(path) or skip(f"data absent: {path} is not in {DATA}; {how_to_get(path)}")


def how_to_get(path):
    """The command that brings this file or folder of the data folder."""
    sys.path.insert(0, str(ROOT / "hack" / "data"))
    sys.dont_write_bytecode = True
    import sets

    return "hack/data.sh gets it" if sets.is_public(path) else "it has no public home, hack/data.sh --from DIR copies it"


def release_binary(path):
    """An executable of the release build, such as "simulations/tephra".

    Its absence is a broken run, not a miss: exit status 2 is outside the protocol.
    """
    found = ROOT / "build" / "release" / path
    if not os.access(found, os.X_OK):
        print(f"no build/release/{path}; build the release preset first", file=sys.stderr)
        sys.exit(2)
    return found


def wall_ms(fn):
    """Milliseconds that one call of fn took."""
    began = time.perf_counter()
    fn()
    return (time.perf_counter() - began) * 1e3


def min_of(runs, measure):
    """The smallest of the figures that `measure` returns: noise of a busy machine only adds."""
    return min(measure() for _ in range(runs))


def alternating_medians(rounds, measure_a, measure_b):
    """The medians of two measurements taken by turns, AB BA AB ..., as (a, b).

    By turns and in both orders, so that a machine that warms up, throttles or fills with other
    work treats both alike. Compare the two with each other only.
    """
    a, b = [], []
    for number in range(rounds):
        turns = [(a, measure_a), (b, measure_b)]
        for figures, measure in turns if number % 2 == 0 else reversed(turns):
            figures.append(measure())
    return statistics.median(a), statistics.median(b)


def calibration_ms():
    """Milliseconds of a fixed piece of work, so that figures of two machines can be compared.

    MD5 over 64 MiB: a single chain of integer operations for which no processor has an
    instruction, unlike SHA-256, so it follows the speed of one core and little else.
    """
    block = bytes(64 << 20)
    return min_of(3, lambda: wall_ms(lambda: hashlib.md5(block, usedforsecurity=False)))


def bench_within_targets(*names):
    """The body of a claim about cases of tests/bench/cases.py: each within its target."""
    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    sys.dont_write_bytecode = True
    import cases

    begin("; ".join(f"{cases.CASES[n][0]} in at most {cases.CASES[n][1]:g} ms" for n in names) + ".",
          MACHINE_DEPENDENT)
    pattern = "|".join(f"^{name}(/|$)" for name in names)
    took = cases.run(release_binary("tests/bench/engine_bench"), pattern)
    for name in names:
        what, target, peers = cases.CASES[name]
        print(f"{name}: {took[name]:.4f} ms, target {target:g} ms{'; ' if peers else ''}{peers}")
    figures = ", ".join(f"{took[name]:.3g} ms" for name in names)
    finish(all(took[name] <= cases.CASES[name][1] for name in names),
           f"{figures}; calibration {calibration_ms():.0f} ms")
