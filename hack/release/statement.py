#!/usr/bin/env python3
"""Writes the provenance of an image, and makes its SBOM the same each time: statement.py ARCHIVE NAME

ARCHIVE has the image. NAME.provenance.json is an in-toto Statement v1 with a SLSA provenance v1
(slsa.dev/spec/v1.0/provenance). It names the commit, whether the sources had changes beyond it, the Go, and the Debian
packages that compiled the programs. It is not signed. NAME.spdx.json, as syft writes it, has a random address and the time of
writing. They become the digest of the image and the time of the commit (SOURCE_DATE_EPOCH). `statement.py --programs SBOM` does
the same with the SBOM of a folder, whose address is then the digest of its list of packages.
"""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILERS = {"amd64": ["g++-12", "binutils", "cmake", "protobuf-compiler"],
             "arm64": ["g++-12-aarch64-linux-gnu", "binutils-aarch64-linux-gnu", "cmake", "protobuf-compiler"]}


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def image(archive):
    """The digest and the architecture of the only image of an OCI archive."""
    with tarfile.open(archive) as tar:
        def blob(name):
            return json.load(tar.extractfile(name))

        index = blob("index.json")
        if len(index["manifests"]) != 1:
            sys.exit(f"statement: {archive}: index.json has {len(index['manifests'])} manifests, expected 1")
        digest = index["manifests"][0]["digest"]
        manifest = blob("blobs/" + digest.replace(":", "/"))
        config = blob("blobs/" + manifest["config"]["digest"].replace(":", "/"))
    return digest, config["architecture"]


def dependencies(architecture):
    commit = run("git", "rev-parse", "HEAD")
    yield {"uri": "git+https://tephra.sh/tephra", "digest": {"gitCommit": commit}}
    go = run("hack/go", "env", "GOVERSION")
    yield {"uri": f"pkg:golang/toolchain@{go}", "name": go}
    for package in COMPILERS[architecture]:
        version = run("dpkg-query", "-W", "-f=${Version}", package)
        yield {"uri": f"pkg:deb/debian/{package}@{version}", "name": package}


def statement(name, digest, architecture):
    changed = bool(run("git", "status", "--porcelain", "--untracked-files=no"))
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest.removeprefix("sha256:")},
                     "mediaType": "application/vnd.oci.image.manifest.v1+json"}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://tephra.sh/hack/release.sh@v1",
                "externalParameters": {"architecture": architecture, "changedSources": changed},
                "resolvedDependencies": list(dependencies(architecture)),
            },
            "runDetails": {"builder": {"id": "https://tephra.sh/hack/release.sh"}},
        },
    }


def write(path, document):
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def settle(sbom, address):
    """Gives the SBOM this address, and the time of the commit."""
    document = json.loads(sbom.read_text())
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document["creationInfo"]["created"] = made.strftime("%Y-%m-%dT%H:%M:%SZ")
    document["documentNamespace"] = address or "https://tephra.sh/spdx/programs/sha256:" + hashlib.sha256(
        json.dumps(document["packages"], sort_keys=True).encode()).hexdigest()
    write(sbom, document)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: statement.py ARCHIVE NAME | --programs SBOM")
    if sys.argv[1] == "--programs":
        settle(pathlib.Path(sys.argv[2]), None)
        return
    archive, name = sys.argv[1], pathlib.Path(sys.argv[2])
    digest, architecture = image(archive)
    write(name.with_name(f"{name.name}.provenance.json"), statement(name.name, digest, architecture))
    settle(name.with_name(f"{name.name}.spdx.json"), f"https://tephra.sh/spdx/{name.name}/{digest}")


if __name__ == "__main__":
    main()
