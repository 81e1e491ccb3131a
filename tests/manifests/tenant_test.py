#!/usr/bin/env python3
"""Attacks from a tenant's account on a real API server, with the manifests in it: each is refused, and what tenants need is
allowed. docs/explanation/threat-model.md names these tests."""
import base64
import json
import os
import re
import subprocess
import unittest

import yaml

import tenant_seat as tenant
from built import ROOT, component, kubectl
from tenant_seat import SLOT, SLICES, SIGNATURE, GROUP, NAMESPACE, TENANT, SCHEDULER, KUBELET, pod, create, patch, bind

setUpModule, tearDownModule = tenant.begin, tenant.end


class Seat(unittest.TestCase):
    def refused(self, answer, because):
        self.assertIn(because, answer or "allowed")

    def allowed(self, answer):
        self.assertEqual(answer, "")


class Slots(Seat):
    """A tenant cannot take a node's slots past the scheduler."""

    def test_a_pod_of_the_scheduler_may_request_one(self):
        for lists in (("containers",), ("initContainers",), ("containers", "initContainers")):
            wanted = pod("ours", limits={SLOT: "1"}, lists=lists[:1], schedulerName="tephra")
            self.allowed(create(wanted, "--dry-run=server"))

    def test_a_pod_of_another_scheduler_may_not(self):
        for lists, name in ((("containers",), "default-scheduler"), (("initContainers",), "another")):
            self.refused(create(pod("hoard", limits={SLOT: "40"}, lists=lists, schedulerName=name)),
                         f'spec.schedulerName: "{name}", expected "tephra": container c requests {SLOT}')

    def test_nor_may_a_pod_that_names_its_node(self):
        self.refused(create(pod("hoard", limits={SLOT: "1"}, schedulerName="tephra", nodeName="node-0")),
                     f'spec.nodeName: "node-0", expected none: container c requests {SLOT}')

    def test_nor_may_a_container_request_two(self):
        for many in ("2", "1k"):
            self.refused(create(pod("hoard", limits={SLOT: many}, schedulerName="tephra")),
                         f"container c: resources.limits[{SLOT}]: {many}, expected 1")

    def test_other_pods_are_free(self):
        self.allowed(create(pod("other", limits={"cpu": "1"}, nodeName="node-0"), "--dry-run=server"))

    def test_an_administrator_may_lift_the_rule_for_a_namespace_and_its_owner_may_not(self):
        label = ("label", "--overwrite", "namespace", NAMESPACE)
        self.refused(tenant.lab.kubectl(*label, "tephra.sh/slots=any", *TENANT, check=False), "forbidden")
        tenant.lab.kubectl(*label, "tephra.sh/slots=any")
        try:
            tenant.lab.until("the rule is lifted", lambda: create(pod("other", limits={SLOT: "2"}), "--dry-run=server") == "", 60)
        finally:
            tenant.lab.kubectl(*label, "tephra.sh/slots-")
        tenant.lab.until("the rule holds again", lambda: create(pod("other", limits={SLOT: "2"}), "--dry-run=server") != "", 60)

    def test_a_quota_counts_them(self):
        tenant.lab.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "slots", "namespace": NAMESPACE},
                   "spec": {"hard": {f"requests.{SLOT}": "0"}}})
        try:
            wanted = pod("ours", limits={SLOT: "1"}, schedulerName="tephra")
            tenant.lab.until("the quota is enforced", lambda: "exceeded quota" in create(wanted, "--dry-run=server"), 60)
        finally:
            tenant.lab.kubectl("delete", "resourcequota", "-n", NAMESPACE, "slots")


