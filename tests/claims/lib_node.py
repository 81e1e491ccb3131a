"""What claims about the node plugin share: running tests of lab/kubelet, which play a kubelet, with its
own device manager, and an API server around the release build's tephra-node."""

import os
import re
import subprocess
import sys

import lib

RESULT = re.compile(r"^( *)--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)")


def run(pattern, **environment):
    """Runs the tests that the pattern names. Returns their results, a list of (name, outcome) of those
    without parts, and the lines that they logged."""
    plugin = os.environ.get("TEPHRA_NODE") or lib.release_binary("plugins/node/tephra-node")
    flags = os.environ.get("GOFLAGS", "") + " -mod=readonly -trimpath"  # as hack/build-lab.sh: one build cache
    done = subprocess.run(
        [lib.GO, "test", "-count=1", "-vet=off", "-v", "-timeout=90m", f"-run={pattern}", "./kubelet"],
        cwd=lib.ROOT / "lab", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": flags, "TEPHRA_NODE": str(plugin), **environment})  # fmt: skip
    lines = done.stdout.splitlines()
    found = [m for m in map(RESULT.match, lines) if m]
    names = [m[3] for m in found]
    results = [(m[3], m[2]) for m in found if not any(n.startswith(m[3] + "/") for n in names)]
    failed = any(outcome == "FAIL" for _, outcome in results)
    if failed:
        print(done.stdout[-8000:], file=sys.stderr)
    if not results or (done.returncode and not failed):
        print(f"go test ended with {done.returncode}\n{done.stdout[-4000:]}", file=sys.stderr)
        sys.exit(2)
    return results, lines


def logged(lines, pattern):
    """The match of the one line that has the pattern; a broken run without it."""
    for line in lines:
        if match := re.search(pattern, line):
            return match
    print(f"no line with {pattern}", file=sys.stderr)
    sys.exit(2)


def finish_cases(results):
    """All have to hold."""
    for name, outcome in results:
        print(f"{outcome:4} {name}")
    held = sum(outcome == "PASS" for _, outcome in results)
    lib.finish(held == len(results), f"{held} of {len(results)} cases")
