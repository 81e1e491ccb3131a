#!/usr/bin/env python3
"""Checks what holds for every page of the documents: pages_test.py ROOT

A page says first what it is for, the index lists it, and every picture is used and small. The paths that
ARCHITECTURE.md and CONTRIBUTING.md name exist.
"""
import pathlib
import re
import sys

LARGEST_PICTURE = 300_000  # bytes
PURPOSE = re.compile(r"This page |This tutorial |In this tutorial ")


def first_paragraph(text):
    lines = [line for line in re.split(r"\n\s*\n", text) if not line.startswith("#")]
    return lines[0].strip() if lines else ""


def faults(root):
    docs = root / "docs"
    pages = [page for page in sorted(docs.rglob("*.md")) if docs / "adr" not in page.parents]
    index = (docs / "README.md").read_text()
    words = index + "".join(page.read_text() for page in [*pages, *root.glob("*.md")])
    for page in pages:
        name = page.relative_to(docs).as_posix()
        if not PURPOSE.match(first_paragraph(page.read_text())):
            yield f"docs/{name}:3: expected a first paragraph that begins with \"This page\" or \"This tutorial\""
        if name != "README.md" and f"]({name})" not in index:
            yield f"docs/README.md: no link to {name}, expected one to each page"
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        for path in re.findall(r"`((?:[a-z_]+/)+[\w./-]*)`", (root / name).read_text()):
            if not (root / path).exists():
                yield f"{name}: {path}: no such file or folder"
    for picture in sorted((docs / "pictures").iterdir()):
        if f"pictures/{picture.name})" not in words:
            yield f"docs/pictures/{picture.name}: no page shows it"
        if picture.stat().st_size > LARGEST_PICTURE:
            yield f"docs/pictures/{picture.name}: {picture.stat().st_size} bytes, expected at most {LARGEST_PICTURE}"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: pages_test.py ROOT")
    found = list(faults(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
