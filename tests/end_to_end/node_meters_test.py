"""Meters of the whole machine, asked only where the environment says so: a management controller's Redfish here."""
import base64
import http.server
import json
import threading
import time

from command import COMMAND, CommandTest, main

PASSWORD = "between us"


class Controller(http.server.BaseHTTPRequestHandler):
    """A chassis of 400 W behind an account."""

    def do_GET(self):
        self.server.asked += 1
        wanted = "Basic " + base64.b64encode(f"meter:{PASSWORD}".encode()).decode()
        known = self.headers.get("Authorization") == wanted
        body = json.dumps({"PowerControl": [{"PowerConsumedWatts": 400}]}).encode() if known else b""
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class NodeMeters(CommandTest):
    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Controller)
        self.server.asked = 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.asked_for = {
            "PERJOULE_NODE_METERS": "redfish", "PERJOULE_REDFISH_USER": "meter",
            "PERJOULE_REDFISH_URL": f"http://127.0.0.1:{self.server.server_port}/redfish/v1/Chassis/1/Power",
            "PERJOULE_REDFISH_PASSWORD_FILE": self.write("password", PASSWORD + "\n")}

    def test_nothing_is_asked_unless_it_is_set(self):
        del self.asked_for["PERJOULE_NODE_METERS"]
        listed = self.json("devices", "--json", variables=self.asked_for)
        self.assertNotIn("node/redfish", [s["id"] for device in listed["devices"] for s in device["sources"]])
        self.assertEqual(self.server.asked, 0)

    def test_devices_lists_it_and_run_measures_it(self):
        listed = self.json("devices", "--json", variables=self.asked_for)
        sources = {s["id"]: s for device in listed["devices"] for s in device["sources"]}
        self.assertEqual(sources["node/redfish"]["boundary"], "B1")
        document = self.json("run", "--json", "--sources", "node", "--", "sleep", "0.3", variables=self.asked_for)
        self.assertEqual(document["total"]["boundary"], "B1")
        self.assertAlmostEqual(document["total"]["joules"] / document["duration_s"], 400, delta=8)

    def test_it_is_added_to_nothing_that_it_contains(self):
        """On a simulated machine with GPU and CPU, and on one whose CPU is estimated."""
        for words in (("--powercap",), ()):
            document = self.json("twin", "run", "--gpu", "h100", *words, "--", COMMAND, "run", "--json", "--sources",
                                 "all", "--", "sleep", "0.3", variables=self.asked_for)
            parts = {s["id"]: s["energy"]["joules"] for s in document["sources"]}
            self.assertGreater(parts["node/redfish"], 0.9 * 400 * 0.3)
            inside = sum(s["energy"]["joules"] for s in document["sources"] if s["overlaps"] is None)
            self.assertAlmostEqual(document["total"]["joules"], inside, places=6)
        shown = self.call("run", "--", "sleep", "0.2", variables=self.asked_for)
        self.assertIn("contains: node/redfish", shown.stdout)

    def test_top_shows_it_beside_the_total(self):
        picture = self.json("top", "--json", "--every", "300ms", "--count", "1", variables=self.asked_for)
        node = next(device for device in picture["devices"] if device["id"] == "node")
        self.assertAlmostEqual(node["power_w"], 400, delta=8)
        inside = sum(device["power_w"] for device in picture["devices"] if device["id"] != "node")
        self.assertAlmostEqual(picture["total_w"], inside or node["power_w"], places=6)

    def test_sweep_measures_it(self):
        swept = self.json("sweep", "--sources", "node", "--param", "n=1,2", "--json", "--", "sleep", "0.{n}",
                          variables=self.asked_for)
        for point in swept["points"]["points"]:
            self.assertAlmostEqual(point["energy"]["joules"] / point["time_s"], 400, delta=8)

    def test_a_controller_that_does_not_answer_is_a_line_and_no_failure(self):
        asked_for = dict(self.asked_for, PERJOULE_REDFISH_URL="http://127.0.0.1:1/redfish/v1/Chassis/1/Power")
        run = self.call("run", "--", "sh", "-c", "exit 7", variables=asked_for)
        self.assertEqual(run.returncode, 7, run.stderr)
        self.assertIn("node/redfish: ", run.stderr)
        listed = self.json("devices", "--json", variables=asked_for)
        self.assertIn("node/redfish", [problem["subject"] for problem in listed["problems"]])
        self.assertIn("node/redfish", self.call("doctor", variables=asked_for).stdout)

    def test_a_wrong_password_is_named_and_never_shown(self):
        asked_for = dict(self.asked_for, PERJOULE_REDFISH_PASSWORD_FILE=self.write("wrong", "another"))
        run = self.call("run", "--", "true", variables=asked_for)
        self.assertEqual(run.returncode, 0)
        self.assertIn("401", run.stderr)
        self.assertNotIn("another", run.stderr + run.stdout)
        missing = self.call("run", "--", "true", variables=dict(asked_for, PERJOULE_REDFISH_PASSWORD_FILE="/nonexistent"))
        self.assertEqual(missing.returncode, 0)
        self.assertIn("PERJOULE_REDFISH_PASSWORD_FILE", missing.stderr)

    def test_ipmi_without_a_controller_is_told(self):
        run = self.call("run", "--", "true", variables={"PERJOULE_NODE_METERS": "ipmi", "PERJOULE_DEV_ROOT": str(self.folder)})
        self.assertEqual(run.returncode, 0)
        self.assertIn("node/dcmi: ", run.stderr)

    def test_words_that_make_no_sense(self):
        for variables in ({"PERJOULE_NODE_METERS": "ipmi,snmp"}, {"PERJOULE_NODE_METERS": "redfish"}):
            for verb in (("run", "--", "true"), ("devices",), ("top",), ("doctor",),
                         ("sweep", "--param", "n=1", "--", "true")):
                refused = self.call(*verb, variables=variables)
                self.assertEqual(refused.returncode, 2, refused.stderr)
                self.assertIn("PERJOULE_NODE_METERS", refused.stderr)

    def test_a_signal_still_ends_the_command(self):
        """It must reach the program and none of the threads that ask the controller."""
        for words, status in ((("run", "--", "sleep", "30"), 130), (("top", "--every", "20s"), 0)):
            started = self.start(*words, variables=self.asked_for)
            asked = self.server.asked
            self.wait_for(lambda: self.server.asked > asked or started.poll() is not None, "the controller being asked")
            time.sleep(0.5)
            started.send_signal(2)
            started.communicate(timeout=20)
            self.assertEqual(started.returncode, status, words)


if __name__ == "__main__":
    main()
