#!/usr/bin/env python3
"""Makes the Helm chart from the manifests: hack/chart.sh calls it.

The objects come from kustomize: the two overlays, and the components one after the other. What a component or an
overlay changes becomes a condition. manifests/chart/table.yaml says which fields are values of the chart; the defaults
of the values are what the manifests say there. So no manifest is written twice.
"""
import argparse
import copy
import json
import pathlib
import re
import shutil
import subprocess

import yaml

import chart_tree as tree

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "manifests/chart"
OVERLAYS = ("beside", "replace")
MODE = '(eq $.Values.mode "replace")'


def built(kubectl, overlay, components, scratch):
    """The objects that kustomize makes, by (kind, name)."""
    folder = scratch / "kustomize"
    folder.mkdir(parents=True, exist_ok=True)
    up = "/".join([".."] * len(folder.relative_to(ROOT).parts))
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [f"{up}/manifests/overlays/{overlay}"],
        "components": [f"{up}/manifests/components/{each}" for each in components]}))
    text = subprocess.run([kubectl, "kustomize", folder], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(text)}


def merged_objects(table, kubectl, scratch):
    """(part, (kind, name), tree) of each object, with what parts and the overlay `replace` change as conditions."""
    by_overlay = []
    for overlay in OVERLAYS:
        found, components, before = {}, [], {}
        for part in table["parts"]:
            components += part.get("components", [])
            now = built(kubectl, overlay, components, scratch)
            for key, new in now.items():
                if key not in found:
                    found[key] = (part["name"], new)
                else:
                    name, old = found[key]
                    found[key] = (name, tree.change(part.get("when"), new, before[key], old))
            before = now
        by_overlay.append(found)
    beside, replace = by_overlay
    if beside.keys() != replace.keys():
        raise SystemExit(f"chart: only in one overlay: {sorted(beside.keys() ^ replace.keys())}, expected in both")
    return [(part, key, tree.merge(MODE, replace[key][1], object)) for key, (part, object) in beside.items()]


def defaults_of(table, objects):
    """Value -> default: as the table says, or else as the first field that it names says."""
    defaults = {}
    by_name = {f"{kind}/{name}": object for _, (kind, name), object in objects}
    for value in table["values"]:
        name = value["value"]
        if "default" in value:
            defaults[name] = value["default"]
            continue
        where, path = value["at"][0].split(" ", 1)
        found = tree.plain(tree.find(by_name[where], path))
        defaults[name] = yaml.safe_load(found) if value.get("write") == "yaml" else copy.deepcopy(found)
    return defaults


def place(table, objects):
    """Puts the values of the table where it says."""
    by_name = {f"{kind}/{name}": object for _, (kind, name), object in objects}
    for value in table["values"]:
        for at in value.get("at", []):
            where, path = at.split(" ", 1)
            if where not in by_name:
                raise SystemExit(f"manifests/chart/table.yaml: {value['value']}: at: no object {where}")
            expression = value.get("expression", "$.Values." + value["value"])
            how = value.get("write", "json")
            if how == "append":
                tree.find(by_name[where], path).append(tree.Range(expression))
            elif how == "absent":
                *before, last = tree.steps(path)
                holder = tree.find(by_name[where], ".".join(before))
                holder[tree.key_of(last)] = tree.With(value.get("when", expression), expression)
            elif how == "only":
                tree.put(by_name[where], path, tree.Only(value["when"], tree.find(by_name[where], path)))
            else:
                old, new = tree.find(by_name[where], path), tree.Value(expression, how)
                tree.put(by_name[where], path, tree.Only(old.when, new) if isinstance(old, tree.Only) else new)


def nested(flat):
    result = {}
    for name, default in flat.items():
        at = result
        *folders, last = name.split(".")
        for folder in folders:
            at = at.setdefault(folder, {})
        at[last] = default
    return result


SCHEMAS = {
    "int": {"type": "integer", "minimum": 0}, "positive": {"type": "integer", "minimum": 1}, "bool": {"type": "boolean"},
    "string": {"type": "string"}, "map": {"type": "object"}, "list": {"type": "array", "items": {"type": "object"}},
    "strings": {"type": "array", "items": {"type": "string"}},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
    "part": {"type": ["string", "integer"], "pattern": "^(100|[1-9][0-9]?)%$", "minimum": 1},
    "resources": {"type": "object", "additionalProperties": False, "properties": {
        each: {"type": "object", "additionalProperties": {"type": ["string", "number"]}} for each in ("requests", "limits")}}}


