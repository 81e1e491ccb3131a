#!/usr/bin/env python3
"""What can be said of the manifests without a cluster."""
import json
import re
import unittest

from built import ROOT, component, objects, version, with_components
from chart import ALL

ACCOUNT = ("tephra-system", "tephra-scheduler")


def deployment(overlay):
    return objects(overlay)["Deployment", "tephra-scheduler"]


def pod(overlay):
    return deployment(overlay)["spec"]["template"]["spec"]


def containers(overlay):
    return {c["name"]: c for c in pod(overlay)["containers"]}


def environment(overlay):
    return {e["name"]: e.get("value") for e in containers(overlay)["scheduler"]["env"]}


class Overlay:
    def test_every_image_is_pinned_to_the_version_of_the_tree(self):
        images = {c["image"] for c in containers(self.overlay).values()}
        self.assertEqual(images, {f"tephra-scheduler:{version()}", f"tephra-engine:{version()}"})

    def test_no_container_has_more_rights_than_the_restricted_standard(self):
        spec = pod(self.overlay)
        context = spec["securityContext"]
        self.assertIs(context["runAsNonRoot"], True)
        self.assertEqual((context["runAsUser"], context["runAsGroup"]), (65532, 65532))
        self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & spec.keys())
        for container in containers(self.overlay).values():
            self.assertEqual(container["securityContext"], {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]}})
            self.assertIn("memory", container["resources"]["limits"])
            self.assertEqual(container["resources"]["requests"].keys(), {"cpu", "memory"})
            self.assertIn("livenessProbe", container)
        self.assertEqual(objects(self.overlay)["Namespace", "tephra-system"]["metadata"]["labels"]
                         ["pod-security.kubernetes.io/enforce"], "restricted")

    def test_one_of_two_pods_may_go_at_any_time(self):
        spec = deployment(self.overlay)["spec"]
        self.assertEqual((spec["replicas"], spec["strategy"]), (2, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}))
        budget = objects(self.overlay)["PodDisruptionBudget", "tephra-scheduler"]["spec"]
        self.assertEqual((budget["maxUnavailable"], budget["selector"]), (1, spec["selector"]))
        spread, = pod(self.overlay)["topologySpreadConstraints"]
        self.assertEqual((spread["topologyKey"], spread["labelSelector"]), ("kubernetes.io/hostname", spec["selector"]))

    def test_the_priority_is_of_a_class_that_every_platform_takes(self):
        name = pod(self.overlay)["priorityClassName"]
        self.assertFalse(name.startswith("system-"))
        self.assertEqual(objects(self.overlay)["PriorityClass", name]["value"], 1000000000)  # the highest that users may make
        others = [component("admission")["Deployment", "tephra-admission"], component("node")["DaemonSet", "tephra-node"],
                  component("node-mps", "node")["DaemonSet", "tephra-node-mps"]]
        self.assertEqual({o["spec"]["template"]["spec"]["priorityClassName"] for o in others}, {name})

    def test_only_the_scheduler_holds_a_token(self):
        self.assertIs(pod(self.overlay)["automountServiceAccountToken"], False)
        holders = [name for name, c in containers(self.overlay).items()
                   if any(m["name"] == "token" for m in c["volumeMounts"])]
        self.assertEqual(holders, ["scheduler"])

    def test_both_containers_meet_at_the_engines_socket(self):
        socket = re.search(r"^socket: (\S+)$", self.config("engine.yaml"), re.M).group(1)
        self.assertIn(f"--engine-socket={socket}", containers(self.overlay)["scheduler"]["args"])
        volumes = {v["name"]: v for v in pod(self.overlay)["volumes"]}
        self.assertEqual(volumes["run"]["emptyDir"]["medium"], "Memory")
        for container in containers(self.overlay).values():
            mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
            self.assertEqual(mounts[socket.rpartition("/")[0]], "run")
            self.assertEqual(mounts["/etc/tephra"], "config")

    def test_probes_and_services_name_ports_that_are_there(self):
        ports = {p["name"]: p["containerPort"] for c in containers(self.overlay).values() for p in c["ports"]}
        for container in containers(self.overlay).values():
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe in container:
                    self.assertIn(container[probe]["httpGet"]["port"], ("probes", "engine-probes"))
        self.assertIn(f"--healthz-address=:{ports['probes']}", containers(self.overlay)["scheduler"]["args"])
        for name in ("metrics", "probes"):
            self.assertIn(f"{name}:\n  listen: 0.0.0.0:{ports['engine-' + name]}", self.config("engine.yaml"))
        for (kind, name), service in objects(self.overlay).items():
            if kind != "Service":
                continue
            self.assertEqual(service["spec"]["selector"].items()
                             & deployment(self.overlay)["spec"]["template"]["metadata"]["labels"].items(),
                             service["spec"]["selector"].items(), name)
            port = service["spec"]["ports"][0]
            self.assertEqual(str(ports[port["targetPort"]]),
                             service["metadata"]["annotations"]["prometheus.io/port"])

    def test_rights_are_named_one_by_one(self):
        for (kind, name), role in objects(self.overlay).items():
            for rule in role.get("rules", []) if kind in ("ClusterRole", "Role") else []:
                self.assertNotIn("*", rule["apiGroups"] + rule["resources"] + rule["verbs"], name)

    def test_every_object_is_of_a_stable_version(self):
        """Kubernetes keeps stable versions, so that these manifests hold for later versions of it."""
        every = with_components(*ALL, overlay=self.overlay)
        versions = {o["apiVersion"] for o in every.values()}
        self.assertIn("admissionregistration.k8s.io/v1", versions)
        self.assertEqual([v for v in sorted(versions) if not re.fullmatch(r"(.+/)?v\d+", v)], [])

    def test_the_lease_that_is_asked_for_may_be_had(self):
        lease = environment(self.overlay)
        role = objects(self.overlay)["Role", "tephra-scheduler-leads"]
        self.assertEqual(role["metadata"]["namespace"], lease["LEASE_NAMESPACE"])
        self.assertEqual(role["rules"][1]["resourceNames"], [lease["LEASE_NAME"]])
        binding = objects(self.overlay)["RoleBinding", "tephra-scheduler-leads"]
        self.assertEqual(binding["metadata"]["namespace"], lease["LEASE_NAMESPACE"])

    def test_the_memory_may_be_kept_in_the_pods_namespace(self):
        main = (ROOT / "plugins/volcano/cmd/tephra-scheduler/main.go").read_text()
        name = re.search(r'"memory-config-map", "([^"]+)"', main).group(1)
        for kind in ("Role", "RoleBinding"):
            self.assertEqual(objects(self.overlay)[kind, "tephra-scheduler-remembers"]["metadata"]["namespace"],
                             deployment(self.overlay)["metadata"]["namespace"])
        create, rest = objects(self.overlay)["Role", "tephra-scheduler-remembers"]["rules"]
        self.assertEqual((create["verbs"], rest["verbs"], rest["resourceNames"]), (["create"], ["get", "update"], [name]))

    def test_policies_know_the_account_that_the_pod_runs_as(self):
        self.assertEqual((deployment(self.overlay)["metadata"]["namespace"], pod(self.overlay)["serviceAccountName"]),
                         ACCOUNT)
        text = json.dumps(objects(self.overlay)["ValidatingAdmissionPolicy", "slices.tephra.sh"])
        self.assertIn("'system:serviceaccount:%s:%s'" % ACCOUNT, text)

    def test_each_policy_has_a_binding_that_denies(self):
        for kind, name in objects(self.overlay):
            if kind == "ValidatingAdmissionPolicy":
                binding = objects(self.overlay)["ValidatingAdmissionPolicyBinding", name]
                self.assertEqual(binding["spec"], {"policyName": name, "validationActions": ["Deny"]})

    def test_the_scheduler_answers_to_the_overlays_name(self):
        self.assertEqual(environment(self.overlay)["SCHEDULER_NAME"], self.name)

    def config(self, file):
        return objects(self.overlay)["ConfigMap", "tephra"]["data"][file]


