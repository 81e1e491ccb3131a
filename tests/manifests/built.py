"""What the tests of the manifests have in common: the tree, its kubectl, and what kustomize builds."""
import functools
import pathlib
import shutil
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def kubectl():
    built = ROOT / "build/lab/kubectl"
    found = str(built) if built.exists() else shutil.which("kubectl")
    if not found:
        raise FileNotFoundError("kubectl: not there; hack/build-lab.sh --only kubectl builds it")
    return found


@functools.cache
def objects(overlay):
    """The objects of an overlay, by (kind, name)."""
    text = subprocess.run([kubectl(), "kustomize", ROOT / "manifests/overlays" / overlay],
                          check=True, capture_output=True, text=True).stdout
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(text)}


def version():
    for line in (ROOT / "CMakeLists.txt").read_text().splitlines():
        if line.startswith("project(tephra VERSION "):
            return line.split()[2]
    raise ValueError("CMakeLists.txt: no version in project(tephra ...)")
