#!/usr/bin/env python3
"""The two Go modules name what both require in the same words, version and replacement, so that Go compiles each
package of Kubernetes once: under -trimpath it tells packages apart by what go.mod calls their module.

    shared_modules_test.py ROOT
"""

import pathlib
import re
import sys

REQUIRED = re.compile(r"^(?:require)?\s+(\S+) (v\S+)(?: // indirect)?$")
REPLACED = re.compile(r"^(?:replace)?\s+(\S+) => (?:\S+ (v\S+)|\S+)$")
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
    shim, lab = (modules(root / folder / "go.mod") for folder in ("plugins/volcano", "lab"))
    both = shim.keys() & lab.keys()
    faults = [f"{name}: {' => '.join(filter(None, shim[name]))} in plugins/volcano/go.mod, "
              f"{' => '.join(filter(None, lab[name]))} in lab/go.mod, expected the same"
              for name in sorted(both)
              if shim[name] != lab[name]]
    if KUBERNETES not in both:
        faults.append(f"{KUBERNETES}: expected in both modules")
    print("\n".join(faults) or f"{len(both)} modules are the same in both")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
