"""What claims about frameworks share: running tests of lab/frameworks, with the real controllers of hack/build-frameworks.sh."""

import os
import re
import subprocess
import sys

import lib
import lib_live

RESULT = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)")
PAGE = lib.ROOT / "docs/reference/frameworks.md"
# Columns of the table "What the tests show", and the part of the test that each shows.
PARTS = {"whole": "starts_whole", "topology": "topology", "lost pod": "loses_a_pod", "reclaim": "is_reclaimed", "suspend": "suspends"}
NAMES = {"volcano-job": "VolcanoJob", "jobset": "JobSet", "indexed-job": "IndexedJob", "leaderworkerset": "LeaderWorkerSet",
         "mpijob": "MPIJob", "raycluster": "RayCluster", "trainjob": "TrainJob", "pytorchjob": "PyTorchJob", "tfjob": "TFJob",
         "jaxjob": "JAXJob", "paddlejob": "PaddleJob", "xgboostjob": "XGBoostJob", "statefulset": "StatefulSet",
         "deployment": "Deployment", "notebook": "Notebook"}  # fmt: skip


def run(pattern, **environment):
    """Outcomes of the tests and their parts by name, and what they said. Ends the claim as skipped if nothing is built."""
    built = os.environ.get("TEPHRA_FRAMEWORKS") or lib.ROOT / "build/frameworks"
    if not os.path.isdir(built):
        lib.skip("no build/frameworks; hack/build-frameworks.sh builds it")
    for variable in lib_live.NEEDED:
        lib_live.program(variable)
    flags = os.environ.get("GOFLAGS", "") + " -mod=readonly -trimpath"
    process = subprocess.Popen(
        [lib.GO, "test", "-count=1", "-vet=off", "-v", "-timeout=60m", f"-run={pattern}", "./frameworks"], cwd=lib.ROOT / "lab",
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": flags, "TEPHRA_TEST_FRAMEWORKS": "1", **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")  # fmt: skip
    outcomes, said = {}, []
    for line in process.stdout:
        said.append(line)
        if found := RESULT.match(line):
            outcomes[found[2]] = found[1]
            print(f"{found[1]:4} {found[2]} ({found[3]} s)", flush=True)
    if process.wait() or "FAIL" in outcomes.values():
        print("".join(said[-400:]), file=sys.stderr)
    if not outcomes:
        print(f"go test ended with {process.returncode}", file=sys.stderr)
        sys.exit(2)
    return outcomes, said


def table():
    """What the page says: the cells of each example by column."""
    rows, columns = {}, None
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| example |"):
            columns = cells[1:]
        elif columns and line.startswith("| ["):
            rows[re.match(r"\[(.*)\.yaml\]", cells[0])[1]] = dict(zip(columns, cells[1:]))
        elif columns and not line.startswith("|"):
            break
    return rows
