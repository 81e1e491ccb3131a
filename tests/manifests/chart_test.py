#!/usr/bin/env python3
"""The Helm chart without a cluster: it renders what kustomize builds, and its values do what they say."""
import base64
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

from built import ROOT
from chart import ALL, EVERYTHING, chart, helm, kustomized, rendered

TABLE = yaml.safe_load((ROOT / "manifests/chart/table.yaml").read_text())
# A value of each type that is not the default.
OTHER = {"int": 7, "positive": 7, "bool": None, "string": "other", "map": {"other": "other"}, "list": [{"key": "other"}],
         "strings": ["--other"], "labels": {"other": "other"}, "name": "other", "part": "7%",
         "resources": {"limits": {"memory": "7Gi"}}}


def comparable(objects):
    """Without the namespace of the release, which `helm install` makes, and with the engine's configuration read."""
    result = {key: json.loads(json.dumps(o)) for key, o in objects.items() if key != ("Namespace", "tephra-system")}
    data = result["ConfigMap", "tephra"]["data"]
    data["engine.yaml"] = yaml.safe_load(data["engine.yaml"])
    return result


class Same(unittest.TestCase):
    maxDiff = None

    def same(self, values, overlay, components):
        ours, theirs = comparable(rendered(values)), comparable(kustomized(overlay, components))
        self.assertEqual(sorted(ours), sorted(theirs))
        for key, object in theirs.items():
            self.assertEqual(ours[key], object, key)

    def test_with_the_defaults_the_chart_installs_what_the_overlay_beside_does(self):
        self.same({}, "beside", [])

    def test_with_every_component_it_installs_what_each_overlay_does_with_them(self):
        for mode in ("beside", "replace"):
            self.same({"mode": mode, **EVERYTHING}, mode, ALL)

    def test_with_each_component_alone_too(self):
        parts = {part["name"]: part for part in TABLE["parts"]}
        for name, needs in (("admission", {"admission.enabled": True, "admission.certificates": "cert-manager"}), ("node", {"node.enabled": True}),
                            ("network", {"networkPolicies.enabled": True}), ("monitoring", {"monitoring.enabled": True}),
                            ("provisioning", {"provisioning.enabled": True})):
            self.same({"mode": "replace", **needs}, "replace", parts[name]["components"])

    def test_a_part_that_changes_an_object_needs_no_other_part_that_does(self):
        node = {"node.enabled": True}
        self.same({**node, "networkPolicies.enabled": True}, "beside", ["node", "network", "node-network"])
        self.same({**node, "node.signedSlices": True}, "beside", ["node", "signed-slices"])
        self.same({**node, "node.mps.enabled": True}, "beside", ["node", "node-mps"])

    def test_every_component_is_in_the_chart(self):
        inside = {component for part in TABLE["parts"] for component in part.get("components", [])}
        self.assertEqual(inside, {path.name for path in (ROOT / "manifests/components").iterdir()} - set(TABLE["no_part"]))


class Namespaces(unittest.TestCase):
    def test_no_name_of_a_namespace_is_fixed(self):
        for mode in ("beside", "replace"):
            objects = rendered({"mode": mode, **EVERYTHING, "node.namespace": "plugins", "volcanoNamespace": "batch"}, namespace="gpus")
            text = json.dumps(list(objects.values()))
            for old in ("tephra-system", "volcano-system", "serviceaccount:tephra-node:"):
                self.assertNotIn(old, text)
            used = {o["metadata"]["namespace"] for o in objects.values() if "namespace" in o["metadata"]}
            self.assertEqual(used, {"gpus", "plugins"} | ({"batch"} if mode == "replace" else set()))
            self.assertIn(("Namespace", "plugins"), objects)
            for subject in (s for o in objects.values() for s in o.get("subjects", []) if s["kind"] == "ServiceAccount"):
                self.assertIn((subject["namespace"], subject["name"]), {("gpus", "tephra-scheduler"), ("plugins", "tephra-node")})

    def test_policies_know_the_accounts_in_these_namespaces(self):
        objects = rendered({**EVERYTHING, "node.namespace": "plugins"}, namespace="gpus")
        for name, account in (("slices.tephra.sh", "system:serviceaccount:gpus:tephra-scheduler"),
                              ("node.tephra.sh", "system:serviceaccount:plugins:tephra-node"),
                              ("gpu-inventory.tephra.sh", "system:serviceaccount:plugins:tephra-node")):
            self.assertIn(f"'{account}'", json.dumps(objects["ValidatingAdmissionPolicy", name]))
        excluded = objects["ValidatingAdmissionPolicy", "visible-devices.tephra.sh"]["spec"]["matchConstraints"]["namespaceSelector"]
        self.assertEqual(excluded["matchExpressions"][0]["values"], ["kube-system", "plugins"])


