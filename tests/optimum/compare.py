#!/usr/bin/env python3
"""How far each policy is from the best schedule of small random instances: compare.py FIRST_SEED INSTANCES

Prints a JSON object: `faults`, which must be empty, `checks`, and `costs`: for each seed and weight the cost of each policy in
times the cost of the best schedule. hack/optimum.sh runs it.
"""
import functools
import json
import multiprocessing
import os
import sys

import instance as instances
import model
import policy_run
import schedule

NO_EVICTIONS = {"disabled_actions": ["reclaim", "preempt", "consolidate"]}
POLICIES = {
    "fifo": {"dequeue_strategy": "fifo", "backfill": {"mode": "none"}, **NO_EVICTIONS},
    "easy": NO_EVICTIONS,
    "default": {},
    "shortest": {"job_order": "sjf", **NO_EVICTIONS},
    "shortest-evicts": {"job_order": "srtf"},
}
ONLINE, STAYS = "no foresight", "best without evictions"


def in_model(problem, runs):
    """Whether the model should have this schedule: on whole units, with few evictions, without work that is lost or a run that works for nothing."""
    def has(job):
        mine = sorted((run for run in runs if run.job == job.name), key=lambda run: run.start)
        return (len(mine) <= model.EVICTIONS + 1 and not schedule.wasted(job, mine)
                and all(after.start > before.end and after.end - after.start > instances.RESTART * instances.UNIT_S
                        for before, after in zip(mine, mine[1:])))
    whole = all(run.end > run.start and run.start % instances.UNIT_S == run.end % instances.UNIT_S == 0 for run in runs)
    return whole and all(has(job) for job in problem.jobs)


def compare(weights, seed):
    """What policies cost for the instance of the seed. `costs` is None where the solver proves no optimum."""
    try:
        return measure(weights, seed)
    except model.Unproven:
        return seed, None, [], {"without a proof": 1}


def measure(weights, seed):
    problem, faults, checks = instances.draw(seed), [], {"schedules": 0, "also feasible in the model": 0, "evictions": 0, "lost at once": 0}
    found = {policy: policy_run.play(problem, settings) for policy, settings in POLICIES.items()}
    costs = {}
    for weight in weights:
        weighed = problem.weighed(weight)
        found |= {"best": model.Optimum(weighed).solve(), STAYS: model.Optimum(weighed, evictions=0).solve(),
                  ONLINE: model.without_foresight(weighed)}
        wrong = {policy: schedule.faults(problem, runs) for policy, runs in found.items()}
        faults += [f"seed {seed}: {policy}: {fault}" for policy, all_ in wrong.items() for fault in all_]
        mine = {policy: schedule.cost(weighed, runs) for policy, runs in found.items() if not wrong[policy]}
        faults += [f"seed {seed}: {policy} costs {cost}, the best {mine['best']}" for policy, cost in mine.items() if cost < mine["best"]]
        costs[weight] = {policy: cost / mine["best"] for policy, cost in mine.items() if policy != "best"}
    for policy in POLICIES:
        runs = found[policy]
        checks["schedules"] += 1
        checks["evictions"] += len(runs) - len(problem.jobs)
        checks["lost at once"] += sum(run.start == run.end for run in runs)
        if in_model(problem, runs):
            checks["also feasible in the model"] += 1
            fixed = model.Optimum(problem)
            fixed.fix(runs)
            again = fixed.solve()
            if again is None or schedule.cost(problem, again) != schedule.cost(problem, runs):
                faults.append(f"seed {seed}: {policy}: the model does not have this schedule")
    return seed, costs, faults, checks


def main(first, count, *weights):
    weights = weights or tuple(instances.WEIGHTS)
    result = {"costs": {}, "faults": [], "checks": {}}
    with multiprocessing.Pool(int(os.environ.get("TEPHRA_JOBS", os.cpu_count()))) as pool:
        for seed, costs, faults, checks in pool.imap(functools.partial(compare, weights), range(int(first), int(first) + int(count))):
            if costs is not None:
                result["costs"][seed] = costs
            result["faults"] += faults
            for check, number in checks.items():
                result["checks"][check] = result["checks"].get(check, 0) + number
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
