#!/usr/bin/env python3
"""The manifests on a real API server: which writes they allow, and whether the scheduler has every right
that it needs and no other right."""
import json
import subprocess
import unittest

from built import ROOT, component, kubectl
from lab import ENGINE, Lab

SLICES = "tephra.sh/slices"
INVENTORY = "tephra.sh/gpu-inventory"
SCHEDULER = "--as=system:serviceaccount:tephra-system:tephra-scheduler"
lab = None


def setUpModule():
    global lab
    lab = Lab()
    try:
        lab.install()
        # Policies are enforced a moment after they are created.
        for check in (slices_are_guarded, inventories_are_guarded):
            lab.until(check.__name__, check, 60)
    except BaseException:
        lab.stop()
        raise


def tearDownModule():
    lab.stop()


def slices_are_guarded():
    return lab.apply(pod("probe", {SLICES: "x"}), check=False) != "" or lab.kubectl("delete", "pod", "probe") == ""


def inventories_are_guarded():
    return lab.kubectl("annotate", "--overwrite", "--dry-run=server", "node", "node-0", INVENTORY + "=x", check=False) != ""


def pod(name, annotations=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
            "spec": {"schedulerName": "another", "containers": [{"name": "c", "image": "x", **spec.pop("container", {})}], **spec}}


def job(name, replicas, gpus, **template):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulerName": "tephra", "queue": "research", "minAvailable": replicas, "tasks": [{
                "name": "worker", "replicas": replicas, "template": {"spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}},
                                    **template.pop("container", {})}], **template}}}]}}


class Installing(unittest.TestCase):
    def test_the_api_server_takes_the_other_overlay_too(self):
        lab.kubectl("apply", "--dry-run=server", "-k", ROOT / "manifests/overlays/replace")

    def test_the_namespace_admits_the_pod(self):
        lab.until("the pod is there", lambda: lab.get("-n", "tephra-system", "pods")["items"])

    def test_the_engine_takes_its_configuration(self):
        checked = subprocess.run([ENGINE, "--check-config", "--config", ROOT / "manifests/base/engine.yaml"],
                                 capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class SlicePolicy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lab.apply(pod("mine"), pod("bound"), pod("foreign"))
        cls.bind("bound", {SLICES: "given"}, SCHEDULER)

    @classmethod
    def tearDownClass(cls):
        lab.kubectl("delete", "pod", "--force", "mine", "bound", "foreign")

    @staticmethod
    def bind(name, annotations, *flags, path="pods/{}/binding"):
        binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "node-0"},
                   "metadata": {"name": name, "namespace": "default", "annotations": annotations}}
        return lab.kubectl("create", *flags, "-f", "-", "--raw", "/api/v1/namespaces/default/" + path.format(name),
                           stdin=json.dumps(binding), check=False)

    def refused(self, answer):
        self.assertIn(f"metadata.annotations[{SLICES}]: set, changed or removed by ", answer)

    def allowed(self, answer):
        self.assertEqual(answer, "")

    def patch(self, name, patch, *flags):
        return lab.kubectl("patch", "pod", name, *flags, "-p", json.dumps(patch), check=False)

    def test_a_binding_of_the_scheduler_brings_the_slices(self):
        self.assertEqual(lab.get("pod", "bound")["metadata"]["annotations"][SLICES], "given")

    def test_an_administrators_binding_brings_none(self):
        self.refused(self.bind("mine", {SLICES: "x"}))
        self.refused(self.bind("mine", {SLICES: "x"}, path="bindings"))

    def test_another_scheduler_may_bind(self):
        self.allowed(self.bind("foreign", {"other": "x"}))

    def test_a_pod_cannot_be_created_with_them(self):
        self.refused(lab.apply(pod("forged", {SLICES: "x"}), check=False))
        self.refused(lab.apply(pod("forged", {SLICES: ""}), check=False))

    def test_a_pod_cannot_be_given_them_later(self):
        self.refused(self.patch("mine", {"metadata": {"annotations": {SLICES: "x"}}}))
        self.refused(self.patch("mine", {"metadata": {"annotations": {SLICES: ""}}}))
        self.refused(self.patch("mine", {"metadata": {"annotations": {SLICES: "x"}}}, "--subresource=status"))

    def test_they_cannot_be_changed_or_removed(self):
        self.refused(self.patch("bound", {"metadata": {"annotations": {SLICES: "more"}}}))
        self.refused(self.patch("bound", {"metadata": {"annotations": {SLICES: None}}}))

    def test_all_else_about_a_pod_that_has_them_can_be(self):
        self.allowed(self.patch("bound", {"metadata": {"labels": {"k": "v"}, "annotations": {"other": "x"}}}))
        self.allowed(self.patch("bound", {"status": {"message": "x"}}, "--subresource=status"))

    def test_the_scheduler_has_no_right_to_write_pods(self):
        self.assertIn("cannot patch resource", self.patch("mine", {"metadata": {"annotations": {"other": "x"}}}, SCHEDULER))