class VisibleDevices(Seat):
    """A pod does not name the GPUs that NVIDIA's runtime shows it."""
    because = "env[NVIDIA_VISIBLE_DEVICES] is set"

    @staticmethod
    def env(**value):
        return [{"name": "OTHER", "value": "all"}, {"name": "NVIDIA_VISIBLE_DEVICES", **value}]

    def test_no_container_names_them(self):
        for lists in (("containers",), ("initContainers",)):
            for value in ("all", "0", "GPU-1", "nvidia.com/gpu=all", "$(OTHER)", "VOID"):
                self.refused(create(pod("sees", env=self.env(value=value), lists=lists)), self.because)
        self.refused(create(pod("sees", env=self.env(valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}))), self.because)

    def test_in_a_trial_beside_volcanos_scheduler_other_pods_are_left_alone(self):
        name = "visible-devices.tephra.sh"
        names_the_taint = [{"key": "tephra.sh/scheduler", "operator": "Exists"}]
        env = self.env(value="all")
        policies = {overlay: component("node", overlay=overlay)["ValidatingAdmissionPolicy", name] for overlay in ("beside", "replace")}
        tenant.lab.apply(policies["beside"])
        try:
            tenant.lab.until("pods of other schedulers are free", lambda: create(pod("sees", env=env), "--dry-run=server") == "", 60)
            self.refused(create(pod("sees", env=env, schedulerName="tephra")), self.because)
            self.refused(create(pod("sees", env=env, tolerations=names_the_taint)), self.because)
        finally:
            tenant.lab.apply(policies["replace"])
        tenant.lab.until("the rule holds for all again", lambda: create(pod("sees", env=env), "--dry-run=server") != "", 60)

    def test_a_pod_of_the_scheduler_names_none_either(self):
        self.refused(create(pod("sees", limits={SLOT: "1"}, env=self.env(value="all"), schedulerName="tephra")), self.because)

    def test_none_may_be_named(self):
        for value in ({}, {"value": ""}, {"value": "void"}, {"value": "none"}):
            self.allowed(create(pod("blind", env=self.env(**value)), "--dry-run=server"))

    def test_an_ephemeral_container_names_none(self):
        self.allowed(create(pod("debugged", env=self.env(value="void"))))

        def debug(value):
            return patch("pod", "debugged", {"spec": {"ephemeralContainers": [
                {"name": "debug", "image": "x", "env": self.env(value=value)}]}}, "--subresource=ephemeralcontainers")
        try:
            self.refused(debug("all"), self.because)
            self.allowed(debug("void"))
        finally:
            tenant.lab.kubectl("delete", "pod", "-n", NAMESPACE, "--force", "debugged")

    def test_pods_that_are_older_than_the_policy_can_be_changed(self):
        with_all = pod("older", env=self.env(value="all"))
        label = ("label", "--overwrite", "namespace", NAMESPACE)
        tenant.lab.kubectl(*label, "tephra.sh/visible-devices=any")
        try:
            tenant.lab.until("the rule is lifted", lambda: create(with_all) == "", 60)
        finally:
            tenant.lab.kubectl(*label, "tephra.sh/visible-devices-")
        try:
            tenant.lab.until("the rule holds again", lambda: create(pod("x", env=self.env(value="all")), "--dry-run=server") != "", 60)
            self.allowed(patch("pod", "older", {"metadata": {"labels": {"k": "v"}}}))
            self.allowed(patch("pod", "older", {"spec": {"ephemeralContainers": [{"name": "debug", "image": "x"}]}},
                               "--subresource=ephemeralcontainers"))
        finally:
            tenant.lab.kubectl("delete", "pod", "-n", NAMESPACE, "--force", "older")


