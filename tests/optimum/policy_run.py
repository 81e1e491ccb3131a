"""What the engine does with an instance under a policy: `tephra simulate`, read from its journal."""
import functools
import json
import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from instance import simulation
from schedule import Run

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEPHRA = ROOT / "build/release/simulations/tephra"
PROTO = ROOT / "sidecar/proto"


@functools.cache
def messages():
    """The classes of the messages JournalRecord and Plan."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"-I{PROTO}", "--include_imports", f"--descriptor_set_out={out.name}", "tephra/v1/journal.proto",
                        "tephra/v1/plan.proto"], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tephra.v1.{name}")) for name in ("JournalRecord", "Plan")]


def records(data):
    """The records of a journal: each a varint with its length, then its bytes."""
    record_class, _ = messages()
    at = 0
    while at < len(data):
        length = shift = 0
        while True:
            byte = data[at]
            at, length, shift = at + 1, length | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        yield record_class.FromString(data[at:at + length])
        at += length


def runs(data):
    """The Runs in a journal; an elastic start would show as a run of some tasks only."""
    plan_class = messages()[1]
    running, ended, done, now = {}, [], [], 0  # {job: (start, {task: places})}, jobs in facts since the last tick

    def end(job):
        start, tasks = running.pop(job)
        done.append(Run(job, start // 1000, now // 1000, tuple(tasks[key] for key in sorted(tasks))))

    for record in records(data):
        kind = record.WhichOneof("content")
        if kind == "event" and record.event.WhichOneof("fact") == "job_removed":
            ended.append(record.event.job_removed.uid)
        elif kind == "tick":
            now = record.tick.now_ms
            for job in ended:
                end(job)
            ended = []
        elif kind == "plan":
            plan = plan_class.FromString(record.plan)
            for decision in plan.decisions:
                for victim in {eviction.job for eviction in decision.evictions}:
                    if victim in running:
                        end(victim)
                if decision.verdict != 1:  # not VERDICT_START
                    continue
                start, tasks = running.setdefault(decision.job, (now, {}))
                for placement in decision.placements:
                    node = int(placement.node[1:])
                    tasks[placement.role, placement.index] = tuple(((node, slice.device), slice.compute) for slice in placement.slices)
    return done


def play(instance, policies):
    """The schedule of the engine. Raises RuntimeError if the simulation fails."""
    with tempfile.TemporaryDirectory() as folder:
        file, journal = pathlib.Path(folder) / "instance.yaml", pathlib.Path(folder) / "run.journal"
        file.write_text(json.dumps(simulation(instance, policies)))
        done = subprocess.run([TEPHRA, "simulate", file, "--journal", journal], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"seed {instance.seed}: {done.stderr}")
        return runs(journal.read_bytes())
