"""perjoule bench: a real server's protocol on a simulated GPU, under our load and under others'."""
import contextlib
import ctypes
import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

from command import COMMAND, CommandTest, TwinTest, free_ports, library, main
from prometheus import needs_prometheus, prometheus

MODEL = "llama-3.1-8b"
LOAD = ("--input-tokens", "uniform:150:100", "--output-tokens", "uniform:40:20", "--concurrency", "32", "--requests", "320")


@contextlib.contextmanager
def server(*words):
    """The URL of a server."""
    process = subprocess.Popen([COMMAND, "twin", "serve", "--port", "0", "--json", "--model", MODEL, *words], stdout=subprocess.PIPE,
                               text=True)
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def perjoule(*words, status=0, timeout=120):
    if words[:2] == ("bench", "run") and "--url" in words:
        words += ("--most-delay", "10s")  # how busy the machine is, is no matter of these tests
    ended = subprocess.run([COMMAND, *words], text=True, capture_output=True, timeout=timeout, check=False)
    assert ended.returncode == status, (words, ended.returncode, ended.stdout, ended.stderr)
    return ended


def counter_joules():
    with library(0) as (nvml, device):
        value = ctypes.c_ulonglong()
        assert nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value)) == 0
        return value.value / 1000


def near(value, wanted, share):
    assert abs(value - wanted) <= share * abs(wanted), (value, wanted)


