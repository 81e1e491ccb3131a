"""A folder as `tephra simulate --out` writes it, of as many jobs as wanted: for tests of the report.

Jobs of 1 to 8 GPUs take the GPUs of a random node as soon as these are free, so that no two hold
one at a time. The last job never starts and has the reason `why`.
"""

import csv
import json
import random

JOB_COLUMNS = (
    "job,user,queue,state,gpus,tasks,submit_s,start_s,end_s,wait_s,run_s,jct_s,bounded_slowdown,"
    "evictions,failures,restarts,lost_gpu_s,reason"
).split(",")
TASK_COLUMNS = (
    "job,task,queue,state,arrival_s,start_s,finish_s,wait_s,node,devices,verdict,reason"
).split(",")
STEPS = 500


def write_csv(path, columns, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def most(values):
    values = sorted(values)
    if not values:
        return {"jobs": 0}
    at = lambda part: values[min(len(values) - 1, int(part * len(values)))]
    sums = {"jobs": len(values), "mean": sum(values) / len(values), "most": values[-1]}
    return sums | {"p50": at(0.5), "p90": at(0.9), "p95": at(0.95), "p99": at(0.99)}


def sums(jobs):
    done = [job for job in jobs if job["state"] == "finished"]
    return {
        "jobs": len(jobs),
        "finished": len(done),
        "gpu_hours": sum(job["gpus"] * job["run_s"] for job in done) / 3600,
        "lost_gpu_hours": 0.0,
        "evictions": sum(job["evictions"] for job in jobs),
        "failures": 0,
        "restarts": 0,
        "wait_s": most([job["wait_s"] for job in done]),
        "jct_s": most([job["jct_s"] for job in done]),
        "bounded_slowdown": most([job["bounded_slowdown"] for job in done]),
    }


def make_run(
    folder, jobs=300, nodes=8, seed=1, name="made", queues=("research", "prod"), why="no room"
):
    dice = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    free = [[0] * 8 for _ in range(nodes)]
    mean_run = 3600
    rows, tasks, at = [], [], 0
    for number in range(jobs):
        at += dice.randrange(int(2 * 2.75 * mean_run / (8 * nodes)) + 1)
        node, gpus = dice.randrange(nodes), dice.choice((1, 1, 2, 2, 4, 8))
        first = dice.randrange(0, 8, gpus)
        run = max(1, int(dice.expovariate(1 / mean_run)))
        start = max(at, *free[node][first : first + gpus], 0)
        free[node][first : first + gpus] = [start + run] * gpus
        rows.append(
            {"job": f"{name}-{number}", "user": f"user-{number % 12}", "state": "finished"}
            | {"queue": queues[number % len(queues)], "gpus": gpus, "tasks": 1}
            | {"submit_s": at, "start_s": start}
            | {"end_s": start + run, "wait_s": start - at, "run_s": run, "jct_s": start + run - at}
            | {"bounded_slowdown": max(1, (start + run - at) / max(run, 10))}
            | {"evictions": number % 3, "failures": 0, "restarts": 0, "lost_gpu_s": 0, "reason": ""}
        )
        devices = " ".join(map(str, range(first, first + gpus)))
        tasks.append([rows[-1]["job"], "worker/0", rows[-1]["queue"], "finished", at, start])
        tasks[-1] += [start + run, start - at, f"node-{node}", devices, "start", ""]
    never = {key: "" for key in ("start_s", "end_s", "wait_s", "jct_s", "bounded_slowdown")}
    rows[-1] |= never | {"state": "pending", "reason": why}
    tasks[-1][3:] = ["pending", at, "", "", "", "", "", "wait", why]

    end = max(row["end_s"] or 0 for row in rows)
    step = end / STEPS
    used = {queue: [0.0] * STEPS for queue in queues}
    for row in rows:
        if row["start_s"] == "":
            continue
        place = int(row["start_s"] / step)
        while place < STEPS and place * step < row["end_s"]:
            part = min(row["end_s"], (place + 1) * step) - max(row["start_s"], place * step)
            used[row["queue"]][place] += row["gpus"] * part / step
            place += 1
    listed = [[row[column] for column in JOB_COLUMNS] for row in rows]
    write_csv(folder / "jobs.csv", JOB_COLUMNS, listed)
    write_csv(folder / "tasks.csv", TASK_COLUMNS, tasks)
    times = [f"{place * step:.3f}" for place in range(STEPS)]
    held = [sum(used[queue][place] for queue in queues) for place in range(STEPS)]
    write_csv(
        folder / "timeline.csv",
        "time_s,span_s,gpus,gpus_used,gpus_fragmented,jobs_running,jobs_pending".split(","),
        [
            [times[i], f"{step:.3f}", 8 * nodes, held[i], held[i] / 20, held[i] / 2.75, 3]
            for i in range(STEPS)
        ],
    )
    write_csv(
        folder / "queues.csv",
        "time_s,queue,gpus_used,gpus_requested,gpus_share,gpus_deserved".split(","),
        [
            [times[i], queue, used[queue][i], 2, 8 * nodes / len(queues), 2 * nodes]
            for i in range(STEPS)
            for queue in queues
        ],
    )
    summary = {
        "name": name,
        "file": "made.yaml",
        "end_s": end,
        "jobs_by_state": {"arrived": jobs, "started": jobs - 1, "finished": jobs - 1, "pending": 1},
        "all": sums(rows),
        "by_queue": {
            queue: sums([row for row in rows if row["queue"] == queue]) for queue in queues
        },
        "by_user": {
            user: {"jobs": 1, "finished": 1, "gpu_hours": 1.0, "mean_wait_s": 2.0}
            | {"mean_bounded_slowdown": 1.5}
            for user in sorted({row["user"] for row in rows})
        },
        "fairness": {"jain_queues": 0.97, "jain_users": 0.91},
        "nodes": [{"name": f"node-{node}", "gpu_used_per_mille": [0] * 8} for node in range(nodes)],
    }
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return folder
