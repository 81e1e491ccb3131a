"""A bare Debian 12 machine in a folder, made with mmdebstrap: git and certificates alone. It gets the settings that this machine
needs to reach the network: apt's sources and options, certificates, name servers and proxies."""

import os
import pathlib
import re
import shutil
import subprocess

SUITE = "bookworm"
PACKAGES = "git,ca-certificates"
# Ways to a package or module that a user may have set. PATH, HOME and the like are the bare machine's own.
PASSED_ON = re.compile(r"((https?|ftp|all|no)_proxy|GOPROXY|GOSUMDB|GONOSUMDB|GONOPROXY|GOPRIVATE|GOINSECURE)$", re.IGNORECASE)
APT_OPTION = re.compile(r"Acquire::((https?|ftp|tor)(::|\s)|Check-|Retries|ForceIPv|AllowInsecure)", re.IGNORECASE)


def missing():
    """Why no bare machine can be made here, or None."""
    if os.geteuid() != 0:
        return "needs root, for mounts and chroot"
    for tool, package in (("mmdebstrap", "mmdebstrap"), ("unshare", "util-linux"), ("chroot", "coreutils"), ("ip", "iproute2")):
        if not shutil.which(tool):
            return f"needs {tool} (apt-get install {package}; hack/setup.sh release)"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
        return "needs a mount namespace, which this machine does not allow (unshare --mount --pid --fork)"
    return None


def sources():
    """Lines of apt's sources of Debian 12 that this machine uses; without any mmdebstrap takes deb.debian.org."""
    lines = []
    for path in sorted(pathlib.Path("/etc/apt").glob("sources.list*")):
        for file in [path] if path.is_file() else sorted(path.iterdir()):
            text = file.read_text(errors="replace")
            if file.suffix == ".sources":
                for stanza in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text)):
                    fields = dict(re.findall(r"(?m)^(\S+):[ \t]*(.*)$", stanza))
                    lines += [f"deb {uri} {suite} {fields.get('Components', '')}" for uri in fields.get("URIs", "").split()
                              for suite in fields.get("Suites", "").split() if fields.get("Types", "deb").split()[0] == "deb"]
            else:
                lines += [re.sub(r"\[[^\]]*\]\s*", "", line) for line in text.splitlines() if line.startswith("deb ")]
    return [line for line in lines if re.match(rf"deb \S+ {SUITE}(-updates|-security)? .*\bmain\b", line)]


def make(root, packages=PACKAGES):
    """Makes the machine in the folder `root`, with these packages beside Debian's smallest system."""
    options = subprocess.run(["apt-config", "dump"], capture_output=True, text=True).stdout.splitlines()
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}",
                    *(f"--aptopt={line.removesuffix(';')}" for line in options if APT_OPTION.match(line)), SUITE, root, *sources()],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    for name in ("etc/resolv.conf", "etc/hosts", "etc/apt/auth.conf"):
        if os.path.exists(f"/{name}"):
            shutil.copyfile(f"/{name}", root / name)
    for name in ("etc/apt/auth.conf.d", "usr/local/share/ca-certificates"):
        if os.path.isdir(f"/{name}"):
            shutil.copytree(f"/{name}", root / name, dirs_exist_ok=True)
    if "ca-certificates" in packages:
        run(root, "update-ca-certificates", stdout=subprocess.DEVNULL)


def run(root, command, folder="/root", network=True, **more):
    """Runs a shell command on the machine, in namespaces of its own: its mounts and processes end with it. Without a network,
    loopback is all that there is."""
    environment = {name: value for name, value in os.environ.items() if PASSED_ON.match(name)}
    environment |= {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "dumb"}
    inside = ('mount --make-rprivate / && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && '
              'mount -t proc proc "$0/proc" && cd / && exec chroot "$0" /bin/sh -c "cd \\"$1\\" && $2"')
    alone = [] if network else ["--net"]
    if not network:
        inside = f"ip link set lo up && {inside}"
    return subprocess.run(["unshare", "--mount", "--pid", *alone, "--fork", "--kill-child", "sh", "-c", inside, root, folder, command],
                          env=environment, stdin=subprocess.DEVNULL, **more)  # fmt: skip