class Scenes:
    def __init__(self, folder):
        self.folder = folder

    def measured(self):
        with server() as url:
            before = counter_joules()
            ended = perjoule("bench", "run", "--url", url + "/v1", *LOAD, "--max-num-seqs", "32", "--limit", "ttft=2s,tpot=500ms", "--json",
                             "--records", str(self.folder / "records.jsonl"), "--output", str(self.folder / "a.json"),
                             "--engine", "vLLM 0.11.1", "--precision", "bfloat16", "--setting", "chunked=no")
            drawn = counter_joules() - before
            document = json.loads(ended.stdout)
            assert document == json.loads((self.folder / "a.json").read_text())
            assert document["schema"] == "perjoule.bench-result.v1" and "validity" not in document, document
            run = document["run"]
            # All of what the counter moved by, but the moments before and behind the load.
            assert 0.6 * drawn < run["energy"]["whole_run"]["joules"] <= drawn, (run["energy"], drawn)
            assert document["gpus"]["model"] == "H100" and document["engine"]["version"] == "0.11.1", document
            assert document["settings"] == {"chunked": "no"} and document["load"]["completed"] == 320, document
            token = document["energy"]["output_token"]
            assert token["status"] == "simulated" and 0 < token["expanded_j"] < 0.1 * token["joules"], token
            window = next(one for one in run["windows"] if one["rule"] == run["window"])
            near(token["joules"] * window["output_tokens"], run["energy"]["window"]["joules"], 1e-6)
            near(document["power_w"], token["joules"] * document["rates_per_s"]["output_tokens"], 1e-6)
            near(document["energy"]["response"]["joules"], token["joules"] * document["lengths"]["mean_output"], 1e-6)
            assert run["requests"] == {"sent": 320, "succeeded": 320, "failed": 0, "cancelled_at_end": 0, "retries": 0, "failures": {}}
            assert run["token_counts_from"] == {"usage": 320}, run["token_counts_from"]
            assert run["tdp_estimate"]["ratio"] > 1 and document["goodput"]["share"] > 0.9, document
            records = [json.loads(line) for line in (self.folder / "records.jsonl").read_text().splitlines()]
            assert len(records) == 320 and all(one["outcome"] == "answered" and one["counted_by"] == "usage" for one in records)
            assert all(one["sent_s"] <= one["first_token_s"] <= one["last_chunk_s"] <= one["ended_s"] for one in records)
            # What the server counted in the window is no more than what came to us around it.
            assert run["server"]["generation_tokens"] <= sum(one["output_tokens"] for one in records)
            text = perjoule("bench", "run", "--url", url, "--sources", "none", "--input-tokens", "50", "--output-tokens", "8", "--rate", "40",
                            "--requests", "40").stdout
            assert "no energy was measured" in text and "first token (TTFT)" in text, text
        board = json.loads(perjoule("leaderboard", str(self.folder / "a.json"), "--json").stdout)
        assert board["boards"][0]["rows"][0]["model"] == document["model"]["id"], board
        self.gate(document)

    def gate(self, document):
        """A result against itself, and against one that takes a fifth more."""
        same = json.loads(perjoule("bench", "compare", str(self.folder / "a.json"), str(self.folder / "a.json"), "--json").stdout)
        assert same["verdict"] == "same" and same["relative"] == 0, same
        for name in ("output_token", "response"):
            document["energy"][name]["joules"] *= 1.2
        document["power_w"] *= 1.2
        worse = self.folder / "worse.json"
        worse.write_text(json.dumps(document))
        text = perjoule("bench", "compare", str(self.folder / "a.json"), str(worse), "--fail-above", "5%", status=1).stdout
        assert "worse" in text and "+20.0" in text, text
        perjoule("bench", "compare", str(worse), str(self.folder / "a.json"))
        perjoule("bench", "compare", str(self.folder / "a.json"), str(worse), "--fail-above", "30%")

    def open_loads(self):
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text("".join(json.dumps({"messages": [{"role": "user", "content": f"question {i}"}], "timestamp": i / 20}) + "\n"
                                   for i in range(40)))
        azure = self.folder / "azure.csv"
        azure.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" +
                         "".join(f"2023-11-16 18:15:{i // 10:02d}.{i % 10}000000,{50 + i},{5 + i % 7}\n" for i in range(30)))
        with server() as url:
            for load, sent in ((("--prompts", str(prompts), "--rate", "50", "--max-tokens", "8", "--fixed-length"), 40),
                               (("--prompts", str(prompts), "--replay", "--speed", "2", "--max-tokens", "8", "--fixed-length"), 40),
                               (("--azure", str(azure), "--replay"), 30),
                               (("--task", "chat", "--prompts", str(prompts), "--requests", "20", "--max-tokens", "4"), 20),
                               (("--task", "length-control", "--requests", "12", "--rate", "100", "--constant",
                                 "--output-tokens", "exponential:10"), 12)):
                document = json.loads(perjoule("bench", "run", "--url", url, *load, "--json").stdout)
                assert document["run"]["requests"]["succeeded"] == sent, (load, document["run"]["requests"])
            # A trace of 1.95 s in half its time, or two.
            replayed = json.loads(perjoule("bench", "run", "--url", url, "--prompts", str(prompts), "--replay", "--speed", "1",
                                           "--max-tokens", "2", "--json").stdout)
            assert 1.9 < replayed["run"]["duration_s"] < 6, replayed["run"]["duration_s"]

    def void(self):
        with server("--fault", "error:after=1,every=2") as url:
            ended = perjoule("bench", "run", "--url", url, *LOAD, "--json", status=1)
            document = json.loads(ended.stdout)
            assert "of the requests failed" in document["validity"][0], document["validity"]
            assert document["run"]["requests"]["failed"] > 50, document["run"]["requests"]
            (self.folder / "void.json").write_text(ended.stdout)
        perjoule("bench", "compare", str(self.folder / "void.json"), str(self.folder / "void.json"), status=1)

    def interrupted(self):
        with server() as url:
            process = subprocess.Popen([COMMAND, "bench", "run", "--url", url, "--input-tokens", "50", "--output-tokens", "20", "--rate", "20",
                                        "--for", "100s", "--json"], stdout=subprocess.PIPE, text=True)
            time.sleep(4)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
            assert process.returncode == 128 + signal.SIGINT, process.returncode
            document = json.loads(out)
            assert "ended early by a signal" in document["validity"], document["validity"]
            assert document["run"]["requests"]["succeeded"] > 20, document["run"]["requests"]

    def elsewhere(self):
        """The same GPU by our meter and by a Prometheus that scrapes an exporter of its counter."""
        exporter_port, = free_ports(1)
        with library(0) as (nvml, device):
            def page():
                value, name = ctypes.c_ulonglong(), ctypes.create_string_buffer(96)
                nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value))
                nvml.nvmlDeviceGetUUID(device, name, ctypes.c_uint(96))
                labels = f'gpu="0",UUID="{name.value.decode()}",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"'
                return ("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"
                        f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{labels}}} {value.value}\n")

            class Exporter(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    body = page().encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "text/plain; version=0.0.4")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_):
                    pass

            exporter = http.server.ThreadingHTTPServer(("127.0.0.1", exporter_port), Exporter)
            threading.Thread(target=exporter.serve_forever, daemon=True).start()
            # Some of them before the run begins.
            with prometheus(self.folder, "dcgm", [f"127.0.0.1:{exporter_port}"], scrapes=5) as kept, server() as url:
                by = ("--prometheus", kept, "--prometheus-age", "100ms")
                none = subprocess.run([COMMAND, "bench", "run", "--url", url, *LOAD, *by, "--prometheus-selector", 'Hostname="n2"'],
                                      capture_output=True, text=True, timeout=60, check=False)
                assert none.returncode != 0 and "n2" in none.stderr and none.stdout == "", none
                remote = json.loads(perjoule("bench", "run", "--url", url, *LOAD, *by, "--prometheus-selector", 'Hostname="n1"', "--sources",
                                             "gpu", "--json").stdout)
        # Both are in the document; of the whole run, for its window is short against a scrape.
        sources = {one["source"]: one["energy"] for one in remote["run"]["energy"]["sources"]}
        assert len(sources) >= 2, sources
        ours, theirs = [one["energy"] for one in remote["run"]["energy"]["sources"] if one["energy"]["status"] != "missing"][:2]
        assert abs(ours["joules"] - theirs["joules"]) <= ours["expanded_j"] + theirs["expanded_j"], (ours, theirs)

    def items(self):
        script = "for i in 1 2 3 4; do sleep 0.2; echo >&$PERJOULE_UNIT_FD; done"
        document = json.loads(perjoule("bench", "run", "--items", "8", "--batch", "2", "--model", "sd", "--json", "--", "sh", "-c",
                                       script).stdout)
        assert 0.2 <= document["latency"]["batch_s"] <= 1.001 * document["run"]["duration_s"] / 4, document
        near(document["energy"]["image"]["joules"] * 8, document["run"]["energy"]["joules"], 1e-9)
        assert document["run"]["batches"] == 4 and document["kind"] == "image", document
        failed = json.loads(perjoule("bench", "run", "--items", "8", "--json", "--", "sh", "-c", "exit 3", status=1).stdout)
        assert failed["validity"] == ["the command ended with status 3"], failed

    def swept(self):
        with open(self.folder / "sweep.toml", "w", encoding="utf-8") as file:
            file.write(f'''[run]
url = "http://127.0.0.1:{PORT}"
input-tokens = "100"
output-tokens = "30"
requests = 120
most-delay = "10s"
[server]
command = "{COMMAND} twin serve --port {PORT} --model {MODEL} --max-num-seqs {{max-num-seqs}}; true"
ready = "http://127.0.0.1:{PORT}/health"
ready-within = "20s"
[[sweep]]
max-num-seqs = [8, 32]
concurrency = [8, 32]
''')
        words = [COMMAND, "bench", "sweep", str(self.folder / "sweep.toml"), "--output", str(self.folder / "out")]
        points = self.folder / "out" / "points"
        killed = subprocess.Popen([*words], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        give_up = time.monotonic() + 60
        while not (points.exists() and list(points.iterdir())):
            assert time.monotonic() < give_up
            time.sleep(0.05)
        time.sleep(1)  # within the second point
        killed.kill()
        killed.wait()
        there = {path.name: path.stat().st_mtime_ns for path in points.iterdir()}
        assert 1 <= len(there) < 4, there
        ended = subprocess.run([*words, "--json", "--metric", "p90-itl", "--deadline", "1s"], capture_output=True, text=True, timeout=180,
                               check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert "ended the server that an interrupted sweep had left" in ended.stderr, ended.stderr
        answer = json.loads(ended.stdout)
        assert answer["measured_now"] == 4 - len(there) and answer["there"] == 4 and answer["failed"] == [], answer
        for name, stamp in there.items():
            assert (points / name).stat().st_mtime_ns == stamp, name
        index = json.loads((self.folder / "out" / "index.json").read_text())
        assert [one["done"] for one in index["points"]] == [True] * 4, index
        assert answer["frontier"]["feasible"] == 4, answer["frontier"]
        # All there: nothing is started, and the answer is another question's.
        again = subprocess.run([*words, "--metric", "p90-itl", "--deadline", "1us"], capture_output=True, text=True, timeout=60, check=False)
        assert again.returncode == 1 and "Infeasible" in again.stdout and "starting" not in again.stderr, again.stdout + again.stderr
        (self.folder / "sweep.toml").write_text((self.folder / "sweep.toml").read_text().replace("requests = 120", "requests = 60"))
        other = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert other.returncode != 0 and "other options" in other.stderr, other.stderr


PORT, = free_ports(1)


class Bench(TwinTest):
    def test_a_run_is_measured_kept_ranked_and_held_against_another(self):
        self.on_twin("measured")

    def test_open_loads_of_files_traces_and_laws(self):
        self.on_twin("open_loads")

    def test_failures_make_a_run_void(self):
        self.on_twin("void")

    def test_an_interrupted_run_tells_what_it_has(self):
        self.on_twin("interrupted")

    @needs_prometheus
    def test_gpus_elsewhere_are_measured_by_prometheus(self):
        self.on_twin("elsewhere")

    def test_items_of_a_command(self):
        self.on_twin("items")

    def test_a_sweep_that_is_killed_goes_on_where_it_was(self):
        self.on_twin("swept")


class BenchRefuses(CommandTest):
    def refused(self, *words, status=2):
        ended = self.call("bench", *words)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        self.assertEqual(ended.stdout, "")
        return ended.stderr

    def test_words_that_make_no_sense(self):
        made = ("--model", "m", "--input-tokens", "5", "--output-tokens", "5", "--requests", "3", "--sources", "none")
        url = ("--url", "http://127.0.0.1:1")
        self.assertIn("no prompts", self.refused("run", *url, "--model", "m", "--sources", "none"))
        self.assertIn("nothing is downloaded", self.refused("run", *url, "--model", "m", "--task", "chat", "--sources", "none"))
        self.assertIn("no task 'poems'", self.refused("run", *url, "--task", "poems", "--sources", "none"))
        self.assertIn("cannot go together", self.refused("run", *url, *made, "--rate", "3", "--concurrency", "3"))
        self.assertIn("no law of lengths", self.refused("run", *url, *made, "--input-tokens", "long"))
        self.assertIn("no limit", self.refused("run", *url, *made, "--limit", "speed=3"))
        self.assertIn("--window", self.refused("run", *url, *made, "--window", "wide"))
        self.assertIn("--url", self.refused("run", "--url", "ftp://x", *made))
        self.assertIn("--body", self.refused("run", *url, *made, "--body", "[1]"))
        self.assertIn("--items", self.refused("run", "--", "true"))
        self.assertIn("timestamp", self.refused("run", *url, "--model", "m", "--sources", "none", "--replay", "--prompts",
                                                self.write("p.jsonl", '{"prompt": "a"}\n')))
        self.assertIn("p.jsonl: line 2", self.refused("run", *url, "--model", "m", "--sources", "none", "--prompts",
                                                self.write("p.jsonl", '{"prompt": "a"}\n{"x": 1}\n'), status=2))
        self.assertIn("--fail-above", self.refused("compare", "a", "b", "--fail-above", "some"))
        self.assertIn("no server to watch", self.refused("watch", "--sources", "cpu"))
        self.assertIn("--output FOLDER", self.refused("sweep", self.write("s.toml", "[[sweep]]\nrate = [1]\n")))
        self.assertIn("s.toml:2", self.refused("sweep", self.write("s.toml", "[[sweep]]\nrat = [1]\n"), "--dry-run"))

    def test_a_server_that_is_not_there(self):
        self.assertIn("127.0.0.1:1", self.refused("run", "--url", "http://127.0.0.1:1", "--sources", "none", "--input-tokens", "5",
                                                  "--output-tokens", "5", "--requests", "3", status=3))
        self.assertIn("127.0.0.1:1", self.refused("watch", "--metrics", "http://127.0.0.1:1", "--sources", "cpu", status=3))


if __name__ == "__main__":
    main(Scenes)
