#!/usr/bin/env python3
"""Runs the samples of the pages: samples_test.py TEPHRA ROOT [--write]

A fenced block whose first line begins with `$ tephra` shows commands and what they print. Each is run, in a folder of
its own beside simulations/, and has to print the same; long lines are folded. A sample may end with a line `...`, and is
then the beginning of the output. --write puts the real output into the pages.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COLUMNS = 118
BLOCK = re.compile(r"^```\n(\$ tephra .*?)^```$", re.MULTILINE | re.DOTALL)
MOST_SECONDS = 60


def fold(line):
    """The line in pieces of at most so many columns, the later ones indented."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    while len(line) > COLUMNS:
        cut = line.rfind(" ", len(indent), COLUMNS)
        cut = cut if cut > 0 else COLUMNS
        yield line[:cut]
        line = indent + line[cut:].lstrip()
    yield line


def run(tephra, folder, command):
    done = subprocess.run(["bash", "-c", command.replace("tephra", str(tephra), 1)], cwd=folder, capture_output=True, text=True,
                          timeout=MOST_SECONDS)
    if done.returncode != 0:
        raise ValueError(f"`{command}` ended with {done.returncode}: {done.stderr.strip()}")
    return [piece for line in done.stdout.rstrip("\n").split("\n") for piece in fold(line.rstrip())] if done.stdout.strip() else []


def real(tephra, root, block):
    """The block with what its commands print now."""
    lines, shown, current = block.rstrip("\n").split("\n"), [], []
    parts = []  # (command, lines of the sample)
    for line in lines:
        if line.startswith("$ "):
            current = []
            parts.append((line[2:], current))
        else:
            current.append(line)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(root / "simulations", pathlib.Path(folder) / "simulations")
        for command, sample in parts:
            printed = run(tephra, folder, command)
            if sample and sample[-1] == "...":
                printed = [*printed[:max(1, len(sample) - 1)], "..."]
            shown += [f"$ {command}", *printed]
    return "\n".join(shown) + "\n"


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--write"]):
        sys.exit("usage: samples_test.py TEPHRA ROOT [--write]")
    tephra, root, failed, ran = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), 0, 0
    for page in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        text = page.read_text()

        def replace(match):
            nonlocal failed, ran
            ran += 1
            line = text[:match.start()].count("\n") + 1
            try:
                now = real(tephra, root, match[1])
            except (ValueError, subprocess.TimeoutExpired) as problem:
                failed += 1
                print(f"{page.relative_to(root)}:{line}: {problem}")
                return match[0]
            if now != match[1]:
                failed += 1
                print(f"{page.relative_to(root)}:{line}: the sample prints something else now; samples_test.py --write mends it")
            return f"```\n{now}```"

        changed = BLOCK.sub(replace, text)
        if sys.argv[3:] and changed != text:
            page.write_text(changed)
    if ran == 0:
        sys.exit("samples_test.py: no page has a sample")
    print(f"samples: {ran} run, {failed} differ")
    sys.exit(1 if failed and not sys.argv[3:] else 0)


if __name__ == "__main__":
    main()
