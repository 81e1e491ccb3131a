"""Gangs that wait for nodes on a lab, and the ProvisioningRequests that the scheduler makes for them. The autoscaler is played: nodes
appear. The least number of nodes is found by trying all ways to pack the pods."""
import collections
import json
import random
import threading

from api import Api
from built import component
from lab import Lab

GPUS = 8
CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
REQUESTS = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests"
TEXT = {"type": "string"}
COUNTED = {"type": "object", "required": ["count", "podTemplateRef"], "properties": {
    "count": {"type": "integer", "format": "int32", "minimum": 1}, "podTemplateRef": {"type": "object", "required": ["name"], "properties": {"name": TEXT}}}}
FIXED = [{"message": "Value is immutable", "rule": "self == oldSelf"}]
# The fields of the autoscaler's own definition, and its rule that a request does not change.
DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {
    "name": "provisioningrequests.autoscaling.x-k8s.io", "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"}},
    "spec": {"group": "autoscaling.x-k8s.io", "scope": "Namespaced", "names": {"kind": "ProvisioningRequest", "plural": "provisioningrequests"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
                 "type": "object", "required": ["spec"], "properties": {
                     "spec": {"type": "object", "required": ["podSets", "provisioningClassName"], "properties": {
                         "provisioningClassName": {**TEXT, "x-kubernetes-validations": FIXED},
                         "parameters": {"type": "object", "additionalProperties": TEXT, "x-kubernetes-validations": FIXED},
                         "podSets": {"type": "array", "minItems": 1, "maxItems": 32, "items": COUNTED, "x-kubernetes-validations": FIXED}}},
                     "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}


def fits(free, roles):
    """All ways: the second role gets as many as possible for each number of the first that is placed so far."""
    (first, of_first), (second, of_second) = roles if len(roles) == 2 else (roles[0], (0, 1))
    best = {0: 0}
    for room in free:
        after = {}
        for placed, others in best.items():
            for more in range(min(room // of_first, first - placed) + 1):
                total = others + (room - more * of_first) // of_second
                after[placed + more] = max(after.get(placed + more, 0), total)
        best = after
    return best.get(first, -1) >= second


def fewest(free, roles):
    """How many more nodes of GPUS are the fewest that start the gang; None: no number is."""
    if any(each > GPUS for _, each in roles):
        return None
    more = 0
    while not fits(free + [GPUS] * more, roles):
        more += 1
    return more


class Shortages:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.lab = Lab("--nodes=3", f"--gpus={GPUS}", "--queues=research")
        self.made, self.there, self.lock, self.ending = collections.Counter(), {}, threading.Lock(), threading.Event()
        self.number, self.broken = 0, []
        self.api = Api(self.lab.kubeconfig, self.lab.dir)

    def close(self):
        self.ending.set()
        self.lab.stop()

    def begin(self):
        lab = self.lab
        lab.install()
        lab.apply(DEFINITION, *component("provisioning").values(),
                  {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "limited"},
                   "spec": {"weight": 1, "capability": {"nvidia.com/gpu": "1"}}})
        lab.until("the definition is served", lambda: lab.kubectl("get", "provisioningrequests", check=False) == "")
        lab.run_engine()
        lab.run_scheduler(f"--provisioning-class={CLASS}", "--provisioning-delay=0s")
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        def changed(kind, request):
            group = request["metadata"]["ownerReferences"][0]["uid"]
            with self.lock:
                if kind == "ADDED":
                    self.made[group] += 1
                if kind == "DELETED":
                    self.there.pop(group, None)
                else:
                    self.there[group] = request
        try:
            self.api.follow(REQUESTS, changed, self.ending)
        except BaseException as error:
            if not self.ending.is_set():
                self.broken.append(error)

    def until(self, what, true, seconds=90):
        def now():
            if self.broken:
                raise self.broken[0]
            return true()
        self.lab.until(what, now, seconds)

    # --- one round ---

    def fill(self):
        """Pods of another scheduler on each node, so that so many GPUs are free."""
        free = [self.dice.randint(0, GPUS) for _ in range(3)]
        self.lab.kubectl("delete", "pods", "-l", "filler=yes", "--grace-period=0", "--force")
        pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"filler-{self.number}-{i}", "labels": {"filler": "yes"}},
                 "spec": {"nodeName": f"node-{i}", "schedulerName": "other", "containers": [
                     {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(GPUS - room)}}}]}} for i, room in enumerate(free) if room < GPUS]
        if pods:
            self.lab.apply(*pods)
        return free

    def gang(self, free):
        """(roles as (minimum, GPUs), queue) of a gang that does not fit now."""
        while True:
            roles = [(self.dice.randint(1, 8), self.dice.choice([1, 2, 3, 4, 5, 8])) for _ in range(self.dice.randint(1, 2))]
            kind = self.dice.random()
            if kind < 0.1:
                return [(1, GPUS + 1)], "research"  # more nodes do not help
            if kind < 0.2:
                return [(2, 1)], "limited"
            if fewest(free, roles) > 0:
                return roles, "research"

    def submit(self, free):
        roles, queue = self.gang(free)
        self.number += 1
        name = f"gang-{self.number}"
        tasks = [{"name": f"role{i}", "replicas": least + self.dice.choice([0, 0, 2]), "minAvailable": least, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(each)}}}]}}}
            for i, (least, each) in enumerate(roles)]
        self.lab.apply({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
                        "spec": {"schedulerName": "tephra", "queue": queue, "minAvailable": sum(least for least, _ in roles), "tasks": tasks}})
        return name, roles, None if queue == "limited" else fewest(free, roles)

    def uids(self, gangs):
        """Name of the gang -> UID of its PodGroup."""
        return {group["metadata"]["ownerReferences"][0]["name"]: group["metadata"]["uid"] for group in self.lab.get("podgroups", "-n", "default")["items"]
                if group["metadata"].get("ownerReferences", [{}])[0].get("name") in gangs}

    def explained(self, gangs):
        """Every gang has its condition, so the scheduler has looked at it."""
        return sum(any(c["type"] == "TephraScheduled" for c in group.get("status", {}).get("conditions", []))
                   for group in self.lab.get("podgroups", "-n", "default")["items"]) >= len(gangs)

    def round(self, count):
        """Faults of a round with so many gangs, as texts; and the nodes that were requested."""
        wrong, nodes = [], 0
        free = self.fill()
        gangs = {name: (roles, least) for name, roles, least in (self.submit(free) for _ in range(count))}
        self.until("each gang waits", lambda: len(self.uids(gangs)) == count and self.explained(gangs))
        uids = self.uids(gangs)
        expected = {uids[name] for name, (_, least) in gangs.items() if least}
        self.until(lambda: f"requests: {len(self.there)} of {len(expected)}; free {free}, {gangs}", lambda: set(self.there) >= expected)
        threading.Event().wait(5)  # two more looks of the scheduler: nothing more may come
        for name, (roles, least) in gangs.items():
            request = self.there.get(uids[name])
            if not least:
                wrong += [f"{name} {roles}: requested although no nodes help"] if request else []
                continue
            found = int(request["metadata"]["annotations"]["tephra.sh/nodes"])
            nodes += found
            counts = [each["count"] for each in request["spec"]["podSets"]]
            if found != least or self.made[uids[name]] != 1 or counts != [minimum for minimum, _ in roles] or request["spec"]["provisioningClassName"] != CLASS:
                wrong.append(f"{name} {roles}, free {free}: requested {found} nodes {self.made[uids[name]]} times for {counts} pods, expected {least} once")
        wrong += self.withdrawn(gangs, uids)
        return wrong, nodes

    def withdrawn(self, gangs, uids):
        """Half of the gangs are deleted; the others get the nodes that they requested."""
        names = sorted(gangs)
        gone, served = names[::2], [name for name in names[1::2] if gangs[name][1]]
        self.lab.kubectl("delete", "jobs.batch.volcano.sh", "-n", "default", *gone)
        self.until("requests of deleted gangs are withdrawn", lambda: not {uids[name] for name in gone} & set(self.there))
        # Members beyond the minimum of gangs that started take room too.
        more = sum(gangs[name][1] + sum(2 * each for _, each in gangs[name][0]) // GPUS + 2 for name in served)
        for i in range(more):
            self.add_node(f"more-{self.number}-{i}")
        self.until(lambda: f"requests of gangs that started are withdrawn: {len(self.there)} are left", lambda: not self.there)
        started = {group["metadata"]["uid"] for group in self.lab.get("podgroups", "-n", "default")["items"] if group["status"].get("phase") != "Pending"}
        wrong = [f"{name}: withdrawn, and it did not start" for name in served if uids[name] not in started]
        wrong += [f"PodTemplate {each['metadata']['name']} is left" for each in self.lab.get("podtemplates", "-A")["items"]]
        self.lab.kubectl("delete", "jobs.batch.volcano.sh", "-n", "default", "--all")
        if more:
            self.lab.kubectl("delete", "nodes", *[f"more-{self.number}-{i}" for i in range(more)])
        self.until("the lab is empty", lambda: not self.lab.get("podgroups", "-n", "default")["items"])
        return wrong

    def add_node(self, name):
        node = self.lab.get("node", "node-0")
        inventory = json.loads(node["metadata"]["annotations"]["tephra.sh/gpu-inventory"])
        for i, device in enumerate(inventory["devices"]):
            device["uuid"] = f"GPU-{name}-{i}"
        node["metadata"] = {"name": name, "labels": {**node["metadata"]["labels"], "kubernetes.io/hostname": name},
                            "annotations": {"kwok.x-k8s.io/node": "fake", "tephra.sh/gpu-inventory": json.dumps(inventory)}}
        del node["metadata"]["labels"]["tephra.sh/rack"]
        node["spec"] = {}
        self.api.call("POST", "/api/v1/nodes", node, (("Impersonate-User", f"system:node:{name}"), ("Impersonate-Group", "system:nodes")))
