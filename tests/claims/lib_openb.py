"""The openb experiment from the data directory, run by the release build."""

import json
import subprocess
import tempfile

import lib

WORKLOADS = ("default", "cpu250", "gpushare60", "multigpu30", "gpuspec20")


def run(*arguments, workloads=WORKLOADS):
    """The JSON of `tephra openb` over the workloads; exit status 1, a miss, is part of it."""
    data = lib.need_data("openb")
    tephra = lib.release_binary("simulations/tephra")
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["tar", "-xJf", data / "arrival_orders.tar.xz", "-C", scratch], check=True)
        done = subprocess.run(
            [tephra, "openb", "--nodes", data / "openb_node_list_gpu_node.csv", "--pods",
             *(data / f"openb_pod_list_{name}.csv" for name in workloads), "--orders",
             scratch + "/arrival_orders", "--published", data / "published_allocation_curves.csv",
             "--output", "json", *arguments],
            capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)
