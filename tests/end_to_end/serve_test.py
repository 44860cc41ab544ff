"""perjoule serve: a node on simulated GPUs as its clients see it."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from command import COMMAND, NOBODY, CommandTest, TwinTest, limit_mw, main, needs_nobody, wait_for_limit


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the daemon's socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


def ask(path, method, target, body=None, headers=None):
    """Status, head and body; JSON where it is."""
    connection = UnixConnection(path) if isinstance(path, str) else http.client.HTTPConnection("127.0.0.1", path, timeout=60)
    connection.request(method, target, json.dumps(body) if body is not None else None, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, json.loads(text) if answer.headers.get("Content-Type") == "application/json" and text else text


@contextlib.contextmanager
def daemon(folder, *words, environment=None):
    """A daemon at folder/socket, whose document of the start it yields; ended well at the end."""
    process = subprocess.Popen([COMMAND, "serve", "--json", "--socket", f"{folder}/socket", "--name", "n1", *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    line = process.stdout.readline()
    assert line, process.communicate()
    begun = json.loads(line)
    begun["process"] = process
    begun["port"] = next((int(one.rsplit(":", 1)[1]) for one in begun["addresses"] if "127.0.0.1" in one), None)
    give_up = time.monotonic() + 60
    while ask(f"{folder}/socket", "GET", "/readyz")[0] != 200:
        assert time.monotonic() < give_up, "it measures nothing"
        time.sleep(0.05)
    try:
        yield begun
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        process.stdout.close()
        process.stderr.close()


def knob_id():
    shown = subprocess.run([COMMAND, "devices", "--json"], capture_output=True, text=True, check=True, timeout=60)
    gpu = [one for one in json.loads(shown.stdout)["devices"] if one["kind"] == "gpu"][0]
    return next(knob["id"] for knob in gpu["knobs"] if knob["name"] == "power limit")


def wait_for(what, seconds=60):
    give_up = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < give_up, "it never was so"
        time.sleep(0.05)


class Scenes:
    def __init__(self, folder):
        self.folder = folder
        self.socket = f"{folder}/socket"

    def get(self, target, **more):
        return ask(self.socket, "GET", target, **more)

    def the_node_is_told(self):
        (self.folder / "documents").mkdir()
        frontier = {"schema": "perjoule.frontier.v1", "points": []}
        (self.folder / "documents" / "resnet.json").write_text(json.dumps(frontier))
        (self.folder / "documents" / "notes.txt").write_text("no document")
        (self.folder / "documents" / "other.json").write_text("[]")
        (self.folder / "secret.json").write_text(json.dumps({"schema": "secret"}))
        subprocess.run([COMMAND, "run", "--", "sleep", "0.3"], check=True, capture_output=True, timeout=60)
        with daemon(self.folder, "--documents", str(self.folder / "documents"), "--open-loopback", "0") as begun:
            status, _, version = self.get("/api/v1/version")
            assert (status, version["node"], version["role"]) == (200, "n1", "admin"), version
            node = self.get("/api/v1/node")[2]
            assert node["simulated"] is True and [one["kind"] for one in node["devices"]] == ["gpu", "gpu", "cpu"], node
            picture = self.get("/api/v1/node/picture")[2]
            assert picture["total_w"] > 100 and "simulated" in picture["status"], picture
            history = self.get("/api/v1/node/history?points=10")[2]
            assert [value for value in history["mean_w"] if value is not None], history
            runs = self.get("/api/v1/runs")[2]["runs"]
            assert len(runs) == 1 and runs[0]["command"] == "sleep 0.3", runs
            run = self.get(f"/api/v1/runs/{runs[0]['id']}")[2]
            source = run["timelines"][0]
            timeline = self.get(f"/api/v1/runs/last/timeline?points=5&source={source}")[2]
            assert 0 < len(timeline["mean_w"]) <= 5 and timeline["samples"] > 0, timeline
            documents = self.get("/api/v1/documents")[2]["documents"]
            assert [(one["name"], one["schema"]) for one in documents] == [("resnet.json", "perjoule.frontier.v1")], documents
            assert self.get("/api/v1/documents/resnet.json")[2] == frontier
            # Nothing leads out of the folder, and no pipe is waited for.
            os.symlink(self.folder / "secret.json", self.folder / "documents" / "link.json")
            os.mkfifo(self.folder / "documents" / "pipe.json")
            (self.folder / "documents" / "folder.json").mkdir()
            for name in ("link.json", "pipe.json", "folder.json"):
                assert self.get(f"/api/v1/documents/{name}")[0] == 404, name
            assert len(self.get("/api/v1/documents")[2]["documents"]) == 1
            (self.folder / "documents" / "broken.json").write_text('{"schema": "x"')
            assert self.get("/api/v1/documents/broken.json")[0] == 500
            for name in ("../secret.json", "..%2Fsecret.json", "%2e%2e/secret.json", "/etc/passwd", ".json", "notes.txt", "nothing.json"):
                assert self.get(f"/api/v1/documents/{name}")[0] in (400, 404), name
            # Anyone on this machine may read at the open port, and no more.
            port = begun["port"]
            assert ask(port, "GET", "/api/v1/node/picture")[0] == 200
            assert ask(port, "GET", "/api/v1/node/picture", headers={"Host": "evil.example"})[0] == 401
            assert ask(port, "POST", "/api/v1/leases", {"knob": "x", "value": "y"})[0] == 403
            metrics = self.get("/metrics")[2]
            checked = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True, check=False, timeout=60)
            assert checked.returncode == 0, checked.stdout + checked.stderr
            begun["process"].send_signal(signal.SIGTERM)
            assert begun["process"].wait(timeout=60) == 0
        assert not os.path.exists(self.socket)

    def answers_are_as_the_description_says(self):
        """Every route of openapi.json, asked; every answer against its schema."""
        subprocess.run([COMMAND, "run", "--", "sleep", "0.2"], check=True, capture_output=True, timeout=60)
        (self.folder / "documents").mkdir()
        (self.folder / "documents" / "a.json").write_text(json.dumps({"schema": "perjoule.frontier.v1"}))
        with daemon(self.folder, "--documents", str(self.folder / "documents")):
            description = self.get("/api/v1/openapi.json")[2]
            import jsonschema  # noqa: PLC0415 - of Debian, not needed by the other scenes

            lease = ask(self.socket, "POST", "/api/v1/leases", {"knob": knob_id(), "value": "400 W"})[2]
            source = self.get("/api/v1/runs/last")[2]["timelines"][0]
            definition = {"batch_sizes": [32, 64], "default_batch": 64, "target": 0.9, "max_power_w": 300}
            ask(self.socket, "PUT", "/api/v1/jobs/nightly", definition)
            for _ in range(2):
                assert ask(self.socket, "POST", "/api/v1/jobs/nightly/next")[0] == 200
            pipeline = ask(self.socket, "POST", "/api/v1/pipelines", {"stages": 1})[2]
            asset = re.search(r"assets/([^\"]+)", self.get("/")[2])[1]
            words = {"runs": "last", "leases": lease["id"], "documents": "a.json", "assets": asset, "jobs": "nightly",
                     "pipelines": pipeline["id"]}
            bodies = {"perjoule.lease-request": {"knob": "none", "value": "1 W"}, "perjoule.lease-renewal": {"seconds": 5},
                      "perjoule.train-job-definition": definition, "perjoule.train-abandoned": {"trial": 1},
                      "perjoule.pipeline-definition": {"stages": 2}, "perjoule.pipeline-question": {"client": "a", "call": "status"},
                      "perjoule.pipeline-straggler": {"pipeline": 0, "slowdown": 1.2},
                      "perjoule.train-report": {"trial": 2, "epochs": 1, "energy_j": 3000, "time_s": 10, "metric": 0.5}}
            asked = 0
            for path, methods in description["paths"].items():
                for method, operation in methods.items():
                    if "text/event-stream" in operation["responses"]["200"]["content"]:
                        continue
                    parts = path.split("/")
                    target = "/".join(words[before] if part.startswith("{") else part for before, part in zip([""] + parts, parts))
                    if "timeline" in path:
                        target += f"?source={source}"
                    body = bodies.get(
                        next(iter(operation.get("requestBody", {}).get("content", {}).values()), {}).get("schema", {}).get("$ref", "").rsplit("/", 1)[-1])
                    if method == "delete":
                        continue  # last of all, below
                    status, headers, answer = ask(self.socket, method.upper(), target, body)
                    kind = headers["Content-Type"].split(";")[0]
                    expected = operation["responses"]["200" if status < 300 else "default"]["content"]
                    assert kind in expected, (method, target, status, kind)
                    if kind == "application/json":
                        schema = {**expected[kind]["schema"], "components": description["components"]}
                        jsonschema.validate(answer, schema)
                    assert status < 300 or body == {"knob": "none", "value": "1 W"}, (method, target, status, answer)
                    asked += 1
            assert asked >= 25, asked
            assert ask(self.socket, "DELETE", f"/api/v1/leases/{lease['id']}")[0] == 204

    def who_may_what_over_tcp(self):
        tokens = self.folder / "tokens"

        def token(name, *words):
            made = subprocess.run([COMMAND, "token", "add", "--file", str(tokens), "--name", name, "--json", *words], capture_output=True,
                                  text=True, check=True, timeout=60)
            return {"Authorization": "Bearer " + json.loads(made.stdout)["token"]}

        reader, controller = token("reader"), token("controller", "--role", "control")
        hasty = token("hasty", "--expires", "1s")
        with daemon(self.folder, "--tcp", "127.0.0.1:0", "--tokens", str(tokens), "--audit", str(self.folder / "audit")) as begun:
            port = begun["port"]
            lease = {"knob": knob_id(), "value": "400 W", "seconds": 30}
            assert ask(port, "GET", "/api/v1/node/picture")[0] == 401
            assert ask(port, "GET", "/api/v1/node/picture", headers={"Authorization": "Bearer pj_wrong"})[0] == 401
            assert ask(port, "GET", "/api/v1/node/picture", headers=reader)[0] == 200
            assert ask(port, "POST", "/api/v1/leases", lease, reader)[0] == 403
            status, headers, made = ask(port, "POST", "/api/v1/leases", lease, controller)
            assert status == 201 and headers["Location"].endswith(made["id"]), made
            assert limit_mw() == 400000
            # Another principal neither renews nor ends it; an admin ends it.
            later = token("later", "--role", "control")
            assert ask(port, "GET", "/api/v1/version", headers=later)[0] == 401, "not known yet"
            begun["process"].send_signal(signal.SIGHUP)
            wait_for(lambda: ask(port, "GET", "/api/v1/version", headers=later)[0] == 200)
            assert ask(port, "DELETE", f"/api/v1/leases/{made['id']}", headers=later)[0] == 403
            assert ask(port, "PUT", f"/api/v1/leases/{made['id']}", {"value": "300 W"}, later)[0] == 403
            assert ask(port, "POST", "/api/v1/leases", lease, later)[0] == 409
            assert ask(self.socket, "DELETE", f"/api/v1/leases/{made['id']}")[0] == 204
            assert limit_mw() == 700000
            time.sleep(1.1)
            refused = ask(port, "GET", "/api/v1/version", headers=hasty)
            assert refused[0] == 401 and "expired" in refused[2]["error"]["message"], refused
            # A file that makes no sense changes nothing.
            tokens.write_text("nonsense")
            begun["process"].send_signal(signal.SIGHUP)
            time.sleep(0.3)
            assert ask(port, "GET", "/api/v1/node/picture", headers=reader)[0] == 200
        audit = [json.loads(line) for line in (self.folder / "audit").read_text().splitlines()]
        told = [(one["who"], one["request"].split()[0], one["status"]) for one in audit]
        assert ("token:controller", "POST", 201) in told and ("token:reader", "POST", 403) in told and ("user:0", "DELETE", 204) in told, told

    def leases_end(self):
        with daemon(self.folder) as begun:
            taken = ask(self.socket, "POST", "/api/v1/leases", {"knob": knob_id(), "value": "400 W", "seconds": 1})
            assert taken[0] == 201 and limit_mw() == 400000, taken
            wait_for_limit(700000)
            assert ask(self.socket, "PUT", f"/api/v1/leases/{taken[2]['id']}", {})[0] == 404
            for bad in ({}, {"knob": knob_id()}, {"knob": knob_id(), "value": 400}, {"knob": knob_id(), "value": "400 W", "seconds": 0},
                        {"knob": knob_id(), "value": "400 W", "secs": 5}, {"knob": knob_id(), "value": "9 kW"}, {"knob": "none", "value": "1 W"}, {"knob": "x", "value": "A" * 70000},
                        {"knob": "x" * 70000, "value": "1 W"}, {"knob": knob_id(), "value": "400 W", "purpose": "p" * 1000}):
                status, _, answer = ask(self.socket, "POST", "/api/v1/leases", bad)
                assert status in (400, 404, 422), (bad, status, answer)
            assert limit_mw() == 700000
            # Killed without a word: the helper puts the knob back at once.
            assert ask(self.socket, "POST", "/api/v1/leases", {"knob": knob_id(), "value": "300 W"})[0] == 201
            assert limit_mw() == 300000
            begun["process"].kill()
            begun["process"].wait(timeout=60)
            wait_for_limit(700000)
        # Its socket's file is taken over by the next one.
        with daemon(self.folder):
            assert self.get("/healthz")[0] == 200

    def both_killed_and_the_next_start_puts_back(self):
        with daemon(self.folder) as begun:
            assert ask(self.socket, "POST", "/api/v1/leases", {"knob": knob_id(), "value": "300 W"})[0] == 201
            children = pathlib.Path(f"/proc/{begun['process'].pid}/task/{begun['process'].pid}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGKILL)
            # Without its helper the daemon is of no use, says so, and ends: whoever watches it starts it anew.
            assert begun["process"].wait(timeout=60) == 3
            assert "helper has ended" in begun["process"].stderr.read()
            assert limit_mw() == 300000
        with daemon(self.folder):
            assert limit_mw() == 700000

    def it_needs_no_rights_and_lends_them(self):
        """The daemon as an ordinary user, and another one's sweep through it."""
        twin = pathlib.Path(os.environ["PERJOULE_TWIN"])
        for folder in (self.folder, twin.parent):
            os.chmod(folder, 0o711)
        os.chmod(twin, 0o666)
        run = self.folder / "run" / "perjoule"
        home = self.folder / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)
        words = ["--socket", str(run / "socket"), "--user", "daemon", "--user-role", "nobody=control"]
        process = subprocess.Popen([COMMAND, "serve", "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline(), process.communicate()
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            assert "CapEff:\t0000000000000000" in status and "Uid:\t0" not in status, status
            environment = {**os.environ, "PERJOULE_SOCKET": str(run / "socket"), "PERJOULE_STATE": str(home), "PERJOULE_KNOBS": str(home / "knobs")}
            seen = []
            sweep = subprocess.Popen([*NOBODY, COMMAND, "sweep", "--power-limit", "400,500", "--json", "--", "sleep", "1"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, env=environment, cwd="/")
            while sweep.poll() is None:
                seen.append(limit_mw())
                time.sleep(0.1)
            out, err = sweep.communicate()
            assert sweep.returncode == 0, (out, err)
            document = json.loads(out)
            assert document["restored"] is True, document
            assert {400000, 500000} <= set(seen), seen
            assert limit_mw() == 700000
            # Without the daemon he may not.
            environment["PERJOULE_SOCKET"] = str(run / "nothing")
            alone = subprocess.run([*NOBODY, COMMAND, "sweep", "--power-limit", "400,500", "--", "true"], capture_output=True, text=True, env=environment,
                                   cwd="/", timeout=60, check=False)
            assert alone.returncode == 3 and "ermission" in alone.stderr, (alone.returncode, alone.stderr)
        finally:
            process.terminate()
            process.wait(timeout=60)
            process.stdout.close()
            process.stderr.close()

    def a_start_that_fails_takes_nothing_away(self):
        with daemon(self.folder, "--open-loopback", "0") as begun:
            for words in (["--socket", self.socket], ["--socket", f"{self.folder}/other", "--open-loopback", str(begun["port"])]):
                second = subprocess.run([COMMAND, "serve", *words], capture_output=True, text=True, timeout=60, check=False)
                assert second.returncode == 3, (words, second.stderr)
                assert self.get("/healthz")[0] == 200
            assert not os.path.exists(f"{self.folder}/other")
            precious = self.folder / "precious"
            precious.write_text("kept")
            refused = subprocess.run([COMMAND, "serve", "--socket", str(precious)], capture_output=True, text=True, timeout=60, check=False)
            assert refused.returncode == 3 and precious.read_text() == "kept", refused.stderr

    def a_token_that_is_taken_back_ends_its_streams(self):
        tokens = self.folder / "tokens"
        made = subprocess.run([COMMAND, "token", "add", "--file", str(tokens), "--name", "a", "--json"], capture_output=True, text=True, check=True,
                              timeout=60)
        bearer = "Authorization: Bearer " + json.loads(made.stdout)["token"]
        with daemon(self.folder, "--tcp", "127.0.0.1:0", "--tokens", str(tokens)) as begun:
            with socket.create_connection(("127.0.0.1", begun["port"]), timeout=30) as live:
                live.sendall(f"GET /api/v1/node/live HTTP/1.1\r\nHost: x\r\n{bearer}\r\n\r\n".encode())
                assert live.recv(1000).startswith(b"HTTP/1.1 200")
                subprocess.run([COMMAND, "token", "remove", "--file", str(tokens), "--name", "a"], check=True, capture_output=True, timeout=60)
                begun["process"].send_signal(signal.SIGHUP)
                heard = b""
                while not heard.endswith(b"0\r\n\r\n"):
                    piece = live.recv(65536)
                    assert piece, heard[-200:]
                    heard += piece

    def malformed_slow_and_many(self):
        with daemon(self.folder, "--open-loopback", "0") as begun:
            port = begun["port"]
            for bytes_ in (b"\x00" * 100, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10000 + b"\r\n", b"POST /api/v1/leases HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: 99999999999\r\n\r\n", b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
                    one.sendall(bytes_)
                    one.settimeout(30)
                    with contextlib.suppress(ConnectionError):
                        answer = one.recv(1000)
                        assert not answer.startswith(b"HTTP/1.1 200"), answer
            # A slow-loris holds no place for long, and none of another's.
            slow = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(50)]
            for one in slow:
                one.sendall(b"GET /healthz HTTP/1.1\r\nX-")
            assert ask(port, "GET", "/healthz")[0] == 200
            began = time.monotonic()
            for one in slow:
                while True:
                    try:
                        one.sendall(b"a")
                    except ConnectionError:
                        break
                    time.sleep(0.02)
                    assert time.monotonic() < began + 60
                one.close()
            # A listener that reads nothing does not keep the others from hearing.
            deaf = socket.create_connection(("127.0.0.1", port), timeout=30)
            deaf.sendall(b"GET /api/v1/node/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with socket.create_connection(("127.0.0.1", port), timeout=30) as live:
                live.sendall(b"GET /api/v1/node/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                heard = b""
                while heard.count(b"event: picture") < 3:
                    piece = live.recv(65536)
                    assert piece, heard
                    heard += piece
            deaf.close()
            wait_for(lambda: "perjoule_live_listeners 0" in self.get("/metrics")[2])


class Serve(TwinTest):
    def test_the_node_is_told(self):
        self.on_twin("the_node_is_told", "h100:2")

    def test_answers_are_as_the_description_says(self):
        self.on_twin("answers_are_as_the_description_says", "h100:1")

    def test_who_may_what_over_tcp(self):
        self.on_twin("who_may_what_over_tcp", "h100:1")

    def test_leases_end(self):
        self.on_twin("leases_end", "h100:1")

    def test_both_killed(self):
        self.on_twin("both_killed_and_the_next_start_puts_back", "h100:1")

    @needs_nobody
    def test_rights(self):
        self.on_twin("it_needs_no_rights_and_lends_them", "h100:1")

    def test_starts_that_fail(self):
        self.on_twin("a_start_that_fails_takes_nothing_away", "h100:1")

    def test_streams_of_a_token(self):
        self.on_twin("a_token_that_is_taken_back_ends_its_streams", "h100:1")

    def test_malformed_slow_and_many(self):
        self.on_twin("malformed_slow_and_many", "h100:1")


class Words(CommandTest):
    def test_what_makes_no_sense(self):
        for words, said in ((["--tcp", "127.0.0.1:0"], "--tokens"), (["--tcp", "nothing"], "ADDRESS:PORT"), (["--tcp", "x:1", "--tokens", "/nowhere"], "nowhere"),
                            (["--others", "king"], "no role"), (["--user-role", "root"], "NAME=ROLE"), (["--user-role", "no-such-user=read"], "nobody here"),
                            (["--tls-certificate", "x"], "go together"), (["--documents", "/nowhere"], "no folder"), (["--every", "1ms"], "outside"),
                            (["--user", "no-such-user"], "no user"), (["--read-rate", "-1"], "no rate"), (["--open-loopback", "99999"], "port"), (["--user-role", "4295032830=admin"], "nobody here")):
            ended = self.call("serve", "--socket", "none", "--open-loopback", "0", *words)
            self.assertIn(ended.returncode, (2, 3), (words, ended.stderr))
            self.assertIn(said, ended.stderr, words)


if __name__ == "__main__":
    main(Scenes)