class Accounts(Seat):
    """What runs stays in the account that it was placed in, and only the scheduler says what a pod has."""

    @classmethod
    def setUpClass(cls):
        tenant.lab.apply(pod("bound", {GROUP: "mine"}), pod("waiting", {GROUP: "mine"}), pod("plain"), cls.group("admitted"))
        for name in ("bound", "plain"):
            bind(name, {SLICES: "given"}, [SCHEDULER])

    @classmethod
    def tearDownClass(cls):
        tenant.lab.kubectl("delete", "pod", "-n", NAMESPACE, "--force", "bound", "waiting", "plain")
        tenant.lab.kubectl("delete", "podgroup", "-n", NAMESPACE, "admitted")

    @staticmethod
    def group(name):
        return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"minMember": 1, "queue": "default"}}

    @staticmethod
    def annotate(name, key, value, *flags):
        return patch("pod", name, {"metadata": {"annotations": {key: value}}}, *flags)

    def test_slices_are_not_the_tenants_to_say(self):
        for name, value in (("bound", "more"), ("bound", None), ("waiting", "x")):
            for flags in ((), ("--subresource=status",)):
                answer = self.annotate(name, SLICES, value, *flags)
                self.assertTrue("set, changed or removed by mallory" in answer or "cannot patch resource" in answer, answer or "allowed")
        self.refused(create(pod("forged", {SLICES: "x"})), "set, changed or removed by mallory")

    def test_a_tenant_does_not_bind(self):
        self.refused(bind("waiting", {}, TENANT), "forbidden")

    def test_a_pod_on_a_node_stays_in_its_group(self):
        for value in ("other", None, ""):
            self.refused(self.annotate("bound", GROUP, value), f'expected "mine": the pod is on node node-0')

    def test_a_pod_without_a_node_or_without_a_group_gets_one(self):
        self.allowed(self.annotate("waiting", GROUP, "other"))
        self.allowed(self.annotate("plain", GROUP, "mine"))  # as Volcano's controller does

    def test_the_queue_of_an_admitted_group_stays(self):
        queue = {"spec": {"queue": "research"}}
        self.allowed(patch("podgroup", "admitted", queue, "--dry-run=server"))
        for account in (["-n", NAMESPACE], [SCHEDULER, "-n", NAMESPACE]):
            self.allowed(patch("podgroup", "admitted", {"status": {"phase": "Pending"}}, seat=["-n", NAMESPACE]))
            self.allowed(self.set_phase("admitted", "Running", account))
        self.refused(patch("podgroup", "admitted", queue), 'spec.queue: "research", expected "default"')
        # Not in two steps, either.
        for phase in ("Pending", None, "Inqueue"):
            self.refused(patch("podgroup", "admitted", {"status": {"phase": phase}}), 'expected "Running": mallory may not admit a PodGroup')

    @staticmethod
    def set_phase(name, phase, seat):
        """As a program does that reads and updates, which is all that the scheduler may do."""
        group = json.loads(tenant.lab.kubectl("get", "podgroup", "-n", NAMESPACE, name, "-o", "json"))
        group.setdefault("status", {})["phase"] = phase
        return tenant.lab.kubectl("replace", *seat, "-f", "-", stdin=json.dumps(group), check=False)

    def test_a_tenant_does_not_admit_its_own_group(self):
        for phase in ("Inqueue", "Running"):
            self.refused(create({**self.group("early"), "status": {"phase": phase}}), f'status.phase: "{phase}", expected "": mallory')
        self.allowed(create({**self.group("early"), "status": {"phase": "Pending"}}))
        self.refused(patch("podgroup", "early", {"status": {"phase": "Inqueue"}}), 'status.phase: "Inqueue", expected "Pending": mallory')
        self.allowed(tenant.lab.kubectl("delete", "podgroup", *TENANT, "early", check=False))

    def test_a_reservation_is_not_the_tenants_to_write(self):
        for key in ("tephra.sh/reserved-room", "tephra.sh/evictions"):
            self.refused(patch("podgroup", "admitted", {"metadata": {"annotations": {key: "1"}}}), "set, changed or removed by mallory")


