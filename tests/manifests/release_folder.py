"""What a release folder must hold (docs/how-to/release.md): faults(folder) lists what is wrong with it."""

import hashlib
import json
import subprocess
import tarfile

from built import version

PROGRAMS = ("tephra", "tephra-engine", "tephra-scheduler", "tephra-admission", "tephra-lab", "tephra-churn", "kubectl-tephra",
            "kubectl", "vcctl")
IMAGES = ("tephra-scheduler", "tephra-engine", "tephra-node")
# A package of each kind that an image must list: the libraries of Debian, the modules of Go.
LISTED = {"tephra-scheduler": ("stdlib", "k8s.io/client-go", "volcano.sh/volcano"), "tephra-engine": ("libc6", "libgrpc++1.51"),
          "tephra-node": ("libc6", "libcurl4")}


def faults(folder, architectures):
    """`architectures`: what each image must be for; empty: the folder has no images."""
    found = list(checksum_faults(folder))
    names = ["LICENSE", "CHANGELOG.md", "README.md", "demo.sh", "manifests/base/kustomization.yaml", "docs/README.md",
             f"charts/tephra-{version()}.tgz", f"charts/tephra-team-{version()}.tgz", *(f"bin/{program}" for program in PROGRAMS)]
    found += [f"{name} is missing" for name in names if not (folder / name).is_file()]
    for program in PROGRAMS:
        word = "--help" if program != "kubectl" else "help"
        done = subprocess.run([folder / "bin" / program, word], capture_output=True, text=True)
        if done.returncode:
            found.append(f"bin/{program} {word} ended with {done.returncode}: {done.stderr[-200:]}")
    for name in IMAGES if architectures else ():
        found += image_faults(folder / "images", name, architectures)
    if architectures:
        packages = {package["name"] for package in json.loads((folder / "programs.spdx.json").read_text())["packages"]}
        found += [f"programs.spdx.json: no {name}" for name in ("libc6", "libgrpc++1.51", "k8s.io/kubernetes") if name not in packages]
        found += [f"{name} is there, expected nothing" for name in ("var", "etc") if (folder / name).exists()]
    return found


def checksum_faults(folder):
    sums = dict(reversed(line.split("  ./", 1)) for line in (folder / "SHA256SUMS").read_text().splitlines())
    files = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file() and file.name != "SHA256SUMS"}
    for name in files.keys() ^ sums.keys():
        yield f"SHA256SUMS and the folder differ in {name}"
    for name in files.keys() & sums.keys():
        if hashlib.sha256(files[name].read_bytes()).hexdigest() != sums[name]:
            yield f"{name} has another checksum than in SHA256SUMS"


def blob_of(tar, digest):
    content = tar.extractfile("blobs/" + digest.replace(":", "/")).read()
    if "sha256:" + hashlib.sha256(content).hexdigest() != digest:
        raise AssertionError(f"{tar.name}: {digest}: the content has another digest")
    return content


def image_faults(folder, name, architectures):
    with tarfile.open(folder / f"{name}-{version()}.tar") as tar:
        index, = json.load(tar.extractfile("index.json"))["manifests"]
        found = {each["platform"]["architecture"]: each["digest"] for each in json.loads(blob_of(tar, index["digest"]))["manifests"]}
        for digest in found.values():
            manifest = json.loads(blob_of(tar, digest))
            for part in (manifest["config"], *manifest["layers"]):
                blob_of(tar, part["digest"])
    if sorted(found) != sorted(architectures):
        yield f"{name}: for {sorted(found)}, expected {sorted(architectures)}"
    for architecture, digest in found.items():
        yield from statement_faults(f"{name}-{version()}-{architecture}", folder, name, digest.removeprefix("sha256:"))


def statement_faults(image, folder, name, digest):
    statement = json.loads((folder / f"{image}.provenance.json").read_text())
    if [subject["digest"]["sha256"] for subject in statement["subject"]] != [digest]:
        yield f"{image}: the provenance is of {statement['subject']}, expected {digest}"
    if statement["predicateType"] != "https://slsa.dev/provenance/v1" or statement["_type"] != "https://in-toto.io/Statement/v1":
        yield f"{image}: the provenance is no SLSA provenance v1"
    dependencies = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    if not any("gitCommit" in each.get("digest", {}) for each in dependencies):
        yield f"{image}: the provenance names no commit"
    sbom = json.loads((folder / f"{image}.spdx.json").read_text())
    if sbom["spdxVersion"] != "SPDX-2.3" or digest not in sbom["documentNamespace"]:
        yield f"{image}: the SBOM is no SPDX 2.3 of this image"
    packages = {package["name"]: package for package in sbom["packages"]}
    for listed in LISTED[name]:
        if not packages.get(listed, {}).get("versionInfo"):
            yield f"{image}: the SBOM has no version of {listed}"
