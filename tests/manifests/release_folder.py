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


def faults(folder, images=True):
    found = list(checksum_faults(folder))
    names = ["LICENSE", "CHANGELOG.md", "README.md", "demo.sh", "manifests/base/kustomization.yaml", "docs/README.md",
             f"charts/tephra-{version()}.tgz", f"charts/tephra-team-{version()}.tgz", *(f"bin/{program}" for program in PROGRAMS)]
    found += [f"{name} is missing" for name in names if not (folder / name).is_file()]
    for program in PROGRAMS:
        word = "--help" if program != "kubectl" else "help"
        done = subprocess.run([folder / "bin" / program, word], capture_output=True, text=True)
        if done.returncode:
            found.append(f"bin/{program} {word} ended with {done.returncode}: {done.stderr[-200:]}")
    if images:
        archives = sorted((folder / "images").glob("*.tar"))
        found += [f"no image {name}" for name in IMAGES if not (folder / f"images/{name}-{version()}.tar").is_file()]
        found += [fault for archive in archives for fault in image_faults(archive)]
    return found


def checksum_faults(folder):
    sums = dict(reversed(line.split("  ./", 1)) for line in (folder / "SHA256SUMS").read_text().splitlines())
    files = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file() and file.name != "SHA256SUMS"}
    for name in files.keys() ^ sums.keys():
        yield f"SHA256SUMS and the folder differ in {name}"
    for name in files.keys() & sums.keys():
        if hashlib.sha256(files[name].read_bytes()).hexdigest() != sums[name]:
            yield f"{name} has another checksum than in SHA256SUMS"


def image_faults(archive):
    with tarfile.open(archive) as tar:
        digest = json.load(tar.extractfile("index.json"))["manifests"][0]["digest"].removeprefix("sha256:")
    statement = json.loads(archive.with_suffix(".provenance.json").read_text())
    subjects = {subject["digest"]["sha256"] for subject in statement["subject"]}
    if subjects != {digest, hashlib.sha256(archive.read_bytes()).hexdigest()}:
        yield f"{archive.name}: the provenance names {sorted(subjects)}, expected the digests of the image and of the archive"
    if statement["predicateType"] != "https://slsa.dev/provenance/v1" or statement["_type"] != "https://in-toto.io/Statement/v1":
        yield f"{archive.name}: the provenance is no SLSA provenance v1"
    definition = statement["predicate"]["buildDefinition"]
    if not any("gitCommit" in each.get("digest", {}) for each in definition["resolvedDependencies"]):
        yield f"{archive.name}: the provenance names no commit"
    sbom = json.loads(archive.with_suffix(".spdx.json").read_text())
    if sbom["spdxVersion"] != "SPDX-2.3" or digest not in sbom["documentNamespace"]:
        yield f"{archive.name}: the SBOM is no SPDX 2.3 of this image"
    packages = {package["name"]: package for package in sbom["packages"]}
    name = next(name for name in IMAGES if archive.name.startswith(name))
    for listed in LISTED[name]:
        if not packages.get(listed, {}).get("versionInfo"):
            yield f"{archive.name}: the SBOM has no version of {listed}"
