"""Starts the lab, the engine and the scheduler, submits a few Volcano Jobs and shows what happens.

Called by hack/demo.sh, which builds the programs first, and by demo.sh of a release folder, which has all programs in bin.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASED = ROOT / "bin"


def program(built):
    path = RELEASED / Path(built).name
    return path if path.exists() else ROOT / built


LAB = program("build/lab/tephra-lab")
KUBECTL = program("build/lab/kubectl")
ENGINE = program("build/release/sidecar/tephra-engine")
SCHEDULER = program("build/scheduler/tephra-scheduler")
TEPHRA = program("build/release/simulations/tephra")
COMMAND = "./demo.sh" if RELEASED.exists() else "hack/demo.sh"
JOBS = ["train", "notebooks", "too-large", "pretrain"]
# The demonstration is over when these have ended; the gang that can never start stays.
ENDING = {"train", "notebooks", "pretrain"}
READY_WITHIN_S = 60
ENDS_WITHIN_S = 180


class Demo:
    def __init__(self, folder):
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.socket = folder / "engine.sock"
        self.processes = []

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "wb")
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log,
                                   env=environment, start_new_session=True)
        self.processes.append((name, process))
        return process

    def wait(self, what, ready):
        deadline = time.monotonic() + READY_WITHIN_S
        while not ready():
            for name, process in self.processes:
                if process.poll() is not None:
                    self.fail(f"{name} ended with code {process.returncode}", name)
            if time.monotonic() > deadline:
                self.fail(f"{what} took more than {READY_WITHIN_S} s", self.processes[-1][0])
            time.sleep(0.1)

    def fail(self, why, log):
        tail = (self.folder / f"{log}.log").read_text(errors="replace").splitlines()[-20:]
        sys.exit("\n".join([*tail, f"demo: {why}"]))

    def stop(self):
        for _, process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for _, process in reversed(self.processes):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()

    def kubectl(self, *arguments):
        command = [str(KUBECTL), "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def get(self, resource):
        return json.loads(self.kubectl("get", resource, "--all-namespaces", "-o", "json"))["items"]


def say(text):
    print(text, flush=True)


def start_all(demo):
    began = time.monotonic()
    lab = demo.folder / "lab"
    demo.start("lab", LAB, "up", "--nodes", "4", "--racks", "2", "--dir", lab, "--kubeconfig", demo.kubeconfig)
    demo.wait("the lab", (lab / "ready").exists)
    demo.start("engine", ENGINE, "--socket", demo.socket)
    demo.wait("tephra-engine", demo.socket.exists)
    demo.start("scheduler", SCHEDULER, "--kubeconfig", demo.kubeconfig, "--engine-socket", demo.socket,
               "--leader-elect=false", "--listen-address=127.0.0.1:0", "--enable-healthz=false",
               "--cache-dumper=false")
    say(f"demo: a control plane with 4 nodes of 8 GPUs in two racks, in {time.monotonic() - began:.0f} s")


def stories(demo):
    """What is to be said of each job now: its phase, where its pods are, or why it waits."""
    pods = {}
    for pod in demo.get("pods"):
        job = pod["metadata"].get("annotations", {}).get("volcano.sh/job-name")
        node = pod["spec"].get("nodeName")
        if job and node:
            pods.setdefault(job, {}).setdefault(node, 0)
            pods[job][node] += 1
    groups = {}
    for group in demo.get("podgroups.scheduling.volcano.sh"):
        for owner in group["metadata"].get("ownerReferences", []):
            groups[owner["name"]] = group
    for job in demo.get("jobs.batch.volcano.sh"):
        name = job["metadata"]["name"]
        phase = job.get("status", {}).get("state", {}).get("phase", "Pending")
        conditions = groups.get(name, {}).get("status", {}).get("conditions", [])
        said = next((c for c in conditions if c["type"] == "TephraScheduled"), None)
        if phase == "Pending" and said and said["status"] == "False":
            yield name, phase, f"waits ({said['reason']}): {said['message']}"
        elif name in pods and phase in ("Pending", "Running"):
            where = ", ".join(f"{count} on {node}" for node, count in sorted(pods[name].items()))
            yield name, phase, f"{phase.lower()}: pods {where}"
        else:
            yield name, phase, phase.lower()


def show_until_they_end(demo):
    began = time.monotonic()
    last = {}
    while time.monotonic() - began < ENDS_WITHIN_S:
        ended = set()
        for name, phase, story in stories(demo):
            if last.get(name) != story:
                last[name] = story
                say(f"{time.monotonic() - began:5.1f} s  {name:<10} {story}")
            if phase in ("Completed", "Failed", "Aborted", "Terminated"):
                ended.add(name)
        if ended >= ENDING:
            return
        time.sleep(0.5)
    sys.exit(f"demo: not ended within {ENDS_WITHIN_S} s: {', '.join(sorted(ENDING - ended))}")


def show(title, *command):
    say(f"\n$ {title}")
    subprocess.run([str(word) for word in command], check=False)


def main():
    keep = "--keep" in sys.argv[1:]
    folder = Path(tempfile.mkdtemp(prefix="tephra-demo-"))
    demo = Demo(folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        start_all(demo)
        for job in JOBS:
            demo.kubectl("apply", "-f", str(ROOT / f"manifests/examples/{job}.yaml"))
            say(f"demo: submitted manifests/examples/{job}.yaml")
        show_until_they_end(demo)
        show("tephra explain job/too-large", TEPHRA, "explain", "job/too-large", "--socket", demo.socket)
        show("tephra top", TEPHRA, "top", "--socket", demo.socket)
        if keep:
            paths = ":".join(dict.fromkeys([str(LAB.parent), str(TEPHRA.parent)]))
            say(f"""
The cluster runs until Ctrl-C. Try, from another terminal:
  export KUBECONFIG={demo.kubeconfig} TEPHRA_SOCKET={demo.socket} PATH={paths}:$PATH
  kubectl apply -f manifests/examples/train.yaml
  kubectl describe podgroups
  tephra top nodes; tephra explain job/too-large
Logs are in {folder}.""")
            signal.pause()
        else:
            say(f"\nTry {COMMAND} --keep for a cluster of your own, then kubectl and tephra top; docs/reference/lab.md.")
    except KeyboardInterrupt:
        pass
    finally:
        demo.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
