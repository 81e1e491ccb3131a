#!/usr/bin/env python3
"""The images: the same twice, small, for a user that is not root, and the programs run from nothing
but what is in them. The binaries have to be built already."""
import functools
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

from built import ROOT, version

PROGRAMS = {"tephra-scheduler": ["tephra-admission", "tephra-scheduler"], "tephra-engine": ["tephra-engine", "tephra"],
            "tephra-node": ["tephra-node"]}
MOST_MB = {"tephra-scheduler": 50, "tephra-engine": 25, "tephra-node": 25}


def build(folder, umask):
    subprocess.run(["hack/build-images.sh", "--no-build"], cwd=ROOT, check=True, umask=umask, stdout=subprocess.DEVNULL,
                   env=os.environ | {"TEPHRA_IMAGES": str(folder)})


class Image:
    """An OCI archive; every blob is checked against its digest as it is read."""

    def __init__(self, archive):
        self.archive = archive
        with tarfile.open(archive) as tar:
            self.files = {m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar if m.isfile()}
        self.digest = json.loads(self.files["index.json"])["manifests"][0]["digest"]
        self.manifest = json.loads(self.blob(self.digest))
        self.config = json.loads(self.blob(self.manifest["config"]["digest"]))

    def blob(self, digest):
        blob = self.files["blobs/" + digest.replace(":", "/")]
        assert "sha256:" + hashlib.sha256(blob).hexdigest() == digest, digest
        return blob

    def layers(self):
        for layer in self.manifest["layers"]:
            yield tarfile.open(fileobj=io.BytesIO(self.blob(layer["digest"])))


@functools.cache
def built():
    """Folders with all images, built twice."""
    folder = tempfile.TemporaryDirectory(prefix="tephra-images-")
    unittest.addModuleCleanup(folder.cleanup)
    folders = [pathlib.Path(folder.name, n) for n in "ab"]
    for one, umask in zip(folders, (0o022, 0o077)):
        build(one, umask)
    return folders


class EachImage:
    @classmethod
    def setUpClass(cls):
        cls.first, cls.second = (Image(folder / f"{cls.name}-{version()}.tar") for folder in built())

    def test_built_twice_is_the_same_byte_for_byte(self):
        self.assertEqual(self.first.digest, self.second.digest)
        self.assertEqual(self.first.archive.read_bytes(), self.second.archive.read_bytes())

    def test_it_says_what_it_is_and_runs_as_its_own_user(self):
        config = self.first.config["config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(config["Entrypoint"], [f"/usr/bin/{self.name}"])
        self.assertEqual(config["Labels"]["org.opencontainers.image.version"], version())
        self.assertEqual(config["Labels"]["org.opencontainers.image.title"], self.name)

    def test_nothing_in_it_belongs_to_anyone_or_could_be_written_or_raises_rights(self):
        for layer in self.first.layers():
            for member in layer:
                self.assertEqual((member.uid, member.gid, member.uname, member.gname, member.mtime),
                                 (0, 0, "", "", 0), member.name)
                if not member.issym():
                    self.assertEqual(member.mode & 0o7022, 0, member.name)

    def test_it_is_small_and_has_no_shell(self):
        self.assertLess(self.first.archive.stat().st_size, MOST_MB[self.name] << 20)
        names = {m.name.removeprefix("./") for layer in self.first.layers() for m in layer}
        self.assertEqual({n for n in names if n.startswith("usr/bin/")}, {f"usr/bin/{p}" for p in PROGRAMS[self.name]})

    @unittest.skipUnless(os.geteuid() == 0, "changing the root needs root")
    def test_its_programs_run_with_nothing_else_around_them(self):
        with tempfile.TemporaryDirectory(prefix="tephra-root-") as root:
            os.chmod(root, 0o755)
            for layer in self.first.layers():
                layer.extractall(root)
            for program in PROGRAMS[self.name]:
                said = subprocess.run(["chroot", "--userspec=65532:65532", root, f"/usr/bin/{program}", "--version"],
                                      env={"PATH": "/usr/sbin:/usr/bin"}, capture_output=True, text=True)
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertIn(version(), said.stdout)


class Scheduler(EachImage, unittest.TestCase):
    name = "tephra-scheduler"


class Node(EachImage, unittest.TestCase):
    name = "tephra-node"


class Engine(EachImage, unittest.TestCase):
    name = "tephra-engine"

    def test_a_scanner_finds_the_packages_of_its_libraries(self):
        names = {m.name.removeprefix("./") for layer in self.first.layers() for m in layer}
        for package in ("libc6", "libssl3", "libgrpc++1.51"):
            self.assertIn(f"var/lib/dpkg/status.d/{package}", names)
            self.assertIn(f"usr/share/doc/{package}/copyright", names)


if __name__ == "__main__":
    unittest.main()
