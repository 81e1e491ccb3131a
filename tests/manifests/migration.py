"""A cluster with HAMi on half of its nodes and NVIDIA's device plugin on the other half moves to Tephra node by node, and back,
as docs/how-to/migrate-from-hami.md and migrate-from-nvidia.md say. Every event of a pod is checked: no GPU is given twice.

The API server, the default scheduler, the controllers, tephra-engine and tephra-scheduler are real. HAMi's scheduler is a stand-in of
this file, which writes what HAMi writes. Kubelets and device plugins are played: their words appear on the Node and go."""
import collections
import json
import random
import subprocess
import threading
import time

import yaml

from api import Api, Refused
from built import ROOT, component
from lab import Lab

GPUS, MEMORY = 8, 80000
SPLIT = 10  # pods on one GPU: HAMi's deviceSplitCount, and tephra-node's split_count, as the guide says
SLICES, INVENTORY = "tephra.sh/slices", "tephra.sh/gpu-inventory"
REGISTER, ALLOCATED = "hami.io/node-nvidia-register", "hami.io/vgpu-devices-allocated"
MERGE = "application/merge-patch+json"
PROGRAM = ROOT / "build/scheduler/kubectl-tephra"
STACKS = {"hami-scheduler": "HAMi", "default-scheduler": "NVIDIA", "tephra": "Tephra"}


def uuid(node, index):
    return f"GPU-{node}-{index}"


def held_by_hami(pod):
    """(UUID, MiB, percent) of each part that HAMi's annotation names."""
    text = pod["metadata"].get("annotations", {}).get(ALLOCATED, "")
    for part in filter(None, text.replace(";", ":").split(":")):
        device, _, memory, cores = part.split(",")
        yield device, int(memory), int(cores)


class Account:
    """What the pods hold now. `twice` are the violations; each event is one look."""

    def __init__(self):
        self.pods, self.on, self.twice, self.looked, self.seen = {}, collections.defaultdict(dict), [], 0, collections.Counter()
        self.lock = threading.Lock()

    def changed(self, kind, pod):
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        with self.lock:
            self.on[node].pop(uid, None)
            self.pods.pop(uid, None)
            if kind != "DELETED" and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                self.pods[uid] = pod
                if node:
                    self.on[node][uid] = pod
            if node:
                self.look(node)

    def look(self, node):
        stacks, used = set(), collections.defaultdict(lambda: [0, 0, 0])  # device -> MiB, thousandths, pods
        whole = 0
        for pod in self.on[node].values():
            stack = STACKS[pod["spec"]["schedulerName"]]
            stacks.add(stack)
            if stack == "HAMi":
                parts = [(device, memory, cores * 10) for device, memory, cores in held_by_hami(pod)]
            elif stack == "Tephra":
                text = pod["metadata"].get("annotations", {}).get(SLICES)
                parts = [(uuid(node, each["index"]), each["memoryMiB"], each["compute"])
                         for container in (json.loads(text)["containers"] if text else []) for each in container["slices"]]
            else:
                parts, whole = [], whole + 1
            if stack != "NVIDIA" and not parts:
                self.twice.append(f"{node}: {pod['metadata']['name']} of {stack} runs without a GPU")
            for device, memory, compute in parts:
                used[device][0] += memory
                used[device][1] += compute
                used[device][2] += 1
        self.looked += bool(stacks)
        self.seen.update(stacks)
        if len(stacks) > 1:
            self.twice.append(f"{node}: pods of {' and '.join(sorted(stacks))} at once")
        if whole > GPUS:
            self.twice.append(f"{node}: {whole} GPUs of {GPUS} are given by NVIDIA's plugin")
        for device, (memory, compute, pods) in used.items():
            if memory > MEMORY or compute > 1000 or pods > SPLIT:
                self.twice.append(f"{device}: {memory} of {MEMORY} MiB, {compute} of 1000 compute, {pods} pods")

    def count(self, stack):
        """Running pods of the stack."""
        with self.lock:
            return sum(STACKS[pod["spec"]["schedulerName"]] == stack and pod["status"].get("phase") == "Running"
                       and "deletionTimestamp" not in pod["metadata"] for each in self.on.values() for pod in each.values())


