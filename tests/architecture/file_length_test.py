#!/usr/bin/env python3
"""Source files stay under 400 lines, so that each has one subject that a reader can keep in mind.

    file_length_test.py [ROOT]       checks the tree
    file_length_test.py --self-test  checks that the test can fail
"""

import pathlib
import subprocess
import sys
import tempfile

LIMIT = 400
ENDINGS = (".cc", ".h", ".go", ".py", ".sh", ".js", ".css", ".proto", ".cmake")
GENERATED = (".pb.go",)
MOST_EXCEPTIONS = 5
# Path -> why it is one subject although it is long.
EXCEPTIONS = {
    "engine/config_fields.cc": "one table of settings, with what its rows need",
    "sidecar/proto/tephra/v1/event.proto": "the whole vocabulary of facts, read from top to bottom by people who write a client",
}


def is_source(path):
    if path.name.endswith(GENERATED) or not path.is_file():
        return False
    if path.suffix in ENDINGS:
        return True
    with path.open("rb") as file:
        return path.suffix == "" and file.read(2) == b"#!"


def check(root, exceptions):
    """Returns (files, faults)."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            stdout=subprocess.PIPE, check=True, text=True).stdout
    lengths = {name: (root / name).read_bytes().count(b"\n") for name in listed.split("\0") if name and is_source(root / name)}
    faults = [f"{name}: {lines} lines, expected fewer than {LIMIT}" for name, lines in sorted(lengths.items())
              if lines >= LIMIT and name not in exceptions]
    faults += [f"{name}: {lengths.get(name, 'no such file, or no')} lines: is no exception any more, take it off the list"
               for name in exceptions if lengths.get(name, 0) < LIMIT]
    if len(exceptions) > MOST_EXCEPTIONS:
        faults.append(f"{len(exceptions)} exceptions, expected at most {MOST_EXCEPTIONS}")
    return len(lengths), faults


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["git", "init", "-q", root], check=True)
        for name, lines in (("a.cc", 399), ("b.cc", 400), ("c.go", 900), ("d.txt", 900), ("e.pb.go", 900), ("tool", 500), ("data", 500)):
            (root / name).write_text(("#!/bin/sh\n" if name == "tool" else "x\n") + "x\n" * (lines - 1))
        found = [fault.split(":")[0] for fault in check(root, {"c.go": "why", "a.cc": "why"})[1]]
        many = check(root, dict.fromkeys(["b.cc", "c.go", "tool", "1", "2", "3"], "why"))[1]
    if found != ["b.cc", "tool", "a.cc"] or many[-1] != "6 exceptions, expected at most 5":
        print(f"file length self-test: {found} {many}")
        return 1
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    files, faults = check(root, EXCEPTIONS)
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"file length: {files} files, {len(faults)} faults, {len(EXCEPTIONS)} exceptions")
    return 0 if files and not faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
