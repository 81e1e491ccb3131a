"""A small client of an API server, for what would need a process of kubectl for each call: calls and watches with the
certificate of a kubeconfig."""
import base64
import http.client
import json
import pathlib
import ssl
import threading
import urllib.parse

import yaml


class Refused(Exception):
    """The API server said no; `code` is its status."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Api:
    def __init__(self, kubeconfig, folder):
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = urllib.parse.urlsplit(cluster["server"])
        paths = {}
        for name, source in (("certificate-authority", cluster), ("client-certificate", user), ("client-key", user)):
            if f"{name}-data" in source:
                paths[name] = pathlib.Path(folder, f"api-{name}.pem")
                paths[name].write_bytes(base64.b64decode(source[f"{name}-data"]))
            else:
                paths[name] = source[name]
        self.tls = ssl.create_default_context(cafile=paths["certificate-authority"])
        self.tls.load_cert_chain(paths["client-certificate"], paths["client-key"])
        self.connections = threading.local()

    def connect(self):
        return http.client.HTTPSConnection(self.server.hostname, self.server.port, context=self.tls, timeout=60)

    def call(self, method, path, body=None, as_=(), kind="application/json"):
        """The answer as JSON; `as_`: pairs of headers that impersonate."""
        connection = getattr(self.connections, "one", None)
        if connection is None:
            connection = self.connections.one = self.connect()
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind, **dict(as_)})
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.connections.one = None
            raise
        if answer.status >= 400:
            raise Refused(answer.status, f"{method} {path}: {text.decode(errors='replace')[:400]}")
        return json.loads(text)

    def patch(self, path, body, as_=(), kind="application/merge-patch+json"):
        return self.call("PATCH", path, body, as_, kind)

    def follow(self, path, changed, ending):
        """Calls `changed(type, object)` for each object of a list and each event after it, until `ending` is set."""
        listed = self.call("GET", path)
        for each in listed["items"]:
            changed("ADDED", each)
        connection = self.connect()
        connection.request("GET", f"{path}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}")
        connection.sock.settimeout(None)  # a watch may be quiet for long
        answer, rest = connection.getresponse(), b""
        while not ending.is_set():
            piece = answer.read1(1 << 16)
            if not piece:
                raise ConnectionError(f"the watch of {path} ended")
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ConnectionError(f"the watch of {path}: {event['object']}")
                changed(event["type"], event["object"])