class HAMi(threading.Thread):
    """A stand-in for HAMi's scheduler: first fit, the annotations first and then the binding, as HAMi does."""

    def __init__(self, migration):
        super().__init__(daemon=True)
        self.m, self.taken = migration, {}  # uid -> (node, parts), until the watch has it

    def run(self):
        try:
            while not self.m.ending.wait(0.05):
                self.turn()
        except BaseException as error:
            self.m.broken.append(error)

    def turn(self):
        account = self.m.account
        with account.lock:
            pending = [pod for pod in account.pods.values() if pod["spec"]["schedulerName"] == "hami-scheduler" and not pod["spec"].get("nodeName")
                       and "deletionTimestamp" not in pod["metadata"]]
            for uid in [uid for uid in self.taken if uid not in account.pods or account.pods[uid]["spec"].get("nodeName")]:
                del self.taken[uid]
            used = collections.defaultdict(lambda: [0, 0, 0])
            held = [(uid, list(held_by_hami(pod))) for each in account.on.values() for uid, pod in each.items()]
            held += [(uid, parts) for uid, parts in self.taken.items()]
            for _, parts in held:
                for device, memory, cores in parts:
                    for at, amount in enumerate((memory, cores, 1)):
                        used[device][at] += amount
        for pod in sorted(pending, key=lambda pod: pod["metadata"]["name"]):
            if pod["metadata"]["uid"] not in self.taken:
                self.place(pod, used)

    def place(self, pod, used):
        limits = pod["spec"]["containers"][0]["resources"]["limits"]
        memory, cores = (int(limits[f"nvidia.com/{part}"].replace("k", "000")) for part in ("gpumem", "gpucores"))
        for node in sorted(self.m.open_for("HAMi")):
            for index in range(GPUS):
                device = uuid(node, index)
                have = used[device]
                if have[0] + memory <= MEMORY and have[1] + cores <= 100 and have[2] < SPLIT:
                    used[device] = [have[0] + memory, have[1] + cores, have[2] + 1]
                    self.taken[pod["metadata"]["uid"]] = [(device, memory, cores)]
                    return self.bind(pod, node, f"{device},NVIDIA,{memory},{cores}:;")

    def bind(self, pod, node, text):
        name, at = pod["metadata"]["name"], f"/api/v1/namespaces/ml/pods/{pod['metadata']['name']}"
        try:
            self.m.api.patch(at, {"metadata": {"uid": pod["metadata"]["uid"], "annotations": {ALLOCATED: text, "hami.io/vgpu-node": node}}})
            self.m.api.call("POST", f"{at}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "uid": pod["metadata"]["uid"]},
                                                      "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
        except Refused as refused:
            if refused.code not in (404, 409):  # the pod has gone, or is going
                raise
            self.taken.pop(pod["metadata"]["uid"], None)


class Migration:
    def __init__(self, nodes, seed):
        self.dice = random.Random(seed)
        self.ending, self.broken, self.nodes, self.rollbacks = threading.Event(), [], {}, 0
        self.lab = Lab(f"--nodes={nodes}", "--kube-scheduler", f"--gpus={GPUS}", f"--gpu-memory={MEMORY}", "--admission=false")
        self.account = Account()
        self.api = Api(self.lab.kubeconfig, self.lab.dir)
        self.names = [node["metadata"]["name"] for node in self.lab.get("nodes")["items"]]
        self.home = {name: "HAMi" if i % 2 else "NVIDIA" for i, name in enumerate(self.names)}
        self.inventories = {name: json.dumps({"version": 1, "devices": [
            {"uuid": uuid(name, i), "model": "H100-SXM5-80GB", "memoryMiB": MEMORY, "healthy": True, "splitCount": SPLIT} for i in range(GPUS)]}) for name in self.names}
        self.deployments = {}

    def close(self):
        self.ending.set()
        self.lab.stop()

    def begin(self):
        """The cluster as it was before Tephra, with its pods running."""
        for name in self.names:  # nothing of Tephra or of Volcano's plugin
            self.patch(name, annotations={INVENTORY: None}, status={f"volcano.sh/vgpu-{part}": None for part in ("number", "memory", "cores")})
            self.old_words(name)
        self.lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}})
        for path, changed in (("/api/v1/namespaces/ml/pods", self.account.changed), ("/api/v1/nodes", self.node_changed)):
            threading.Thread(target=self.guarded, args=(path, changed), daemon=True).start()
        self.lab.until("the nodes are seen", lambda: len(self.nodes) == len(self.names))
        HAMi(self).start()
        for i, name in enumerate(self.names):
            stack = self.home[name]
            pods = 12 if stack == "HAMi" else 8
            limits = {"nvidia.com/gpu": 1} if stack == "NVIDIA" else {
                "nvidia.com/gpu": 1, "nvidia.com/gpumem": self.dice.randrange(5000, MEMORY // 2, 1000), "nvidia.com/gpucores": self.dice.randrange(5, 50, 5)}
            self.deployments[f"{stack.lower()}-{i}"] = (stack, pods)
            self.lab.apply(deployment(f"{stack.lower()}-{i}", stack, pods, limits))
        self.total = sum(pods for _, pods in self.deployments.values())
        self.until("every pod runs under its old stack", lambda: self.account.count("Tephra") == 0 and self.running() == self.total)

    def guarded(self, path, changed):
        try:
            self.api.follow(path, changed, self.ending)
        except BaseException as error:
            if not self.ending.is_set():
                self.broken.append(error)

    def until(self, what, true, seconds=120):
        def now():
            if self.broken:
                raise self.broken[0]
            return true()
        self.lab.until(lambda: f"{what}: {({stack: self.account.count(stack) for stack in STACKS.values()})}", now, seconds)

    def running(self):
        return sum(self.account.count(stack) for stack in STACKS.values())

    # --- nodes ---

    def node_changed(self, kind, node):
        self.nodes[node["metadata"]["name"]] = node

    def open_for(self, stack):
        """Nodes that take pods of this stack now."""
        return [name for name, node in list(self.nodes.items()) if not node["spec"].get("unschedulable") and not node["spec"].get("taints")
                and (REGISTER in node["metadata"].get("annotations", {})) == (stack == "HAMi")]

    def patch(self, name, annotations=None, labels=None, spec=None, status=None, as_=()):
        at = f"/api/v1/nodes/{name}"
        if status is not None:
            self.api.patch(f"{at}/status", {"status": {"allocatable": status, "capacity": status}})
        if annotations or labels or spec:
            self.api.patch(at, {"metadata": {"annotations": annotations or {}, "labels": labels or {}}, "spec": spec or {}}, as_)

    def old_words(self, name):
        """The old device plugin starts on the node."""
        stack = self.home[name]
        register = json.dumps([{"id": uuid(name, i), "count": SPLIT, "devmem": MEMORY, "devcore": 100, "type": "NVIDIA-H100", "numa": 0,
                                "mode": "hami-core", "health": True} for i in range(GPUS)])
        self.patch(name, {REGISTER: register if stack == "HAMi" else None}, {"stack": stack, "nvidia.com/gpu.memory": str(MEMORY)},
                   status={"nvidia.com/gpu": str(GPUS * SPLIT if stack == "HAMi" else GPUS)})

    def no_old_words(self, name):
        """The old device plugin has left the node, and the kubelet has no device of it."""
        self.patch(name, {REGISTER: None}, {"stack": None}, status={"nvidia.com/gpu": "0"})

    def plugin_words(self, name, come):
        """tephra-node comes to the node, with the rights of its pod there, or leaves it."""
        account = "system:serviceaccount:tephra-node:tephra-node"
        as_ = (("Impersonate-User", account), ("Impersonate-Group", "system:serviceaccounts"), ("Impersonate-Group", "system:authenticated"),
               ("Impersonate-Extra-authentication.kubernetes.io%2fnode-name", name))
        self.patch(name, {INVENTORY: self.inventories[name] if come else None}, as_=as_)

    def cordon(self, name, closed):
        self.patch(name, spec={"unschedulable": closed})

    def drain(self, name):
        self.lab.kubectl("drain", name, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
        self.until(f"{name} is empty", lambda: not self.account.on[name])

    def tephra_label(self, name, there):
        self.patch(name, labels={"tephra.sh/gpu": "true" if there else None, "tephra.sh/scheduler": "tephra" if there else None},
                   spec={"taints": [{"key": "tephra.sh/scheduler", "value": "tephra", "effect": "NoSchedule"}] if there else None})

    def steps(self, name):
        """The steps of the guides for one node: (what, undo)."""
        return [(lambda: self.cordon(name, True), lambda: self.cordon(name, False)),
                (lambda: self.drain(name), lambda: None),
                (lambda: self.no_old_words(name), lambda: self.old_words(name)),
                (lambda: self.tephra_label(name, True), lambda: self.tephra_label(name, False)),
                (lambda: self.plugin_words(name, True), lambda: self.plugin_words(name, False)),
                (lambda: self.cordon(name, False), lambda: (self.cordon(name, True), self.drain(name)))]

    def move_node(self, name):
        steps = self.steps(name)
        if self.dice.random() < 0.4:  # the operator stops somewhere and rolls back, and later begins again
            done = self.dice.randint(1, len(steps))
            for do, _ in steps[:done]:
                do()
            for _, undo in reversed(steps[:done]):
                undo()
            self.rollbacks += 1
        for do, _ in steps:
            do()

    def move_node_back(self, name):
        for _, undo in reversed(self.steps(name)):
            undo()

    def move_workload(self, name, to_tephra):
        spec = {"schedulerName": "tephra", "nodeSelector": {"tephra.sh/scheduler": "tephra", "stack": None},
                "tolerations": [{"key": "tephra.sh/scheduler", "value": "tephra", "effect": "NoSchedule"}]} if to_tephra else old_pod(self.deployments[name][0])
        self.api.patch(f"/apis/apps/v1/namespaces/ml/deployments/{name}", {"spec": {"template": {"spec": spec}}})

    def move(self, back=False):
        """All nodes and workloads, one after the other, in random order."""
        order = list(self.names)
        self.dice.shuffle(order)
        workloads = {stack: [name for name, (of, _) in self.deployments.items() if of == stack] for stack in ("HAMi", "NVIDIA")}
        for name in order:
            (self.move_node_back if back else self.move_node)(name)
            self.move_workload(workloads[self.home[name]].pop(), not back)
        self.until("every pod runs again", lambda: self.running() == self.total and (self.account.count("Tephra") == (0 if back else self.total)), 180)

    # --- the check ---

    def check(self):
        """(exit code, report) of `kubectl tephra migrate check`, by an account that may only list."""
        done = subprocess.run([PROGRAM, "migrate", "check", "--kubeconfig", self.reader(), "--output", "json"], capture_output=True, text=True, timeout=60)
        if done.returncode not in (0, 1):
            raise AssertionError(f"migrate check: {done.returncode}: {done.stderr}")
        return done.returncode, json.loads(done.stdout)

    def reader(self):
        path = self.lab.dir / "reader"
        if not path.exists():
            about = {"apiVersion": "rbac.authorization.k8s.io/v1"}
            self.lab.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "ml"}},
                           {**about, "kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}]},
                           {**about, "kind": "ClusterRoleBinding", "metadata": {"name": "reader"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
                            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "ml"}]})
            config = yaml.safe_load(self.lab.kubeconfig.read_text())
            config["users"][0]["user"] = {"token": self.lab.kubectl("create", "token", "-n", "ml", "reader").strip()}
            path.write_text(yaml.safe_dump(config))
        return path

    def plant(self):
        """Objects that block: (what is planted, how to take it away)."""
        limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000, "nvidia.com/gpucores": 5}
        first = next(iter(self.deployments))
        mutex = deployment("planted-mutex", "HAMi", 1, limits)
        mutex["spec"]["template"]["metadata"]["annotations"] = {"hami.io/gpu-scheduler-policy": "mutex"}
        bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "planted-bare", "namespace": "ml"}, "spec": mutex["spec"]["template"]["spec"]}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "planted-budget", "namespace": "ml"},
                  "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": first}}}}
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hami-scheduler-device", "namespace": "kube-system"},
                    "data": {"device-config.yaml": yaml.safe_dump({"nvidia": {
                        "resourceCountName": "nvidia.com/gpu", "resourceMemoryName": "nvidia.com/gpumem", "defaultMemory": 4000, "defaultGPUNum": 1,
                        "resourceMemoryPercentageName": "nvidia.com/gpumem-percentage", "resourceCoreName": "nvidia.com/gpucores"}})}}
        self.lab.apply(mutex, bare, budget, settings)
        self.until("what is planted runs", lambda: self.running() == self.total + 2)
        objects = [("Deployment", "ml", "planted-mutex"), ("Pod", "ml", "planted-bare"), ("PodDisruptionBudget", "ml", "planted-budget"),
                   ("ConfigMap", "kube-system", "hami-scheduler-device")]
        return objects

    def unplant(self, objects):
        for kind, namespace, name in objects:
            self.lab.kubectl("delete", kind, "-n", namespace, name, "--grace-period=1")
        self.until("what was planted has gone", lambda: self.running() == self.total)

    def start_tephra(self):
        self.lab.install()
        self.lab.apply(*component("node").values())
        # The programs run by hand, so their played pods stand on no node.
        self.lab.kubectl("-n", "tephra-system", "scale", "deployment", "tephra-scheduler", "--replicas=0")
        self.lab.run_engine()
        self.lab.run_scheduler()


def old_pod(stack):
    return {"schedulerName": "hami-scheduler" if stack == "HAMi" else "default-scheduler", "tolerations": None,
            "nodeSelector": {"tephra.sh/scheduler": None, "stack": stack}}


def deployment(name, stack, pods, limits):
    limits = {key: str(value) for key, value in limits.items()}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "ml"}, "spec": {
        "replicas": pods, "strategy": {"type": "Recreate"}, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {
            "schedulerName": "hami-scheduler" if stack == "HAMi" else "default-scheduler", "nodeSelector": {"stack": stack},
            "terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}]}}}}
