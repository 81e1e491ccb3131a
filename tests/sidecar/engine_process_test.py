"""tephra-engine as a process: its socket, its signals, its configuration, and its clients.

engine_process_test.py TEPHRA_ENGINE TEPHRA
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ENGINE, TEPHRA = sys.argv[1:3]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class EngineProcess(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.config = self.folder / "engine.yaml"
        self.socket = self.folder / "engine.sock"
        self.log = self.folder / "log"

    def write(self, text):
        """As a mounted ConfigMap changes: a new file takes the old one's name."""
        beside = self.folder / "new"
        beside.write_text(f"socket: {self.socket}\n{text}")
        beside.rename(self.config)

    def start(self, *options, preexec_fn=None):
        process = subprocess.Popen([ENGINE, "--config", self.config, *options],
                                   stderr=self.log.open("a"), preexec_fn=preexec_fn)

        def stop():
            process.kill()
            process.wait()

        self.addCleanup(stop)
        self.wait_for(lambda: "serving" in self.log.read_text() or process.poll() is not None)
        return process

    def wait_for(self, condition):
        for _ in range(1000):
            if condition():
                return
            time.sleep(0.01)
        self.fail(f"it never came; the log:\n{self.log.read_text()}")

    def run_engine(self, *options):
        return subprocess.run([ENGINE, *options], capture_output=True, text=True, timeout=30)

    def tephra(self, *arguments):
        return subprocess.run([TEPHRA, *arguments], capture_output=True, text=True, timeout=30)

    def test_sigterm_ends_it_in_order_and_takes_the_socket_away(self):
        self.write("")
        process = self.start()
        self.assertTrue(self.socket.is_socket())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0)
        self.assertFalse(self.socket.exists())

    def test_a_socket_left_by_a_dead_engine_is_replaced(self):
        self.write("")
        dead = self.start()
        dead.kill()
        dead.wait()
        self.assertTrue(self.socket.exists())
        self.log.write_text("")
        self.start()
        self.assertEqual(self.tephra("top", "--socket", self.socket).returncode, 1)

    def test_a_socket_that_is_served_is_refused(self):
        self.write("")
        self.start()
        second = self.run_engine("--config", self.config)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another process listens on it", second.stderr)
        self.assertTrue(self.socket.exists())

    def test_a_file_that_is_no_socket_is_left_alone(self):
        self.write("")
        self.socket.write_text("mine")
        self.assertEqual(self.run_engine("--config", self.config).returncode, 1)
        self.assertEqual(self.socket.read_text(), "mine")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_a_peer_of_another_user_is_turned_away(self):
        self.write("")
        self.start()
        os.chmod(self.folder, 0o755)
        os.chmod(self.socket, 0o777)  # even so

        stranger = os.fork()
        if stranger == 0:
            turned_away = False
            try:
                os.setgid(65534)
                os.setuid(65534)
                with socket.socket(socket.AF_UNIX) as peer:
                    peer.connect(str(self.socket))
                    peer.settimeout(10)
                    turned_away = peer.recv(1) == b""
            finally:
                os._exit(0 if turned_away else 1)
        self.assertEqual(os.waitpid(stranger, 0)[1], 0)
        self.assertIn("refused a connection of another user", self.log.read_text())
        self.assertEqual(self.tephra("top", "--socket", self.socket).returncode, 1)  # its own may

    def test_check_config_says_what_is_wrong_and_where(self):
        self.write("log: { level: loud }\n")
        checked = self.run_engine("--check-config", "--config", self.config)
        self.assertEqual(checked.returncode, 2)
        self.assertRegex(checked.stderr, r'engine\.yaml:2: log\.level: "loud", expected debug')
        self.write("")
        checked = self.run_engine("--check-config", "--config", self.config)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_a_good_file_is_taken_over_and_a_bad_one_changes_nothing(self):
        metrics = f"127.0.0.1:{free_port()}"
        also = f"metrics: {{ listen: '{metrics}' }}\n"

        def reloads(result):
            text = urllib.request.urlopen(f"http://{metrics}/metrics").read().decode()
            name = rf'tephra_engine_config_reloads_total{{result="{result}"}} (\d+)'
            return int(re.search(name, text).group(1))

        self.write(also)
        process = self.start()
        self.assertEqual((reloads("good"), reloads("bad")), (0, 0))
        self.write(also + "engine: { search_budget: 7 }\n")
        self.wait_for(lambda: reloads("good") == 1)
        self.write(also + "engine: { search_budget: seven }\n")
        self.wait_for(lambda: reloads("bad") == 1)
        self.assertIn('engine.search_budget: \\"seven\\"', self.log.read_text())
        process.send_signal(signal.SIGHUP)  # asked for, so it says so again
        self.wait_for(lambda: reloads("bad") == 2)
        self.write(also + "listen: 127.0.0.1:1\n")
        self.wait_for(lambda: "needs a restart key=listen" in self.log.read_text())
        self.assertIsNone(process.poll())

    def test_probes_are_answered_while_slow_clients_hold_connections(self):
        port = free_port()
        self.write(f"metrics: {{ listen: '127.0.0.1:{port}' }}\n")
        process = self.start()

        def code(path):
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).status
            except urllib.error.HTTPError as error:
                return error.code

        def memory_kib():
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

        before = memory_kib()
        for many in (40, 400):
            slow = []
            for i in range(many):
                client = socket.create_connection(("127.0.0.1", port), 5)
                if i % 2:
                    client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
                slow.append(client)
            for _ in range(3):
                for client in slow:
                    try:
                        client.send(b"a")
                    except OSError:
                        pass  # closed to make room
                self.assertEqual([code(path) for path in ("/healthz", "/metrics", "/readyz")], [200, 200, 503])
            self.assertLess(len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir())), 200)
            for client in slow:
                client.close()
        # A request without an end is cut off, and not kept.
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", port), 5) as client:
                try:
                    client.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * (1 << 20))
                    self.assertIn(b" 431 ", client.recv(100))
                except ConnectionError:
                    pass
        self.assertEqual(code("/healthz"), 200)
        self.assertLess(memory_kib(), before + 32 * 1024)

    def test_probes_have_a_port_of_their_own(self):
        metrics, probes = free_port(), free_port()
        self.write(f"metrics: {{ listen: '127.0.0.1:{metrics}' }}\nprobes: {{ listen: '127.0.0.1:{probes}' }}\n")
        self.start()

        def code(path):
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{probes}{path}", timeout=5).status
            except urllib.error.HTTPError as error:
                return error.code

        idle = [socket.create_connection(("127.0.0.1", metrics), 5) for _ in range(200)]
        self.assertEqual([code(path) for path in ("/healthz", "/readyz", "/metrics")], [200, 503, 404])
        for client in idle:
            client.close()

    def test_only_loopback_addresses_are_listened_on(self):
        refused = self.run_engine("--listen", "0.0.0.0:9101")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("0.0.0.0:9101", refused.stderr)

    def test_a_client_sees_what_is_missing(self):
        port = free_port()
        self.write(f"listen: 127.0.0.1:{port}\n")
        unanswered = self.tephra("explain", "job/train", "--socket", self.socket)
        self.assertEqual(unanswered.returncode, 3)
        self.assertIn(f"no engine answers at {self.socket}", unanswered.stderr)
        self.start()
        for where in (["--socket", self.socket], ["--address", f"127.0.0.1:{port}"]):
            early = self.tephra("top", *where)
            self.assertEqual(early.returncode, 1)
            self.assertIn("knows no cluster yet", early.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
