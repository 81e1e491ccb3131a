"""Reads Markdown, writes it with lines of at most 120 columns: a table with a longer row becomes a block of text.

The first cell of a row is the name of an entry; the other cells follow below it with their headings. Used by hack/kai.sh
and hack/upstream.sh.
"""
import re
import sys
import textwrap

COLUMNS = 120
QUIET = ("what", "case", "cases")  # headings that are clear without a word


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def wrapped(text, indent=""):
    return textwrap.wrap(text, COLUMNS - 2, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def as_text(table):
    headings, rows = cells(table[0]), [cells(line) for line in table[2:]]
    lines = ["```"]
    for row in rows:
        lines += wrapped(row[0], "  ")
        others = [(heading, cell) for heading, cell in zip(headings[1:], row[1:]) if cell]
        for quiet in [cell for heading, cell in others if heading in QUIET]:
            lines += wrapped(f"    {quiet}", "      ")
        if loud := "; ".join(f"{heading}: {cell}" for heading, cell in others if heading not in QUIET):
            lines += wrapped(f"    {loud}", "      ")
    return [*lines, "```"]


def main():
    lines, out, at = sys.stdin.read().split("\n"), [], 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        if end > at:
            table = lines[at:end]
            out += as_text(table) if any(len(line) > COLUMNS for line in table) else table
            at = end
        else:
            out += [lines[at]] if len(lines[at]) <= COLUMNS else wrapped(lines[at], re.match(r"(\s*(?:[-*] )?)", lines[at])[0].replace("-", " ").replace("*", " "))
            at += 1
    print("\n".join(out), end="")


if __name__ == "__main__":
    main()
