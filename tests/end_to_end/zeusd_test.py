"""perjoule serve --zeusd: the routes of Zeus's privileged daemon, asked as Zeus's clients ask them."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from command import COMMAND, NOBODY, CommandTest, TwinTest, limit_mw, main, needs_nobody, set_limit, wait_for_limit
from serve_test import UnixConnection, ask, daemon, wait_for

# A client as a process of its own: sets a limit, says what it was answered, and waits to be killed.
CLIENT = """
import http.client, socket, sys, time
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
connection = Connection("localhost")
connection.request("POST", sys.argv[2])
answer = connection.getresponse()
print(answer.status, answer.read().decode().replace("\\n", " "), flush=True)
time.sleep(300)
"""


class Scenes:
    def __init__(self, folder):
        self.folder = folder
        self.socket = f"{folder}/zeusd"

    def get(self, target, status=200):
        got, _, answer = ask(self.socket, "GET", target)
        assert got == status, (target, got, answer)
        return answer

    def post(self, target, status=200):
        got, _, answer = ask(self.socket, "POST", target)
        assert got == status, (target, got, answer)
        return answer

    @contextlib.contextmanager
    def client(self, target, before=()):
        process = subprocess.Popen([*before, sys.executable, "-c", CLIENT, self.socket, target], stdout=subprocess.PIPE, text=True)
        try:
            status, _, text = process.stdout.readline().strip().partition(" ")
            yield process, int(status), text
        finally:
            process.kill()
            process.wait(timeout=60)
            process.stdout.close()

    def events(self, target, seconds):
        """What a stream sends in that time."""
        connection = UnixConnection(self.socket)
        connection.request("GET", target)
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream"), (answer.status, answer.headers)
        connection.sock.settimeout(0.2)
        give_up = time.monotonic() + seconds
        events = []
        while time.monotonic() < give_up:
            with contextlib.suppress(TimeoutError, OSError):
                line = answer.readline().decode()
                if line.startswith("data: "):
                    events.append(json.loads(line[6:]))
        connection.close()
        return events

    def the_devices_are_told(self):
        with daemon(self.folder, "--zeusd", self.socket) as begun:
            assert f"unix:{self.socket}" in begun["addresses"], begun
            found = self.get("/discover")
            assert [one["id"] for one in found["gpus"]] == found["gpu_ids"] == [0, 1], found
            assert found["gpus"][1]["cumulative_energy_available"] and "H100" in found["gpus"][1]["name"] and found["gpus"][1]["pci_address"], found
            assert found["enabled_api_groups"] == ["gpu-control", "gpu-read", "cpu-read"] and found["auth_required"] is False, found
            assert len(found["cpu_ids"]) == len(found["dram_available"]), found
            assert abs(self.get("/time")["timestamp_ms"] / 1000 - time.time()) < 10
            who = self.get("/auth/whoami")
            assert who == {"sub": f"user:{os.geteuid()}", "scopes": found["enabled_api_groups"]}, who
            # Energy goes on with the power that is told beside it.
            before, began = self.get("/gpu/get_cumulative_energy?gpu_ids=0"), time.monotonic()
            power = self.get("/gpu/get_power")
            assert set(power["power_mw"]) == {"0", "1"} and power["power_mw"]["0"] > 10_000, power
            time.sleep(1)
            after, seconds = self.get("/gpu/get_cumulative_energy?gpu_ids=0"), time.monotonic() - began
            joules = (after["0"]["energy_mj"] - before["0"]["energy_mj"]) / 1000
            assert 0.5 < joules / (power["power_mw"]["0"] / 1000 * seconds) < 2, (before, after, power, seconds)
            assert self.get("/gpu/get_power_limit") == {"0": {"power_limit_mw": 700000}, "1": {"power_limit_mw": 700000}}
            limits = self.get("/gpu/get_power_limit_constraints?gpu_ids=1")
            assert limits == {"1": {"min_power_limit_mw": 200000, "max_power_limit_mw": 700000}}, limits
            assert self.get("/gpu/get_persistence_mode?gpu_ids=0,1") == {"0": {"enabled": True}, "1": {"enabled": True}}
            cpus = self.get("/cpu/get_cumulative_energy?cpu=true&dram=true")
            assert set(cpus) == {str(one) for one in found["cpu_ids"]}, cpus
            # Both streams begin with what is, and tell a value once.
            events = self.events("/gpu/stream_power?gpu_ids=1", 2)
            assert events and {one["gpu_id"] for one in events} == {1} and events[0]["power_mw"] > 10_000, events
            assert all(one["power_mw"] != other["power_mw"] for one, other in zip(events, events[1:])), events
            for target in ("/gpu/get_power?gpu_ids=2", "/gpu/get_power?gpus=0", "/gpu/get_power?gpu_ids=x", "/gpu/stream_power?gpu_ids=7",
                           "/cpu/get_cumulative_energy?cpu=true", "/cpu/get_cumulative_energy?cpu=yes&dram=true", "/cpu/get_power?cpu_ids=99"):
                self.get(target, 400)
            assert "there is no GPU 2 here" in self.get("/gpu/get_power?gpu_ids=0,2", 400)["errors"]["2"]

    def answers_are_as_the_description_says(self):
        import jsonschema  # noqa: PLC0415 - of Debian, not needed by the other scenes

        with daemon(self.folder, "--zeusd", self.socket):
            description = self.get("/openapi.json")
            asked = 0
            for path, methods in description["paths"].items():
                for method, operation in methods.items():
                    if "text/event-stream" in operation["responses"]["200"]["content"]:
                        continue
                    values = {"string": "0", "boolean": "true", "integer": "400000" if "power" in path else "1410"}
                    query = "&".join(f"{one['name']}={values[one['schema']['type']]}" for one in operation["parameters"] if one["required"])
                    for words in (query, query.replace("gpu_ids=0", "gpu_ids=9"), query + "&unknown=1"):
                        status, headers, answer = ask(self.socket, method.upper(), f"{path}?{words}")
                        kind = headers["Content-Type"].split(";")[0]
                        expected = operation["responses"]["200" if status < 300 else "default"]["content"]
                        assert kind in expected, (method, path, words, status, kind)
                        if kind == "application/json":
                            jsonschema.validate(answer, {**expected[kind]["schema"], "components": description["components"]})
                        assert status == (400 if "unknown" in words or "=9" in words else 200) or "mem_locked" in path, (path, words, status, answer)
                        asked += 1
            assert asked >= 48, asked

    def what_is_set_lasts_as_long_as_its_process(self):
        set_to = "/gpu/set_power_limit?gpu_ids=0&block=true&power_limit_mw="
        with daemon(self.folder, "--zeusd", self.socket) as begun:
            with self.client(f"{set_to}300000") as (process, status, text):
                assert (status, limit_mw()) == (200, 300000), text
                # Another is told by whom, and changes nothing.
                refused = self.post(f"{set_to}500000", 409)["errors"]["0"]
                assert f"process {process.pid}" in refused, refused
                assert "held by" in self.post("/gpu/set_power_limit?gpu_ids=0,1&block=true&power_limit_mw=500000", 409)["errors"]["0"]
                assert (limit_mw(), limit_mw(1)) == (300000, 500000)
                lease = ask(f"{self.folder}/socket", "GET", "/api/v1/leases")[2]["leases"]
                assert {one["value"] for one in lease} == {"300 W", "500 W"} and "process" in lease[0]["owner"], lease
                status, _, answer = ask(f"{self.folder}/socket", "POST", "/api/v1/leases", {"knob": lease[0]["knob"], "value": "400 W"})
                assert status == 409, answer
                process.send_signal(signal.SIGKILL)
                began = time.monotonic()
                wait_for_limit(700000)
                assert time.monotonic() - began < 5
            # Its own: changed, and let go of by the default, as Zeus resets a limit.
            self.post(f"{set_to}400000")
            self.post(f"{set_to}450000")
            assert limit_mw() == 450000
            self.post(f"{set_to}700000")
            assert limit_mw() == 700000
            assert len(ask(f"{self.folder}/socket", "GET", "/api/v1/leases")[2]["leases"]) == 1, "GPU 1's"
            # Out of range, and nothing is changed.
            for bad in ("199999", "700001", "0", "-5", "3e5"):
                self.post(set_to + bad, 400)
            self.post("/gpu/set_power_limit?gpu_ids=0&power_limit_mw=300000", 400)
            self.post("/gpu/set_power_limit?power_limit_mw=300000&block=true", 400)
            self.post(f"{set_to}300000&until=now", 400)
            assert "there is no GPU 5" in self.post("/gpu/set_power_limit?gpu_ids=5&block=true&power_limit_mw=300000", 400)["errors"]["5"]
            self.post("/gpu/set_persistence_mode?gpu_ids=0&enabled=true&block=true")
            assert "nvidia-smi -pm 0" in self.post("/gpu/set_persistence_mode?gpu_ids=0&enabled=false&block=true", 400)["errors"]["0"]
            # Without block it is done soon.
            self.post("/gpu/set_power_limit?gpu_ids=0&block=false&power_limit_mw=350000")
            wait_for_limit(350000)
            self.post("/gpu/set_power_limit?gpu_ids=0&block=false&power_limit_mw=1")
            wait_for(lambda: "perjoule_zeusd_failed_total 1" in ask(f"{self.folder}/socket", "GET", "/metrics")[2])
            for words in ("set_gpu_locked_clocks?min_clock_mhz=1005&max_clock_mhz=1410&", "reset_gpu_locked_clocks?", "set_mem_locked_clocks?min_clock_mhz=2619&max_clock_mhz=2619&",
                          "reset_locked_clocks?"):
                self.post(f"/gpu/{words}gpu_ids=0&block=true")
            # The daemon killed: the helper puts everything back.
            begun["process"].kill()
            begun["process"].wait(timeout=60)
            wait_for_limit(700000)
        # As it was found, not the default.
        set_limit(600000)
        with daemon(self.folder, "--zeusd", self.socket):
            with self.client(f"{set_to}300000") as (_, status, text):
                assert (status, limit_mw()) == (200, 300000), text
            wait_for_limit(600000)

    def others_only_read(self):
        for folder in (self.folder,):
            os.chmod(folder, 0o711)
        with daemon(self.folder, "--zeusd", self.socket):
            with self.client("/gpu/set_power_limit?gpu_ids=0&block=true&power_limit_mw=300000", NOBODY) as (_, status, text):
                assert status == 403 and "needs the role control" in text, (status, text)
        assert limit_mw() == 700000
        with daemon(self.folder, "--zeusd", self.socket, "--user-role", "nobody=control"):
            with self.client("/gpu/set_power_limit?gpu_ids=0&block=true&power_limit_mw=300000", NOBODY) as (_, status, text):
                assert (status, limit_mw()) == (200, 300000), (status, text)
            wait_for_limit(700000)


class Zeusd(TwinTest):
    def test_devices(self):
        self.on_twin("the_devices_are_told", "h100:2")

    def test_description(self):
        self.on_twin("answers_are_as_the_description_says", "h100:1")

    def test_processes(self):
        self.on_twin("what_is_set_lasts_as_long_as_its_process", "h100:2")

    @needs_nobody
    def test_roles(self):
        self.on_twin("others_only_read", "h100:1")


class Words(CommandTest):
    def test_one_path_for_both(self):
        ended = self.call("serve", "--socket", "/tmp/perjoule-one", "--zeusd", "/tmp/perjoule-one")
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("one path", ended.stderr)


if __name__ == "__main__":
    assert COMMAND
    main(Scenes)
