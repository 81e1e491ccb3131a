"""Objects of Kubernetes as trees with conditions and values in them, and how they become templates of Helm."""
import dataclasses
import json
import re

import yaml


@dataclasses.dataclass(eq=True)
class Choice:
    """One of two trees, by a condition."""
    when: str
    then: object
    otherwise: object


@dataclasses.dataclass(eq=True)
class Only:
    """A key or an item that is there under a condition."""
    when: str
    item: object


@dataclasses.dataclass(eq=True)
class Value:
    """A value of the chart: json (any value), text (inside quotes), yaml (as a text of several lines)."""
    expression: str
    how: str


@dataclasses.dataclass(eq=True)
class With:
    """A key that is there if the value is set."""
    when: str
    expression: str


@dataclasses.dataclass(eq=True)
class Range:
    """Further items of a list."""
    expression: str


def merge(when, new, old):
    """`new` where the condition holds, `old` elsewhere."""
    if new == old:
        return old
    if isinstance(new, dict) and isinstance(old, dict):
        result = {}
        for key in [*old, *(k for k in new if k not in old)]:
            if key not in new:
                result[key] = Only(f"(not {when})", old[key])
            elif key not in old:
                result[key] = Only(when, new[key])
            else:
                result[key] = merge(when, new[key], old[key])
        return result
    if isinstance(new, list) and isinstance(old, list) and len(new) >= len(old):
        same = [merge(when, a, b) for a, b in zip(new, old)]
        return same + [Only(when, item) for item in new[len(old):]]
    return Choice(when, new, old)


def change(when, new, before, tree):
    """The tree of `before`, with what `new` says otherwise under the condition."""
    if new == before:
        return tree
    if isinstance(new, dict) and isinstance(tree, dict) and not before.keys() - new.keys():
        return {key: change(when, new[key], before[key], tree[key]) if key in before else Only(when, new[key]) for key in new}
    if isinstance(new, list) and isinstance(tree, list) and len(new) >= len(before) == len(tree):
        same = [change(when, *each) for each in zip(new, before, tree)]
        return same + [Only(when, item) for item in new[len(before):]]
    if isinstance(tree, Only) and isinstance(new, type(before)):
        return Only(tree.when, change(when, new, before, tree.item))
    return merge(when, new, tree)


def plain(node):
    """The tree with every condition false: what the overlay `beside` says without components."""
    if isinstance(node, Choice):
        return plain(node.otherwise)
    if isinstance(node, dict):
        return {k: plain(v) for k, v in node.items() if not isinstance(v, (Only, With))}
    if isinstance(node, list):
        return [plain(v) for v in node if not isinstance(v, (Only, Range))]
    return node


def steps(path):
    return re.findall(r"\[[^\]]*\]|[^.\[\]]+", path)


def key_of(step):
    return step.strip("[]")


def child(node, step, path):
    """The place of the step in the node: a key, or the index of the item with this name or number, or of this flag."""
    key = key_of(step)
    if isinstance(node, list):
        if key.isdigit() and int(key) < len(node):
            return int(key)
        for i, item in enumerate(node):
            if isinstance(item, dict) and item.get("name") == key:
                return i
            flag = item.item if isinstance(item, Only) else item
            if isinstance(flag, str) and flag.startswith(f"{key}="):
                return i
    elif isinstance(node, dict) and key in node:
        return key
    raise SystemExit(f"manifests/chart/table.yaml: {path}: no {key} there")


def find(node, path):
    for step in steps(path):
        node = node[child(node, step, path)]
    return node


def put(node, path, value):
    *before, last = steps(path)
    for step in before:
        node = node[child(node, step, path)]
    node[child(node, last, path)] = value


class Names:
    """Where names of namespaces stand, and what stands there in the chart."""

    def __init__(self, rules):
        self.rules = [(re.compile(rule["text"]), rule["becomes"], rule.get("keys")) for rule in rules]

    def text(self, string, key):
        """The string with `{{` escaped and the namespaces replaced."""
        string = string.replace("{{", "\0")
        for pattern, becomes, keys in self.rules:
            if keys is None or key in keys:
                string = pattern.sub(lambda match: match[0].replace(match[1], becomes), string)
        return string.replace("\0", '{{ "{{" }}')


def scalar(value, names, key):
    if isinstance(value, str):
        text = names.text(value, key)
        bare = re.fullmatch(r"[A-Za-z0-9_./-]+", value) and yaml.safe_load(value) == value and text == value
        return text if bare else names.text(json.dumps(value, ensure_ascii=False), key)
    return json.dumps(value)


def field(prefix, value, names, key, indent):
    """The lines of a value after its prefix, which is `key:` or `-`."""
    pad = " " * indent
    if isinstance(value, Choice):
        return [f"{pad}{{{{- if {value.when} }}}}", *field(prefix, value.then, names, key, indent), f"{pad}{{{{- else }}}}",
                *field(prefix, value.otherwise, names, key, indent), f"{pad}{{{{- end }}}}"]
    if isinstance(value, Only):
        return [f"{pad}{{{{- if {value.when} }}}}", *field(prefix, value.item, names, key, indent), f"{pad}{{{{- end }}}}"]
    if isinstance(value, With):
        return [f"{pad}{{{{- if {value.when} }}}}", f"{pad}{prefix} {{{{ toJson ({value.expression}) }}}}", f"{pad}{{{{- end }}}}"]
    if isinstance(value, Range):
        return [f"{pad}{{{{- range {value.expression} }}}}", f"{pad}- {{{{ toJson . }}}}", f"{pad}{{{{- end }}}}"]
    if isinstance(value, Value):
        if value.how == "yaml":
            return [f"{pad}{prefix} |", f"{{{{ toYaml {value.expression} | indent {indent + 2} }}}}"]
        return [f"{pad}{prefix} {{{{ toJson ({value.expression}) }}}}"]
    if isinstance(value, str) and "\n" in value:
        body = names.text(value, key).rstrip("\n").split("\n")
        return [f"{pad}{prefix} {'|' if value.endswith(chr(10)) else '|-'}", *(f"{pad}  {line}".rstrip() for line in body)]
    if isinstance(value, (dict, list)) and value:
        return [f"{pad}{prefix}", *lines(value, names, key, indent + 2)]
    return [f"{pad}{prefix} {scalar(value, names, key)}"]


def lines(node, names, key="", indent=0):
    """The node as lines of a template."""
    result = []
    if isinstance(node, dict):
        for name, value in node.items():
            result += field(f"{scalar(name, names, '')}:", value, names, name, indent)
    else:
        for value in node:
            result += field("-", value, names, key, indent)
    return result
