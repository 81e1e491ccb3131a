"""A schedule of an instance, its cost, and an independent check of it against the rules of the world.

It shares no code with the model of the solver, nor with the engine.
"""
import collections
import dataclasses

from instance import RESTART, UNIT_S, WHOLE


@dataclasses.dataclass(frozen=True)
class Run:
    """A job runs from `start` to `end`, in seconds, each task on ((node, device), per mille) of its own."""
    job: str
    start: int
    end: int
    tasks: tuple


def completions(schedule):
    """{job: when its last run ends}"""
    ends = {}
    for run in schedule:
        ends[run.job] = max(ends.get(run.job, 0), run.end)
    return ends


def cost(instance, schedule):
    """Weighted completion time: the sum of weight x end over all jobs, counted from time 0, in GPU seconds."""
    ends = completions(schedule)
    return sum(job.weight * ends[job.name] for job in instance.jobs) / WHOLE


def wasted(job, runs):
    """Seconds of work that the evictions of the job lost; raises ValueError if its runs do not add up to its work."""
    left, lost, before = job.work * UNIT_S, 0, None
    for run in runs:
        worked = run.end - run.start - (RESTART * UNIT_S if before else 0)
        if before and run.start < before.end:
            raise ValueError(f"{job.name} runs twice at {run.start}")
        before = run
        if run is runs[-1]:
            if worked != left:
                raise ValueError(f"{job.name} works {worked} s in its last run, {left} s are left")
            break
        worked = max(worked, 0)
        if worked >= left:
            raise ValueError(f"{job.name} is evicted at {run.end}, after its end")
        saved = worked // (job.checkpoint * UNIT_S) * job.checkpoint * UNIT_S if job.checkpoint else 0
        left, lost = left - saved, lost + worked - saved
    return lost


def faults(instance, schedule):
    """What is wrong with the schedule, in words; empty if it is feasible."""
    found = []
    by_job = collections.defaultdict(list)
    for run in sorted(schedule, key=lambda run: (run.start, run.job)):
        by_job[run.job].append(run)
    sizes = dict(enumerate(instance.nodes))
    for job in instance.jobs:
        runs = by_job.pop(job.name, [])
        if not runs:
            found.append(f"{job.name} never runs")
            continue
        if runs[0].start < job.release * UNIT_S:
            found.append(f"{job.name} starts at {runs[0].start}, before its release")
        try:
            wasted(job, runs)
        except ValueError as fault:
            found.append(str(fault))
        for run in runs:
            if run.end < run.start:
                found.append(f"{job.name} ends at {run.end}, before its start at {run.start}")
            if len(run.tasks) != job.members:
                found.append(f"{job.name} runs with {len(run.tasks)} of {job.members} tasks at {run.start}")
            for task in run.tasks:
                places = [place for place, _ in task]
                wanted = [WHOLE] * job.gpus or [job.share]
                if [amount for _, amount in task] != wanted or len(set(places)) != len(places):
                    found.append(f"{job.name}: a task has {task}, it needs {wanted} of different GPUs")
                if len({node for node, _ in places}) != 1:
                    found.append(f"{job.name}: a task is on several nodes")
                if any(not 0 <= device < sizes.get(node, 0) for node, device in places):
                    found.append(f"{job.name}: no such GPU in {places}")
    found += [f"{name} is no job" for name in by_job]
    queue_of = {job.name: job.queue for job in instance.jobs}
    limits = {queue.name: queue.limit * WHOLE for queue in instance.queues if queue.limit}
    for now in sorted({run.start for run in schedule}):
        devices, queues = collections.Counter(), collections.Counter()
        for run in schedule:
            if not run.start <= now < run.end:
                continue
            for place, amount in (one for task in run.tasks for one in task):
                devices[place] += amount
                queues[queue_of.get(run.job)] += amount
        found += [f"GPU {place} has {amount} per mille at {now}" for place, amount in devices.items() if amount > WHOLE]
        found += [f"queue {name} has {queues[name]} per mille at {now}, limit {limit}" for name, limit in limits.items() if queues[name] > limit]
    return found