class Beside(Overlay, unittest.TestCase):
    overlay, name = "beside", "tephra"


class Replace(Overlay, unittest.TestCase):
    overlay, name = "replace", "volcano"


class NodePlugin(unittest.TestCase):
    def setUp(self):
        self.objects = component("node")
        self.pod = self.objects["DaemonSet", "tephra-node"]["spec"]["template"]["spec"]

    def test_the_image_is_pinned_to_the_version_of_the_tree(self):
        self.assertEqual([c["image"] for c in self.pod["containers"]], [f"tephra-node:{version()}"])

    def test_each_folder_of_the_host_is_mounted_and_not_more(self):
        self.assertEqual({v["name"] for v in self.pod["volumes"]}, {m["name"] for c in self.pod["containers"] for m in c["volumeMounts"]})
        self.assertFalse({"hostNetwork", "hostIPC"} & self.pod.keys())
        self.assertIs(self.pod["hostPID"], True)  # whose a process is that the driver tells of

    def test_probes_and_the_service_name_the_ports_that_are_served(self):
        container, = self.pod["containers"]
        port, probes = container["ports"]
        for each in (port, probes):
            self.assertIn(f"--{each['name']}-address=0.0.0.0:{each['containerPort']}", container["args"])
        self.assertEqual([(container[p]["httpGet"]["path"], container[p]["httpGet"]["port"]) for p in ("livenessProbe", "readinessProbe")],
                         [("/healthz", probes["name"]), ("/readyz", probes["name"])])
        service = self.objects["Service", "tephra-node-metrics"]
        self.assertEqual(service["spec"]["ports"][0]["targetPort"], port["name"])
        self.assertEqual(service["metadata"]["annotations"]["prometheus.io/port"], str(port["containerPort"]))
        self.assertLessEqual(service["spec"]["selector"].items(),
                             self.objects["DaemonSet", "tephra-node"]["spec"]["template"]["metadata"]["labels"].items())

    def test_the_runtime_sees_what_it_mounts_into_its_state_folder(self):
        mount, = (m for c in self.pod["containers"] for m in c["volumeMounts"] if m["name"] == "state")
        self.assertEqual(mount["mountPropagation"], "Bidirectional")

    def test_slots_are_for_pods_of_the_overlays_scheduler(self):
        for overlay, name in (("beside", "tephra"), ("replace", "volcano")):
            policy = component("node", overlay=overlay)["ValidatingAdmissionPolicy", "slots.tephra.sh"]
            self.assertIn({"name": "scheduler", "expression": f"'{name}'"}, policy["spec"]["variables"])

    def test_each_policy_has_a_binding_that_denies(self):
        policies = {name for kind, name in self.objects if kind == "ValidatingAdmissionPolicy"}
        self.assertEqual(policies, {"node.tephra.sh", "slots.tephra.sh", "visible-devices.tephra.sh"})
        for name in policies:
            self.assertEqual(self.objects["ValidatingAdmissionPolicyBinding", name]["spec"], {"policyName": name, "validationActions": ["Deny"]})

    def test_an_update_changes_a_tenth_of_the_nodes_at_once(self):
        self.assertEqual(self.objects["DaemonSet", "tephra-node"]["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], "10%")

    def test_the_old_one_ends_before_the_new_one_registers(self):
        self.assertEqual(self.objects["DaemonSet", "tephra-node"]["spec"]["updateStrategy"]["rollingUpdate"]["maxSurge"], 0)

    def test_policies_know_the_account_that_it_runs_as(self):
        account = f"system:serviceaccount:tephra-node:{self.pod['serviceAccountName']}"
        self.assertIn(account, json.dumps(self.objects["ValidatingAdmissionPolicy", "node.tephra.sh"]))
        self.assertIn(account, json.dumps(objects("beside")["ValidatingAdmissionPolicy", "gpu-inventory.tephra.sh"]))
        constraints = component("openshift")["SecurityContextConstraints", "tephra-node"]
        self.assertEqual((constraints["users"], constraints["allowHostPID"]), ([account], self.pod["hostPID"]))


class Network(unittest.TestCase):
    """The network policies open the ports that pods have, and no other port."""

    def pods(self):
        """(namespace, labels, names of ports) of each workload."""
        both = {**objects("beside"), **component("admission"), **component("node"), **component("node-mps", "node")}
        for (kind, _), o in both.items():
            if kind in ("Deployment", "DaemonSet"):
                template = o["spec"]["template"]
                # The kubelet probes from the node of the pod, which no policy keeps out.
                yield o["metadata"]["namespace"], template["metadata"]["labels"], {
                    port["name"] for c in template["spec"]["containers"] for port in c.get("ports", [])} - {"probes", "engine-probes"}

    def test_each_port_is_open_to_those_that_need_it(self):
        policies = [o for o in (*component("network").values(), *component("node-network", "node").values()) if o["kind"] == "NetworkPolicy"]
        scrapes = [{"namespaceSelector": {"matchLabels": {"tephra.sh/scrapes": "true"}}}]
        for namespace, labels, ports in self.pods():
            chosen = [p["spec"] for p in policies if p["metadata"]["namespace"] == namespace
                      and p["spec"]["podSelector"].get("matchLabels", {}).items() <= labels.items()]
            self.assertTrue(any("ingress" not in p and p["podSelector"] == {} for p in chosen), namespace)
            opened = {(port["port"], str(rule.get("from"))) for p in chosen for rule in p.get("ingress", []) for port in rule["ports"]}
            self.assertEqual({(port, source) for port, source in opened if port in ports},
                             {(port, str(None if port == "webhooks" else scrapes)) for port in ports}, labels)


class ThreatModel(unittest.TestCase):
    """docs/explanation/threat-model.md names tests that are there."""
    written = {  # where a test may be, and how it is written there
        "tenant": (["tests/manifests/tenant_test.py"], "class {}("),
        "manifests": (["tests/manifests/manifests_test.py"], "class {}("),
        "rights": (["tests/manifests/lab_test.py"], "class {}("),
        "team": (["tests/manifests/team_test.py"], "class {}("),
        "e2e": (["lab/e2e/*_test.go"], "func {}("),
        "kubelet": (["lab/kubelet/*_test.go"], "func {}("),
        "shim": (["plugins/volcano/*/*_test.go"], "func {}("),
        "whole": (["tests/volcano/whole/*_test.go"], "func {}("),
        "hardware": (["tests/plugins/node/limiters_test.cc"], 'TEST_CASE("MpsLimiter: {}'),
        "fuzz": (["tests/fuzz/{}.cc"], ""),
        "folder": (["tests/plugins/node/limited_folder_test.cc"], 'TEST_CASE("HookLimiter: {}'),
        "node": (["tests/plugins/node/*_test.cc"], ': {}'),
        "http": (["tests/base/http_server_test.cc"], 'TEST_CASE("HttpServer: {}')}

    def test_each_attack_has_a_test_that_is_there(self):
        page = (ROOT / "docs/explanation/threat-model.md").read_text()
        rows = [line for section in page.split("\n## ") if section.startswith("Attacks of ")
                for line in section.splitlines() if line.startswith("| ")]
        rows = [row for row in rows if not row.startswith("| attack |")]
        self.assertGreaterEqual(len(rows), 20)
        for row in rows:
            tests = row.rstrip(" |").rpartition(" | ")[2]
            self.assertRegex(tests, r"^\w+:\S", row)
            for test in tests.split(", "):
                where, _, name = test.partition(":")
                globs, form = self.written[where]
                self.assertTrue(any(form.format(name) in path.read_text() for glob in globs for path in ROOT.glob(glob.format(name))), test)


class MpsKeeper(unittest.TestCase):
    def setUp(self):
        self.objects = component("node-mps", "node")
        self.pod = self.objects["DaemonSet", "tephra-node-mps"]["spec"]["template"]["spec"]
        self.keeper, = self.pod["containers"]

    def host(self, path):
        """The folder of the host that the keeper has there."""
        name, = (m["name"] for m in self.keeper["volumeMounts"] if m["mountPath"] == path)
        return next(v["hostPath"]["path"] for v in self.pod["volumes"] if v["name"] == name)

    def test_the_plugin_and_the_keeper_meet_in_the_folders_of_the_host(self):
        node, = self.objects["DaemonSet", "tephra-node"]["spec"]["template"]["spec"]["containers"]
        alone, = component("node")["DaemonSet", "tephra-node"]["spec"]["template"]["spec"]["containers"]
        self.assertEqual(node["args"], [*alone["args"], "--mps-kept", f"--mps-shm={self.host('/dev/shm')}"])
        state = "/var/lib/tephra-node"
        self.assertIn(state, [m["mountPath"] for m in node["volumeMounts"]])
        self.assertEqual(self.host(f"{state}/mps"), f"{state}/mps")
        self.assertEqual({v["name"] for v in self.pod["volumes"]}, {m["name"] for m in self.keeper["volumeMounts"]})

    def test_an_update_leaves_daemons_alone(self):
        self.assertEqual(self.objects["DaemonSet", "tephra-node-mps"]["spec"]["updateStrategy"], {"type": "OnDelete"})

    def test_it_has_the_image_of_the_plugin_and_no_token(self):
        self.assertEqual((self.keeper["image"], self.keeper["args"]), (f"tephra-node:{version()}", ["mps-keeper"]))
        self.assertIs(self.pod["automountServiceAccountToken"], False)


class Admission(unittest.TestCase):
    def setUp(self):
        self.objects = component("admission")
        self.pod = self.objects["Deployment", "tephra-admission"]["spec"]["template"]

    def test_it_adds_these_objects(self):
        self.assertEqual(sorted(kind for kind, name in self.objects if name == "tephra-admission"), [
            "Certificate", "Deployment", "MutatingWebhookConfiguration", "PodDisruptionBudget", "Service",
            "ValidatingWebhookConfiguration"])

    def test_its_pod_has_no_token_and_no_rights_beyond_the_restricted_standard(self):
        spec = self.pod["spec"]
        self.assertIs(spec["automountServiceAccountToken"], False)
        self.assertIs(spec["securityContext"]["runAsNonRoot"], True)
        self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        for container in spec["containers"]:
            self.assertEqual(container["image"], f"tephra-scheduler:{version()}")
            self.assertEqual(container["securityContext"], {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})

    def test_the_webhooks_reach_its_pods_by_the_name_in_the_certificate(self):
        service = self.objects["Service", "tephra-admission"]
        self.assertLessEqual(service["spec"]["selector"].items(), self.pod["metadata"]["labels"].items())
        self.assertIn(service["spec"]["ports"][0]["targetPort"], [p["name"] for p in self.pod["spec"]["containers"][0]["ports"]])
        self.assertEqual(self.objects["Certificate", "tephra-admission"]["spec"]["dnsNames"], ["tephra-admission.tephra-system.svc"])
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            configuration = self.objects[kind, "tephra-admission"]
            self.assertEqual(configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"], "tephra-system/tephra-admission")
            for webhook in configuration["webhooks"]:
                reached = webhook["clientConfig"]["service"]
                self.assertEqual((reached["namespace"], reached["name"]), ("tephra-system", "tephra-admission"))

    def test_the_certificate_is_signed_by_an_authority_that_outlives_it(self):
        leaf, authority = (self.objects["Certificate", name]["spec"] for name in ("tephra-admission", "tephra-admission-ca"))
        self.assertEqual(self.objects["Issuer", leaf["issuerRef"]["name"]]["spec"], {"ca": {"secretName": authority["secretName"]}})
        self.assertEqual(self.objects["Issuer", authority["issuerRef"]["name"]]["spec"], {"selfSigned": {}})
        self.assertIs(authority["isCA"], True)
        self.assertEqual(authority["privateKey"]["rotationPolicy"], "Never")
        hours = {name: int(each["duration"].removesuffix("h")) for name, each in (("leaf", leaf), ("authority", authority))}
        left = int(authority["renewBefore"].removesuffix("h"))
        self.assertGreater(left, 2 * hours["leaf"])  # no certificate outlives its authority

    def test_without_cert_manager_a_job_keeps_the_certificates(self):
        both = with_components("admission", "admission-certificates")
        self.assertNotIn("cert-manager", json.dumps(list(both.values())))
        spec = both["CronJob", "tephra-admission-certificates"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        self.assertEqual(spec["containers"][0]["image"], f"tephra-scheduler:{version()}")
        self.assertIs(spec["securityContext"]["runAsNonRoot"], True)
        self.assertEqual(spec["containers"][0]["securityContext"], self.pod["spec"]["containers"][0]["securityContext"])
        rules = both["Role", "tephra-admission-certificates"]["rules"] + both["ClusterRole", "tephra-admission-certificates"]["rules"]
        self.assertEqual([rule["verbs"] for rule in rules if "resourceNames" not in rule], [["create"]])

    def test_a_pod_that_may_request_devices_waits_while_the_webhook_is_down(self):
        completes = self.objects["MutatingWebhookConfiguration", "tephra-admission"]["webhooks"][0]
        checks = self.objects["ValidatingWebhookConfiguration", "tephra-admission"]["webhooks"][0]
        self.assertEqual((completes["failurePolicy"], checks["failurePolicy"]), ("Fail", "Fail"))
        self.assertEqual(completes["matchConditions"], checks["matchConditions"])
        # The program itself has to come up without it.
        excluded = completes["namespaceSelector"]["matchExpressions"][0]
        self.assertEqual(excluded, {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "tephra-system"]})


class SignedSlices(unittest.TestCase):
    """The private key is for the scheduler alone."""

    def setUp(self):
        self.all = with_components("admission", "node", "signed-slices")

    def test_scheduler_and_nodes_get_their_keys_by_a_flag(self):
        for kind, name, source in (("Deployment", "tephra-scheduler", {"secret": {"secretName": "tephra-slices-keys", "defaultMode": 0o440}}),
                                   ("DaemonSet", "tephra-node", {"configMap": {"name": "tephra-slices-keys"}})):
            spec = self.all[kind, name]["spec"]["template"]["spec"]
            (volume,) = [v for v in spec["volumes"] if v["name"] == "slices-keys"]
            self.assertEqual({k: v for k, v in volume.items() if k != "name"}, source)
            holders = [c for c in spec["containers"] if any(m["name"] == "slices-keys" for m in c["volumeMounts"])]
            self.assertEqual(len(holders), 1, name)
            (mount,) = [m for m in holders[0]["volumeMounts"] if m["name"] == "slices-keys"]
            self.assertIs(mount["readOnly"], True)
            self.assertIn(f"--slices-keys={mount['mountPath']}", holders[0]["args"])

    def test_without_the_component_nothing_is_signed(self):
        for (kind, name), each in with_components("admission", "node").items():
            self.assertNotIn("slices-keys", json.dumps(each), name)


if __name__ == "__main__":
    unittest.main()
