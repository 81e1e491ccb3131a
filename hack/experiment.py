#!/usr/bin/env python3
"""Runs the experiment and writes its figures into docs/explanation/experiment.md: hack/experiment.py [NAME...]

Needs the release build, the data (hack/data.sh), and matplotlib for the chart (apt-get install python3-matplotlib). A
NAME is a sweep: simulations/experiments/NAME-sweep.yaml. Without one all sweeps run, ten minutes on two cores. The
results stay in build/experiment; called again, it continues there.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build/experiment"
PAGE = ROOT / "docs/explanation/experiment.md"
CHART = ROOT / "docs/pictures/experiment.svg"
SWEEPS = ["philly", "philly-apart", "alea", "made", "made-unsaved", "departments", "kth"]
SHOWN = {"alea": (0.8, 1), "philly": (2.5,)}  # loads in the tables; the chart has all of them
BASELINE = "easy"
WAITS = {"mean_wait_s": "mean wait, s", "large_mean_wait_s": "large: mean wait, s", "large_p95_wait_s": "large: 95 % within, s",
         "mean_bounded_slowdown": "slowdown"}
REST = {"gpus_used_percent": "GPUs held, %", "cpus_used_percent": "nodes held, %", "jain_queues": "fairness of queues",
        "evictions": "evictions", "lost_gpu_hours": "GPU hours lost"}


def sweep(name):
    """{load: {policy: {metric: comparison}}} of the sweep, as `tephra sweep --output json` has it."""
    tephra = ROOT / "build/release/simulations/tephra"
    data = subprocess.run([ROOT / "hack/data.sh", "--where"], capture_output=True, text=True, check=True).stdout.strip()
    for needed, mend in ((tephra, "cmake --preset release && cmake --build --preset release"), (pathlib.Path(data), "hack/data.sh")):
        if not needed.exists():
            sys.exit(f"experiment: no {needed}: {mend}")
    done = subprocess.run([tephra, "sweep", ROOT / f"simulations/experiments/{name}-sweep.yaml", "--out", OUT / name,
                           "--output", "json"], stdout=subprocess.PIPE, check=True)
    runs = {}
    for one in json.loads(done.stdout)["comparison"]:
        runs.setdefault(one["load"], {}).setdefault(one["policy"], {})[one["metric"]] = one
    return runs


def shown(one, digits):
    """The value, with the half width of its interval if there are several seeds."""
    value = one["value"]
    text = f"{value['mean']:,.{digits}f}"
    if value["seeds"] > 1:
        text += f" ± {value['half_width_95']:,.{digits}f}"
    return text + (" *" if one.get("differs") else "")


def table(policies, columns):
    """A Markdown table: a row for each policy, a column for each metric that the sweep has."""
    first = next(iter(policies.values()))
    columns = {metric: title for metric, title in columns.items() if metric in first}
    digits = {"mean_bounded_slowdown": 2, "gpus_used_percent": 1, "cpus_used_percent": 1, "jain_queues": 4}
    lines = ["| | " + " | ".join(columns.values()) + " |", "|---|" + "---:|" * len(columns)]
    for policy, metrics in policies.items():
        cells = [shown(metrics[metric], digits.get(metric, 0)) for metric in columns]
        lines.append(f"| `{policy}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(runs):
    """The tables of a sweep, by load."""
    parts = []
    for load, policies in runs.items():
        if load != 1 or len(runs) > 1:
            parts.append(f"Load {load:g}:")
        parts += [table(policies, WAITS), table(policies, REST)]
    return "\n\n".join(parts)


def chart(results):
    """Two waits over those of the baseline, one point for each policy, workload and load; points beyond 8 are left out."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("experiment: wrote the tables but no chart, because matplotlib is missing: apt-get install python3-matplotlib, then /usr/bin/python3 hack/experiment.py")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tephra"  # the same identifiers in each run
    from matplotlib import pyplot
    rows = [(name, load) for name, runs in results.items() for load in runs]
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 0.3 * len(rows) + 1.6), sharey=True)
    policies = [policy for policy in next(iter(next(iter(results.values())).values())) if policy not in (BASELINE, "fifo")]
    for panel, metric in zip(panels, ("mean_wait_s", "large_mean_wait_s")):
        for policy in policies:
            points = []
            for y, (name, load) in enumerate(rows):
                runs = results[name][load]
                base = runs[BASELINE][metric]["value"]["mean"] if policy in runs else 0
                if base > 0:
                    points.append((runs[policy][metric]["value"]["mean"] / base, y))
            own = policy == "default"
            panel.plot([x for x, _ in points], [y for _, y in points], "D" if own else "o", label=policy, markersize=8 if own else 5,
                       color="black" if own else None, alpha=1 if own else 0.6)
        panel.axvline(1, color="gray", linewidth=1)
        panel.set_xscale("log", base=2)
        panel.set_xlim(0.5, 8)
        panel.set_xticks([0.5, 1, 2, 4, 8], ["1/2", "1", "2", "4", "8"])
        panel.set_title(f"{WAITS[metric].split(', s')[0]}, times that of `{BASELINE}`", fontsize=10)
        panel.grid(axis="y", alpha=0.3)
    panels[0].set_yticks(range(len(rows)), [f"{name}, load {load:g}" for name, load in rows])
    panels[0].invert_yaxis()
    panels[1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(CHART, metadata={"Date": None})


def main(names):
    unknown = [name for name in names if name not in SWEEPS]
    if unknown:
        sys.exit(f"usage: hack/experiment.py [NAME...]: {unknown[0]}: expected one of {', '.join(SWEEPS)}")
    results = {name: sweep(name) for name in names or SWEEPS}
    page = PAGE.read_text()
    for name, runs in results.items():
        shown_runs = {load: runs[load] for load in SHOWN.get(name, runs)}
        page, found = re.subn(rf"(<!-- experiment {name} -->\n).*?(<!-- end -->)",
                              lambda match: match[1] + section(shown_runs) + "\n" + match[2], page, flags=re.DOTALL)
        if found != 1:
            sys.exit(f"experiment: {PAGE}: expected one section <!-- experiment {name} --> ... <!-- end -->")
    PAGE.write_text(page)
    if not names:
        chart(results)


if __name__ == "__main__":
    main(sys.argv[1:])
