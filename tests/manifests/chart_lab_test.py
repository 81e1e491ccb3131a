#!/usr/bin/env python3
"""The chart on a real API server, by the real helm."""
import json
import unittest

from chart import chart, helm
from chart_history import History, job
from lab import Lab


class OnALab(unittest.TestCase):
    def test_it_is_installed_upgraded_rolled_back_and_removed_while_jobs_come_and_go(self):
        history = History(seed=1)
        try:
            found = history.run(seconds=5)
        finally:
            history.close()
        self.assertEqual(found["steps"], ["install", "upgrade", "rollback", "uninstall"])
        self.assertEqual((found["twice"], found["denied"], found["gone"]), ([], [], []))
        self.assertGreater(found["looked"], 3)
        self.assertGreater(found["jobs"], 5)


class Webhooks(unittest.TestCase):
    """With webhooks whose pods do not run, in namespaces with other names."""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.stop)

    def helm(self, command, **values):
        values = {"admission.enabled": True, "node.enabled": True, "node.namespace": "plugins", **{k.replace("__", "."): v for k, v in values.items()}}
        helm(command, "tephra", *([chart()] if command != "uninstall" else []), *(["--create-namespace"] if command == "install" else []),
             "--namespace", "gpus", "--kubeconfig", self.lab.kubeconfig, values=values if command != "uninstall" else None)

    def create(self, object):
        return self.lab.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(object), check=False)

    def bundles(self):
        return {w["clientConfig"]["caBundle"] for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
                for w in self.lab.get(kind, "tephra-admission")["webhooks"]}

    def test_a_trial_stops_no_job_of_another_scheduler_and_an_upgrade_keeps_the_authority(self):
        def gang(scheduler, task=None):
            wanted = job("gang", 1, 1, 1)
            wanted["spec"]["schedulerName"] = scheduler
            if task:
                wanted["spec"]["tasks"][0]["template"]["spec"]["schedulerName"] = task
            return wanted

        def pod(scheduler):
            return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "default"}, "spec": {
                "schedulerName": scheduler, "containers": [{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}

        down = "failed calling webhook"
        self.helm("install")
        self.lab.until("the webhooks are called", lambda: down in self.create(gang("tephra")), 60)
        self.assertIn(down, self.create(gang("volcano", task="tephra")))
        self.assertIn(down, self.create(pod("tephra")))
        for other in (gang("volcano"), gang("volcano", task="volcano"), pod("default-scheduler"), pod("volcano")):
            self.assertEqual(self.create(other), "")
        authority, = self.bundles()
        first = self.lab.get("-n", "gpus", "secret", "tephra-admission-tls")["data"]["tls.crt"]

        self.helm("upgrade", mode="replace")
        self.assertEqual(self.bundles(), {authority})
        self.assertNotEqual(self.lab.get("-n", "gpus", "secret", "tephra-admission-tls")["data"]["tls.crt"], first)
        self.lab.until("pods of all schedulers are looked at", lambda: down in self.create(pod("default-scheduler")), 60)
        self.assertIn(down, self.create(gang("other")))
        self.helm("uninstall")
        self.lab.until("no webhook is left", lambda: self.create(gang("tephra")) == "", 60)


if __name__ == "__main__":
    unittest.main()
