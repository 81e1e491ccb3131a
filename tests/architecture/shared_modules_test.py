#!/usr/bin/env python3
"""The Go modules name what two of them require in the same words, version and replacement, so that Go compiles each
package of Kubernetes once: under -trimpath it tells packages apart by what go.mod calls their module.

    shared_modules_test.py ROOT
"""

import itertools
import pathlib
import re
import sys

REQUIRED = re.compile(r"^(?:require)?\s+(\S+) (v\S+)(?: // indirect)?$")
REPLACED = re.compile(r"^(?:replace)?\s+(\S+) => (?:\S+ (v\S+)|\S+)$")
FOLDERS = ("plugins/volcano", "tests/volcano", "lab")
KUBERNETES = "k8s.io/kubernetes"


def modules(path):
    """Module -> (version, version of what is compiled; None: a folder)."""
    required, replaced = {}, {}
    for line in path.read_text().splitlines():
        if found := REQUIRED.match(line):
            required[found[1]] = found[2]
        elif found := REPLACED.match(line):
            replaced[found[1]] = found[2]
    return {name: (version, replaced.get(name, version)) for name, version in required.items()}


def main():
    root = pathlib.Path(sys.argv[1])
    found = {folder: modules(root / folder / "go.mod") for folder in FOLDERS}
    faults, shared = [], set()
    for one, other in itertools.combinations(FOLDERS, 2):
        both = found[one].keys() & found[other].keys()
        shared |= both
        faults += [f"{name}: {' => '.join(filter(None, found[one][name]))} in {one}/go.mod, "
                   f"{' => '.join(filter(None, found[other][name]))} in {other}/go.mod, expected the same"
                   for name in sorted(both)
                   if found[one][name] != found[other][name]]
        if KUBERNETES not in both:
            faults.append(f"{KUBERNETES}: expected in {one}/go.mod and {other}/go.mod")
    print("\n".join(faults) or f"{len(shared)} modules are the same wherever they are required")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
