#!/usr/bin/env python3
"""Every #include points left: the direction that ARCHITECTURE.md draws, checked.

    topology/base <- topology <- queue <- engine <- each policy <- plugins/registry
                  <- { sidecar/wire | settings | examples } <- sidecar/client <- { sidecar | simulations }
    topology/base <- base,  { base | topology } <- text;  base and text are for the layers of programs

Reads every *.h and *.cc of the tree and names both files of each include that breaks a rule.

    include_direction_test.py [ROOT]       checks the tree
    include_direction_test.py --self-test  checks that each rule can fail
"""

import os
import pathlib
import re
import sys
import tempfile

# A layer may include itself and what has a lower rank. Two layers of one rank are siblings and
# never include each other. Folders of plugins/ that are not listed are policies.
RANK = {
    "topology/base": 0,
    "base": 1,
    "topology": 1,
    "text": 2,
    "queue": 2,
    "engine": 3,
    "plugins/registry": 5,
    "sidecar/wire": 6,
    "settings": 6,
    "examples": 6,
    "sidecar/client": 7,
    "sidecar": 8,
    "simulations": 8,
}
POLICY_RANK = 4

# Folders inside another layer that are layers themselves.
OWN_LAYER = ("topology/base", "sidecar/wire", "sidecar/client", "sidecar/proto")

# At the edge of the cluster: outside the chain, with a list of their own.
EDGE = ("plugins/node", "plugins/volcano")
EDGE_MAY_INCLUDE = ("topology/base", "topology", "base", "text", "sidecar/proto")

# What programs have around their decisions; pure layers never include it.
OF_PROGRAMS = ("base", "text")

# Layers that may see the wire types; the tests may see everything.
SEES_PROTO = ("sidecar/proto", "sidecar/wire", "sidecar/client", "sidecar", "plugins/node")
HAS_LOG = ("base", "sidecar", "simulations", "plugins/node")

