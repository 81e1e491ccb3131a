#!/usr/bin/env python3
"""Teams on a real API server: what the chart of a team makes, and what a team cannot do from its own account."""
import unittest

from built import ROOT
from chart import helm
from flows import Pod, allowed, selects
from lab import Lab
from team_seats import SEATS, TEAMS, Teams, group


class OnALab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.stop)
        cls.teams = Teams(cls.lab)

    def test_a_team_stays_in_its_queues_its_namespace_and_its_network(self):
        for what, refused, answer in self.teams.attempts():
            with self.subTest(what):
                if refused:
                    self.assertIn(refused, answer or "allowed")
                else:
                    self.assertEqual(answer, "")

    def test_the_network_is_open_to_the_team_and_to_the_namespaces_that_it_names(self):
        for flow, expected, found in self.teams.flows():
            self.assertEqual(found, expected, flow)

    def test_what_runs_stays_when_a_queue_leaves_the_list(self):
        self.lab.apply(group("shared", name="older"))
        annotate = ("annotate", "--overwrite", "namespace", "vision")
        self.lab.kubectl(*annotate, "tephra.sh/queues=vision")
        try:
            self.lab.until("new groups are refused", lambda: self.teams.create(group("shared")) != "", 60)
            self.assertEqual(self.teams.patch("podgroup", "older", "vision", {"metadata": {"labels": {"k": "v"}}}, SEATS["vision"]), "")
        finally:
            self.lab.kubectl(*annotate, "tephra.sh/queues=vision,shared")

    def test_removing_a_team_removes_its_namespace_and_queue(self):
        self.teams.helm("install", "brief", ROOT / "manifests/team", values={"users": ["bea"]})
        self.teams.helm("uninstall", "brief")
        self.lab.until("the namespace is gone", lambda: "not found" in self.lab.kubectl("get", "namespace", "brief", check=False), 120)
        self.assertIn("not found", self.lab.kubectl("get", "queue", "brief", check=False))
        self.assertIn("not found", self.lab.kubectl("get", "clusterrole", "tephra-team-brief", check=False))


class Chart(unittest.TestCase):
    def test_wrong_values_are_refused_by_name(self):
        for values, said in (({}, "users, groups: both are empty"), ({"groups": ["g"], "queue.wieght": 1}, "wieght"), ({"groups": ["g"], "queue.shared": ["a,b"]}, "shared"),
                             ({"groups": ["g"], "network.from": [{}]}, "from"), ({"groups": ["g"], "podSecurity": "none"}, "podSecurity")):
            self.assertIn(said, helm("template", "t", ROOT / "manifests/team", values=values, check=False))
        for name, values in TEAMS.items():
            helm("lint", "--strict", ROOT / "manifests/team", values=values)


class Flows(unittest.TestCase):
    """The evaluator itself, by the examples of Kubernetes' page."""
    namespaces = {"a": {"team": "a"}, "b": {"team": "b"}}

    def policy(self, **spec):
        return [{"metadata": {"namespace": "a"}, "spec": {"podSelector": {}, **spec}}]

    def may(self, policies, client, server, port=80):
        return allowed(policies, self.namespaces, client, server, port)

    def test_without_a_policy_everything_may_connect(self):
        self.assertTrue(self.may([], Pod("b"), Pod("a")))

    def test_a_policy_without_rules_closes(self):
        self.assertFalse(self.may(self.policy(policyTypes=["Ingress"]), Pod("a"), Pod("a")))
        self.assertTrue(self.may(self.policy(policyTypes=["Ingress"]), Pod("a"), Pod("b")))
        self.assertFalse(self.may(self.policy(policyTypes=["Egress"]), Pod("a"), Pod("b")))

    def test_policies_add_up(self):
        both = self.policy(policyTypes=["Ingress"]) + self.policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}]}])
        self.assertTrue(self.may(both, Pod("b"), Pod("a")))
        self.assertFalse(self.may(both, Pod("a"), Pod("a")))

    def test_selectors_in_one_peer_hold_together_and_peers_are_alternatives(self):
        label = (("app", "x"),)
        one = self.policy(ingress=[{"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "x"}}}]}])
        two = self.policy(ingress=[{"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}, {"podSelector": {"matchLabels": {"app": "x"}}}]}])
        self.assertEqual([self.may(one, c, Pod("a")) for c in (Pod("b", label), Pod("b"), Pod("a", label), Pod("a"))], [True, False, True, False])
        self.assertEqual([self.may(two, c, Pod("a")) for c in (Pod("b", label), Pod("b"), Pod("a", label), Pod("a"))], [True, True, True, False])

    def test_blocks_and_ports(self):
        block = self.policy(ingress=[{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}}], "ports": [{"port": "web"}, {"port": 100, "endPort": 110}]}])
        server = Pod("a", ports=(("web", 8080),))
        self.assertEqual([self.may(block, Pod(address=a), server, p) for a, p in (("10.1.1.1", 8080), ("10.9.1.1", 8080), ("11.0.0.1", 8080), ("10.1.1.1", 80), ("10.1.1.1", 105))],
                         [True, False, False, False, True])

    def test_expressions(self):
        for operator, values, labels, expected in (("In", ["x"], {"k": "x"}, True), ("In", ["x"], {}, False), ("NotIn", ["x"], {}, True), ("NotIn", ["x"], {"k": "x"}, False),
                                                   ("Exists", [], {"k": ""}, True), ("DoesNotExist", [], {"k": ""}, False)):
            self.assertEqual(selects({"matchExpressions": [{"key": "k", "operator": operator, "values": values}]}, labels.items()), expected, operator)


if __name__ == "__main__":
    unittest.main()