class NodePlugin(unittest.TestCase):
    """The rights of components/node: its own node, and there only what is its business."""
    plugin = ["--as=system:serviceaccount:tephra-node:tephra-node"]

    @classmethod
    def setUpClass(cls):
        lab.apply(*component("node").values())
        lab.until("the policy is enforced", lambda: "written by tephra-node of another node" in cls.patch("node-1", {"metadata": {"annotations": {"a": "b"}}}), 60)

    @classmethod
    def patch(cls, node, change, *flags):
        return lab.kubectl("patch", "node", node, "--type=merge", "-p", json.dumps(change), *cls.plugin, *flags,
                           "--as-user-extra=authentication.kubernetes.io/node-name=node-0", check=False)

    def test_it_says_what_its_own_node_has(self):
        self.assertEqual(self.patch("node-0", {"metadata": {"annotations": {"volcano.sh/node-vgpu-register": "x"}, "labels": {"nvidia.com/gpu.count": "8"}}}), "")
        self.assertEqual(self.patch("node-0", {"status": {"capacity": {"tephra.sh/probe": "8"}}}, "--subresource=status"), "")

    def test_no_other_node(self):
        self.assertIn("written by tephra-node of another node", self.patch("node-1", {"metadata": {"labels": {"nvidia.com/gpu.count": "8"}}}))
        self.assertIn("written by tephra-node of another node", self.patch("node-1", {"status": {"capacity": {"tephra.sh/probe": "8"}}}, "--subresource=status"))

    def test_nothing_that_is_not_its_business(self):
        for change in ({"spec": {"unschedulable": True}}, {"metadata": {"labels": {"kubernetes.io/arch": "arm64"}}},
                       {"metadata": {"labels": {"kubernetes.io/hostname": None}}}):
            self.assertIn("spec or foreign labels written by tephra-node", self.patch("node-0", change))

    def test_it_reads_pods_writes_events_and_nothing_else(self):
        for verb, what, may in (("watch", "pods", True), ("get", "nodes", True), ("create", "events", True), ("delete", "events", False), ("get", "secrets", False), ("get", "configmaps", False),
                                ("update", "pods", False), ("create", "pods", False), ("delete", "nodes", False)):
            answer = subprocess.run([kubectl(), "--kubeconfig", lab.kubeconfig, "auth", "can-i", verb, what, "-A", *self.plugin],
                                    capture_output=True, text=True).stdout.strip()
            self.assertEqual(answer, "yes" if may else "no", f"{verb} {what}")


class InventoryPolicy(unittest.TestCase):
    plugin = ["--as=system:serviceaccount:tephra-node:tephra-node", "--as-group=system:masters"]
    on_node = "--as-user-extra=authentication.kubernetes.io/node-name="

    @classmethod
    def setUpClass(cls):
        cls.inventory = lab.get("node", "node-0")["metadata"]["annotations"][INVENTORY]

    def annotate(self, *flags):
        """Says the same in other bytes, so that the node stays what it is."""
        InventoryPolicy.inventory += " "
        return lab.kubectl("annotate", "--overwrite", "node", "node-0", f"{INVENTORY}={self.inventory}", *flags, check=False)

    def refused(self, answer):
        self.assertIn(f"metadata.annotations[{INVENTORY}] of node node-0: set, changed or removed by ", answer)

    def test_an_administrator_cannot_set_it(self):
        self.refused(self.annotate())

    def test_the_nodes_kubelet_can(self):
        self.assertEqual(self.annotate("--as=system:node:node-0", "--as-group=system:nodes"), "")

    def test_another_nodes_kubelet_cannot(self):
        self.refused(self.annotate("--as=system:node:node-1", "--as-group=system:masters"))

    def test_the_node_plugin_can_on_its_own_node(self):
        self.assertEqual(self.annotate(*self.plugin, self.on_node + "node-0"), "")

    def test_the_node_plugin_cannot_on_another(self):
        self.refused(self.annotate(*self.plugin, self.on_node + "node-1"))
        self.refused(self.annotate(*self.plugin))

    def test_all_else_about_a_node_can_be_changed(self):
        self.assertEqual(lab.kubectl("label", "--overwrite", "node", "node-0", "k=v", check=False), "")


