"""The chart for tests: made once from the manifests, rendered and installed by the real helm."""
import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import yaml

from built import ROOT, kustomize

ALL = ["admission", "node", "node-mps", "signed-slices", "network", "node-network", "openshift", "monitoring", "teams", "provisioning"]
EVERYTHING = {"admission.enabled": True, "admission.certificates": "cert-manager", "node.enabled": True, "node.mps.enabled": True, "node.signedSlices": True,
              "networkPolicies.enabled": True, "openshift.enabled": True, "monitoring.enabled": True, "teams.enabled": True,
              "provisioning.enabled": True}


@functools.cache
def chart():
    """The folder of the chart: one of its own, because other tests make theirs at the same time."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="chart-", dir=ROOT / "build"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([ROOT / "hack/chart.sh", "--into", folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return folder / "tephra"


@functools.cache
def program():
    return subprocess.run([ROOT / "hack/helm.sh"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def helm(*arguments, values=None, check=True):
    """What helm says; with check=False: what it says against the call, empty if it succeeds."""
    with tempfile.TemporaryDirectory() as home:
        own = {f"HELM_{name}_HOME": home for name in ("CACHE", "CONFIG", "DATA")}
        command = [program(), *map(str, arguments)]
        if values is not None:
            path = pathlib.Path(home, "values.yaml")
            path.write_text(yaml.safe_dump(nested(values)))
            command += ["--values", path]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own})
    if not check:
        return done.stderr if done.returncode else ""
    if done.returncode:
        raise AssertionError(f"helm {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def nested(flat):
    """{"a.b": 1} as {"a": {"b": 1}}."""
    result = {}
    for name, value in flat.items():
        *folders, last = name.split(".")
        at = result
        for folder in folders:
            at = at.setdefault(folder, {})
        at[last] = value
    return result


def rendered(values=None, namespace="tephra-system"):
    """The objects of the chart, by (kind, name)."""
    text = helm("template", "tephra", chart(), "--namespace", namespace, values=values or {})
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(text) if o}


def kustomized(overlay, components):
    with tempfile.TemporaryDirectory() as folder:
        at = os.path.relpath(ROOT / "manifests", os.path.realpath(folder))
        (pathlib.Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump({
            "resources": [f"{at}/overlays/{overlay}"], "components": [f"{at}/components/{each}" for each in components]}))
        return kustomize(folder)
