"""A tenant on a lab: the rights that a namespace may give to its owner, and the calls of that account."""
import json

from built import component
from lab import Lab

SLOT = "tephra.sh/gpu-slot"
SLICES = "tephra.sh/slices"
SIGNATURE = "tephra.sh/slices-signature"
GROUP = "scheduling.k8s.io/group-name"
NAMESPACE = "tenant"
TENANT = ["--as=mallory", "--as-group=system:authenticated", "-n", NAMESPACE]
SCHEDULER = "--as=system:serviceaccount:tephra-system:tephra-scheduler"
KUBELET = ["--as=system:node:node-0", "--as-group=system:nodes"]

# All rights that a namespace may give to its owner: what Kubernetes' role admin is made of, `kubectl debug`, and Volcano's objects.
SEAT = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "more", "namespace": NAMESPACE},
     "rules": [{"apiGroups": [""], "resources": ["pods/ephemeralcontainers"], "verbs": ["get", "patch", "update"]},
               {"apiGroups": ["batch.volcano.sh", "scheduling.volcano.sh"], "verbs": ["*"],
                "resources": ["jobs", "jobs/status", "podgroups", "podgroups/status"]}]},
    *({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": role.rpartition(":")[2], "namespace": NAMESPACE},
       "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
       "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}]}
      for kind, role in (*(("ClusterRole", f"system:aggregate-to-{part}") for part in ("admin", "edit", "view")), ("Role", "more")))]

lab = None


def begin():
    """A lab with the overlay `beside`, its policies and the tenant."""
    global lab
    lab = Lab()
    try:
        lab.install()
        lab.apply(*component("node").values())
        for name, before in (("network", ()), ("node-network", ("node",))):
            lab.apply(*component(name, *before).values())
        # The rule of the overlay `replace`, which is for the pods of all schedulers.
        lab.apply(component("node", overlay="replace")["ValidatingAdmissionPolicy", "visible-devices.tephra.sh"])
        lab.apply(*SEAT)
        # Policies are enforced a moment after they are created; the last one is.
        lab.until("the tenant has its rights", lambda: create(pod("probe"), "--dry-run=server") == "", 60)
        for each in (pod("probe", limits={SLOT: "1"}), pod("probe", env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]),
                     pod("probe", {SLICES: "x"})):
            lab.until("the policies are enforced", lambda: create(each, "--dry-run=server") != "", 60)
    except BaseException:
        lab.stop()
        raise


def end():
    lab.stop()


def pod(name, annotations=None, limits=None, env=None, lists=("containers",), **spec):
    both = {"name": "c", "image": "x", "resources": {"limits": limits or {}}, "env": env or []}
    plain = {"name": "plain", "image": "x"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}},
            "spec": {"schedulerName": "another", "containers": [plain], **{each: [both] for each in lists}, **spec}}


def create(object, *flags, seat=TENANT):
    """What the API server said against it; empty: it is created."""
    return lab.kubectl("create", *flags, *seat, "-f", "-", stdin=json.dumps(object), check=False)


def patch(kind, name, change, *flags, seat=TENANT):
    return lab.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(change), *flags, *seat, check=False)


def bind(name, annotations, seat):
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "node-0"},
               "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations}}
    return lab.kubectl("create", *seat, "-f", "-", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding",
                       stdin=json.dumps(binding), check=False)
