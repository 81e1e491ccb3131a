"""An evaluator of NetworkPolicies: which pod may connect to which port of which pod, as
https://kubernetes.io/docs/concepts/services-networking/network-policies/ says."""
import dataclasses
import ipaddress


@dataclasses.dataclass(frozen=True)
class Pod:
    """An end of a connection; namespace None: an address outside the cluster."""
    namespace: str = None
    labels: tuple = ()
    address: str = "10.0.0.1"
    ports: tuple = ()  # (name, number)


def selects(selector, labels):
    """Whether a label selector selects these labels; an empty one selects all."""
    labels = dict(labels)
    if any(labels.get(k) != v for k, v in selector.get("matchLabels", {}).items()):
        return False
    for each in selector.get("matchExpressions", []):
        key, values = each["key"], each.get("values", [])
        if not {"In": key in labels and labels[key] in values, "NotIn": labels.get(key) not in values or key not in labels,
                "Exists": key in labels, "DoesNotExist": key not in labels}[each["operator"]]:
            return False
    return True


def is_peer(peer, pod, home, namespaces):
    if "ipBlock" in peer:
        address, block = ipaddress.ip_address(pod.address), peer["ipBlock"]
        return address in ipaddress.ip_network(block["cidr"]) and not any(address in ipaddress.ip_network(e) for e in block.get("except", []))
    if pod.namespace is None:
        return False
    if "namespaceSelector" in peer:
        if not selects(peer["namespaceSelector"], namespaces[pod.namespace].items()):
            return False
    elif pod.namespace != home:
        return False
    return selects(peer.get("podSelector", {}), pod.labels)


def opens(rule, side, other, server, port, home, namespaces):
    peers, ports = rule.get(side), rule.get("ports")
    numbers = dict(server.ports)
    if ports and not any("port" not in p or port == numbers.get(p["port"], p["port"]) or
                         "endPort" in p and p["port"] <= port <= p["endPort"] for p in ports):
        return False
    return not peers or any(is_peer(peer, other, home, namespaces) for peer in peers)


def allowed(policies, namespaces, client, server, port):
    """Whether the client may connect; both ends have to allow it."""
    for pod, other, kind, section, side in ((server, client, "Ingress", "ingress", "from"), (client, server, "Egress", "egress", "to")):
        if pod.namespace is None:
            continue
        chosen = [p["spec"] for p in policies if p["metadata"]["namespace"] == pod.namespace and selects(p["spec"].get("podSelector", {}), pod.labels)
                  and kind in p["spec"].get("policyTypes", ["Ingress"] + ["Egress"] * ("egress" in p["spec"]))]
        if chosen and not any(opens(rule, side, other, server, port, pod.namespace, namespaces) for p in chosen for rule in p.get(section) or []):
            return False
    return True
