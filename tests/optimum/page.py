#!/usr/bin/env python3
"""Writes the tables and the chart of docs/explanation/optimum.md: page.py RESULT.json, a result of compare.py"""
import json
import pathlib
import re
import sys

import compare
import distances
import matplotlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/optimum.md"
CHART = ROOT / "docs/pictures/optimum.svg"
WEIGHTS = {"gpus-urgent": "Weight: GPUs, times 4 if urgent", "gpus": "Weight: GPUs", "jobs": "Weight: 1 for each job",
           "gpu-hours": "Weight: GPU hours"}


def table(result, weight):
    lines = ["| | mean | median | 95 % are at most | worst |", "|---|---:|---:|---:|---:|"]
    for policy in (*compare.POLICIES, compare.ONLINE, compare.STAYS):
        values = distances.of(result, weight, policy)
        cells = " | ".join(f"{value:.1%}".replace("%", " %") for value in distances.summary(values))
        lines.append(f"| {policy if ' ' in policy else f'`{policy}`'} | {cells} |")
    return "\n".join(lines)


def chart(result):
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tephra"  # the same identifiers in each run
    from matplotlib import pyplot
    figure, panel = pyplot.subplots(figsize=(8, 3.6))
    for policy in (*compare.POLICIES, compare.ONLINE):
        values = sorted(distances.of(result, "gpus-urgent", policy))
        own, online = policy == "default", policy == compare.ONLINE
        panel.step([100 * value for value in values], [100 * (rank + 1) / len(values) for rank in range(len(values))], label=policy, where="post",
                   color="black" if own or online else None, linewidth=2 if own else 1.2, linestyle="--" if online else "-")
    panel.set_xlim(0, 100)
    panel.set_ylim(0, 100)
    panel.set_xlabel("at most so many percent above the best schedule")
    panel.set_ylabel("instances, %")
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(CHART, metadata={"Date": None})


def main(file):
    result = json.loads(pathlib.Path(file).read_text())
    if result["faults"]:
        sys.exit("\n".join(result["faults"]))
    seeds, checks = sorted(map(int, result["costs"])), result["checks"]
    facts = (f"{len(seeds)} instances, seeds {seeds[0]} to {seeds[-1]}. {checks['schedules']:,} schedules of the engine are feasible and cost at "
             f"least as much as the best one. {checks['also feasible in the model']:,} of them lose no work, and the model has each of these. The "
             f"engine evicted {checks['evictions']:,} gangs, {checks['lost at once']} of them in the instant of their start. For {checks.get('without a proof', 0)} more instances the solver "
             "proved no optimum, and they are left out.")
    parts = [facts] + [f"{title}:\n\n{table(result, weight)}" for weight, title in WEIGHTS.items()]
    text, found = re.subn(r"(<!-- hack/optimum.sh -->\n).*?(<!-- end -->)", lambda match: match[1] + "\n\n".join(parts) + "\n" + match[2],
                          PAGE.read_text(), flags=re.DOTALL)
    if found != 1:
        sys.exit(f"optimum: {PAGE}: expected one section <!-- hack/optimum.sh --> ... <!-- end -->")
    PAGE.write_text(text)
    chart(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