class Keys(Seat):
    """The key that signs slices is the scheduler's, and can be replaced while pods run."""

    @classmethod
    def setUpClass(cls):
        tenant.lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tephra-node"}})
        cls.addClassCleanup(tenant.lab.kubectl, "delete", "-n", "tephra-system", "secret", "tephra-slices-keys")
        cls.addClassCleanup(tenant.lab.kubectl, "delete", "-n", "tephra-node", "configmap", "tephra-slices-keys")

    @staticmethod
    def make():
        script = ROOT / "manifests/components/signed-slices/keys.sh"
        return subprocess.run([script, "0"], env={**os.environ, "KUBECTL": f"{kubectl()} --kubeconfig {tenant.lab.kubeconfig}"}, check=True,
                              capture_output=True, text=True).stdout

    @staticmethod
    def signs(said):
        return re.findall(r"key (\w{8}) signs", said)[-1]

    def names(self):
        """The names of the public keys, as the scheduler and as the nodes have them."""
        private = tenant.lab.get("secret", "-n", "tephra-system", "tephra-slices-keys")["data"]
        public = tenant.lab.get("configmap", "-n", "tephra-node", "tephra-slices-keys")["data"]
        self.assertEqual({name: base64.b64decode(text).decode() for name, text in private.items() if name != "sign.pem"}, public)
        self.assertIn("PRIVATE KEY", base64.b64decode(private["sign.pem"]).decode())
        self.assertRegex(public["since"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertNotIn("PRIVATE", json.dumps(public))
        return {name.removesuffix(".pub") for name in public if name != "since"}

    def test_a_key_is_replaced_and_goes_when_no_pod_has_its_signature(self):
        first = self.signs(self.make())
        self.assertEqual(self.names(), {first})
        since = tenant.lab.get("configmap", "-n", "tephra-node", "tephra-slices-keys")["data"]["since"]
        tenant.lab.apply(pod("signed"))
        try:
            self.allowed(bind("signed", {SIGNATURE: f"v1.{first}.00"}, [SCHEDULER]))
            second = self.signs(self.make())
            self.assertEqual(self.names(), {first, second})
            third = self.signs(self.make())
            self.assertEqual(self.names(), {first, second, third})  # a pod has a signature by the first
            self.refused(patch("pod", "signed", {"metadata": {"annotations": {SIGNATURE: None}}}), "set, changed or removed by mallory")
        finally:
            tenant.lab.kubectl("delete", "pod", "-n", NAMESPACE, "--force", "signed")
        self.assertIn(f"key {first} is removed: no pod has a signature by it", fourth := self.make())
        self.assertEqual(self.names(), {third, self.signs(fourth)})
        self.assertEqual(tenant.lab.get("configmap", "-n", "tephra-node", "tephra-slices-keys")["data"]["since"], since)

    def test_a_tenant_and_a_node_read_no_private_key(self):
        for seat in (TENANT[:2], KUBELET, ["--as=system:serviceaccount:tephra-node:tephra-node"]):
            self.refused(tenant.lab.kubectl("get", "secret", *seat, "-n", "tephra-system", "tephra-slices-keys", check=False), "orbidden")


class Certificates(Seat):
    """The job that keeps the certificate of the webhooks has exactly the rights that it needs."""

    def test_it_writes_certificates_that_the_api_server_accepts(self):
        objects = component("admission-certificates", "admission")
        hooks = [o for (kind, _), o in objects.items() if kind.endswith("WebhookConfiguration")]
        for hook in hooks:  # no pod of this cluster meets them
            for each in hook["webhooks"]:
                each["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": "none"}}
        tenant.lab.apply(*hooks, *(o for (kind, _), o in objects.items() if kind in ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")))
        account = tenant.lab.dir / "certificates"
        config = yaml.safe_load(tenant.lab.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": tenant.lab.kubectl("create", "token", "-n", "tephra-system", "tephra-admission-certificates").strip()}
        account.write_text(yaml.safe_dump(config))
        program = [ROOT / "build/scheduler/tephra-admission", "certificates", "--kubeconfig", account]
        seen = []
        for _ in range(2):
            tenant.lab.until("the job has its rights", lambda: subprocess.run(program, capture_output=True).returncode == 0, 60)
            leaf, authority = (tenant.lab.get("secret", "-n", "tephra-system", f"tephra-admission-{name}")["data"] for name in ("tls", "ca"))
            for kind in ("mutating", "validating"):
                for each in tenant.lab.get(f"{kind}webhookconfiguration", "tephra-admission")["webhooks"]:
                    self.assertEqual(each["clientConfig"]["caBundle"], authority["ca.crt"])
            files = {name: tenant.lab.dir / name for name in ("ca.crt", "tls.crt")}
            for name, text in (("ca.crt", authority["ca.crt"]), ("tls.crt", leaf["tls.crt"])):
                files[name].write_bytes(base64.b64decode(text))
            subprocess.run(["openssl", "verify", "-CAfile", files["ca.crt"], "-purpose", "sslserver", "-verify_hostname",
                            "tephra-admission.tephra-system.svc", files["tls.crt"]], check=True, capture_output=True)
            seen.append((leaf, authority))
        self.assertEqual(*seen)  # the second run had nothing to do
        for name in ("tephra-slices-keys", "another"):
            self.refused(tenant.lab.kubectl("get", "secret", "--as=system:serviceaccount:tephra-system:tephra-admission-certificates",
                                     "-n", "tephra-system", name, check=False), "orbidden")


JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j", "namespace": NAMESPACE},
       "spec": {"minAvailable": 1, "schedulerName": "tephra", "tasks": [
           {"name": "w", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}]}}
SYSTEM = ["--as=mallory", "--as-group=system:authenticated", "-n", "tephra-system"]


def with_annotation(object, key):
    return {**object, "metadata": {**object["metadata"], "annotations": {key: "x"}}}


def of_kind(kind, api="v1", name="mine", **rest):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **rest}


# What a stranger would try next: the object to create and the seat to create it from, or the arguments of kubectl.
ATTACKS = {
    "forge the signature of slices": (pod("a", {SIGNATURE: "v1.00000000.00"}), TENANT),
    "forge the queue of a pod": (pod("a", {"tephra.sh/queue": "production"}), TENANT),
    "forge slices with an init container": (pod("a", {SLICES: "x"}, lists=("initContainers",)), TENANT),
    "forge slices of a pod of the scheduler": (pod("a", {SLICES: "x"}, schedulerName="tephra"), TENANT),
    "write a reservation into a Job": (with_annotation(JOB, "tephra.sh/reserved-room"), TENANT),
    "write an eviction cost into a Job": (with_annotation(JOB, "tephra.sh/evictions"), TENANT),
    "make a queue": (of_kind("Queue", "scheduling.volcano.sh/v1beta1", spec={"weight": 1000}), TENANT),
    "make a node": (of_kind("Node"), TENANT),
    "make a HyperNode": (of_kind("HyperNode", "topology.volcano.sh/v1alpha1", spec={"tier": 1}), TENANT),
    "make a priority class": (of_kind("PriorityClass", "scheduling.k8s.io/v1", value=2000000000), TENANT),
    "give itself the role of the scheduler": (of_kind("RoleBinding", "rbac.authorization.k8s.io/v1", subjects=[
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}],
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tephra-scheduler"}), TENANT),
    "make a pod beside the scheduler": (of_kind("Pod", spec={"containers": [{"name": "c", "image": "x"}]}), SYSTEM),
    "make a webhook that sees all pods": (of_kind("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1"), TENANT),
    "make a policy that refuses all pods": (of_kind("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", spec={}), TENANT),
    "read the configuration of the engine": ["get", "configmap", "tephra"],
    "change the configuration of the engine": ["patch", "configmap", "tephra", "--type=merge", "-p", '{"data":{"engine.yaml":""}}'],
    "forget past usage": ["delete", "configmap", "tephra-memory"],
    "take the lease": ["patch", "lease", "tephra-scheduler", "--type=merge", "-p", '{"spec":{"holderIdentity":"mallory"}}'],
    "stop the scheduler": ["scale", "deployment", "tephra-scheduler", "--replicas=0"],
    "get a token of the scheduler": ["create", "token", "tephra-scheduler"],
    "read the keys of the scheduler": ["get", "secrets"],
    "list pods of other tenants": ["get", "pods", "--all-namespaces"],
    "list PodGroups of other tenants": ["get", "podgroups.scheduling.volcano.sh", "--all-namespaces"],
    "delete PodGroups of other tenants": ["delete", "podgroups.scheduling.volcano.sh", "--all", "-n", "default"],
    "taint a node": ["taint", "node", "node-0", "mine=true:NoSchedule"],
    "label a node": ["label", "node", "node-0", "tephra.sh/gpu=false", "--overwrite"],
    "remove the admission policies": ["delete", "validatingadmissionpolicy", "--all"],
    "remove the webhooks": ["delete", "mutatingwebhookconfiguration", "--all"],
    "lift the rules for its namespace": ["label", "namespace", NAMESPACE, "tephra.sh/visible-devices=any", "--overwrite"],
    "open the network of the scheduler": ["delete", "networkpolicy", "--all"],
    "read the logs of the scheduler": ["logs", "deployment/tephra-scheduler"],
}


REFUSED = re.compile("orbidden|set, changed or removed by mallory|no access to|cannot")


def attempt(attack):
    """What the API server said against it; empty: it is done."""
    if isinstance(attack, tuple):
        return create(attack[0], seat=attack[1])
    namespace = () if {"-n", "--all-namespaces"} & set(attack) else ("-n", "tephra-system")
    return tenant.lab.kubectl(*attack, *namespace, *TENANT[:2], check=False)


class MoreAttacks(Seat):
    """Each is refused by the API server, and says that it is forbidden or what is wrong."""

    def test_each_is_refused(self):
        for what, attack in ATTACKS.items():
            with self.subTest(what):
                self.assertRegex(attempt(attack) or "allowed", REFUSED)

    def test_a_job_without_these_annotations_is_allowed(self):
        self.allowed(create(JOB, "--dry-run=server"))
        self.allowed(create(pod("a"), "--dry-run=server"))


class RestOfTheCluster(Seat):
    """The rest of the cluster is not the tenant's."""

    def test_it_reads_and_writes_nothing_of_the_system(self):
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "tephra-scheduler"}, "spec": {}}
        for answer in (
                tenant.lab.kubectl("get", "configmap", *TENANT[:2], "-n", "tephra-system", "tephra", check=False),
                create(lease, seat=[*TENANT[:2], "-n", "tephra-system"]),
                patch("node", "node-0", {"metadata": {"annotations": {"tephra.sh/gpu-inventory": "x"}}}),
                patch("queue", "default", {"spec": {"weight": 100}}),
                create({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "mine"}, "spec": {"weight": 1}}),
                tenant.lab.kubectl("delete", "validatingadmissionpolicybinding", *TENANT[:2], "slots.tephra.sh", check=False),
                tenant.lab.kubectl("get", "pods", *TENANT[:2], "-n", "default", check=False)):
            self.refused(answer, "orbidden")

    def test_a_compromised_node_writes_no_slices_and_no_other_node(self):
        tenant.lab.apply(pod("there", nodeName="node-0"), pod("elsewhere", nodeName="node-1"))
        try:
            for name in ("there", "elsewhere"):
                answer = patch("pod", name, {"metadata": {"annotations": {SLICES: "x"}}}, "--subresource=status", seat=[*KUBELET, "-n", NAMESPACE])
                self.refused(answer, "orbidden")
            for change in ({"metadata": {"annotations": {"tephra.sh/gpu-inventory": "x"}}}, {"metadata": {"labels": {"nvidia.com/gpu.count": "99"}}}):
                self.refused(patch("node", "node-1", change, seat=KUBELET), "orbidden")
        finally:
            tenant.lab.kubectl("delete", "pod", "-n", NAMESPACE, "--force", "there", "elsewhere")


if __name__ == "__main__":
    unittest.main()
