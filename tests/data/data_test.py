#!/usr/bin/env python3
"""Tests of hack/data.sh against a server on loopback and against mirrors: a made-up table of sets, so that no network is
needed, and the real table against the data folder where there is one."""

import contextlib
import fcntl
import gzip
import hashlib
import http.server
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "hack/data"))
sys.dont_write_bytecode = True
import convert
import fetch
import get
import sets

fetch.PAUSE_S = 0
REAL = next((path for path in (pathlib.Path(os.environ.get("TEPHRA_DATA") or "/nonexistent"), ROOT / "data",
                               ROOT.parent / "shared/data") if path.is_dir()), None)  # fmt: skip
ONE, TWO, THREE = b"one\n" * 5000, b"two\n" * 40_000, b"three\n" * 300


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves what the test puts into `server.files`, and fails in the ways that it puts into `server.tricks`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        content = self.server.files.get(self.path)
        trick = self.server.tricks.get(self.path, [])
        trick = trick.pop(0) if trick else ""
        if content is None or trick == "503":
            self.send_error(503 if content else 404)
            return
        tag = '"' + hashlib.md5(content).hexdigest() + '"'
        begin = 0
        asked = re.match(r"bytes=(\d+)-$", self.headers.get("Range") or "")
        if asked and trick != "no ranges" and self.headers.get("If-Range") in (None, tag):
            begin = int(asked[1])
            if begin >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        if trick != "no length":
            self.send_header("Content-Length", str(len(content) - begin))
        self.send_header("ETag", tag)
        self.end_headers()
        rest = content[begin:]
        self.wfile.write(rest[:len(rest) // 2] if trick == "cut" else rest)
        self.close_connection = True

    def log_message(self, *arguments):
        pass


def pack(members):
    """An archive of (name, content) or (TarInfo, content)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as archive:
        for member, content in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def archive_digest(members):
    digest = hashlib.sha256()
    for name, content in sorted(members):
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.to = pathlib.Path(folder.name) / "data"
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.files = {"/one": ONE, "/two": gzip.compress(TWO), "/three": THREE}
        self.server.tricks, self.server.requests = {}, []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        home = f"http://127.0.0.1:{self.server.server_port}"

        def file(path, content, url="", *more):
            return sets.File(path, len(content), hashlib.sha256(content).hexdigest(), url and home + url, *more)

        orders = [("orders/a.txt", b"1\n"), ("orders/b.txt", b"2\n")]
        self.orders = pack(orders)
        self.sets = (
            sets.Set("pair", "", "", "", (file("pair/one", ONE, "/one"), file("pair/two", TWO, "/two", "gunzip"))),
            sets.Set("single", "", "", "", (file("single/three", THREE, "/three"),)),
            sets.Set("private", "", "", "", (file("private/four", b"4"),
                     sets.File("private/orders.tar.xz", 4, archive_digest(orders), "", "arrival_orders")), public=False),
        )  # fmt: skip

    def run_get(self, *arguments):
        """(exit status, what was printed)."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = get.main(["--to", str(self.to), *map(str, arguments)], self.sets)
        return status, said.getvalue()

    def here(self):
        """What is in the data folder, partial downloads aside."""
        return {str(path.relative_to(self.to)): path.read_bytes() for path in sorted(self.to.rglob("*"))
                if path.is_file() and ".partial" not in path.parts}  # fmt: skip

    PAIR = {"pair/one": ONE, "pair/two": TWO}
    PUBLIC = {**PAIR, "single/three": THREE}

    def test_sets_with_a_public_home_are_fetched_once(self):
        status, said = self.run_get()
        self.assertEqual((status, self.here()), (0, self.PUBLIC), said)
        self.assertIn("private: skipped: no public home has it", said)
        self.assertFalse((self.to / ".partial").exists())
        self.server.requests.clear()
        self.assertEqual(self.run_get()[0], 0)
        self.assertEqual(self.server.requests, [])

    def test_a_set_that_is_named_has_to_come(self):
        self.assertEqual(self.run_get("private")[0], 1)
        self.assertEqual(self.run_get("single")[0], 0)
        self.assertEqual(self.here(), {"single/three": THREE})
        with self.assertRaises(SystemExit) as ended:
            self.run_get("nothing")
        self.assertEqual(ended.exception.code, 2)

    def test_a_missing_file_fails_its_set_alone_and_applies_nothing_of_it(self):
        two = self.server.files.pop("/two")
        status, said = self.run_get()
        self.assertEqual((status, self.here()), (1, {"single/three": THREE}))
        self.assertRegex(said, r"pair: FAILED: http://\S+/two: HTTP status 404 Not Found, expected 200 or 206")
        self.server.files["/two"] = two
        self.server.requests.clear()
        self.assertEqual((self.run_get()[0], self.here()), (0, self.PUBLIC))
        self.assertEqual(self.server.requests, [("/two", None, None)], "what was verified is not fetched again")

    def test_an_interrupted_download_goes_on_in_the_next_run(self):
        self.server.tricks["/three"] = ["cut", "503", "503", "503"]
        status, said = self.run_get("single")
        self.assertEqual((status, self.here()), (1, {}), said)
        self.assertIn(f"{len(THREE) // 2:,} bytes early", said)
        part = self.to / ".partial/single/single__three.part"
        self.assertEqual(part.read_bytes(), THREE[:len(THREE) // 2])
        self.server.requests.clear()
        self.assertEqual((self.run_get("single")[0], self.here()), (0, {"single/three": THREE}))
        self.assertEqual(self.server.requests[0][1], f"bytes={len(THREE) // 2}-")
        self.assertIsNotNone(self.server.requests[0][2], "If-Range")

    def test_a_download_that_is_cut_goes_on_at_once(self):
        self.server.tricks["/one"] = ["cut", "cut"]
        self.assertEqual((self.run_get("pair")[0], self.here()), (0, self.PAIR))
        ranges = [asked for path, asked, _ in self.server.requests if path == "/one"]
        self.assertEqual(ranges, [None, f"bytes={len(ONE) // 2}-", f"bytes={len(ONE) // 4 * 3}-"])

    def test_a_server_without_ranges_sends_it_all_again(self):
        self.server.tricks["/one"] = ["cut", "no ranges"]
        self.assertEqual((self.run_get("pair")[0], self.here()), (0, self.PAIR))

    def test_the_rest_of_another_version_is_not_appended(self):
        self.server.files["/three"] = b"older\n" * 300
        self.server.tricks["/three"] = ["cut", "503", "503", "503"]
        self.assertEqual(self.run_get("single")[0], 1)
        self.server.files["/three"] = THREE
        self.assertEqual((self.run_get("single")[0], self.here()), (0, {"single/three": THREE}))

    def test_an_altered_file_is_refused_and_fetched_afresh_next_time(self):
        self.server.files["/three"] = b"x" + THREE[1:]
        status, said = self.run_get("single")
        self.assertEqual((status, self.here()), (1, {}))
        self.assertRegex(said, r"SHA-256 is [0-9a-f]{64}, expected [0-9a-f]{64} \(http")
        self.server.files["/three"] = THREE
        self.assertEqual((self.run_get("single")[0], self.here()), (0, {"single/three": THREE}))

    def test_a_cut_gzip_file_is_refused(self):
        self.server.files["/two"] = self.server.files["/two"][:-9]
        status, said = self.run_get("pair")
        self.assertEqual((status, self.here()), (1, {}))
        self.assertIn("is no complete gzip file", said)

    def test_what_grows_beyond_its_size_is_refused(self):
        for trick, served in (("", THREE + b"x"), ("no length", THREE * 100)):
            self.server.files["/three"], self.server.tricks["/three"] = served, [trick]
            status, said = self.run_get("single")
            self.assertEqual((status, self.here()), (1, {}))
            self.assertIn(f"expected at most {len(THREE):,}" if not trick else f"more than {len(THREE):,} bytes", said)
        self.server.files["/two"] = gzip.compress(b"\0" * 50_000_000)  # 50 kB that unpack to 50 MB
        status, said = self.run_get("pair")
        self.assertEqual((status, self.here()), (1, {}))
        self.assertIn("expected 160,000", said)

    def test_a_file_that_is_here_and_wrong_is_replaced_only_by_a_right_one(self):
        (self.to / "single").mkdir(parents=True)
        (self.to / "single/three").write_bytes(b"mine")
        three = self.server.files.pop("/three")
        self.assertEqual((self.run_get("single")[0], self.here()), (1, {"single/three": b"mine"}))
        self.server.files["/three"] = three
        self.assertEqual((self.run_get("single")[0], self.here()), (0, {"single/three": THREE}))

    def mirror(self, **changes):
        """A data folder with all sets; a change names a file by its last part: its content, or None to leave it out."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, content in {**self.PUBLIC, "private/four": b"4", "private/orders.tar.xz": self.orders}.items():
            content = changes.get(pathlib.PurePath(path).name.split(".")[0], content)
            if content is not None:
                target = pathlib.Path(folder.name) / path
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content)
        return folder.name

    def test_a_mirror_gives_every_set_without_the_network(self):
        status, said = self.run_get("--from", self.mirror())
        self.assertEqual(status, 0, said)
        self.assertEqual(self.here(), {**self.PUBLIC, "private/four": b"4", "private/orders.tar.xz": self.orders})
        self.assertEqual(self.server.requests, [])

    def test_a_mirror_that_is_wrong_is_refused_set_by_set(self):
        for change, expected in ((None, "pair/two: no such file in the mirror"),
                                 (TWO[:-1], "pair/two: has 159,999 bytes, expected 160,000"),
                                 (TWO * 2, "pair/two: has 320,000 bytes, expected at most 160,000"),
                                 (b"x" + TWO[1:], "pair/two: SHA-256 is ")):  # fmt: skip
            with self.subTest(expected=expected):
                shutil.rmtree(self.to, ignore_errors=True)
                status, said = self.run_get("--from", self.mirror(two=change))
                self.assertEqual(status, 1)
                self.assertIn(expected, said)
                self.assertEqual(sorted(self.here()), ["private/four", "private/orders.tar.xz", "single/three"])

    def test_an_archive_that_leaves_its_folder_is_refused(self):
        link = tarfile.TarInfo("orders/a.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        good = ("orders/b.txt", b"2\n")
        for members, expected in (([("../a.txt", b"1\n"), good], "'../a.txt' is not a regular file below"),
                                  ([("/tmp/a.txt", b"1\n"), good], "'/tmp/a.txt' is not a regular file below"),
                                  ([("orders/../../a.txt", b"1\n"), good], "is not a regular file below"),
                                  ([(link, b""), good], "'orders/a.txt' is not a regular file below"),
                                  ([("orders/a.txt", b"0" * 9_000_000), good], "to more than 1,048,580 bytes"),
                                  ([("orders/a.txt", b"0" * 9_000), good], "holds more than 4 bytes"),
                                  ([("orders/a.txt", b"9\n"), good], "SHA-256 is ")):  # fmt: skip
            with self.subTest(expected=expected):
                status, said = self.run_get("--from", self.mirror(orders=pack(members)), "private")
                self.assertEqual((status, self.here()), (1, {}))
                self.assertIn(expected, said)
        status, said = self.run_get("--from", self.mirror(orders=self.orders[:-20]), "private")
        self.assertEqual((status, self.here()), (1, {}))
        self.assertIn("is no complete archive", said)

    def test_two_runs_into_one_folder_do_not_meet(self):
        (self.to / ".partial").mkdir(parents=True)
        with (self.to / ".partial/lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            status, said = self.run_get()
        self.assertEqual((status, self.here()), (1, {}))
        self.assertIn("another hack/data.sh is at work there", said)

    def test_the_list_names_source_licence_and_size(self):
        done = subprocess.run([ROOT / "hack/data.sh", "--list", "--to", self.to], capture_output=True, text=True, check=True)
        for data in sets.SETS:
            for word in (data.name, data.source, data.licence, f"{sum(file.size for file in data.files):,} bytes"):
                self.assertIn(word, done.stdout)


class Table(unittest.TestCase):
    files = [file for data in sets.SETS for file in data.files]

    def test_the_table_is_complete(self):
        self.assertEqual(len({file.path for file in self.files}), len(self.files))
        for data in sets.SETS:
            for file in data.files:
                self.assertRegex(file.sha256, "^[0-9a-f]{64}$", file.path)
                self.assertIn(file.convert, convert.CONVERT)
                self.assertEqual(bool(file.url), data.public and file.convert != "arrival_orders", file.path)
                if "githubusercontent" in file.url:
                    self.assertRegex(file.url, r"/[0-9a-f]{40}/", "a commit that does not move")

    def test_every_file_that_a_claim_needs_is_in_it(self):
        needed = set()
        for path in (ROOT / "tests/claims").iterdir():
            if path.is_file() and path.name != "lib_test.py":
                needed |= set(re.findall(r"lib\.(?:need|find)_data\(f?[\"']([^\"']+)[\"']", path.read_text(errors="replace")))
        self.assertGreater(len(needed), 5)
        for path in needed:
            known = re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)) + "(/.*)?$")
            self.assertTrue(any(known.match(file.path) for file in self.files), path)

    def test_curves_are_selected_and_sorted(self):
        head = "workload,sc_policy,tune,seed,total_gpus,0,1,2"
        rows = [f"openb_pod_list_{name},{policy},1.3,{seed},6212,0.1,0.2,0.3" for name in sorted((*convert.WORKLOADS, "cpu050"))
                for policy in ("01-Random", "06-FGD") for seed in range(42, 52)]  # fmt: skip
        wanted = [row for row in rows if "cpu050" not in row and int(row.split(",")[3]) < 47]
        file = sets.File("", 0, "", "http://x")
        made = convert.curves("\n".join([head, *reversed(rows)]).encode(), file, None)
        self.assertEqual(made.decode().splitlines(), [head, *wanted])
        with self.assertRaises(convert.DataError):
            convert.curves(b"something else\n", file, None)

    @unittest.skipUnless(REAL, "no data folder")
    def test_the_real_data_folder_is_a_mirror(self):
        with tempfile.TemporaryDirectory() as to, contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(get.main(["--from", str(REAL), "--to", to]), 0)
            for file in self.files:
                self.assertTrue((pathlib.Path(to) / file.path).is_file(), file.path)

    @unittest.skipUnless(REAL, "no data folder")
    def test_real_results_follow_from_their_originals(self):
        named = {file.path: file for file in self.files}
        with tempfile.TemporaryDirectory() as folder:
            for path, original in (("openb/arrival_orders.tar.xz", b""),
                                   ("openb/published_allocation_curves.csv", None), ("swf/KTH-SP2-1996-2.1-cln.swf", None)):  # fmt: skip
                if original is None:
                    original = (REAL / path).read_bytes()
                file = named[path]
                packed = gzip.compress(original) if file.convert == "gunzip" else original
                made = pathlib.Path(folder) / "made"
                made.write_bytes(convert.CONVERT[file.convert](packed, file, lambda needed: REAL / needed))
                convert.verify(made, file)

    @unittest.skipUnless(REAL, "no data folder")
    def test_published_averages_are_found_in_a_script(self):
        rows = [line.split(",") for line in (REAL / "muri/published.csv").read_text().splitlines()[1:]]
        variable = {"Tiresias-L": "Tiresias_L", "Muri-S": "Muri_S", "Muri-L": "Muri_L", "Themis": "themis", "AntMan": "antman"}
        ending = {"avg_jct_s": "JCT", "makespan_s": "Makespan", "p99_jct_s": "99JCT"}
        script = "".join(f"{variable.get(policy, policy)}_{ending[metric]}_raw = [1, 2, 3, 4.0, {three}, 6, {four}, 8]\n"
                         for metric, policy, three, four in rows)  # fmt: skip
        file = next(file for file in self.files if file.path == "muri/published.csv")
        made = convert.muri_published(script.encode(), file, None)
        self.assertEqual(made, (REAL / "muri/published.csv").read_bytes())
        with self.assertRaises(convert.DataError):
            convert.muri_published(script.replace("SRSF_JCT", "SRSF_TCJ").encode(), file, None)


class Orders(unittest.TestCase):
    def test_wrong_lists_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder) / "nodes.csv"
            for text, expected in (("sn,gpu\na,many\n", 'nodes.csv:2: gpu is "many", expected a number'),
                                   ("name\na\n", 'nodes.csv: no column "sn"'), ("sn,gpu\n", "1 lines, expected a header")):  # fmt: skip
                bad.write_text(text)
                with self.assertRaises(convert.DataError) as refused:
                    convert.arrival_orders(b"", sets.File("orders", 0, ""), lambda path: bad)
                self.assertIn(expected, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
