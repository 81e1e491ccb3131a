#!/usr/bin/env python3
"""Joins images for several architectures into one OCI archive: join.py OUT ARCHIVE...

Each ARCHIVE has one image for one architecture, as hack/build-images.sh writes it. OUT has one image index with all of them,
under the tag of the first, so that a registry gives each node the image for its architecture. Equal archives give an equal
OUT.
"""

import hashlib
import io
import json
import pathlib
import sys
import tarfile

INDEX = "application/vnd.oci.image.index.v1+json"
REFERENCE = "org.opencontainers.image.ref.name"


def read(archive):
    """The files of an archive by name, and the descriptor of its only image, with its platform."""
    with tarfile.open(archive) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
    images = json.loads(files["index.json"])["manifests"]
    if len(images) != 1:
        sys.exit(f"join: {archive}: index.json has {len(images)} manifests, expected 1")

    def blob(descriptor):
        return json.loads(files["blobs/" + descriptor["digest"].replace(":", "/")])

    config = blob(blob(images[0])["config"])
    return files, images[0], {"architecture": config["architecture"], "os": config["os"]}


def text(document):
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def join(archives):
    """The files of the joined archive."""
    files, descriptors, tag = {}, [], None
    for archive in archives:
        more, image, platform = read(archive)
        tag = tag or image["annotations"][REFERENCE]
        files |= {name: content for name, content in more.items() if name != "index.json"}
        descriptors.append({key: image[key] for key in ("mediaType", "digest", "size")} | {"platform": platform})
    index = text({"schemaVersion": 2, "mediaType": INDEX, "manifests": descriptors})
    digest = hashlib.sha256(index).hexdigest()
    files[f"blobs/sha256/{digest}"] = index
    files["index.json"] = text({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
        {"mediaType": INDEX, "digest": f"sha256:{digest}", "size": len(index), "annotations": {REFERENCE: tag}}]})
    return files, digest


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: join.py OUT ARCHIVE...")
    files, digest = join(sys.argv[2:])
    with tarfile.open(sys.argv[1], "w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(files[name]), 0o644
            tar.addfile(member, io.BytesIO(files[name]))
    print(f"sha256:{digest} {pathlib.Path(sys.argv[1])}")


if __name__ == "__main__":
    main()
