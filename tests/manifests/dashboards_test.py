#!/usr/bin/env python3
"""What can be said of the dashboards and alerts without a cluster."""
import json
import re
import subprocess
import unittest

from built import ROOT


class Dashboards(unittest.TestCase):
    sources = ["sidecar/metrics.cc", "plugins/volcano/action/metrics.go", "plugins/node/metrics/node_metrics.cc"]
    folder = ROOT / "manifests/dashboards"
    dashboards = ["tephra.json", "node.json"]

    def panels(self, dashboard):
        return json.loads((self.folder / dashboard).read_text())["panels"]

    def expressions(self):
        for dashboard in self.dashboards:
            for panel in self.panels(dashboard):
                for target in panel["targets"]:
                    yield f"{dashboard}: panel {panel['title']!r}", target["expr"]
        for line in (self.folder / "alerts.yaml").read_text().splitlines():
            yield "alerts.yaml", line

    def test_every_metric_and_label_that_is_shown_or_watched_exists(self):
        code = "\n".join((ROOT / source).read_text() for source in self.sources)
        exported = set(re.findall(r'"(tephra_(?:engine|scheduler|node)_\w+)"', code))
        words = set(re.findall(r'"(\w+)"', code))
        asked = set()
        for where, expression in self.expressions():
            for name in re.findall(r"\btephra_(?:engine|scheduler|node)_\w+", expression):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertIn(base, exported, where)
                asked.add(base)
            for label, value in re.findall(r'(\w+)="(\w+)"', expression):
                self.assertIn(label, words, where)
                self.assertIn(value, words, where)
            for labels in re.findall(r"\bby \(([^)]*)\)", expression):
                for label in labels.replace(" ", "").split(","):
                    self.assertIn(label, words | {"le"}, where)
        self.assertGreater(len(asked), 10)

    def test_panels_have_an_id_and_a_place_of_their_own(self):
        for dashboard in self.dashboards:
            panels = self.panels(dashboard)
            self.assertEqual(len({p["id"] for p in panels}), len(panels))
            cells = [(x, y) for g in (p["gridPos"] for p in panels)
                     for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])]
            self.assertEqual(len(cells), len(set(cells)), dashboard)
            self.assertLessEqual(max(x for x, _ in cells), 23, dashboard)

    def test_promtool_accepts_the_alerts_and_they_fire_when_they_should(self):
        promtool = subprocess.run([ROOT / "hack/promtool.sh"], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout.strip()
        for arguments in (["check", "rules", self.folder / "alerts.yaml"],
                          ["test", "rules", ROOT / "tests/manifests/alerts_test.yaml"]):
            done = subprocess.run([promtool, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_alert_has_a_test(self):
        alerts = re.findall(r"alert: (\w+)", (self.folder / "alerts.yaml").read_text())
        tests = (ROOT / "tests/manifests/alerts_test.yaml").read_text()
        for alert in alerts:
            self.assertRegex(tests, rf'{alert}(",alertstate="firing"|\n\s+exp_alerts:\n\s+- exp_labels)')


if __name__ == "__main__":
    unittest.main()
