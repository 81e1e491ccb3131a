"""Gets the public data sets that claims compare with: hack/data.sh [--list] [--from DIR] [--to DIR] [SET...]"""

import argparse
import contextlib
import fcntl
import os
import pathlib
import shutil
import sys

import convert
import fetch
import sets as table
from convert import DataError

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder():
    """Where claims look for data: TEPHRA_DATA, else `data` in the repository, else `../shared/data`."""
    if named := os.environ.get("TEPHRA_DATA"):
        return pathlib.Path(named)
    candidates = (ROOT / "data", ROOT.parent / "shared" / "data")
    return next((path for path in candidates if path.is_dir()), candidates[0])


def is_right(path, file):
    try:
        convert.verify(path, file)
        return True
    except (DataError, OSError):
        return False


def from_mirror(mirror, file, staged):
    source = mirror / file.path
    if not source.is_file():
        raise DataError(f"{source}: no such file in the mirror")
    most = max(file.size, 1 << 20) if convert.is_archive(file) else file.size
    if source.stat().st_size > most:
        raise DataError(f"{source}: has {source.stat().st_size:,} bytes, expected at most {most:,}")
    shutil.copyfile(source, staged)
    try:
        convert.verify(staged, file)
    except DataError as problem:
        raise DataError(str(problem).replace(str(staged), str(source))) from None


def from_home(file, staged, have):
    original = b""
    part = staged.with_name(staged.name + ".part")
    if file.url:
        print(f"data: getting {file.url}", file=sys.stderr)
        fetch.download(file.url, part, file.most or file.size)
        original = part.read_bytes()
    try:
        staged.write_bytes(convert.CONVERT[file.convert](original, file, have))
        convert.verify(staged, file)
    except (DataError, UnicodeDecodeError) as problem:
        # A wrong download would be wrong again if the next run went on with it.
        for path in (staged, part, part.with_name(part.name + ".etag")):
            path.unlink(missing_ok=True)
        raise DataError(f"{problem} ({file.url or file.path})") from None
    for path in (part, part.with_name(part.name + ".etag")):
        path.unlink(missing_ok=True)


def get(data, to, mirror):
    """Brings the files of a set that are not here yet. All of them are verified before the first one is put in place."""
    absent = [file for file in data.files if not is_right(to / file.path, file)]
    if not absent:
        print(f"{data.name}: all {len(data.files)} files are here")
        return
    if not mirror and not data.public:
        raise DataError("no public home has it in this form; copy it with hack/data.sh --from DIR from a data folder that has it")
    stage = to / ".partial" / data.name
    stage.mkdir(parents=True, exist_ok=True)
    staged = {file.path: stage / file.path.replace("/", "__") for file in absent}

    def have(path):
        return staged.get(path, to / path)

    for file in absent:  # in the order of the table: what is made from other files comes after these
        if is_right(staged[file.path], file):
            continue  # an earlier run got it and failed at another file of the set
        if mirror:
            from_mirror(mirror, file, staged[file.path])
        else:
            from_home(file, staged[file.path], have)
    for path, source in staged.items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(source, to / path)
    shutil.rmtree(stage)
    print(f"{data.name}: got {len(absent)} of {len(data.files)} files")


@contextlib.contextmanager
def only_one(to):
    """Two runs into one folder would write the same partial files."""
    partial = to / ".partial"
    partial.mkdir(parents=True, exist_ok=True)
    with (partial / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"{to}: another hack/data.sh is at work there") from None
        yield
        (partial / "lock").unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        partial.rmdir()  # stays while it has downloads to go on with


def print_list(sets, to):
    print(f"Data folder: {to}\n")
    for data in sets:
        here = sum(is_right(to / file.path, file) for file in data.files)
        size = sum(file.size for file in data.files)
        as_served = [file for file in data.files if file.url and file.convert == "as-is"]
        print(f"{data.name}: {data.what}")
        print(f"  source    {data.source}")
        print(f"  licence   {data.licence}")
        print(f"  size      {size:,} bytes in {len(data.files)} files, {here} of them here")
        if not data.public:
            print("  home      none in this form: --from DIR copies it from a data folder that has it")
        else:
            print(f"  verified  by SHA-256: {len(as_served)} as downloaded, {len(data.files) - len(as_served)} as converted")


def main(arguments, sets=table.SETS):
    names = [data.name for data in sets]
    parser = argparse.ArgumentParser(prog="hack/data.sh", description="Gets the public data sets that claims compare with.")
    parser.add_argument("--list", action="store_true", help="show the sets, their sources, licences and sizes")
    parser.add_argument("--where", action="store_true", help="print the data folder")
    parser.add_argument("--from", dest="mirror", type=pathlib.Path, metavar="DIR", help="copy from this data folder instead")
    parser.add_argument("--to", type=pathlib.Path, metavar="DIR", help="the data folder (TEPHRA_DATA, else data in the repository)")
    parser.add_argument("set", nargs="*", help=f"some of {', '.join(names)}; without a name all that can be had")
    given = parser.parse_args(arguments)
    to = given.to or folder()
    if given.where:
        print(to)
        return 0
    if unknown := [name for name in given.set if name not in names]:
        parser.error(f"{unknown[0]}: no such set, expected one of {', '.join(names)}")
    if given.mirror and not given.mirror.is_dir():
        parser.error(f"--from {given.mirror}: no such folder")
    chosen = [data for data in sets if not given.set or data.name in given.set]
    if given.list:
        print_list(chosen, to)
        return 0

    failed = 0
    try:
        with only_one(to):
            for data in chosen:
                try:
                    get(data, to, given.mirror)
                except (DataError, OSError) as problem:
                    expected = not data.public and not given.mirror and not given.set
                    failed += not expected
                    print(f"{data.name}: {'skipped' if expected else 'FAILED'}: {problem}", file=sys.stderr)
    except (DataError, OSError) as problem:
        print(f"data: {problem}", file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\ndata: interrupted; the next run goes on here", file=sys.stderr)
        sys.exit(130)
