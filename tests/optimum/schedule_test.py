#!/usr/bin/env python3
"""The check of schedules finds each kind of fault, so that a schedule without faults is feasible."""
import dataclasses
import unittest

from instance import UNIT_S, WHOLE, Instance, Job, Queue, draw
from schedule import Run, cost, faults


def job(name, release, work, members, gpus=0, share=0, checkpoint=0, urgent=False):
    return Job(name, "q", release, work, members, gpus, share, checkpoint, urgent)


def run(name, start, end, *tasks):
    """Each task is its GPUs, as (node, device, per mille)."""
    return Run(name, start * UNIT_S, end * UNIT_S, tuple(tuple(((node, device), amount) for node, device, amount in task) for task in tasks))


GANG = job("gang", 1, 4, 2, gpus=1, checkpoint=2)
HALF = job("half", 0, 3, 2, share=500, urgent=True)
WORLD = Instance(0, (2, 2), (Queue("q", 3, 0),), (GANG, HALF))
WHOLE_0, WHOLE_1, WHOLE_2 = [(0, 0, WHOLE)], [(0, 1, WHOLE)], [(1, 0, WHOLE)]
HALVES = run("half", 0, 3, [(1, 1, 500)], [(1, 1, 500)])
GOOD = [run("gang", 1, 5, WHOLE_0, WHOLE_1), HALVES]
AGAIN = run("gang", 4, 7, WHOLE_0, WHOLE_2)  # one unit of restart, two of work


class Faults(unittest.TestCase):
    def test_feasible_schedules_have_none_and_a_cost(self):
        self.assertEqual(faults(WORLD, GOOD), [])
        self.assertEqual(cost(WORLD, GOOD), 2 * 5 * UNIT_S + 4 * 3 * UNIT_S)
        self.assertEqual(faults(WORLD, [run("gang", 1, 3, WHOLE_0, WHOLE_1), AGAIN, HALVES]), [])
        self.assertEqual(faults(WORLD, [run("gang", 1, 4, WHOLE_0, WHOLE_1), AGAIN, HALVES]), [], "an eviction loses a unit of work")

    def test_each_rule_is_checked(self):
        cases = {
            "never runs": [HALVES],
            "before its release": [run("gang", 0, 4, WHOLE_0, WHOLE_1), HALVES],
            "works 1800 s in its last run, 2400 s are left": [run("gang", 1, 4, WHOLE_0, WHOLE_1), HALVES],
            "works 1200 s in its last run, 2400 s are left": [run("gang", 1, 2, WHOLE_0, WHOLE_1), AGAIN, HALVES],
            "is evicted at 3000, after its end": [run("gang", 1, 5, WHOLE_0, WHOLE_1), dataclasses.replace(AGAIN, start=3600, end=6000), HALVES],
            "runs twice": [run("gang", 1, 3, WHOLE_0, WHOLE_1), dataclasses.replace(AGAIN, start=2 * UNIT_S, end=5 * UNIT_S), HALVES],
            "before its start": [run("gang", 5, 1, WHOLE_0, WHOLE_1), HALVES],
            "1 of 2 tasks": [run("gang", 1, 5, WHOLE_0), HALVES],
            "of different GPUs": [run("gang", 1, 5, WHOLE_0, [(0, 1, 500)]), HALVES],
            "no such GPU": [run("gang", 1, 5, WHOLE_0, [(0, 2, WHOLE)]), HALVES],
            "is no job": [*GOOD, run("other", 1, 2, WHOLE_2)],
            "GPU (1, 0) has 1500": [run("gang", 1, 5, WHOLE_0, WHOLE_2), run("half", 1, 4, [(1, 0, 500)], [(1, 1, 500)])],
        }
        for wanted, runs in cases.items():
            with self.subTest(wanted=wanted):
                self.assertTrue(any(wanted in fault for fault in faults(WORLD, runs)), faults(WORLD, runs))
        limited = dataclasses.replace(WORLD, queues=(Queue("q", 2, 0),))
        self.assertEqual(faults(limited, GOOD), [f"queue q has 3000 per mille at {UNIT_S}, limit 2000"])
        pairs = Instance(0, (2, 2), (), (job("pair", 0, 1, 1, gpus=2),))
        self.assertEqual(faults(pairs, [run("pair", 0, 1, [(0, 0, WHOLE), (1, 0, WHOLE)])]), ["pair: a task is on several nodes"])

    def test_a_seed_always_gives_the_same_instance(self):
        self.assertEqual(draw(7), draw(7))
        self.assertNotEqual(draw(7), draw(8))


if __name__ == "__main__":
    unittest.main()
