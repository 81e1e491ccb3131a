"""What ship-images looks at: programs compiled again in another folder, programs for arm64, and what scanners know."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import lib
import lib_bare

ACCEPTED = lib.ROOT / "hack/vulnerabilities/accepted"
ENGINE_PROGRAMS = ("simulations/tephra", "sidecar/tephra-engine", "plugins/node/tephra-node")
GO_PROGRAMS = ("tephra-scheduler", "tephra-admission")
EMULATOR = "qemu-aarch64-static"


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **more)


def missing_for_arm64():
    """Why programs for arm64 cannot be run, or None."""
    if not shutil.which(EMULATOR):
        return f"{EMULATOR} is missing: hack/setup.sh release installs it"
    for path in ("build/sysroot-arm64", "build/arm64/tests/scenarios/scenario_test", "build/arm64/sidecar/tephra-engine",
                 "build/scheduler-arm64/tephra-scheduler"):
        if not (lib.ROOT / path).exists():
            return f"no {path}; hack/build-images.sh --arch arm64 and `cmake --build --preset arm64 --target scenario_test` build it"
    return None


def says_its_version(archive, root):
    """What is wrong with the program of an image for arm64 when it runs with the files of the image alone, or None."""
    sys.path.insert(0, str(lib.ROOT / "tests/manifests"))
    from images_test import Image

    image = Image(archive)
    for layer in image.layers():
        layer.extractall(root)
    entry = image.config["config"]["Entrypoint"][0]
    done = subprocess.run([EMULATOR, "-L", root, str(root) + entry, "--version"], capture_output=True, text=True)
    architecture = image.config["architecture"]
    if done.returncode or not done.stdout.startswith(pathlib.Path(entry).name) or architecture != "arm64":
        return f"{archive.name}, for {architecture}: {entry} --version: {done.returncode} {done.stdout}{done.stderr[-300:]}"
    return None


def emulated(program, *arguments, **more):
    """Runs a program of build/arm64 with the libraries of the sysroot."""
    return subprocess.run([EMULATOR, "-L", str(lib.ROOT / "build/sysroot-arm64"), str(lib.ROOT / "build/arm64" / program),
                           *map(str, arguments)], capture_output=True, text=True, **more)  # fmt: skip


def pack(folder, *arguments, tree=lib.ROOT):
    """The digest of each image, packed into the folder from the programs of a tree."""
    said = run(tree / "hack/build-images.sh", "--no-build", *arguments, env=os.environ | {"TEPHRA_IMAGES": str(folder)}).stdout
    return {pathlib.Path(path).name: digest for digest, path in (line.split() for line in said.splitlines())}


def compile_again(tree):
    """A copy of the sources in another folder, with all programs of the images compiled there, from nothing."""
    files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=lib.ROOT).stdout.split("\0")
    for name in files:
        if (lib.ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(lib.ROOT / name, tree / name)
    environment = os.environ | {"CCACHE_DISABLE": "1", "GOCACHE": str(tree / "build/go-cache")}
    targets = [pathlib.Path(program).name for program in ENGINE_PROGRAMS]
    run("cmake", "--preset", "release", cwd=tree, env=environment)
    run("cmake", "--build", "--preset", "release", "--parallel", os.environ.get("TEPHRA_JOBS", os.cpu_count()), "--target", *targets,
        cwd=tree, env=environment)
    run("hack/build-scheduler.sh", cwd=tree, env=environment)


def programs_that_name(folder):
    """The programs of the images with a path of this folder in them."""
    programs = [lib.ROOT / "build/release" / program for program in ENGINE_PROGRAMS]
    programs += [lib.ROOT / "build/scheduler" / program for program in GO_PROGRAMS]
    return [program.name for program in programs if str(folder).encode() in program.read_bytes()]


def messages(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        message, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        yield message


def vulnerabilities():
    """The vulnerabilities whose code is in the Go programs, as {ID: summary}, and the day of the database, YYYYMMDD."""
    said = list(messages(run(lib.ROOT / "hack/vulnerabilities.sh").stdout))
    summaries = {message["osv"]["id"]: message["osv"]["summary"] for message in said if "osv" in message}
    found = {message["finding"]["osv"] for message in said
             if "finding" in message and any("function" in frame for frame in message["finding"]["trace"])}
    database = re.search(r"golang.org/x/vulndb v[0-9.]+-(\d{8})", (lib.ROOT / "hack/vulnerabilities/go.mod").read_text())
    return {each: summaries[each] for each in sorted(found)}, database.group(1)


def accepted():
    lines = [line for line in ACCEPTED.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def newer_packages(architecture):
    """Packages of the sysroot that the images hold, of which Debian has a newer version, and how many packages were compared."""
    root = lib.ROOT / f"build/sysroot-{architecture}"
    binaries = lib.ROOT / ("build/arm64" if architecture == "arm64" else "build/release")
    needed = run("hack/needed_libraries.py", "--sysroot", root, *(binaries / program for program in ENGINE_PROGRAMS), cwd=lib.ROOT)
    packages = sorted({line.split()[1] for line in needed.stdout.splitlines()})
    with tempfile.TemporaryDirectory(prefix="tephra-apt-") as scratch:
        folder = pathlib.Path(scratch)
        (folder / "lists/partial").mkdir(parents=True)
        (folder / "status").touch()
        lines = lib_bare.sources() or ["deb http://deb.debian.org/debian bookworm main",
                                       "deb http://deb.debian.org/debian-security bookworm-security main"]
        (folder / "sources").write_text("\n".join(lines) + "\n")
        options = [f"-oDir::Etc::sourcelist={folder}/sources", "-oDir::Etc::sourceparts=/dev/null", f"-oDir::State::lists={folder}/lists",
                   f"-oDir::State::status={folder}/status", f"-oDir::Cache={folder}", f"-oAPT::Architecture={architecture}",
                   f"-oAPT::Architectures={architecture}", "-oAPT::Sandbox::User=root"]
        run("apt-get", *options, "update")
        newest = run("apt-cache", *options, "--no-all-versions", "show", *packages).stdout
    newest = {re.search(r"^Package: (.*)", stanza, re.M).group(1): re.search(r"^Version: (.*)", stanza, re.M).group(1)
              for stanza in newest.split("\n\n") if stanza.strip()}
    held = {package: re.search(r"^Version: (.*)", (root / f"var/lib/dpkg/info/{package}.control").read_text(), re.M).group(1)
            for package in packages}
    newer = [f"{package} {held[package]}, Debian has {newest[package]}" for package in packages
             if subprocess.run(["dpkg", "--compare-versions", newest[package], "gt", held[package]]).returncode == 0]
    return newer, len(packages)