def schema_of(table):
    root = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": False,
            "properties": {"global": {"type": "object"}}}
    for value in table["values"]:
        *folders, last = value["value"].split(".")
        at = root
        for folder in folders:
            at = at["properties"].setdefault(folder, {"type": "object", "additionalProperties": False, "properties": {}})
        kind = value["type"]
        schema = {"enum": kind} if isinstance(kind, list) else SCHEMAS[kind]
        at["properties"][last] = {"description": value["what"], **schema}
    return root


def values_text(table, defaults):
    """values.yaml, with what each value is for above it."""
    about = {value["value"]: value["what"] for value in table["values"]}
    lines = ["# Made by hack/chart.sh from the manifests. values.schema.json checks what is set.", ""]

    def write(at, prefix, indent):
        for key, item in at.items():
            name = f"{prefix}{key}"
            if name in about:
                lines.append(f"{indent}# {about[name]}")
                text = yaml.safe_dump({key: item}, sort_keys=False, width=110)
                lines.extend(indent + line for line in text.splitlines())
            else:
                lines.append(f"{indent}{key}:")
                write(item, name + ".", indent + "  ")

    write(nested(defaults), "", "")
    return "\n".join(lines) + "\n"


def reference(table, defaults):
    """The table of values, for docs/reference/chart.md."""
    lines = ["| value | default | meaning |", "|---|---|---|"]
    for value in table["values"]:
        default = json.dumps(defaults[value["value"]])
        if len(default) > 24:
            default = "manifests"
        else:
            default = f"`{default}`"
        lines.append(f"| `{value['value']}` | {default} | {value['what']} |")
    return "\n".join(lines) + "\n"


def condition(table, part, key, object):
    """When an object is there: with its part, and by its kind."""
    by_kind = table["kinds"].get(key[0]) or table["kinds"].get(object["apiVersion"].split("/")[0])
    both = [each for each in (part.get("when"), by_kind) if each]
    return f"(and {' '.join(both)})" if len(both) > 1 else "".join(both)


def write_chart(table, objects, defaults, out, version):
    shutil.rmtree(out, ignore_errors=True)
    (out / "templates").mkdir(parents=True)
    names = tree.Names(table["names"])
    for part in table["parts"]:
        documents = []
        for at, key, object in objects:
            if at != part["name"] or list(key) in table["left_out"]:
                continue
            text = "\n".join(tree.lines(object, names))
            when = condition(table, part, key, object)
            documents.append(f"{{{{- if {when} }}}}\n---\n{text}\n{{{{- end }}}}\n" if when else f"---\n{text}\n")
        (out / "templates" / f"{part['name']}.yaml").write_text("".join(documents))
    for name in ("_helpers.tpl", "certificates.yaml", "NOTES.txt"):
        shutil.copy(SOURCE / name, out / "templates" / name)
    shutil.copy(SOURCE / "README.md", out / "README.md")
    shutil.copy(ROOT / "LICENSE", out / "LICENSE")
    (out / "Chart.yaml").write_text(yaml.safe_dump({
        "apiVersion": "v2", "name": "tephra", "version": version, "appVersion": version, "type": "application",
        "description": "Batch gang scheduler for GPU clusters: a plugin set for Volcano", "kubeVersion": ">=1.34.0-0"}))
    (out / "values.yaml").write_text(values_text(table, defaults))
    (out / "values.schema.json").write_text(json.dumps(schema_of(table), indent=2) + "\n")


def rules():
    """The PrometheusRule of components/monitoring, which repeats dashboards/alerts.yaml as an object."""
    spec = (ROOT / "manifests/dashboards/alerts.yaml").read_text()
    body = "".join(f"  {line}\n" if line else "\n" for line in spec.splitlines() if not line.startswith("#"))
    return ("# Made by hack/chart.sh from manifests/dashboards/alerts.yaml.\n"
            "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: tephra\n"
            f"  namespace: tephra-system\nspec:\n{body}")


def main():
    parser = argparse.ArgumentParser(description="Makes the Helm chart from the manifests.")
    parser.add_argument("--kubectl", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder that is replaced by the chart")
    parser.add_argument("--print-values", action="store_true", help="print the table of docs/reference/chart.md")
    given = parser.parse_args()
    committed = ROOT / "manifests/components/monitoring/rules.yaml"
    if not committed.exists() or committed.read_text() != rules():
        committed.write_text(rules())
    table = yaml.safe_load((SOURCE / "table.yaml").read_text())
    version = re.search(r"^project\(tephra VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    objects = merged_objects(table, given.kubectl, given.out.resolve().parent)
    defaults = defaults_of(table, objects)
    place(table, objects)
    write_chart(table, objects, defaults, given.out, version)
    if given.print_values:
        print(reference(table, defaults), end="")


if __name__ == "__main__":
    main()