class Values(unittest.TestCase):
    def test_each_value_changes_what_is_installed(self):
        def text(values):
            return repr(rendered(values))
        base = text(EVERYTHING)
        for value in TABLE["values"]:
            name, kind = value["value"], value["type"]
            before = {"volcanoNamespace": {**EVERYTHING, "mode": "replace"},
                      "admission.caBundle": {"admission.enabled": True, "admission.certificates": "given", "admission.caBundle": "Y2E="}}.get(name, EVERYTHING)
            now = before.get(name, value.get("default"))
            other = not now if kind == "bool" else OTHER[kind] if isinstance(kind, str) else next(k for k in kind[:2] if k != now)
            with self.subTest(name):
                self.assertNotEqual(text({**before, name: other}), base if before is EVERYTHING else text(before))

    def test_a_value_that_does_not_exist_or_has_another_type_is_refused_by_name(self):
        for values, said in (({"scheduler.replica": 2}, "replica"), ({"scheduler.replicas": "two"}, "replicas"), ({"scheduler.replicas": 0}, "replicas"),
                             ({"mode": "both"}, "mode"), ({"node.maxUnavailable": "200%"}, "maxUnavailable"), ({"node.namespace": "A b"}, "namespace"),
                             ({"engine.resources": {"limit": {}}}, "limit"), ({"nodes.enabled": True}, "nodes")):
            answer = helm("template", "tephra", chart(), values=values, check=False)
            self.assertIn("values don't meet the specifications", answer, values)
            self.assertIn(said, answer)

    def test_images_come_from_the_registry_with_a_tag_or_a_digest(self):
        def images(values):
            return {c["image"] for o in rendered({**EVERYTHING, **values}).values() if o["kind"] in ("Deployment", "DaemonSet")
                    for c in o["spec"]["template"]["spec"]["containers"]}
        version = yaml.safe_load((chart() / "Chart.yaml").read_text())["version"]
        self.assertEqual(images({"images.registry": "example.org/gpu/"}),
                         {f"example.org/gpu/tephra-{name}:{version}" for name in ("scheduler", "engine", "node")})
        self.assertIn("tephra-engine:1.2", images({"images.tag": "1.2"}))
        self.assertIn("example.org/e@sha256:00", images({"images.registry": "example.org", "images.engine": "e@sha256:00"}))

    def test_nodes_are_requested_in_the_class_of_the_values_and_only_if_enabled(self):
        def flags(values):
            containers = rendered(values)["Deployment", "tephra-scheduler"]["spec"]["template"]["spec"]["containers"]
            scheduler = next(c for c in containers if c["name"] == "scheduler")
            return [flag for flag in scheduler["args"] if flag.startswith("--provisioning")]
        self.assertEqual(flags({"provisioning.class": "check-capacity.autoscaling.x-k8s.io"}), [])
        self.assertEqual(flags({"provisioning.enabled": True, "provisioning.class": "check-capacity.autoscaling.x-k8s.io"}),
                         ["--provisioning-class=check-capacity.autoscaling.x-k8s.io"])

    def test_the_engine_takes_the_configuration_of_the_values(self):
        objects = rendered({"engine.configuration": {"socket": "/run/tephra/engine.sock", "engine": {"usage_half_life": "7d"}}})
        self.assertEqual(yaml.safe_load(objects["ConfigMap", "tephra"]["data"]["engine.yaml"])["engine"], {"usage_half_life": "7d"})

    def test_users_of_openshift_may_leave_the_user_to_it(self):
        nothing = {"runAsUser": None, "runAsGroup": None, "fsGroup": None}
        objects = rendered({"admission.enabled": True, "scheduler.securityContext": nothing, "admission.securityContext": nothing})
        for name in ("tephra-scheduler", "tephra-admission"):
            context = objects["Deployment", name]["spec"]["template"]["spec"]["securityContext"]
            self.assertEqual(context, {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}})

    def test_the_manifests_write_the_default_of_each_value_once(self):
        """A place of a value says the same in the manifests as its first place: a default is not chosen by chance."""
        defaults = yaml.safe_load((chart() / "values.yaml").read_text())
        objects = kustomized("beside", ALL)
        by_name = {f"{kind}/{name}": o for (kind, name), o in objects.items()}
        for pod in ("Deployment/tephra-scheduler", "Deployment/tephra-admission", "DaemonSet/tephra-node", "DaemonSet/tephra-node-mps"):
            self.assertEqual(by_name[pod]["spec"]["template"]["spec"]["priorityClassName"], defaults["priorityClass"]["name"])

    def test_the_reference_lists_the_values(self):
        table = subprocess.run([ROOT / "hack/chart.sh", "--values"], check=True, capture_output=True, text=True).stdout
        page = (ROOT / "docs/reference/chart.md").read_text()
        self.assertIn(f"<!-- hack/chart.sh --values -->\n{table}<!-- end -->\n", page)

    def test_lint_finds_nothing(self):
        for values in ({}, EVERYTHING, {"mode": "replace", "admission.enabled": True}):
            helm("lint", "--strict", chart(), values=values)


