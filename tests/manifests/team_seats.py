"""Two teams on a lab, made by the chart of a team, and what each of them tries from its own account."""
import json

from built import ROOT
from chart import chart, helm
from flows import Pod, allowed

RULE = "names the queues that it may use"
NETWORK = "expected only by accounts that may delete the namespace"
TEAMS = {"vision": {"groups": ["vision"], "queue.shared": ["shared"], "queue.capability": {"nvidia.com/gpu": "8"}},
         "speech": {"users": ["sara"], "network.from": [{"kubernetes.io/metadata.name": "monitoring"}]}}
SEATS = {"vision": ["--as=victor", "--as-group=vision", "--as-group=system:authenticated"],
         "speech": ["--as=sara", "--as-group=system:authenticated"]}


def namespace(name, queues=None):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": {"tephra.sh/queues": queues} if queues else {}}}


def job(queue, home="vision", **more):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "try", "namespace": home},
            "spec": {"schedulerName": "tephra", "minAvailable": 1, **({"queue": queue} if queue else {}), **more, "tasks": [{
                "name": "worker", "replicas": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
                    {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}]}}


def group(queue, home="vision", name="try"):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name, "namespace": home},
            "spec": {"minMember": 1, **({"queue": queue} if queue else {})}}


def pod(queue, home="vision", **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "namespace": home, "annotations": {"scheduling.volcano.sh/queue-name": queue} if queue else {}},
            "spec": {"schedulerName": "tephra", "containers": [{"name": "c", "image": "x"}], **spec}}


def network(home="vision", name="open"):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name, "namespace": home},
            "spec": {"podSelector": {}, "ingress": [{}]}}


