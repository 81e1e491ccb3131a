"""What the claims about the scheduler's cycle share: the Go commands that run it in process."""

import json
import os
import subprocess
import sys

import lib


def run(name, *arguments, missed=1):
    """The JSON that a command of hack/build-bench.sh prints.

    Its exit status `missed` is part of the answer; any other, or its absence, is a broken run.
    """
    program = lib.ROOT / "build" / "scheduler" / name
    if not os.access(program, os.X_OK):
        print(f"no build/scheduler/{name}; run hack/build-bench.sh first", file=sys.stderr)
        sys.exit(2)
    engine = os.environ.get("TEPHRA_ENGINE") or lib.release_binary("sidecar/tephra-engine")
    done = subprocess.run([program, *arguments, "--output", "json"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "TEPHRA_ENGINE": str(engine)})
    if done.returncode not in (0, missed) or not done.stdout:
        sys.exit(2)
    return json.loads(done.stdout)


def upstream(cases, actions, *packages):
    """The rows of Volcano's cases in the folder, of these packages or of all."""
    reasons = lib.ROOT / "tests" / "peers" / "volcano_reasons.json"
    written = ("--reasons", str(reasons)) if actions == "tephra" else ()
    return run("upstream", "--cases", cases, "--with", actions, *written,
               "--packages", ",".join(packages))


def churn(engine, seeds):
    """What came of random clusters in tests/volcano/sink: for each seed, whether two kinds of sessions did the same."""
    program = lib.ROOT / "build" / "scheduler" / "same.test"
    if not os.access(program, os.X_OK):
        print("no build/scheduler/same.test; run hack/build-bench.sh first", file=sys.stderr)
        sys.exit(2)
    done = subprocess.run([program, "-test.run", "SessionsOfAPlan", "-same-seeds", str(seeds)], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, env={**os.environ, "TEPHRA_ENGINE": str(engine)})
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(2)
    return [json.loads(line) for line in lines]


def part(times, of):
    """The time below which that part of the sorted times lies."""
    return times[min(len(times) - 1, int(of * len(times)))]


def ms(cost, clock="wall"):
    """Milliseconds of one clock in a cost of cyclebench."""
    return cost[clock] / 1e6
