"""The best schedule of an instance, by OR-Tools' CP-SAT, which is no part of Tephra.

A job is one run, or several with an eviction between two. An eviction loses no saved work here: a run that ends at an eviction
works for a multiple of the job's checkpoint interval. That loses no schedule that could be best, because work that is lost can be
left out. All times are whole units.
"""
import dataclasses

from ortools.sat.python import cp_model

from instance import RESTART, UNIT_S, WHOLE
from schedule import Run, completions

EVICTIONS = 2  # of one job, at most
EFFORT = 300   # deterministic seconds of the solver for one schedule


class Unproven(Exception):
    """The search ended before it proved that its schedule is the best."""


class Piece:
    """One run of a job in the model, present or not."""

    def __init__(self, model, instance, job, number, earliest, horizon):
        name = f"{job.name}.{number}"
        longest = job.work + (RESTART if number else 0)
        self.job = job
        self.present = model.new_bool_var(f"{name} present") if number else model.new_constant(1)
        self.start = model.new_int_var(earliest, horizon, f"{name} start")
        self.length = model.new_int_var(1, longest, f"{name} length")
        self.end = model.new_int_var(earliest, horizon, f"{name} end")
        self.interval = model.new_optional_interval_var(self.start, self.length, self.end, self.present, name)
        self.on = {}  # (node, device): booleans; the i-th says that at least i + 1 tasks use the GPU
        each = 1 if job.gpus else min(job.members, WHOLE // job.share)
        for place in instance.devices():
            if job.gpus <= instance.nodes[place[0]]:
                self.on[place] = [model.new_bool_var(f"{name} on {place} {i}") for i in range(each)]
        for levels in self.on.values():
            for more, fewer in zip(levels[1:], levels):
                model.add_implication(more, fewer)
        model.add(sum(sum(levels) for levels in self.on.values()) == job.members * max(job.gpus, 1) * self.present)
        if job.gpus > 1:  # the GPUs of one task are of one node
            for node in range(len(instance.nodes)):
                used = [level for (of, _), levels in self.on.items() if of == node for level in levels]
                if used:
                    tasks = model.new_int_var(0, len(used) // job.gpus, f"{name} tasks on {node}")
                    model.add(sum(used) == job.gpus * tasks)
        self.amount = WHOLE if job.gpus else job.share
        self.parts = {place: [model.new_optional_interval_var(self.start, self.length, self.end, level, f"{name} {place} {i}")
                              for i, level in enumerate(levels)] for place, levels in self.on.items()}


def pieces_of(model, instance, job, evictions, earliest, horizon):
    """The runs of the job, in their order."""
    evictions = min(evictions, (job.work - 1) // job.checkpoint) if job.checkpoint else 0
    pieces = [Piece(model, instance, job, number, max(job.release, earliest), horizon) for number in range(evictions + 1)]
    done = []
    for number, piece in enumerate(pieces):
        worked = piece.length - (RESTART if number else 0)
        if number + 1 < len(pieces):
            after = pieces[number + 1]
            model.add_implication(after.present, piece.present)
            model.add(after.start > piece.end).only_enforce_if(after.present)
            saved = model.new_int_var(1, (job.work - 1) // job.checkpoint, f"{job.name}.{number} saved")
            model.add(worked == job.checkpoint * saved).only_enforce_if(after.present)
        here = model.new_int_var(0, job.work, f"{job.name}.{number} worked")
        model.add(here == worked).only_enforce_if(piece.present)
        model.add(here == 0).only_enforce_if(~piece.present)
        done.append(here)
    model.add(sum(done) == job.work)
    return pieces


def horizon_of(instance):
    """No schedule that could be best ends later: once all jobs arrived, some job always runs."""
    return max(job.release for job in instance.jobs) + sum(job.work + EVICTIONS * RESTART for job in instance.jobs)


class Optimum:
    """The model of an instance. `begun` are runs that are as they are; every other job starts at `earliest` or later."""

    def __init__(self, instance, evictions=EVICTIONS, earliest=0, begun=()):
        self.instance = instance
        horizon = earliest + horizon_of(instance)
        self.model = model = cp_model.CpModel()
        fixed = {run.job for run in begun}
        self.pieces = {job.name: pieces_of(model, instance, job, evictions, 0 if job.name in fixed else earliest, horizon)
                       for job in instance.jobs}
        everything = [piece for pieces in self.pieces.values() for piece in pieces]
        for place in instance.devices():
            parts = [(part, piece.amount) for piece in everything for part in piece.parts.get(place, ())]
            model.add_cumulative([part for part, _ in parts], [amount for _, amount in parts], WHOLE)
        limits = {queue.name: queue.limit for queue in instance.queues if queue.limit}
        for name, limit in {"": sum(instance.nodes), **limits}.items():  # the sum of all follows from the rest, and prunes
            mine = [piece for piece in everything if name in ("", piece.job.queue)]
            model.add_cumulative([piece.interval for piece in mine], [piece.job.demand for piece in mine], limit * WHOLE)
        costs = []
        for job in instance.jobs:
            end = model.new_int_var(job.release + job.work, horizon, f"{job.name} end")
            for piece in self.pieces[job.name]:
                model.add(end >= piece.end).only_enforce_if(piece.present)
            costs.append(job.weight * end)
        model.minimize(sum(costs))
        self.fix(begun)

    def fix(self, runs):
        """Leaves the jobs of these runs only these: their times, and the GPUs of each. REQUIRES: no more evictions than the model has."""
        for name in {run.job for run in runs}:
            mine = sorted((run for run in runs if run.job == name), key=lambda run: run.start)
            for number, piece in enumerate(self.pieces[name]):
                self.model.add(piece.present == int(number < len(mine)))
            for run, piece in zip(mine, self.pieces[name], strict=False):
                self.model.add(piece.start * UNIT_S == run.start)
                self.model.add(piece.end * UNIT_S == run.end)
                used = [place for task in run.tasks for place, _ in task]
                for place, levels in piece.on.items():
                    self.model.add(sum(levels) == used.count(place))

    def solve(self):
        """The best schedule, or None if there is none. Raises Unproven if the search ends without a proof."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = EFFORT
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            return None
        if status != cp_model.OPTIMAL:
            raise Unproven(f"seed {self.instance.seed}: no proof within {EFFORT} units of effort")
        return [run_of(solver, piece) for pieces in self.pieces.values() for piece in pieces if solver.value(piece.present)]


def run_of(solver, piece):
    places = [place for place, levels in sorted(piece.on.items()) for level in levels if solver.value(level)]
    each = max(piece.job.gpus, 1)  # sorted by node, and each node has whole tasks
    tasks = tuple(tuple((place, piece.amount) for place in places[first:first + each]) for first in range(0, len(places), each))
    return Run(piece.job.name, solver.value(piece.start) * UNIT_S, solver.value(piece.end) * UNIT_S, tasks)


def without_foresight(instance):
    """The schedule of a solver that knows a job only once it arrived, evicts nothing, and plans again whenever a job arrives or ends."""
    begun, now = [], 0
    while len(begun) < len(instance.jobs):
        known = tuple(job for job in instance.jobs if job.release <= now)
        started = {run.job for run in begun}
        if len(known) > len(started):
            seen = dataclasses.replace(instance, jobs=known)
            plan = Optimum(seen, evictions=0, earliest=now, begun=begun).solve()
            begun += [run for run in plan if run.job not in started and run.start == now * UNIT_S]
        later = [job.release for job in instance.jobs] + [end // UNIT_S for end in completions(begun).values()]
        now = min((at for at in later if at > now), default=now)
    return begun