# While it is there, these two pods cannot be bound; the other pod of the second's gang is deleted then.
UNBINDABLE = [
    {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "unbindable"},
     "spec": {"failurePolicy": "Fail", "validations": [{"expression": "!(object.metadata.name in ['unbindable-worker-0', 'torn-worker-1'])"}],
              "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                                                      "resources": ["pods/binding"]}]}}},
    {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "unbindable"},
     "spec": {"policyName": "unbindable", "validationActions": ["Deny"]}}]

VOLUMES = [
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
     "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "made-on-demand"},
     "provisioner": "rancher.io/local-path", "volumeBindingMode": "WaitForFirstConsumer"},
    {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"},
     "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
              "local": {"path": "/disk"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                  {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]}]}]}}}},
    *({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
       "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": name, "resources": {"requests": {"storage": "1Gi"}}}}
      for name in ("local", "made-on-demand"))]


def job_with_volume(name, claim):
    return job(name, 1, 1, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
               container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]})


class Rights(unittest.TestCase):
    """One history that leads the scheduler through all that it does."""

    @staticmethod
    def bound(name, replicas):
        """The pods of a job, once all of them are bound."""
        def pods():
            return lab.get("pods", "-l", f"volcano.sh/job-name={name}")["items"]
        lab.until(f"{replicas} pods of {name} are bound",
                  lambda: len([p for p in pods() if p["spec"].get("nodeName")]) == replicas)
        return pods()

    @staticmethod
    def granted():
        roles = [lab.get("clusterrole", "tephra-scheduler"),
                 *(lab.get("-n", "tephra-system", "role", f"tephra-scheduler-{what}") for what in ("leads", "remembers"))]
        return {(group, resource, verb) for role in roles for rule in role["rules"]
                for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}

    def test_the_scheduler_needs_all_its_rights_and_no_other(self):
        lab.apply(*UNBINDABLE, *VOLUMES)
        # A new cluster has no queues yet. Volcano's webhook protects this one, so it goes first.
        lab.kubectl("delete", "validatingwebhookconfiguration", "--all")
        lab.kubectl("delete", "queue", "default")
        lab.run_engine(engine={"usage_half_life": "10s"})  # it then tells every 10 s what it remembers
        lab.run_scheduler()

        lab.apply(job("gang", 2, 4))
        for p in self.bound("gang", 2):
            self.assertIn(SLICES, p["metadata"]["annotations"])
        lab.apply(job_with_volume("disk", "local"))
        self.assertEqual(self.bound("disk", 1)[0]["spec"]["nodeName"], "node-1")
        lab.apply(job_with_volume("new-disk", "made-on-demand"), job("unbindable", 1, 1), job("torn", 2, 1),
                  pod("nowhere", {"scheduling.volcano.sh/queue-name": "nowhere"}, schedulerName="tephra"),
                  pod("too-large", schedulerName="tephra", container={"resources": {"limits": {"nvidia.com/gpu": "9"}}}))

        def unused():
            """Rights that no request has needed yet."""
            return sorted(self.granted() - {request[:3] for request in lab.requests()})
        # An API server with watch lists streams the objects; any other one is asked for lists.
        lab.until(lambda: f"only lists are not asked for: {[u for u in unused() if u[2] != 'list']}",
                  lambda: all(verb == "list" for _, _, verb in unused()))
        lab.end("tephra-scheduler")
        lab.run_scheduler("--feature-gates=WatchListClient=false")
        lab.until(lambda: f"all rights are used: not {unused()}", lambda: not unused())
        self.assertEqual([request[:3] for request in lab.requests() if not request[3]], [], "denied")


if __name__ == "__main__":
    unittest.main()
