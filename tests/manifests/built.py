"""What the tests of the manifests have in common: the tree, its kubectl, and what kustomize builds."""
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def kubectl():
    built = ROOT / "build/lab/kubectl"
    found = str(built) if built.exists() else shutil.which("kubectl")
    if not found:
        raise FileNotFoundError("kubectl: not there; hack/build-lab.sh --only kubectl builds it")
    return found


def kustomize(folder):
    text = subprocess.run([kubectl(), "kustomize", folder], check=True, capture_output=True, text=True).stdout
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(text)}


@functools.cache
def objects(overlay):
    """The objects of an overlay, by (kind, name)."""
    return kustomize(ROOT / "manifests/overlays" / overlay)


@functools.cache
def with_components(*names, overlay="beside"):
    """The objects of an overlay with these components, by (kind, name)."""
    with tempfile.TemporaryDirectory() as folder:
        at = os.path.relpath(ROOT / "manifests", os.path.realpath(folder))
        (pathlib.Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump({
            "resources": [f"{at}/overlays/{overlay}"], "components": [f"{at}/components/{each}" for each in names]}))
        return kustomize(folder)


def component(name, *before, overlay="beside"):
    """The objects that the component, after other components, adds to an overlay."""
    return {key: o for key, o in with_components(*before, name, overlay=overlay).items() if key not in objects(overlay)}


def version():
    for line in (ROOT / "CMakeLists.txt").read_text().splitlines():
        if line.startswith("project(tephra VERSION "):
            return line.split()[2]
    raise ValueError("CMakeLists.txt: no version in project(tephra ...)")
