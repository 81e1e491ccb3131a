#!/usr/bin/env python3
"""Checks every link between pages: links_test.py ROOT, or links_test.py --self-test.

A relative link in a Markdown file must name a file or a folder of the tree, and its anchor a heading of that page.
A path docs/....md that any other file names must exist too.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|\b(?:src|href)=\"([^\"]+)\"")
PAGE = re.compile(r"\bdocs/[\w./-]*\.(?:md|svg|png)\b")
FENCE = re.compile(r"^\s*(```|~~~)")
TEMPLATE = "docs/adr/0000-template.md"  # its link is a placeholder
RENAMES = "docs/renames.md"  # names paths that were


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True).stdout
    return sorted(path for path in listed.split("\0") if path and (root / path).is_file())


def prose(text):
    """The lines outside fenced code, by number."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def slug(heading):
    """The anchor that GitHub gives a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(text):
    seen, found = {}, set()
    for _, line in prose(text):
        if heading := re.match(r"#{1,6}\s+(.*?)\s*#*$", line):
            name = slug(heading.group(1))
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
        found |= set(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def faults(root):
    root = pathlib.Path(root).resolve()
    for path in tracked(root):
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            continue
        if path.endswith(".md") and path != TEMPLATE:
            yield from faults_of_page(root, path, text)
        if path != RENAMES and not path.startswith(("tests/docs/", "tests/prose/")):
            for number, line in enumerate(text.splitlines(), 1):
                for page in PAGE.findall(line):
                    if not (root / page).exists() and not path.endswith(".md"):
                        yield f"{path}:{number}: {page}: no such file, expected a page of the tree"


def faults_of_page(root, path, text):
    for number, line in prose(text):
        for link in (first or second for first, second in LINK.findall(re.sub(r"`[^`]*`", "", line))):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (root / path).parent / name if name else root / path
            if not target.exists():
                yield f"{path}:{number}: {link}: no such file, expected a path relative to {pathlib.Path(path).parent}"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                yield f"{path}:{number}: {link}: no heading of {name or path} has the anchor #{anchor}"


class SelfTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def tearDown(self):
        self.folder.cleanup()

    def found(self, text, **others):
        (self.root / "docs").mkdir(exist_ok=True)
        (self.root / "docs/page.md").write_text(text)
        for name, other in others.items():
            (self.root / name).write_text(other)
        return list(faults(self.root))

    def test_a_link_to_a_file_a_folder_and_a_heading_is_good(self):
        self.assertEqual(self.found("# A `tephra top`, of it\n[a](page.md#a-tephra-top-of-it) [b](../docs) [c](https://x.y/z) [d](#a-tephra-top-of-it)\n"), [])

    def test_a_link_to_nothing_is_a_fault(self):
        self.assertEqual(self.found("x\n[a](gone.md)\n"), ["docs/page.md:2: gone.md: no such file, expected a path relative to docs"])

    def test_an_anchor_that_no_heading_has_is_a_fault(self):
        self.assertEqual(self.found("# B\n[a](#c)\n"), ["docs/page.md:2: #c: no heading of docs/page.md has the anchor #c"])

    def test_code_is_not_read_for_links(self):
        self.assertEqual(self.found("```\n[a](gone.md)\n# c\n```\n`[a](gone.md)`\n"), [])

    def test_a_page_that_code_names_has_to_be_there(self):
        self.assertEqual(self.found("x\n", code="see docs/page.md and docs/old.md\n"),
                         ["code:1: docs/old.md: no such file, expected a page of the tree"])


def main():
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    if len(sys.argv) != 2:
        sys.exit("usage: links_test.py ROOT | --self-test")
    found = list(faults(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
