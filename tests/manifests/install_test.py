#!/usr/bin/env python3
"""The commands of the installation pages against the manifests: a user who types them gets what the page says."""
import itertools
import pathlib
import re
import tempfile
import unittest

import yaml

from built import ROOT, component, kustomize, objects

PAGES = sorted((ROOT / "docs").rglob("*install*.md"))
DAEMON_SETS = {("tephra-node", ("node",)), ("tephra-node-mps", ("node-mps", "node"))}
TAINT = re.compile(r"kubectl taint node \S+ ([\w./-]+)=([\w.-]*):(NoSchedule|PreferNoSchedule|NoExecute)")


def tolerates(toleration, key, value, effect):
    """As the kubelet and the DaemonSet controller read a toleration."""
    if toleration.get("effect", effect) != effect:
        return False
    if "key" not in toleration:
        return toleration.get("operator") == "Exists"
    return toleration["key"] == key and (toleration.get("operator") == "Exists" or toleration.get("value", "") == value)


def with_admission(overlay):
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        (pathlib.Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump({
            "resources": [f"../manifests/overlays/{overlay}"], "components": ["../manifests/components/admission"]}))
        return kustomize(folder)


def environment(deployment):
    return {e["name"]: e.get("value") for c in deployment["spec"]["template"]["spec"]["containers"] for e in c.get("env", [])}


class Taints(unittest.TestCase):
    def test_the_node_plugin_runs_on_every_node_that_the_pages_or_an_operator_taint(self):
        taints = {taint for page in PAGES for taint in TAINT.findall(page.read_text())}
        self.assertIn(("tephra.sh/scheduler", "tephra", "NoSchedule"), taints)
        taints |= {("dedicated", "ml", "NoSchedule"), ("dedicated", "ml", "NoExecute"), ("nvidia.com/gpu", "present", "NoSchedule")}
        for (name, (last, *before)), taint in itertools.product(DAEMON_SETS, taints):
            tolerations = component(last, *before)["DaemonSet", name]["spec"]["template"]["spec"]["tolerations"]
            self.assertTrue(any(tolerates(each, *taint) for each in tolerations), f"{name} does not tolerate {taint}")


class Webhooks(unittest.TestCase):
    def test_the_webhooks_complete_pods_for_the_scheduler_of_the_overlay(self):
        for overlay in ("beside", "replace"):
            both = with_admission(overlay)
            names = [environment(both["Deployment", name])["SCHEDULER_NAME"] for name in ("tephra-scheduler", "tephra-admission")]
            self.assertEqual(names, [environment(objects(overlay)["Deployment", "tephra-scheduler"])["SCHEDULER_NAME"]] * 2)

    def test_no_page_changes_by_hand_what_the_next_apply_takes_back(self):
        for page in PAGES:
            self.assertNotIn("set env", page.read_text(), page)


class Concerns(unittest.TestCase):
    """The overlay `beside` looks at its own pods and Jobs, and `replace` at all: what the conditions say, word by word."""

    def test_conditions_name_the_scheduler_and_the_scope_of_the_overlay(self):
        for overlay, scheduler, scope in (("beside", "tephra", "own"), ("replace", "volcano", "all")):
            webhooks = [w for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
                        for w in component("admission", overlay=overlay)[kind, "tephra-admission"]["webhooks"]]
            policy = component("node", overlay=overlay)["ValidatingAdmissionPolicy", "visible-devices.tephra.sh"]["spec"]
            expressions = [w["matchConditions"][0]["expression"] for w in (*webhooks, policy)]
            self.assertEqual(len(expressions), 4)
            for expression in expressions:
                self.assertEqual(set(re.findall(r"schedulerName == '(\w+)'", expression)), {scheduler})
                self.assertEqual(re.findall(r"'(\w+)' == 'all'", expression), [scope])


class Memory(unittest.TestCase):
    def test_go_knows_the_memory_limit_of_its_container(self):
        variable = re.search(r'limitVariable = "(\w+)"', (ROOT / "plugins/volcano/heap/heap.go").read_text())[1]
        for deployment, name in ((objects("beside")["Deployment", "tephra-scheduler"], "scheduler"),
                                 (component("admission")["Deployment", "tephra-admission"], "admission")):
            container = next(c for c in deployment["spec"]["template"]["spec"]["containers"] if c["name"] == name)
            given = {e["name"]: e.get("valueFrom", {}).get("resourceFieldRef", {}).get("resource") for e in container["env"]}
            self.assertEqual(given.get(variable), "limits.memory")
            self.assertNotIn("GOMEMLIMIT", given)


class Examples(unittest.TestCase):
    def test_each_image_is_in_a_public_registry_with_a_tag(self):
        for path in sorted((ROOT / "manifests/examples").glob("*.yaml")):
            for task in yaml.safe_load(path.read_text())["spec"]["tasks"]:
                for container in task["template"]["spec"]["containers"]:
                    self.assertRegex(container["image"], r"^(docker\.io|quay\.io|ghcr\.io|registry\.k8s\.io)/[\w./-]+:[\w.-]+$", path)

    def test_the_check_of_the_installation_asks_for_nothing_that_a_new_cluster_lacks(self):
        job = yaml.safe_load((ROOT / "manifests/examples/check.yaml").read_text())
        self.assertEqual(job["spec"]["queue"], "default")  # the one queue that Volcano makes by itself
        for task in job["spec"]["tasks"]:
            for container in task["template"]["spec"]["containers"]:
                self.assertEqual(container["resources"]["limits"].keys(), {"cpu", "memory"})


if __name__ == "__main__":
    unittest.main()