# Ways to a clock, a thread, a file, a socket or a random device: what a decision must not see.
IMPURE = re.compile(
    r"(chrono|ctime|time\.h|thread|mutex|shared_mutex|condition_variable|future|fstream|iostream"
    r"|filesystem|random|unistd\.h|sys/.*)"
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer a file belongs to, or None when no layer claims its folder."""
    parts = path.split("/")
    folder = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
    if parts[0] == "plugins" and len(parts) == 2:
        return "plugins/registry" if parts[1] in ("registry.h", "registry.cc") else None
    if parts[0] == "plugins" or folder in OWN_LAYER:
        return folder
    whole = ("base", "topology", "queue", "engine", "text", "settings", "sidecar", "simulations", "examples", "tests")
    return parts[0] if parts[0] in whole else None


def rank_of(layer):
    return RANK.get(layer, POLICY_RANK)


def is_pure(layer):
    return layer.split("/")[0] in ("topology", "queue", "engine", "plugins", "examples") and layer not in EDGE


def direction(source, target):
    """Why a file of layer `source` may not include one of layer `target`, or None if it may."""
    if source == target or source == "tests":
        return None
    if target == "tests":
        return "only tests include tests"
    if source in EDGE:
        allowed = ", ".join(EDGE_MAY_INCLUDE)
        return None if target in EDGE_MAY_INCLUDE else f"{source} may include only {allowed}"
    if target in EDGE:
        return f"no other layer includes {target}"
    if target == "sidecar/proto":
        return None if source in SEES_PROTO else f"{source} must not see sidecar/proto"
    if is_pure(source) and target in OF_PROGRAMS:
        return f"{source} is pure, and {target} is for programs"
    if rank_of(target) == rank_of(source):
        return f"{source} and {target} are siblings"
    if rank_of(target) > rank_of(source) or source == "sidecar/proto":
        return f"{target} stands to the right of {source}"
    return None


def library(path, layer, included):
    """Why this file may not include this header, wherever the header lives, or None if it may."""
    if layer == "tests":
        return None
    if included.endswith(".pb.h") and layer not in SEES_PROTO:
        return "*.pb.h only in sidecar and plugins/node"
    if included.startswith(("boost/graph/", "yaml-cpp/")) and not path.endswith(".cc"):
        return "Boost.Graph and yaml-cpp only inside .cc files"
    if included.startswith("spdlog/") and layer not in HAS_LOG:
        return "spdlog only in the files of binaries"
    if is_pure(layer) and IMPURE.fullmatch(included):
        return "a pure folder has no clock, thread, file, socket or random device"
    return None


def check_include(root, path, layer, quoted, included):
    """Why this one include is wrong, or None if it is right."""
    reason = library(path, layer, included)
    if reason:
        return reason
    # "topology/../queue/job.h" resolves, but is not the path from the root.
    is_ours = os.path.normpath(included) == included and (root / included).is_file()
    if not is_ours:
        generated = included.endswith(".pb.h")
        return "no such file under the root" if quoted and not generated else None
    if not quoted:
        return "our own files are included with quotes"
    target = layer_of(included)
    return direction(layer, target) if target else f"{included} is in no layer"


def sources(root):
    """Paths from the root of all *.h and *.cc, sorted; built and hidden folders are skipped."""
    for folder, names, files in os.walk(root):
        at_root = pathlib.Path(folder) == root
        skipped = ("build", "out") if at_root else ()
        names[:] = sorted(n for n in names if not n.startswith(".") and n not in skipped)
        for name in sorted(files):
            if name.endswith((".h", ".cc")):
                yield (pathlib.Path(folder) / name).relative_to(root).as_posix()


def check(root):
    """Returns (files, includes, violations) of the tree under root."""
    files, includes, violations = 0, 0, []
    for path in sources(root):
        files += 1
        layer = layer_of(path)
        if layer is None:
            violations.append(f"{path}:1: is in no layer; see layer_of and ARCHITECTURE.md")
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            match = INCLUDE.match(line)
            if not match:
                continue
            includes += 1
            mark, included = match.groups()
            reason = check_include(root, path, layer, mark == '"', included)
            if reason:
                violations.append(f"{path}:{number}: includes {included}: {reason}")
    return files, includes, violations


# --- self-test: a tree that is right, then one file at a time that is wrong.

RIGHT = {
    "base/http_server.cc": ["<thread>", '"topology/base/ids.h"'],
    "base/http_server.h": ["<memory>"],
    "topology/base/ids.h": ["<vector>"],
    "topology/device.h": ['"topology/base/ids.h"', "<string>"],
    "topology/fabric.cc": ["<boost/graph/adjacency_list.hpp>", '"topology/device.h"'],
    "queue/job.h": ['"topology/device.h"'],
    "engine/ledger.h": ['"queue/job.h"', "<queue>"],
    "plugins/gang/gang.h": ['"engine/ledger.h"'],
    "plugins/gang/gang.cc": ['"plugins/gang/gang.h"', '"topology/base/ids.h"'],
    "plugins/fairshare/shares.h": ["<cstdint>"],
    "plugins/registry.h": [],
    "plugins/registry.cc": ['"plugins/registry.h"', '"plugins/gang/gang.h"'],
    "plugins/node/allocate.h": ["<thread>", '"topology/device.h"'],
    "plugins/node/main.cc": ["<spdlog/spdlog.h>", '"sidecar/proto/v1/engine.pb.h"'],
    "plugins/node/partition/mig_partitioner.cc": ['"base/log.h"', '"text/sharing.h"', '"kubelet/device_plugin.pb.h"'],
    "base/log.h": ["<string>", '"topology/base/ids.h"'],
    "base/log.cc": ["<spdlog/spdlog.h>", '"base/log.h"'],
    "base/lock_file.h": [],
    "base/fields.h": [],
    "text/sharing.h": ['"base/fields.h"', '"topology/device.h"'],
    "sidecar/wire/codec.h": [],
    "sidecar/wire/codec.cc": ['"sidecar/proto/v1/engine.pb.h"', '"plugins/registry.h"'],
    "settings/read.h": ['"base/fields.h"', '"engine/ledger.h"'],
    "sidecar/client/look.h": ['"base/fields.h"', "<memory>"],
    "base/http_server.h": [],
    "sidecar/metrics.cc": ['"base/http_server.h"'],
    "sidecar/server.h": ['"sidecar/proto/v1/engine.grpc.pb.h"'],
    "sidecar/main.cc": ["<spdlog/spdlog.h>", "<yaml-cpp/yaml.h>", '"sidecar/wire/codec.h"'],
    "simulations/world.h": ["<fstream>", '"plugins/gang/gang.h"'],
    "simulations/alone.cc": ['"base/lock_file.h"'],
    "simulations/main.cc": ["<spdlog/spdlog.h>", '"sidecar/client/look.h"'],
    "tests/support/cluster.h": ["<yaml-cpp/yaml.h>", "<spdlog/spdlog.h>", "<random>"],
    "examples/policy/score.h": ['"plugins/registry.h"'],
    "tests/wire_test.cc": ['"sidecar/proto/v1/engine.pb.h"', '"tests/support/cluster.h"'],
    "tests/both_test.cc": ['"simulations/world.h"', '"sidecar/server.h"'],
    "build/generated.cc": ['"nowhere.h"'],
}

# (including file, included as written, a part of the reason)
WRONG = [
    ("topology/base/check.h", '"topology/device.h"', "to the right"),
    ("topology/node.cc", '"queue/job.h"', "to the right"),
    ("queue/order.h", '"engine/ledger.h"', "to the right"),
    ("engine/cycle.cc", '"plugins/gang/gang.h"', "to the right"),
    ("engine/engine.h", '"plugins/registry.h"', "to the right"),
    ("plugins/gang/place.cc", '"plugins/fairshare/shares.h"', "siblings"),
    ("plugins/gang/wire.cc", '"sidecar/wire/codec.h"', "to the right"),
    ("plugins/gang/all.cc", '"plugins/registry.h"', "to the right"),
    ("plugins/gang/devices.cc", '"plugins/node/allocate.h"', "no other layer"),
    ("plugins/node/ask.cc", '"queue/job.h"', "may include only"),
    ("plugins/node/serve.cc", '"sidecar/server.h"', "may include only"),
    ("plugins/node/decide.cc", '"engine/ledger.h"', "may include only"),
    ("sidecar/wire/inbox.cc", '"sidecar/server.h"', "to the right"),
    ("sidecar/wire/yaml.cc", '"settings/read.h"', "siblings"),
    ("base/device.cc", '"topology/device.h"', "siblings"),
    ("text/ask.cc", '"queue/job.h"', "siblings"),
    ("topology/read.cc", '"text/sharing.h"', "is pure"),
    ("queue/read.cc", '"base/fields.h"', "is pure"),
    ("plugins/registry.cc", '"base/log.h"', "is pure"),
    ("text/wire.cc", '"sidecar/proto/v1/engine.pb.h"', "*.pb.h"),
    ("plugins/gang/yaml.cc", '"base/fields.h"', "is pure"),
    ("sidecar/client/live.cc", '"sidecar/server.h"', "to the right"),
    ("sidecar/replay.cc", '"simulations/world.h"', "siblings"),
    ("simulations/live.cc", '"sidecar/server.h"', "siblings"),
    ("simulations/check.cc", '"tests/support/cluster.h"', "only tests"),
    ("simulations/wire.cc", '"sidecar/proto/v1/engine.pb.h"', "*.pb.h"),
    ("plugins/gang/serve.cc", '"base/http_server.h"', "is pure"),
    ("base/text.cc", '"text/sharing.h"', "to the right"),
    ("queue/wire.cc", "<google/protobuf/message.pb.h>", "*.pb.h"),
    ("plugins/vgpu/absent.cc", '"plugins/vgpu/absent.h"', "no such file"),
    ("topology/relative.cc", '"device.h"', "no such file"),
    ("topology/around.cc", '"topology/../queue/job.h"', "no such file"),
    ("topology/angled.cc", "<queue/job.h>", "with quotes"),
    ("topology/graph.h", "<boost/graph/adjacency_list.hpp>", "Boost.Graph"),
    ("sidecar/config.h", "<yaml-cpp/yaml.h>", "yaml-cpp"),
    ("plugins/backfill/log.cc", "<spdlog/spdlog.h>", "spdlog"),
    ("sidecar/wire/log.cc", "<spdlog/spdlog.h>", "spdlog"),
    ("plugins/registry.cc", "<iostream>", "pure folder"),
    ("examples/policy/clock.cc", "<chrono>", "pure folder"),
    ("plugins/gang/example.cc", '"examples/policy/score.h"', "to the right"),
    ("tests/absent_test.cc", '"tests/support/absent.h"', "no such file"),
]
WRONG += [
    (f"{folder}/impure.cc", f"<{header}>", "pure folder")
    for folder in ("topology", "topology/base", "queue", "engine", "plugins/gang")
    for header in (
        "chrono thread mutex fstream iostream random filesystem sys/socket.h ctime unistd.h".split()
    )
]


def write_tree(root, files):
    for path, includes in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("".join(f"#include {i}\n" for i in includes))


def self_test():
    """Returns the number of rules that did not do their duty."""
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        write_tree(root, RIGHT)
        _, _, violations = check(root)
        failures += [f"a right tree is reported: {v}" for v in violations]
    for path, included, reason in WRONG:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            write_tree(root, {**RIGHT, path: ["<vector>", included]})
            _, _, violations = check(root)
            expected = f"{path}:2: includes {included[1:-1]}: "
            found = violations[0] if len(violations) == 1 else ""
            if not found.startswith(expected) or reason not in found:
                failures.append(f"{path} with {included}: wanted '{reason}', got {violations}")
    for path in ("plugins/loose.cc", "attic/old.h", "main.cc"):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            write_tree(root, {**RIGHT, path: []})
            _, _, violations = check(root)
            if len(violations) != 1 or not violations[0].startswith(f"{path}:1: is in no layer"):
                failures.append(f"{path}: wanted 'in no layer', got {violations}")
    for failure in failures:
        print(failure)
    print(f"include direction self-test: {len(WRONG) + 4} trees, {len(failures)} failures")
    return len(failures)


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print("usage: include_direction_test.py [ROOT | --self-test]", file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    files, includes, violations = check(root)
    for violation in violations:
        print(violation)
    print(f"include direction: {files} files, {includes} includes, {len(violations)} violations")
    # A tree without sources is a wrong ROOT, not a clean tree.
    return 0 if files and not violations else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