class Teams:
    def __init__(self, lab):
        self.lab = lab
        helm("install", "tephra", chart(), "--namespace", "tephra-system", "--create-namespace", "--kubeconfig", lab.kubeconfig, values={"teams.enabled": True})
        for name, values in TEAMS.items():
            self.helm("install", name, ROOT / "manifests/team", values=values)
        # The lab does not aggregate cluster roles, so what Kubernetes' roles edit and admin are made of is bound by name.
        lab.apply(*({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": f"whole-{part}", "namespace": team},
                     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"system:aggregate-to-{part}"},
                     "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}
                    for team, user in (("vision", "victor"), ("speech", "sara")) for part in ("view", "edit", "admin")))
        lab.apply({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "shared"}, "spec": {"weight": 1}},
                  namespace("plain"), namespace("any", "*"), namespace("monitoring"))
        lab.until("the policies are enforced", lambda: RULE in self.create(job("speech")) and RULE in self.create(pod("speech"))
                  and NETWORK in self.create(network(), SEATS["vision"]), 90)
        lab.until("the rights are there", lambda: self.create(job("vision"), SEATS["vision"]) == "", 60)

    def helm(self, command, name, *arguments, values=None):
        helm(command, name, *arguments, "--namespace", "tephra-system", "--kubeconfig", self.lab.kubeconfig, values=values)

    def create(self, object, seat=(), *flags):
        """What the API server says against it; nothing is kept."""
        return self.lab.kubectl("create", "--dry-run=server", *flags, *seat, "-f", "-", stdin=json.dumps(object), check=False)

    def call(self, *arguments):
        return self.lab.kubectl(*arguments, check=False)

    def patch(self, kind, name, home, change, seat=(), *flags):
        return self.call("patch", kind, name, "-n", home, "--type=merge", "-p", json.dumps(change), "--dry-run=server", *flags, *seat)

    def attempts(self):
        """(what is tried, what the answer has to contain; "": it is allowed, the answer) of each."""
        vision, speech = SEATS["vision"], SEATS["speech"]
        self.lab.apply(group("vision", name="own"), group("speech", "speech", "own"))
        forbidden = "orbidden"
        # Queues.
        yield "a Job in its own queue", "", self.create(job("vision"), vision)
        yield "a Job in a queue that it shares", "", self.create(job("shared"), vision)
        yield "a Job in the queue of another team", RULE, self.create(job("speech"), vision)
        yield "the other team in this one's", RULE, self.create(job("vision", "speech"), speech)
        yield "a Job in a queue that only the other team shares", RULE, self.create(job("shared", "speech"), speech)
        yield "a Job without a queue", RULE, self.create(job(None), vision)
        yield "a Job in root", "oot", self.create(job("root"), vision)
        yield "a PodGroup in its own queue", "", self.create(group("vision"), vision)
        yield "a PodGroup in the queue of another team", RULE, self.create(group("speech"), vision)
        yield "a change of a PodGroup's queue", RULE, self.patch("podgroup", "own", "vision", {"spec": {"queue": "speech"}}, vision)
        yield "a change to a shared queue", "", self.patch("podgroup", "own", "vision", {"spec": {"queue": "shared"}}, vision)
        yield "a pod that names its own queue", "", self.create(pod("vision"), vision)
        yield "a pod that names no queue", "", self.create(pod(None), vision)
        yield "a pod that names the queue of another team", RULE, self.create(pod("speech"), vision)
        yield "a queue by spelling: a space", RULE, self.create(pod(" speech"), vision)
        yield "a queue by spelling: a list", RULE, self.create(pod("vision,speech"), vision)
        yield "a queue by spelling: all", RULE, self.create(pod("*"), vision)
        yield "an administrator in the team's namespace", RULE, self.create(job("speech"))
        yield "its own list of queues", forbidden, self.patch("namespace", "vision", "vision", {"metadata": {"annotations": {"tephra.sh/queues": "*"}}}, vision)
        yield "its own queue's share", forbidden, self.patch("queue", "vision", "vision", {"spec": {"weight": 1000}}, vision)
        yield "a queue of its own making", forbidden, self.create({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "mine"}, "spec": {"weight": 1}}, vision)
        yield "a namespace without a list: the queue default", "", self.create(job("default", "plain"))
        yield "a namespace without a list: a team's queue", RULE, self.create(job("vision", "plain"))
        yield "a namespace without a list: a pod", RULE, self.create(pod("vision", "plain"))
        yield "a namespace with every queue", "", self.create(job("vision", "any"))
        # Objects of the other team.
        for kind in ("jobs.batch.volcano.sh", "podgroups", "pods", "secrets", "configmaps", "networkpolicies"):
            yield f"reading {kind} of another team", forbidden, self.call("get", kind, "-n", "speech", *vision)
        yield "reading pods of all namespaces", forbidden, self.call("get", "pods", "-A", *vision)
        yield "reading the other team's queue", forbidden, self.call("get", "queue", "speech", *vision)
        yield "reading its own queue", "", self.call("get", "queue", "vision", *vision)
        yield "reading its own Jobs", "", self.call("get", "jobs.batch.volcano.sh", "-n", "vision", *vision)
        yield "removing another team's PodGroup", forbidden, self.call("delete", "podgroup", "own", "-n", "speech", "--dry-run=server", *vision)
        yield "a pod in another team's namespace", forbidden, self.create(pod(None, "speech"), vision)
        # Isolation.
        yield "removing its NetworkPolicy", NETWORK, self.call("delete", "networkpolicy", "team", "-n", "vision", "--dry-run=server", *vision)
        yield "removing all of them", NETWORK, self.call("delete", "networkpolicy", "--all", "-n", "vision", "--dry-run=server", *vision)
        yield "opening its NetworkPolicy", NETWORK, self.patch("networkpolicy", "team", "vision", {"spec": {"ingress": [{}]}}, vision)
        yield "a NetworkPolicy that opens everything", NETWORK, self.create(network(), vision)
        yield "a NetworkPolicy of an administrator", "", self.create(network())
        yield "a NetworkPolicy of a namespace without a team", "", self.create(network("plain"))
        yield "removing its quota", forbidden, self.call("delete", "resourcequota", "team", "-n", "vision", "--dry-run=server", *vision)
        yield "removing its namespace", forbidden, self.call("delete", "namespace", "vision", "--dry-run=server", *vision)
        yield "another label for its namespace", forbidden, self.patch("namespace", "vision", "vision", {"metadata": {"labels": {"tephra.sh/team": None}}}, vision)
        yield "rights for itself", forbidden, self.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "me", "namespace": "vision"}, "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "victor"}]}, vision)
        yield "a privileged pod", "violates PodSecurity", self.create(pod(None, containers=[{"name": "c", "image": "x", "securityContext": {"privileged": True}}]), vision)
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaces": ["speech"]}
        yield "anti-affinity against another team", "exceeded quota", self.create(pod(None, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}), vision)

    def flows(self):
        """(flow, expected, found) of each connection, by the NetworkPolicies that are there."""
        policies = self.lab.get("networkpolicies", "-A")["items"]
        namespaces = {n["metadata"]["name"]: n["metadata"]["labels"] for n in self.lab.get("namespaces")["items"]}
        worker = (("app", "worker"),)
        for client, server, expected in (
                (Pod("vision"), Pod("vision", worker), True), (Pod("vision"), Pod("speech", worker), False), (Pod("speech"), Pod("vision"), False),
                (Pod("plain"), Pod("vision"), False), (Pod("monitoring"), Pod("vision"), False), (Pod("monitoring"), Pod("speech"), True),
                (Pod("tephra-system"), Pod("vision"), False), (Pod(address="192.0.2.7"), Pod("vision"), False), (Pod("kube-system"), Pod("speech"), False),
                (Pod("vision"), Pod(address="192.0.2.7"), True), (Pod("vision"), Pod("kube-system"), True), (Pod("plain"), Pod("plain"), True)):
            for port in (22, 80, 29500):
                yield f"{client.namespace or client.address} to {server.namespace or server.address}:{port}", expected, allowed(policies, namespaces, client, server, port)
