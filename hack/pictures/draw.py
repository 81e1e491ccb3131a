"""Draws SVG pictures for hack/pictures.sh: a terminal, a chart of the benchmarks, jobs over time, and how costs grow."""
import argparse
import csv
import json
import math
import re
import sys
import xml.sax.saxutils

FONT = "font-family='ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace'"
SANS = "font-family='system-ui,DejaVu Sans,Arial,sans-serif'"
COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#9d755d"]


def text(x, y, words, more=""):
    return f"<text x='{x:.0f}' y='{y:.0f}' {more}>{xml.sax.saxutils.escape(words)}</text>"


def svg(width, height, parts, font):
    head = (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}' "
            f"height='{height:.0f}' {font} font-size='13'>")
    return "\n".join([head, *parts, "</svg>"])


def fold(line, columns):
    """The line in pieces of at most so many columns, the later ones indented."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    while len(line) > columns:
        cut = line.rfind(" ", len(indent), columns)
        cut = cut if cut > 0 else columns
        yield line[:cut]
        line = indent + line[cut:].lstrip()
    yield line


def terminal(arguments):
    lines = [f"$ {arguments.title}"]
    for line in sys.stdin.read().rstrip("\n").split("\n"):
        lines += fold(line, arguments.columns)
    if len(lines) > arguments.lines:
        lines = [*lines[:arguments.lines - 1], "..."]
    width, height = arguments.columns * 7.9 + 32, len(lines) * 17 + 58
    parts = [f"<rect width='{width:.0f}' height='{height:.0f}' rx='8' fill='#1e222a'/>"]
    parts += [f"<circle cx='{20 + 18 * i}' cy='18' r='6' fill='{c}'/>" for i, c in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))]
    for i, line in enumerate(lines):
        colour = "#8fd694" if i == 0 else "#e6e6e6"
        parts.append(text(16, 52 + 17 * i, line, f"fill='{colour}' xml:space='preserve'"))
    print(svg(width, height, parts, FONT))


TIME = re.compile(r"([\d.,]+)(?:-([\d.,]+))?\s*(us|ms|s)\b")
SCALE = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def milliseconds(words):
    """The larger end of the first time in the words, or nothing."""
    found = TIME.search(words)
    return None if found is None else float((found[2] or found[1]).replace(",", "")) * SCALE[found[3]]


def compared(page):
    """(work, [(name, milliseconds)]) of each row of the page's tables that has peers with a time."""
    peers = None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else None
        if cells is None:
            peers = None
        elif "Tephra" in cells and "peers" in cells:
            ours, peers = cells.index("Tephra"), cells.index("peers")
        elif peers is not None and len(cells) > peers:
            others = [(part.split()[0], milliseconds(part)) for part in cells[peers].split(";") if milliseconds(part)]
            mine = milliseconds(cells[ours])
            if others and mine:
                yield cells[0], [("Tephra", mine), *others]


def duration(ms):
    return f"{ms / 1e3:,.3g} s" if ms >= 1e3 else f"{ms:.3g} ms" if ms >= 1 else f"{ms * 1e3:.3g} us"


def chart(arguments):
    with open(arguments.page, encoding="utf-8") as page:
        rows = list(compared(page.read()))
    if not rows:
        sys.exit(f"draw: {arguments.page}: no table with the columns Tephra and peers")
    left, right = 330, 1000
    low = math.floor(math.log10(min(ms for _, bars in rows for _, ms in bars)))
    high = math.ceil(math.log10(max(ms for _, bars in rows for _, ms in bars)))
    place = lambda ms: left + (right - left) * (math.log10(ms) - low) / (high - low)
    parts, y = [], 64
    for work, bars in rows:
        parts.append(text(left - 90, y + 5 + 9 * len(bars), work, "text-anchor='end' fill='#222'"))
        for name, ms in bars:
            colour = "#4c78a8" if name == "Tephra" else "#c9c9c9"
            parts.append(text(left - 8, y + 13, name, "text-anchor='end' fill='#555' font-size='12'"))
            parts.append(f"<rect x='{left}' y='{y + 2}' width='{max(2, place(ms) - left):.0f}' height='13' fill='{colour}'/>")
            parts.append(text(place(ms) + 5, y + 13, duration(ms), "fill='#333' font-size='12'"))
            y += 18
        y += 12
    axis = []
    for power in range(low, high + 1):
        x = place(10 ** power)
        axis.append(f"<line x1='{x:.0f}' y1='58' x2='{x:.0f}' y2='{y}' stroke='#eee'/>")
        axis.append(text(x, y + 16, duration(10 ** power), "text-anchor='middle' fill='#777' font-size='11'"))
    title = text(20, 26, "Time for the same work, logarithmic scale; shorter is better", "font-size='16' font-weight='bold' fill='#222'")
    note = text(20, 46, "2-core machine; docs/benchmarks.md describes each row and how to repeat it", "fill='#666' font-size='12'")
    back = f"<rect width='1100' height='{y + 30}' fill='white'/>"
    print(svg(1100, y + 30, [back, title, note, *axis, *parts], SANS))


