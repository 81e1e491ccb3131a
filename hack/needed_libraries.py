#!/usr/bin/env python3
"""Prints the shared libraries that programs need, one `PATH PACKAGE` per line: needed_libraries.py [--sysroot DIR] PROGRAM...

The dynamic loader counts as a library. PATH is the path on the system where the programs run. PACKAGE is the Debian package
that the library comes from. With --sysroot, both are looked up in a folder that hack/sysroot.sh made. No program
is run, so the programs may be for another architecture. `--control PACKAGE` prints what dpkg knows of a package instead.
"""

import argparse
import pathlib
import re
import subprocess
import sys

TRIPLETS = {"Advanced Micro Devices X86-64": "x86_64-linux-gnu", "AArch64": "aarch64-linux-gnu"}


def read(path):
    """The machine of a program or library, the loader that it names, or None, and the libraries that it needs."""
    said = subprocess.run(["readelf", "--wide", "--file-header", "--program-headers", "--dynamic", path], check=True,
                          capture_output=True, text=True).stdout
    loader = re.search(r"interpreter: (.*)\]", said)
    return (re.search(r"Machine:\s+(.*)", said).group(1), loader and loader.group(1),
            re.findall(r"\(NEEDED\).*\[(.*)\]", said))


class System:
    """The libraries and packages of this machine, or of a sysroot."""

    def __init__(self, sysroot):
        self.root = pathlib.Path(sysroot or "/")
        self.foreign = sysroot is not None

    def path_on_disk(self, path):
        return self.root / path.lstrip("/")

    def find(self, library, triplet):
        for folder in (f"/lib/{triplet}", f"/usr/lib/{triplet}"):
            if self.path_on_disk(f"{folder}/{library}").exists():
                return f"{folder}/{library}"
        sys.exit(f"needed_libraries: {library} is not in /lib/{triplet} or /usr/lib/{triplet} of {self.root}")

    def packages(self, paths):
        """The package of each library. Packages name /lib or /usr/lib, and the file behind a link."""
        ends = {path: f"/{pathlib.PurePath(path).parent.name}/{self.path_on_disk(path).resolve().name}" for path in paths}
        owners = {}
        for owner, file in self.owned(set(ends.values())):
            owners.setdefault("/" + "/".join(pathlib.PurePath(file).parts[-2:]), set()).add(owner)
        for path, end in ends.items():
            if len(owners.get(end, ())) != 1:
                sys.exit(f"needed_libraries: {path} belongs to {sorted(owners.get(end, ())) or 'no package'}, expected one package")
        return {path: min(owners[end]) for path, end in ends.items()}

    def owned(self, ends):
        """Pairs of package and file, for all files with these ends. The lists are those of dpkg."""
        for files in self.path_on_disk("/var/lib/dpkg/info").glob("*.list"):
            package = files.stem.split(":")[0]
            yield from ((package, line) for line in files.read_text().splitlines()
                        if ".so" in line and "/" + "/".join(line.split("/")[-2:]) in ends)

    def control(self, package):
        if not self.foreign:
            return subprocess.run(["dpkg-query", "-s", package], check=True, capture_output=True, text=True).stdout
        first, rest = self.path_on_disk(f"/var/lib/dpkg/info/{package}.control").read_text().split("\n", 1)
        return f"{first}\nStatus: install ok installed\n{rest}"


def needed(system, programs):
    """The paths of all libraries, and of the loader."""
    found, to_read = set(), [str(program) for program in programs]
    while to_read:
        path = to_read.pop()
        machine, loader, libraries = read(path)
        if machine not in TRIPLETS:
            sys.exit(f"needed_libraries: {path} is for {machine}, expected one of {', '.join(TRIPLETS)}")
        news = {loader} if loader else set()
        # The loader is needed under the path that programs name.
        news |= {system.find(each, TRIPLETS[machine]) for each in libraries if not each.startswith("ld-linux")}
        to_read += [str(system.path_on_disk(each)) for each in news - found]
        found |= news
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description="Shared libraries that programs need.")
    parser.add_argument("--sysroot")
    parser.add_argument("--control", metavar="PACKAGE")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    system = System(arguments.sysroot)
    if arguments.control:
        print(system.control(arguments.control), end="")
        return
    for path, package in system.packages(needed(system, arguments.programs)).items():
        print(path, package)


if __name__ == "__main__":
    main()
