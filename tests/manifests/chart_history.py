"""One history of the chart on a lab: installed, a gang runs, upgraded and rolled back while jobs come and go, and removed.

The lab runs no containers. So two pairs of scheduler and engine stand for the two pods of the Deployment: they have the
rights, the arguments and the configuration of their pods, and are replaced one after the other, as a rollout does."""
import collections
import json
import random
import threading
import time

import yaml

from chart import chart, helm
from lab import Lab

SLICES = "tephra.sh/slices"
RELEASE = ["tephra", "--namespace", "tephra-system"]


def job(name, replicas, gpus, seconds):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulerName": "tephra", "queue": "research", "minAvailable": replicas, "tasks": [{
                "name": "worker", "replicas": replicas, "template": {
                    "metadata": {"annotations": {"lab.tephra.sh/run-for": f"{seconds}s"}},
                    "spec": {"restartPolicy": "Never", "containers": [
                        {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}}]}}


class History:
    def __init__(self, seed):
        self.lab = Lab()
        self.dice = random.Random(seed)
        self.jobs = {}  # name -> pods
        self.twice = []  # GPUs that two pods had at once
        self.looked = 0
        self.steps = []
        self.ending = threading.Event()
        self.broken = []

    def close(self):
        self.ending.set()
        self.lab.stop()

    def helm(self, command, *arguments, values=None):
        helm(command, *RELEASE[:1], *arguments, *RELEASE[1:], "--kubeconfig", self.lab.kubeconfig, values=values)
        self.steps.append(command)

    # --- what is there ---

    def names(self):
        """Every object of the cluster, without events and leases: (kind, namespace, name)."""
        kinds = [kind for kind in self.lab.kubectl("api-resources", "--verbs=list,get", "-o", "name").split()
                 if kind.split(".")[0] not in ("events", "leases")]
        text = self.lab.kubectl("get", ",".join(kinds), "-A", "--ignore-not-found", "--no-headers", "-o",
                                "custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name")
        return {tuple(line.split()) for line in text.splitlines() if line.strip()}

    def look(self):
        """No GPU has more than one whole pod now."""
        used = collections.Counter()
        for pod in self.lab.get("pods", "-n", "default")["items"]:
            slices = pod["metadata"].get("annotations", {}).get(SLICES)
            if slices and pod["spec"].get("nodeName") and pod["status"].get("phase") not in ("Succeeded", "Failed"):
                for each in (each for container in json.loads(slices)["containers"] for each in container["slices"]):
                    used[pod["spec"]["nodeName"], each["index"]] += each["compute"]
        self.twice += [device for device, compute in used.items() if compute > 1000]
        self.looked += bool(used)

    # --- pods of the Deployment ---

    def settings(self):
        return yaml.safe_load(self.lab.get("-n", "tephra-system", "configmap", "tephra")["data"]["engine.yaml"]).get("engine", {})

    def start_pod(self, name):
        self.lab.run_engine(name, engine=self.settings())
        self.lab.run_scheduler(name=name)

    def end_pod(self, name):
        self.lab.end(f"tephra-scheduler{name}")
        self.lab.end(f"tephra-engine{name}")

    def leads(self, name):
        holder = self.lab.get("-n", "tephra-system", "lease", "tephra-scheduler")["spec"].get("holderIdentity", "")
        log = (self.lab.dir / f"tephra-scheduler{name}.log").read_text()
        return bool(holder) and "scheduling begins" in log

    def replace_pods(self, old, new):
        """As a rollout with maxUnavailable 1: the other pod goes on while one is replaced."""
        for before, after in zip(old, new):
            self.end_pod(before)
            self.start_pod(after)
        self.lab.until(f"one of {new} leads", lambda: any(self.leads(name) for name in new))

    # --- jobs ---

    def submit(self):
        name = f"job-{len(self.jobs)}"
        replicas, gpus = self.dice.choice([(1, 8), (2, 8), (2, 4), (4, 2), (3, 1), (16, 1), (1, 1)])
        self.lab.apply(job(name, replicas, gpus, self.dice.randint(1, 4)))
        self.jobs[name] = replicas

    def churn(self):
        try:
            while not self.ending.is_set():
                self.submit()
                self.look()
                self.ending.wait(self.dice.uniform(0, 0.5))
        except BaseException as error:
            self.broken.append(error)

    def completed(self):
        """Jobs that are complete, each of whose pods has succeeded."""
        phases = {j["metadata"]["name"]: j.get("status", {}).get("state", {}).get("phase")
                  for j in self.lab.get("jobs.batch.volcano.sh", "-n", "default")["items"]}
        pods = collections.Counter(pod["metadata"]["labels"].get("volcano.sh/job-name") for pod in self.lab.get("pods", "-n", "default")["items"]
                                   if pod["status"].get("phase") == "Succeeded")
        return [name for name, replicas in self.jobs.items() if phases.get(name) == "Completed" and pods[name] == replicas]

    def run(self, seconds):
        """The whole history; `seconds`: how long jobs come between two steps at least."""
        lab = self.lab
        before = self.names()
        self.helm("install", chart(), "--create-namespace")
        lab.until("the pods of the Deployment are there", lambda: len(lab.get("-n", "tephra-system", "pods")["items"]) == 2)
        for name in ("-a", "-b"):
            self.start_pod(name)
        self.submit()
        lab.until("a gang has run", lambda: self.completed() == ["job-0"])

        churn = threading.Thread(target=self.churn, daemon=True)
        churn.start()
        time.sleep(seconds)
        self.helm("upgrade", chart(), values={"scheduler.replicas": 3, "node.enabled": True, "networkPolicies.enabled": True,
                                              "engine.configuration.engine.usage_half_life": "10s"})
        assert self.settings() == {"usage_half_life": "10s"}, self.settings()
        assert lab.get("-n", "tephra-node", "daemonset", "tephra-node")
        self.replace_pods(("-a", "-b"), ("-c", "-d"))
        time.sleep(seconds)
        self.helm("rollback", "1")
        assert self.settings() == {}, self.settings()
        assert "not found" in lab.kubectl("get", "-n", "tephra-node", "daemonset", "tephra-node", check=False)
        self.replace_pods(("-c", "-d"), ("-e", "-f"))
        time.sleep(seconds)
        self.ending.set()
        churn.join(120)
        if self.broken:
            raise self.broken[0]
        lab.until(lambda: f"all jobs complete: {len(self.completed())} of {len(self.jobs)}", lambda: self.look() or len(self.completed()) == len(self.jobs), 300)
        denied = [request[:3] for request in lab.requests() if not request[3]]

        for name in ("-e", "-f"):
            self.end_pod(name)
        lab.kubectl("delete", "jobs.batch.volcano.sh", "-n", "default", "--all")
        self.helm("uninstall")
        lab.kubectl("delete", "namespace", "tephra-system", "--timeout=120s")
        lab.until(lambda: f"nothing is left: {sorted(self.names() - before)[:5]}", lambda: self.names() <= before, 120)
        return {"jobs": len(self.jobs), "completed": len(self.jobs), "twice": self.twice, "looked": self.looked, "denied": denied, "steps": self.steps,
                "gone": sorted(before - self.names())}
