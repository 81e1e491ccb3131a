"""What a hostile tenant submits, and how long jobs of another tenant take to start meanwhile: for trust-tenant."""

import contextlib
import re
import threading
import time

import api

NAMESPACE, OTHER = "tenant", "other"
GPU = "nvidia.com/gpu"


class Api(api.Api):
    def answer(self, method, path, body=None, user=None):
        """(whether the API server did it, the object or what it said against it)"""
        as_ = (("Impersonate-User", user), ("Impersonate-Group", "system:authenticated")) if user else ()
        try:
            return True, self.call(method, path, body, as_)
        except api.Refused as refused:
            return False, str(refused)

    def create(self, path, objects, user):
        """(how many of them the API server took, what it said against another); four requests at once."""
        taken, against = [], [""]

        def work(part):
            for each in part:
                done, answer = self.answer("POST", path, each, user)
                if done:
                    taken.append(each)
                else:
                    against[0] = answer
        threads = [threading.Thread(target=work, args=(objects[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(taken), against[0]

    def clear(self):
        """Deletes all that the tenant has made, and returns when it is gone."""
        for path in (JOBS, PODS, GROUPS, BUDGETS):
            self.answer("DELETE", path + "?gracePeriodSeconds=0")
        while any(self.call("GET", f"{path}?limit=1")["items"] for path in (JOBS, PODS, GROUPS)):
            time.sleep(0.2)


PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{NAMESPACE}/jobs"
GROUPS = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{NAMESPACE}/podgroups"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"


def container(**limits):
    return {"name": "c", "image": "x", "resources": {"limits": {k.replace("__", "/"): v for k, v in limits.items()}}}


def pod(name, containers=None, scheduler="tephra", annotations=None, labels=None, **spec):
    """It waits: no node has what it selects."""
    return {"metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}}, "spec": {
        "schedulerName": scheduler, "nodeSelector": {"no": "node"}, "containers": containers or [container()], **spec}}


def job(name, replicas=1, template=None, annotations=None, task=None, **spec):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "annotations": annotations or {}}, "spec": {
        "schedulerName": "tephra", "queue": "research", "minAvailable": 1, "tasks": [{
            "name": "w", "replicas": replicas, "minAvailable": 1, "template": {"spec": {
                "restartPolicy": "Never", "containers": [container(**{GPU.replace("/", "__"): "9"})], **(template or {})}}, **(task or {})}], **spec}}


def group(name, members, queue="research"):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": members, "queue": queue}}


def affine(size, key="kubernetes.io/hostname"):
    """An affinity of about so many bytes that no node meets."""
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": key, "operator": "In", "values": [f"v{i:062}" for i in range(size // 63)]}]}]}}}}


def parts(pods):
    return {"partitionPolicy": {"totalPartitions": pods, "partitionSize": 1}}


def away(labels, key="kubernetes.io/hostname"):
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": key, "labelSelector": {"matchLabels": labels}}]}}}


def floods(size):
    """What -> (path, objects): attacks on the service. `size` of 100 is a full run."""
    many = range(size * 5)
    few = range(size)
    return {
        "a Job of 2 billion partitions": (JOBS, [job("loop", 2000000000, task=parts(2000000000))]),
        "60,000 partitions with large templates": (JOBS, [job("amplify", 60000, affine(1400), task=parts(60000))]),
        "8,192 partitions of 60 KB": (JOBS, [job("large", 8192, affine(60000), task=parts(8192))]),
        "Jobs of 1 MB": (JOBS, [job(f"big-{i}", template=affine(1000000, f"k{i}")) for i in range(size * 6 // 10)]),
        "pods of 1 MB": (PODS, [pod(f"big-{i}", **affine(1000000, f"k{i}")) for i in range(size // 5)]),
        "pods that request resources that no node has": (PODS, [
            pod(f"kinds-{i}", [container(**{f"x.io__r{i}-{k}": "1" for k in range(40)})]) for i in many]),
        "pods with 1,000 host ports": (PODS, [pod(f"ports-{i}", [{**container(), "ports": [
            {"containerPort": 1 + k, "hostPort": 1000 + k} for k in range(1000)]}]) for i in few]),
        "the same of another scheduler": (PODS, [pod(f"foreign-ports-{i}", [{**container(), "ports": [
            {"containerPort": 1 + k, "hostPort": 1000 + k} for k in range(1000)]}], "another") for i in few]),
        "pods with topology keys of their own": (PODS, [pod(f"keys-{i}", labels={"a": "b"}, **away({"a": "b"}, f"key-{i}")) for i in many]),
        "pods with anti-affinities of their own": (PODS, [pod(f"away-{i}", labels={"a": f"v{i}"}, **away({"a": f"v{i}"})) for i in many]),
        "pods with 500 volumes": (PODS, [pod(f"volumes-{i}", volumes=[
            {"name": f"v{k}", "persistentVolumeClaim": {"claimName": f"none-{k}"}} for k in range(500)]) for i in few]),
        "Jobs with thousands of tasks that have volumes": (JOBS, [job(f"claims-{i}", 1000, {"volumes": [
            {"name": f"v{k}", "persistentVolumeClaim": {"claimName": f"none-{k}"}} for k in range(64)]}) for i in range(size // 10)]),
        "PodDisruptionBudgets for everything": (BUDGETS, [{"metadata": {"name": f"b{i}"}, "spec": {"maxUnavailable": 0, "selector": {}}} for i in many]),
        "pods that wait": (PODS, [pod(f"waits-{i}") for i in many]),
        "PodGroups of a billion members": (GROUPS, [group(f"g{i}", 1000000000) for i in few]),
        "PodGroups in queues that do not exist": (GROUPS, [group(f"q{i}", 1, f"none-{i}") for i in few]),
        "requests of as many GPUs as a number can be": (PODS, [pod(f"huge-{i}", [container(**{GPU.replace("/", "__"): "9223372036854775807"})]) for i in few]),
        "estimates that are no durations": (JOBS, [job(f"estimate-{i}", annotations={
            "tephra.sh/expected-runtime": "9" * (i * 100), "tephra.sh/min-runtime": "-1h", "tephra.sh/user": "u" * (i * 100)}) for i in few]),
        "annotations of 200 KB": (JOBS, [job(f"words-{i}", annotations={"tephra.sh/user": "u" * 200000}) for i in range(size // 4)]),
        "a million wishes in tolerations and selectors": (PODS, [pod(f"wishes-{i}", tolerations=[
            {"key": f"k{k}", "operator": "Exists"} for k in range(5000)]) for i in range(size // 4)]),
    }


class Neighbour:
    """Another tenant, whose small gangs come one after the other."""

    def __init__(self, api):
        self.api, self.count = api, 0
        api.call("POST", "/api/v1/namespaces", {"metadata": {"name": OTHER}})

    def start_one(self, seconds=60):
        """Seconds until both pods of a new gang are bound, at most `seconds`. No controller has to make its pods."""
        self.count += 1
        name = f"gang-{self.count}"
        groups, pods = (path.replace(NAMESPACE, OTHER) for path in (GROUPS, PODS))
        members = [pod(f"{name}-{i}", [container(**{GPU.replace("/", "__"): "1"})], annotations={"scheduling.k8s.io/group-name": name}, nodeSelector={})
                   for i in range(2)]
        began = time.monotonic()
        for path, each in ((groups, group(name, 2)), *((pods, each) for each in members)):
            self.api.call("POST", path, each)
        while time.monotonic() < began + seconds:
            if all("nodeName" in self.api.call("GET", f"{pods}/{each['metadata']['name']}")["spec"] for each in members):
                break
            time.sleep(0.02)
        took = time.monotonic() - began
        for path in (*(f"{pods}/{each['metadata']['name']}?gracePeriodSeconds=0" for each in members), f"{groups}/{name}"):
            self.api.answer("DELETE", path)
        return took

    def starts(self, times):
        return [self.start_one() for _ in range(times)]

    @contextlib.contextmanager
    def beside(self):
        """Starts gangs until the end; their times are in the list that it gives."""
        took, end = [], threading.Event()

        def work():
            while not end.is_set():
                took.append(self.start_one())
        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield took
        finally:
            end.set()
            thread.join()


def peak_mib(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024
