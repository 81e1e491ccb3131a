#!/usr/bin/env python3
"""The picture that `tephra topology --output svg` draws: topology_test.py TEPHRA SOURCE_ROOT"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

TEPHRA, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
SVG = "{http://www.w3.org/2000/svg}"


def draw(file):
    done = subprocess.run(
        [TEPHRA, "topology", "--output", "svg", str(file)], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout


def tooltips(picture):
    return [title.text for title in xml.fromstring(picture).iter(SVG + "title")]


def texts(picture):
    return [text.text for text in xml.fromstring(picture).iter(SVG + "text")]


def kinds(picture):
    return [rect.get("class") for rect in xml.fromstring(picture).iter(SVG + "rect")]


class Picture(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, text):
        path = self.folder / "cluster.yaml"
        path.write_text(text)
        return path

    def test_a_small_cluster_is_drawn_as_ever(self):
        example = ROOT / "simulations/examples/near.yaml"
        # Where the picture is meant to change: look at it, then write it there.
        self.assertEqual(draw(example), (ROOT / "tests/simulations/near.svg").read_bytes())

    def test_each_gpu_is_a_cell_in_the_colour_of_its_model(self):
        picture = draw(
            self.write(
                """
cluster:
  nodes:
    - { name: b, gpus: { count: 3, model: T4 } }
    - { name: a, devices: [{ model: H100 }, { model: T4, healthy: false }] }
    - { name: c, unschedulable: true }
"""
            )
        )
        self.assertEqual(
            tooltips(picture)[1:],
            ["a: 1 GPU H100, 1 GPU T4, 1 not healthy", "b: 3 GPU T4", "c: 0 GPU, cordoned"],
        )
        drawn = kinds(picture)
        self.assertEqual(drawn[:6], ["page", "m0", "m1", "none", "bad", "m0 out"])
        self.assertEqual(
            drawn[6:], ["node", "m1", "bad", "node", "m0", "m0", "m0", "node none out"]
        )
        self.assertIn("T4: 4 GPU", texts(picture))

    def test_domains_stand_above_their_nodes_and_names_say_only_what_is_new(self):
        picture = draw(ROOT / "simulations/examples/near.yaml")
        boxes = {}
        for group in xml.fromstring(picture).iter(SVG + "g"):
            rect, title = group.find(SVG + "rect"), group.find(SVG + "title").text
            if rect is not None:
                boxes[title.split(" (")[0].split(":")[0]] = [
                    float(rect.get(key)) for key in ("x", "y", "width")
                ]
        north, rack, last = boxes["north"], boxes["north/r1"], boxes["b2"]
        self.assertLess(north[1], rack[1])
        self.assertLess(rack[1], last[1])
        self.assertEqual(north[0], rack[0])
        self.assertAlmostEqual(north[0] + north[2], last[0] + last[2], delta=0.02)
        racks = [text for text in texts(picture) if text in ("r1", "r2")]
        self.assertEqual(racks, ["r1", "r2", "r1"])

    def test_text_of_any_kind_is_text(self):
        name = "<g> & \"q\" 'é' 机架 ]]>"
        quoted = "\"<g> & \\\"q\\\" 'é' 机架 ]]>"
        picture = draw(
            self.write(
                f"""
name: {quoted}"
cluster:
  nodes: [{{ name: {quoted}", gpus: {{ count: 1, model: "</svg>" }} }}]
  domains: [{{ name: "bell", tier: 1, tier_name: "a&b", nodes: [{quoted}"] }}]
"""
            )
        )
        said = tooltips(picture)
        self.assertEqual(said[0], name)
        self.assertIn(name + ": 1 GPU </svg>", said)
        self.assertIn("bell (a&b, tier 1): 1 node, 1 GPU", said)

    def test_names_are_cut_between_letters(self):
        nodes = "".join(f"- {{ name: {'ñandú' * 20}-{i} }}\n    " for i in range(40))
        shown = texts(draw(self.write(f"cluster:\n  nodes:\n    {nodes}\n")))
        self.assertTrue(any(text.startswith("ñandú") and text.endswith("…") for text in shown))

    def test_a_cluster_without_nodes_is_a_picture_too(self):
        picture = draw(self.write("cluster: { nodes: 0 }\n"))
        self.assertIn("0 nodes, 0 GPU, 0 domains", texts(picture))

    def test_domains_without_nodes_are_counted_and_nodes_in_none_are_named_so(self):
        picture = draw(
            self.write(
                "cluster:\n  nodes: 4\n  domains:\n"
                "    - { name: used, tier: 1, nodes: [n-0, n-1] }\n"
                "    - { name: bare, tier: 1 }\n"
            )
        )
        self.assertIn("4 nodes, 0 GPU, 1 domain; 1 more without nodes", texts(picture))
        self.assertIn("in no domain", texts(picture))

    def test_six_thousand_nodes_of_eight_gpus_are_thin_bars_in_a_file_that_loads(self):
        rows = [f"node-{i:04},rack-{i // 32},row-{i // 256}\n" for i in range(6000)]
        (self.folder / "hosts.csv").write_text("name,rack,row\n" + "".join(rows))
        picture = draw(
            self.write(
                "cluster: { nodes: { hosts: hosts.csv, tiers: [rack, row] }, gpus_per_node: 8, "
                "gpu_model: H100 }\n"
            )
        )
        self.assertLess(len(picture), 1 << 20)
        said = tooltips(picture)
        self.assertEqual(sum(tip.endswith(": 8 GPU H100") for tip in said), 6000)
        self.assertEqual(said.count("row-12/rack-100 (rack, tier 1): 32 nodes, 256 GPU"), 1)
        width = float(xml.fromstring(picture).get("width"))
        self.assertLess(width, 3000)
        for rect in xml.fromstring(picture).iter(SVG + "rect"):
            self.assertLessEqual(float(rect.get("x")) + float(rect.get("width")), width)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
