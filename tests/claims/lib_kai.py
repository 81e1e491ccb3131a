"""KAI-Scheduler's own cases, decided by the engine of the release build."""

import collections
import json
import lzma
import pathlib
import subprocess
import tempfile

import lib

GOOD = ("same", "better")
EXPLAINED = GOOD + ("differs", "excluded")


def run():
    """The result of each case (kai_cases --output json), with its `features` from the data."""
    data = lib.need_data("kai-vectors")
    kai_cases = lib.release_binary("tests/peers/kai_cases")
    features = {}
    with tempfile.TemporaryDirectory() as scratch:
        for packed in data.glob("*.json.xz"):
            text = lzma.decompress(packed.read_bytes())
            (pathlib.Path(scratch) / packed.stem).write_bytes(text)
            features.update((case["id"], case["features"]) for case in json.loads(text)["cases"])
        done = subprocess.run(
            [kai_cases, "--reasons", lib.ROOT / "tests/peers/kai_reasons.json", "--output", "json",
             scratch], capture_output=True, text=True)
    if done.returncode not in (0, 1) or done.stderr:
        raise RuntimeError(done.stderr)
    return [{**case, "features": features[case["id"]]} for case in json.loads(done.stdout)]


def tally(cases):
    """The number of cases by result, and how many are judged and good."""
    count = collections.Counter(case["result"] for case in cases)
    return count, len(cases) - count["excluded"], sum(count[result] for result in GOOD)


def finish(cases):
    """Prints the excluded cases and the unexplained ones. The claim holds if 95 % of the rest are good."""
    for case in cases:
        if case["result"] not in EXPLAINED:
            print(f"{case['id']}: {case['result']}: {case['difference'] or case['reason']}")
    excluded = collections.Counter(case["reason"] for case in cases if case["result"] == "excluded")
    for reason, number in sorted(excluded.items()):
        print(f"excluded: {number}: {reason}")
    count, judged, good = tally(cases)
    unexplained = sum(number for result, number in count.items() if result not in EXPLAINED)
    lib.finish(
        judged > 0 and unexplained == 0 and good >= 0.95 * judged,
        f"{100 * good / max(judged, 1):.1f} %: {count['same']} the same and {count['better']} as "
        f"good or better of {judged}; {count['differs']} differ for a written reason, "
        f"{unexplained} for none; {count['excluded']} of {len(cases)} are excluded")
