"""What claims about the live scheduler share: running tests of lab/e2e and counting them, and
playing many users on a lab with tephra-churn."""

import json
import os
import re
import subprocess
import sys

import lib

RESULT = re.compile(r"^( *)--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)")
NEEDED = {
    "TEPHRA_LAB": ("build/lab/tephra-lab", "hack/build-lab.sh"),
    "TEPHRA_SCHEDULER": ("build/scheduler/tephra-scheduler", "hack/build-scheduler.sh"),
    "TEPHRA_ENGINE": ("build/release/sidecar/tephra-engine", "the release preset"),
    "TEPHRA": ("build/release/simulations/tephra", "the release preset"),
}
CHURN = lib.ROOT / "build/lab/tephra-churn"


def program(variable):
    """Where one of NEEDED is; its absence is a broken run, not a miss."""
    path, how = NEEDED[variable]
    found = os.environ.get(variable) or lib.ROOT / path
    if not os.access(found, os.X_OK):
        print(f"no {path}; {how} builds it, {variable} names another", file=sys.stderr)
        sys.exit(2)
    return found


def churn(*arguments):
    """The report of one run of tephra-churn, which starts a lab of its own."""
    for variable in NEEDED:
        program(variable)
    if not os.access(CHURN, os.X_OK):
        print("no build/lab/tephra-churn; hack/build-lab.sh builds it", file=sys.stderr)
        sys.exit(2)
    done = subprocess.run([CHURN, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                          cwd=lib.ROOT)
    if done.returncode != 0:
        sys.exit(2)
    return json.loads(done.stdout)


def run(pattern, subtests, said=None, **environment):
    """Runs the tests that the pattern names; returns a list of (name, "PASS", "FAIL" or "SKIP").

    With `subtests` a test that has parts is counted by its parts. `said` gets the lines that the tests print.
    """
    for variable in NEEDED:
        program(variable)
    flags = os.environ.get("GOFLAGS", "") + " -mod=readonly -trimpath"  # as hack/build-lab.sh: one build cache
    process = subprocess.Popen(
        [lib.GO, "test", "-count=1", "-vet=off", "-v", "-timeout=20m", f"-run={pattern}", "./e2e"],
        cwd=lib.ROOT / "lab", env={**os.environ, **environment, "CGO_ENABLED": "0", "GOFLAGS": flags},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")  # fmt: skip
    results, said = [], [] if said is None else said
    for line in process.stdout:
        said.append(line)
        found = RESULT.match(line)
        if found and bool(found[1]) == subtests:
            results.append((found[3], found[2]))
            print(f"{found[2]:4} {found[3]} ({found[4]} s)")
    ended = process.wait()
    if ended or any(outcome == "FAIL" for _, outcome in results):
        print("".join(said[-400:]), file=sys.stderr)
    if not results or (ended and all(outcome != "FAIL" for _, outcome in results)):
        print(f"go test ended with {ended}", file=sys.stderr)
        sys.exit(2)
    return results


def finish(results):
    """All have to hold; what this machine cannot check is said."""
    held = sum(outcome == "PASS" for _, outcome in results)
    left = sum(outcome == "SKIP" for _, outcome in results)
    lib.finish(held + left == len(results),
               f"{held} of {len(results)} cases" + (f", {left} not checked" if left else ""))