def rows_of(tasks, gpus):
    """For each task (job, GPU, start, end): each GPU that it held, one row per GPU."""
    for task in tasks:
        if task["start_s"]:
            end = float(task["finish_s"]) if task["finish_s"] else None
            for device in task["devices"].split():
                yield task["job"], int(device.split(":")[0]) % gpus, float(task["start_s"]), end


def gantt(arguments):
    runs = []
    for run in arguments.runs:
        title, _, path = run.partition("=")
        with open(path, newline="", encoding="utf-8") as file:
            runs.append((title, list(rows_of(csv.DictReader(file), arguments.gpus))))
    last = max(end for _, bars in runs for _, _, _, end in bars if end is not None)
    jobs = sorted({re.sub(r"-\d+$", "", job) for _, bars in runs for job, *_ in bars})
    left, width, row = 70, 860, 15
    place = lambda s: left + width * s / last
    parts, y = [], 20
    for title, bars in runs:
        parts.append(text(left, y + 8, title, "font-size='15' font-weight='bold' fill='#222'"))
        y += 18
        for job, gpu, start, end in bars:
            kind = re.sub(r"-\d+$", "", job)
            parts.append(f"<rect x='{place(start):.1f}' y='{y + gpu * row}' width='{max(1, place(end or last) - place(start) - 1):.1f}' "
                         f"height='{row - 1}' fill='{COLOURS[jobs.index(kind) % len(COLOURS)]}'/>")
        if starts := [start for job, _, start, _ in bars if job == "gang"]:
            parts.append(text(place(min(starts)) + 6, y + 11, f"gang starts after {min(starts) / 60:.0f} min", "fill='white' font-size='11'"))
        parts.append(text(left - 8, y + arguments.gpus * row / 2 + 4, f"{arguments.gpus} GPUs", "text-anchor='end' fill='#555'"))
        y += arguments.gpus * row
        for minutes in range(0, int(last / 60) + 1, 10):
            parts.append(text(place(minutes * 60), y + 15, f"{minutes} min", "text-anchor='middle' fill='#777' font-size='11'"))
        y += 36
    for i, kind in enumerate(jobs):
        parts.append(f"<rect x='{left + 130 * i}' y='{y - 6}' width='12' height='12' fill='{COLOURS[i % len(COLOURS)]}'/>")
        parts.append(text(left + 130 * i + 18, y + 5, kind, "fill='#333'"))
    back = f"<rect width='{left + width + 40}' height='{y + 20}' fill='white'/>"
    print(svg(left + width + 40, y + 20, [back, *parts], SANS))


LINES = {"median": COLOURS[0], "p99": COLOURS[1]}


def count(number):
    return next((f"{number // unit}{letter}" for unit, letter in ((10**6, "M"), (10**3, "k")) if number >= unit), str(number))


def in_words(law):
    if law["exponent"] is None:
        return law["words"]
    slope, last = (round(law[part], 2) + 0.0 for part in ("exponent", "last"))  # never -0.00
    return f"{law['words']}; slope {slope:.2f}, last step {last:.2f}"


