"""The law by which a value grows with a size: the exponent of a power law, and a name if the values support one."""

import math
from typing import NamedTuple

LEAST_SIZES, LEAST_RANGE = 4, 100  # a law gets a name only with so many sizes, the largest so many times the smallest
FLAT = 1.3  # a constant's largest value is at most this many times its smallest
CLOSE = 1.25  # a law that gets a name is within this factor of each value
SLOW = 0.25  # a power law with a smaller exponent cannot be distinguished from a logarithm

TOO_FEW = "too few sizes"
NONE = "no simple law"
SEVERAL = "several laws fit"
FIXED_PART = "linear above a fixed part"


class Law(NamedTuple):
    """`exponent` is the slope of the least-squares line through log(value) over log(size), and `last` the slope between
    the two largest sizes. A fixed part hides the law of the rest, and `last` shows it. Both are None with one size."""

    exponent: float | None
    last: float | None
    words: str


def law_of(sizes, values):
    """The law of positive values, one per size. REQUIRES: sizes are positive and rise."""
    if len(sizes) != len(values) or not all(x > 0 for x in [*sizes, *values]) or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"sizes {sizes} with values {values}: expected one positive value for each of rising sizes")
    if len(sizes) < 2:
        return Law(None, None, TOO_FEW)
    logs = [(math.log(x), math.log(y)) for x, y in zip(sizes, values)]
    start, exponent = _line(logs)
    last = (logs[-1][1] - logs[-2][1]) / (logs[-1][0] - logs[-2][0])
    return Law(exponent, last, _words(sizes, values, start, exponent))


def _words(sizes, values, start, exponent):
    if len(sizes) < LEAST_SIZES or sizes[-1] < LEAST_RANGE * sizes[0]:
        return TOO_FEW
    if max(values) <= FLAT * min(values):
        return "constant"
    power = _deviation(values, [math.exp(start) * x**exponent for x in sizes])
    if power <= CLOSE:
        if exponent < 0:
            return "falls"
        if 0.9 <= exponent <= 1.1:
            return "linear"
    fits = {"quadratic" if 1.9 <= exponent <= 2.1 else "power law": power,
            "logarithmic": _deviation(values, _affine([math.log(x) for x in sizes], values)),
            FIXED_PART: _deviation(values, _affine(sizes, values))}
    if fits["logarithmic"] <= CLOSE and exponent <= SLOW:
        fits.pop("power law", None)
    # A law gets its name when it is twice as close as any other law.
    (best, name), (second, _), *_ = sorted((deviation, name) for name, deviation in fits.items())
    if best > CLOSE:
        return NONE
    return SEVERAL if second <= CLOSE and second - 1 < 2 * (best - 1) else name


def _line(points, weights=None):
    """(a, b) of the least-squares line a + b x."""
    weights = weights or [1.0] * len(points)
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / total
    slope = (sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points))
             / sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points)))  # fmt: skip
    return mean_y - slope * mean_x, slope


def _affine(xs, values):
    """The values of the line a + b x that has the least relative errors, or None if they do not rise with x."""
    start, slope = _line(list(zip(xs, values)), [1 / y**2 for y in values])
    return [start + slope * x for x in xs] if slope > 0 else None


def _deviation(values, fitted):
    """The largest factor between a value and its fit."""
    if fitted is None or min(fitted) <= 0:
        return math.inf
    return max(max(y / f, f / y) for y, f in zip(values, fitted))
