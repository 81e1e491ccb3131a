"""Distances from the best schedule, of a result of compare.py."""


def of(result, weight, policy):
    """How much more than the best schedule the policy costs, as a part of the best, for each instance."""
    return [costs[weight][policy] - 1 for costs in result["costs"].values()]


def summary(values):
    """(mean, median, 95th percentile, worst)"""
    ranked = sorted(values)
    at = lambda part: ranked[min(int(part * len(ranked)), len(ranked) - 1)]
    return sum(ranked) / len(ranked), at(0.5), at(0.95), ranked[-1]