def one_curve(name, found, left, top, width, height, low, high):
    """A log-log chart: the time of an event, from 10^low to 10^high ms, against the size."""
    sizes = [point["size"] for point in found["points"]]
    first, last = math.floor(math.log10(sizes[0])), math.ceil(math.log10(sizes[-1]))
    across = lambda size: left + width * (math.log10(size) - first) / max(1, last - first)
    up = lambda ms: top + height * (high - math.log10(ms)) / (high - low)
    yield text(left, top - 12, name, "font-size='14' font-weight='bold' fill='#222'")
    for power in range(low, high + 1):
        y = up(10**power)
        yield f"<line x1='{left}' y1='{y:.0f}' x2='{left + width}' y2='{y:.0f}' stroke='#e4e4e4'/>"
        yield text(left - 6, y + 4, duration(10**power), "text-anchor='end' fill='#666' font-size='11'")
    for power in range(first, last + 1):
        x = across(10**power)
        yield f"<line x1='{x:.0f}' y1='{top}' x2='{x:.0f}' y2='{top + height}' stroke='#e4e4e4'/>"
        yield text(x, top + height + 15, count(10**power), "text-anchor='middle' fill='#666' font-size='11'")
    for line, colour in LINES.items():
        places = [(across(point["size"]), up(point["result"]["event_ms"][line])) for point in found["points"] if "result" in point]
        yield (f"<polyline points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in places)}' fill='none' stroke='{colour}' "
               "stroke-width='2'/>")
        yield from (f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/>" for x, y in places)
    for size in (point["size"] for point in found["points"] if "result" not in point):
        yield text(across(size), top + height - 4, "\u00d7", "text-anchor='middle' fill='#b00020' font-size='14'")
    for i, line in enumerate(LINES):
        yield text(left - 44, top + height + 33 + 15 * i, f"{line}: {in_words(found['laws'][line])}", "fill='#333' font-size='11'")


def curves(arguments):
    try:
        with open(arguments.results, encoding="utf-8") as file:
            results = json.load(file)
        names, base = results["names"], results["base"]
        drawn = {name: results["curves"][name] for name in names}
        times = [point["result"]["event_ms"][line] for found in drawn.values() for point in found["points"]
                 if "result" in point for line in LINES]
        low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        sys.exit(f"draw: {arguments.results}: {problem!r}, expected all curves of tests/bench/growth --out")
    left, top, across, down = 70, 96, 360, 268
    place = lambda i: (left + across * (i % 3), top + down * (i // 3))
    parts = []
    for i, (name, found) in enumerate(drawn.items()):
        parts += one_curve(names[name], found, *place(i), 270, 170, low, max(high, low + 1))
    x, y = place(len(drawn))
    for i, (line, colour) in enumerate(LINES.items()):
        parts.append(f"<rect x='{x + 90 * i}' y='{y - 8}' width='12' height='12' fill='{colour}'/>")
        parts.append(text(x + 18 + 90 * i, y + 3, line, "fill='#333'"))
    notes = ["Each chart varies one number. The base:", *[f"{base[name]:,} {words}" for name, words in names.items()],
             f"{results['events']:,} events for each size, {results['date']}"]
    if results["quick"]:
        notes.append("Small sizes only (--quick)")
    if any("result" not in point for found in drawn.values() for point in found["points"]):
        notes.append("\u00d7 a size that was not measured")
    parts += [text(x, y + 28 + 18 * i, note, "fill='#555' font-size='12'") for i, note in enumerate(notes)]
    title = text(20, 26, "Time of one event by size, logarithmic scales", "font-size='16' font-weight='bold' fill='#222'")
    note = text(20, 46, "An event is a new job or the end of a job, with its Tick; docs/benchmarks.md says how to repeat it",
                "fill='#666' font-size='12'")
    height = top + 2 * down - 20
    print(svg(1100, height, [f"<rect width='1100' height='{height}' fill='white'/>", title, note, *parts], SANS))


def main():
    parser = argparse.ArgumentParser(description="Draws SVG pictures on standard output.")
    kinds = parser.add_subparsers(required=True)
    kind = kinds.add_parser("terminal")
    kind.set_defaults(draw=terminal)
    kind.add_argument("--title", required=True)
    kind.add_argument("--lines", type=int, default=40)
    kind.add_argument("--columns", type=int, default=110)
    kind = kinds.add_parser("chart")
    kind.set_defaults(draw=chart)
    kind.add_argument("page")
    kind = kinds.add_parser("gantt")
    kind.set_defaults(draw=gantt)
    kind.add_argument("--gpus", type=int, required=True)
    kind.add_argument("runs", nargs="+", metavar="TITLE=TASKS.CSV")
    kind = kinds.add_parser("growth")
    kind.set_defaults(draw=curves)
    kind.add_argument("results", metavar="FILE", help="what tests/bench/growth --out wrote")
    arguments = parser.parse_args()
    arguments.draw(arguments)


if __name__ == "__main__":
    main()
