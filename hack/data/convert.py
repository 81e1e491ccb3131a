"""Makes the files of the data folder of their public originals, and verifies archives by what they hold."""

import csv
import gzip
import hashlib
import io
import lzma
import pathlib
import re
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = ("cpu250", "default", "gpushare60", "gpuspec20", "multigpu30")
SEEDS = range(42, 47)


class DataError(Exception):
    """What is wrong with a file, and what was expected."""


def as_is(original, file, have):
    return original


def gunzip(original, file, have):
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(original)) as packed:
            return packed.read(file.size + 1)  # one more tells a file that is too long
    except (OSError, EOFError) as problem:
        raise DataError(f"{file.url}: is no complete gzip file: {problem}") from None


def curves(original, file, have):
    """The rows of five workloads and seeds 42 to 46, by workload, policy and seed."""
    lines = original.decode().splitlines()
    if not lines or not lines[0].startswith("workload,sc_policy,tune,seed,total_gpus,0,1,"):
        raise DataError(f"{file.url}: its first line is {lines[:1]}, expected workload,sc_policy,tune,seed,total_gpus,0,1,...")
    chosen = {(f"openb_pod_list_{name}", str(seed)) for name in WORKLOADS for seed in SEEDS}
    rows = [line for line in lines[1:] if (line.split(",")[0], line.split(",")[3]) in chosen]
    rows.sort(key=lambda line: (line.split(",")[0], line.split(",")[1], line.split(",")[3]))
    return "".join(f"{line}\r\n" for line in (lines[0], *rows)).encode()


def muri_published(original, file, have):
    """Of the script that draws figures 9 and 10, the values of traces 3 and 4."""
    text = original.decode()
    out = io.StringIO()
    table = csv.writer(out)  # with lines that end in CR LF
    table.writerow(["metric", "policy", "trace3", "trace4"])
    four = (("SRTF", "SRTF"), ("SRSF", "SRSF"), ("Tiresias-L", "Tiresias_L"), ("Themis", "themis"))
    seven = (*four[:2], ("Muri-S", "Muri_S"), four[2], ("AntMan", "antman"), four[3], ("Muri-L", "Muri_L"))
    for metric, ending, policies in (("avg_jct_s", "JCT", seven), ("makespan_s", "Makespan", four), ("p99_jct_s", "99JCT", four)):
        for policy, variable in policies:
            found = re.search(rf"^{variable}_{ending}_raw = \[([^\]]*)\]", text, re.MULTILINE)
            values = [value.strip() for value in found[1].split(",")] if found else []
            if len(values) != 8:
                raise DataError(f"{file.url}: {variable}_{ending}_raw has {len(values)} values, expected 8")
            table.writerow([metric, policy, values[4], values[6]])
    return out.getvalue().encode()


def arrival_orders(original, file, have):
    """The archive of 25 arrival orders, made from the lists of nodes and pods: `have(path)` is where these are."""
    def run(*command):
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            raise DataError(f"{file.path}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    nodes = have("openb/openb_node_list_gpu_node.csv")
    with tempfile.TemporaryDirectory() as scratch:
        orders = f"{scratch}/orders"
        run(ROOT / "hack/go", "build", "-o", orders, ROOT / "hack/data/orders/main.go")
        texts = {f"arrival_orders/{name}_{seed}.txt": run(orders, nodes, have(f"openb/openb_pod_list_{name}.csv"), str(seed))
                 for name in WORKLOADS for seed in SEEDS}  # fmt: skip
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as archive:
        for name, text in sorted(texts.items()):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return out.getvalue()


CONVERT = {"as-is": as_is, "gunzip": gunzip, "curves": curves, "muri_published": muri_published, "arrival_orders": arrival_orders}


def is_archive(file):
    return file.convert == "arrival_orders"


def _with_headers(size):
    """At most so many bytes has a tar archive with files of this size together, a thousand of them at most."""
    return size + (1 << 20)


def _archive_digest(path, file):
    """(bytes, SHA-256) over the names and contents of an archive. Refuses what a user would not want unpacked."""
    digest, total = hashlib.sha256(), 0
    try:
        # To its end, because a reader of the archive alone does not see that the compressed stream is cut.
        with lzma.open(path) as packed:
            unpacked = packed.read(_with_headers(file.size) + 1)
        if len(unpacked) > _with_headers(file.size):
            raise DataError(f"{path}: unpacks to more than {_with_headers(file.size):,} bytes")
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            contents = {}
            for member in archive:
                parts = pathlib.PurePosixPath(member.name).parts
                if member.isdir() and ".." not in parts and not member.name.startswith("/"):
                    continue
                if not member.isreg() or member.name.startswith("/") or ".." in parts:
                    raise DataError(f"{path}: member {member.name!r} is not a regular file below the archive's folder")
                total += member.size
                if total > file.size:
                    raise DataError(f"{path}: holds more than {file.size:,} bytes")
                contents[member.name] = archive.extractfile(member).read()
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as problem:
        raise DataError(f"{path}: is no complete archive: {problem}") from None
    for name, content in sorted(contents.items()):
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return total, digest.hexdigest()


def verify(path, file):
    """Raises DataError unless the file at `path` is the file of the table."""
    if is_archive(file):
        size, sha256 = _archive_digest(path, file)
    else:
        size = path.stat().st_size
        if size == file.size:
            with path.open("rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
        else:
            raise DataError(f"{path}: has {size:,} bytes, expected {file.size:,}")
    if (size, sha256) != (file.size, file.sha256):
        raise DataError(f"{path}: SHA-256 is {sha256}, expected {file.sha256}")