class Certificates(unittest.TestCase):
    def test_the_chart_makes_an_authority_and_a_certificate_that_it_signs(self):
        objects = rendered({"admission.enabled": True}, namespace="gpus")
        secret = objects["Secret", "tephra-admission-tls"]["data"]
        bundles = {w["clientConfig"]["caBundle"] for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
                   for w in objects[kind, "tephra-admission"]["webhooks"]}
        self.assertEqual(bundles, {objects["Secret", "tephra-admission-authority"]["data"]["tls.crt"]})
        with tempfile.TemporaryDirectory() as folder:
            for name, data in (("leaf", secret["tls.crt"]), ("authority", bundles.pop())):
                pathlib.Path(folder, name).write_bytes(base64.b64decode(data))
            verify = ["openssl", "verify", "-CAfile", "authority", "-verify_hostname"]
            self.assertIn("leaf: OK", subprocess.run([*verify, "tephra-admission.gpus.svc", "leaf"], cwd=folder, capture_output=True, text=True).stdout)
            self.assertNotEqual(subprocess.run([*verify, "tephra-admission.other.svc", "leaf"], cwd=folder, capture_output=True).returncode, 0)
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            self.assertNotIn("cert-manager.io/inject-ca-from", objects[kind, "tephra-admission"]["metadata"].get("annotations") or {})

    def test_a_given_certificate_needs_its_authority(self):
        given = {"admission.enabled": True, "admission.certificates": "given"}
        self.assertIn("admission.caBundle: not set", helm("template", "tephra", chart(), values=given, check=False))
        objects = rendered({**given, "admission.caBundle": "Y2E="})
        self.assertFalse([key for key in objects if key[0] in ("Secret", "Issuer", "Certificate")])
        self.assertEqual(objects["MutatingWebhookConfiguration", "tephra-admission"]["webhooks"][0]["clientConfig"]["caBundle"], "Y2E=")


class Alerts(unittest.TestCase):
    def test_the_object_for_prometheus_operator_says_what_the_file_says(self):
        rules = yaml.safe_load((ROOT / "manifests/components/monitoring/rules.yaml").read_text())
        self.assertEqual(rules["spec"], yaml.safe_load((ROOT / "manifests/dashboards/alerts.yaml").read_text()))
        chart_rules = rendered({"monitoring.enabled": True})["PrometheusRule", "tephra"]
        self.assertEqual(chart_rules["spec"], rules["spec"])

    def test_each_alert_has_a_section_in_the_runbooks(self):
        page = (ROOT / "docs/how-to/runbooks.md").read_text()
        sections = dict(re.findall(r"^## (Tephra\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
        alerts = [rule for group in yaml.safe_load((ROOT / "manifests/dashboards/alerts.yaml").read_text())["groups"] for rule in group["rules"]]
        self.assertEqual(list(sections), [alert["alert"] for alert in alerts])
        for alert in alerts:
            self.assertEqual(alert["annotations"]["runbook_url"], f"docs/how-to/runbooks.md#{alert['alert'].lower()}")
            self.assertRegex(sections[alert["alert"]], r"(?s)Meaning.*Check.*Repair", alert["alert"])

    def test_the_monitor_scrapes_a_port_of_each_service_for_metrics(self):
        objects = rendered(EVERYTHING)
        monitor = objects["ServiceMonitor", "tephra"]["spec"]
        services = [o for o in objects.values() if o["kind"] == "Service" and o["metadata"]["name"].endswith("-metrics")]
        self.assertGreaterEqual(len(services), 3)
        for service in services:
            self.assertIn(service["metadata"]["namespace"], monitor["namespaceSelector"]["matchNames"])
            self.assertLessEqual(monitor["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
            self.assertEqual([p["name"] for p in service["spec"]["ports"]], [monitor["endpoints"][0]["port"]])


if __name__ == "__main__":
    unittest.main()
