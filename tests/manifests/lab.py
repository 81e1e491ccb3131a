"""A lab with the overlay `beside` in it, and tephra run by hand as its pod would run it: the
scheduler with its service account's token, so with exactly the rights of the manifests."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import yaml

from built import ROOT, kubectl

ENGINE = pathlib.Path(os.environ.get("TEPHRA_BUILD", ROOT / "build/release"), "sidecar/tephra-engine")
AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    users: ["system:serviceaccount:tephra-system:tephra-scheduler"]
  - level: None
"""


class Lab:
    def __init__(self, *flags):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="tephra-manifests-"))
        self.processes = {}
        self.audit_log = self.dir / "audit.log"
        self.kubeconfig = self.dir / "admin"
        policy = self.dir / "audit.yaml"
        policy.write_text(AUDIT)
        self.start("tephra-lab", ROOT / "build/lab/tephra-lab", "up", "--nodes=2", "--racks=1",
                   "--dir", self.dir / "lab", "--kubeconfig", self.kubeconfig,
                   "--scheduler-name=volcano", "--scheduler-name=tephra",
                   f"--apiserver-flag=--audit-policy-file={policy}",
                   f"--apiserver-flag=--audit-log-path={self.audit_log}", *flags)
        self.until("the lab is ready", lambda: (self.dir / "lab/ready").exists(), 300)

    def stop(self):
        for name in reversed(list(self.processes)):
            self.end(name)
        shutil.rmtree(self.dir)

    def end(self, name):
        process = self.processes.pop(name)
        process.terminate()
        process.wait(60)

    def start(self, name, *command):
        with open(self.dir / f"{name}.log", "w") as log:
            self.processes[name] = subprocess.Popen([str(c) for c in command],
                                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def until(self, what, true, seconds=120):
        end = time.monotonic() + seconds
        while not true():
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise AssertionError(f"{name}: ended with {process.returncode}\n{self.logs()}")
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}\n{self.logs()}")
            time.sleep(0.5)

    def logs(self):
        return "\n".join(f"--- {log.name}\n" + "\n".join(log.read_text().splitlines()[-30:])
                         for log in self.dir.glob("*.log") if log != self.audit_log)

    def kubectl(self, *arguments, stdin="", check=True):
        """Standard output; with check=False: what was said on standard error, empty if all went well."""
        done = subprocess.run([kubectl(), "--kubeconfig", self.kubeconfig, *arguments],
                              input=stdin, capture_output=True, text=True)
        if not check:
            return done.stderr if done.returncode else ""
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def apply(self, *objects, check=True):
        return self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects), check=check)

    def get(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def install(self):
        self.kubectl("apply", "-k", ROOT / "manifests/overlays/beside")

    def run_engine(self, name="", **settings):
        """The engine of the pod with this name."""
        config = self.dir / f"engine{name}.yaml"
        config.write_text(json.dumps(settings))
        self.start(f"tephra-engine{name}", ENGINE, "--config", config, "--socket", self.dir / f"engine{name}.sock")

    def run_scheduler(self, *flags, name=""):
        """As the service account, with the arguments and the configuration of its pod."""
        pod = self.get("-n", "tephra-system", "deployment", "tephra-scheduler")["spec"]["template"]["spec"]
        container = next(c for c in pod["containers"] if c["name"] == "scheduler")
        arguments = container["args"]
        for variable in container["env"]:
            arguments = [a.replace(f"$({variable['name']})", variable.get("value", "")) for a in arguments]
        account = self.dir / f"account{name}"
        config = yaml.safe_load(self.kubeconfig.read_text())
        token = self.kubectl("create", "token", "-n", "tephra-system", "tephra-scheduler").strip()
        config["users"][0]["user"] = {"token": token}
        account.write_text(yaml.safe_dump(config))
        conf = self.dir / f"volcano-scheduler{name}.conf"
        conf.write_text(self.get("-n", "tephra-system", "configmap", "tephra")["data"]["volcano-scheduler.conf"])
        # Of a flag that is given twice the last one counts.
        self.start(f"tephra-scheduler{name}", ROOT / "build/scheduler/tephra-scheduler", *arguments,
                   "--kubeconfig", account, "--scheduler-conf", conf, "--engine-socket", self.dir / f"engine{name}.sock",
                   "--listen-address=127.0.0.1:0", "--healthz-address=127.0.0.1:0", *flags)

    def requests(self):
        """(group, resource, verb, allowed by RBAC) of every request of the service account."""
        seen = set()
        for line in self.audit_log.read_text().splitlines():
            entry = json.loads(line)
            about = entry.get("objectRef")
            if about and "resource" in about:
                resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
                seen.add((about.get("apiGroup", ""), resource, entry["verb"],
                          entry["annotations"]["authorization.k8s.io/decision"] == "allow"))
        return seen
