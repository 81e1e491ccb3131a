"""A small scheduling problem, drawn from a seed: a few nodes with GPUs, and five to eight jobs.

Time is in units of ten minutes. GPUs are counted in per mille, so that a fraction is a whole number.
"""
import dataclasses
import random

UNIT_S = 600
WHOLE = 1000  # one GPU
RESTART = 1   # units that each start after an eviction takes before the job works again
URGENT = 4    # how much more the GPUs of an urgent job weigh


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    queue: str
    release: int     # units; it may not start earlier
    work: int        # units that it needs without an eviction
    members: int     # tasks, which run all together or not at all
    gpus: int        # whole GPUs of each task, of one node; 0: a fraction
    share: int       # per mille of one GPU for each task; 0: whole GPUs
    checkpoint: int  # its work is saved after each such time; 0: never
    urgent: bool
    weighed: str = "gpus-urgent"  # one of WEIGHTS

    @property
    def demand(self):  # of all tasks, in per mille of a GPU
        return self.members * (self.gpus * WHOLE or self.share)

    @property
    def weight(self):
        return WEIGHTS[self.weighed](self)


# What the completion time of a job is multiplied by.
WEIGHTS = {
    "gpus-urgent": lambda job: job.demand * (URGENT if job.urgent else 1),
    "gpus": lambda job: job.demand,
    "jobs": lambda job: WHOLE,
    "gpu-hours": lambda job: job.demand * job.work,
}


@dataclasses.dataclass(frozen=True)
class Queue:
    name: str
    limit: int     # GPUs; 0: none
    deserved: int  # GPUs; 0: not set


@dataclasses.dataclass(frozen=True)
class Instance:
    seed: int
    nodes: tuple  # GPUs of each
    queues: tuple
    jobs: tuple

    def weighed(self, weight):
        """The same with other weights."""
        return dataclasses.replace(self, jobs=tuple(dataclasses.replace(job, weighed=weight) for job in self.jobs))

    def devices(self):
        """(node, device) of each GPU."""
        return [(node, device) for node, gpus in enumerate(self.nodes) for device in range(gpus)]


def draw(seed):
    """The instance of a seed. Jobs arrive in about half of the time that their work needs, so that they compete."""
    dice = random.Random(seed)
    nodes = tuple(dice.choice(((2, 2), (4,), (4, 2), (4, 4), (2, 2, 2), (8,))))
    total = sum(nodes)
    names = ("a", "b", "c")[:dice.randint(1, 3)]
    shapes = []
    for _ in range(dice.randint(5, 8)):
        if dice.random() < 0.25:
            members, gpus, share = dice.randint(1, 3), 0, dice.choice((250, 500))
        else:
            gpus, share = dice.choice([size for size in (1, 1, 2, 2, 4) if size <= max(nodes)]), 0
            members = dice.randint(1, min(4, sum(size // gpus for size in nodes)))
        work = min(dice.randint(1, 12), dice.randint(1, 12)) if dice.random() < 0.6 else dice.randint(4, 12)
        shapes.append((dice.choice(names), work, members, gpus, share, dice.choice((0, 1, 3)), dice.random() < 0.25))
    span = sum(work * members * (gpus or share / WHOLE) for _, work, members, gpus, share, _, _ in shapes) / total
    releases = sorted(dice.randint(0, round(span / 2)) for _ in shapes)
    jobs = tuple(Job(f"j{number}", queue, release, work, members, gpus, share, checkpoint, urgent) for number,
                 (release, (queue, work, members, gpus, share, checkpoint, urgent)) in enumerate(zip(releases, shapes)))
    queues = []
    for name in names:
        largest = max((-(-job.demand // WHOLE) for job in jobs if job.queue == name), default=1)
        limit = dice.randint(largest, total) if dice.random() < 0.3 else 0
        queues.append(Queue(name, limit, total // len(names) if dice.random() < 0.5 else 0))
    return Instance(seed, nodes, tuple(queues), jobs)


def simulation(instance, policies):
    """The instance as a file of `tephra simulate`, with exact estimates of run times."""
    seconds = lambda units: f"{units * UNIT_S}s"
    gpus = lambda amount: {"gpu": amount}
    jobs = [{"name": job.name, "queue": job.queue, "at": seconds(job.release), "runtime": seconds(job.work), "members": job.members,
             "priority": int(job.urgent), "checkpoint_interval": seconds(job.checkpoint)}
            | ({"gpus": job.gpus} if job.gpus else {"gpu_share": f"{job.share}m"}) for job in instance.jobs]
    queues = [{"name": queue.name} | ({"limit": gpus(queue.limit)} if queue.limit else {})
              | ({"deserved": gpus(queue.deserved)} if queue.deserved else {}) for queue in instance.queues]
    return {"cluster": {"nodes": [{"name": f"n{node}", "gpus": count} for node, count in enumerate(instance.nodes)]}, "queues": queues,
            "jobs": jobs, "restarts": {"restart_delay": seconds(RESTART)}, "policies": policies}
