"""perjoule twin serve: an inference server on a simulated GPU, asked as any client asks, and held against the GPU's own
counter."""
import contextlib
import ctypes
import http.client
import json
import signal
import socket
import subprocess
import threading
import time

from command import COMMAND, CommandTest, TwinTest, library, main

MODEL = "llama-3.1-8b"


@contextlib.contextmanager
def server(*words):
    """A server and the document it began with."""
    process = subprocess.Popen([COMMAND, "twin", "serve", "--port", "0", "--json", *words], stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=30)
    assert status == 128 + signal.SIGTERM, status


def ask(port, path, body=None, host="127.0.0.1", headers=None):
    """Status, headers and the whole body."""
    client = http.client.HTTPConnection(host, port, timeout=60)
    client.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers or {})
    answer = client.getresponse()
    text = answer.read()
    client.close()
    return answer.status, answer.headers, text


def chat(port, tokens=8, question="how much is a joule", **more):
    body = {"model": MODEL, "messages": [{"role": "user", "content": question}], "max_tokens": tokens, "ignore_eos": True, **more}
    return ask(port, "/v1/chat/completions", body)


def chunks_of(text):
    """The JSON of each event, and whether the stream ended with [DONE]."""
    events = [line[len("data: "):] for line in text.decode().split("\n") if line.startswith("data: ")]
    done = bool(events) and events[-1] == "[DONE]"
    return [json.loads(event) for event in events if event != "[DONE]"], done


def streamed(port, tokens=8, **more):
    status, headers, text = chat(port, tokens, stream=True, **more)
    assert status == 200 and headers["Content-Type"].startswith("text/event-stream"), (status, headers.items())
    return chunks_of(text)


def contents(chunks):
    return [chunk["choices"][0]["delta"].get("content") for chunk in chunks if chunk.get("choices")]


def metrics(port):
    """Values by name, summed over labels; buckets left out."""
    values = {}
    for line in ask(port, "/metrics")[2].decode().splitlines():
        if not line.startswith("#") and "_bucket{" not in line:
            name = line.split("{")[0]
            values[name] = values.get(name, 0) + float(line.rsplit(" ", 1)[1])
    return values


def counter_joules():
    """The GPU's energy counter, just after it has moved: read at other times it is up to a tick old."""
    with library(0) as (nvml, device):
        def read():
            value = ctypes.c_ulonglong()
            assert nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value)) == 0
            return value.value
        before = read()
        while (now := read()) == before:
            time.sleep(0.001)
        return now / 1000, time.monotonic()


class Scenes:
    def __init__(self, folder):
        self.folder = folder

    def answers(self):
        with server() as about:
            assert about["prefill"] == "synthetic" and about["simulated"] and about["environment"] == {}, about
            port = about["port"]
            assert ask(port, "/health")[0] == 200
            names = [model["id"] for model in json.loads(ask(port, "/v1/models")[2])["data"]]
            assert MODEL in names and about["name"] in names, names

            status, _, text = chat(port, 12)
            whole = json.loads(text)
            assert status == 200 and whole["usage"]["completion_tokens"] == 12, whole
            assert whole["choices"][0]["finish_reason"] == "length", whole
            said = whole["choices"][0]["message"]["content"]

            chunks, done = streamed(port, 12)
            assert done and len(chunks) == 12, chunks
            assert "".join(contents(chunks)) == said  # the same question, the same answer
            assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
            assert all("usage" not in chunk for chunk in chunks)

            chunks, _ = streamed(port, 5, n=2, stream_options={"include_usage": True, "continuous_usage_stats": True})
            assert len(chunks) == 11 and chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 10, chunks
            counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
            assert counts == sorted(counts), counts

            status, _, text = ask(port, "/v1/completions", {"model": MODEL, "prompt": ["one", "two"], "n": 2})
            choices = json.loads(text)["choices"]
            assert [choice["index"] for choice in choices] == [0, 1, 2, 3] and all(choice["text"] for choice in choices), choices
            status, _, text = ask(port, "/v1/completions", {"model": MODEL, "prompt": [5, 6, 7], "max_tokens": 3, "stream": True})
            chunks, done = chunks_of(text)
            assert done and len(chunks) == 3 and all("text" in chunk["choices"][0] for chunk in chunks), chunks

            stop = said.split()[3]
            cut = json.loads(chat(port, 12, stop=stop)[2])["choices"][0]
            assert cut["finish_reason"] == "stop" and said.startswith(cut["message"]["content"]) and stop not in cut["message"]["content"]
            own = json.loads(chat(port, 600, ignore_eos=False, min_tokens=20)[2])
            assert own["choices"][0]["finish_reason"] == "stop" and 20 <= own["usage"]["completion_tokens"] < 600, own
            if about["ipv6"]:
                assert ask(port, "/health", host="::1")[0] == 200

    def errors(self):
        with server("--api-key", "secret", "--context", "200") as about:
            port = about["port"]
            key = {"Authorization": "Bearer secret"}
            body = {"model": MODEL, "messages": [{"role": "user", "content": "x"}]}

            def refused(change, headers=key, path="/v1/chat/completions"):
                status, _, text = ask(port, path, {**body, **change}, headers=headers)
                error = json.loads(text)["error"]
                assert error["message"] and error["type"], error
                return status, error["param"]

            assert refused({}, headers={}) == (401, None)
            assert refused({}, headers={"Authorization": "Bearer wrong"}) == (401, None)
            assert refused({"model": "none"}) == (404, "model")
            assert refused({"max_tokens": -1}) == (400, "max_tokens")
            assert refused({"max_tokens": 1000}) == (400, "max_tokens")
            assert refused({"messages": "x"}) == (400, "messages")
            assert refused({}, path="/v1/embeddings") == (404, None)
            assert ask(port, "/v1/chat/completions", headers=key)[0] == 405
            assert ask(port, "/v1/models")[0] == 401
            assert ask(port, "/health")[0] == 200 and ask(port, "/metrics")[0] == 200
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            for _ in range(2):  # a connection outlives an error
                client.request("POST", "/v1/completions", "{", key)
                answer = client.getresponse()
                assert answer.status == 400 and b"JSON" in answer.read()
            client.close()

    def faults(self):
        with server("--fault", "multi-token:value=4") as about:
            chunks, done = streamed(about["port"], 10, stream_options={"include_usage": True})
            assert done and len(chunks) == 4 and chunks[-1]["usage"]["completion_tokens"] == 10, chunks
        with server("--tokens-per-chunk", "4") as about:
            assert len(streamed(about["port"], 10)[0]) == 4  # 1 + 4 + 4 + 1
        with server("--fault", "empty-first") as about:
            assert contents(streamed(about["port"], 3)[0])[0] == ""
        for field in ("reasoning_content", "reasoning"):
            with server("--fault", f"reasoning:value=3,field={field}") as about:
                chunks, _ = streamed(about["port"], 5)
                assert [field in chunk["choices"][0]["delta"] for chunk in chunks] == [True] * 3 + [False] * 2, chunks
                message = json.loads(chat(about["port"], 5)[2])["choices"][0]["message"]
                assert message[field] and message["content"], message
        with server("--fault", "keep-alive:value=2") as about:
            assert chat(about["port"], 6, stream=True)[2].count(b": keep-alive\n\n") == 3
        with server("--fault", "error:after=2") as about:
            chunks, _ = streamed(about["port"], 6)
            assert len(chunks) == 3 and chunks[2]["error"]["message"], chunks
        with server("--fault", "truncate:after=2,every=2") as about:
            assert streamed(about["port"], 6)[1]
            for stream in (True, False):
                try:
                    chat(about["port"], 6, stream=stream)
                    raise AssertionError("the truncated answer was whole")
                except http.client.IncompleteRead as cut:
                    assert b"[DONE]" not in cut.partial
                streamed(about["port"], 1)
        with server("--fault", "busy:every=3,retry-after=2s") as about:
            answers = [chat(about["port"], 1) for _ in range(6)]
            assert [answer[0] for answer in answers] == [200, 200, 429] * 2, answers
            assert answers[2][1]["Retry-After"] == "2" and json.loads(answers[2][2])["error"]["code"] == "rate_limit_exceeded"
        with server("--fault", "no-usage") as about:
            assert b"usage" not in chat(about["port"], 2)[2]
            assert b"usage" not in chat(about["port"], 2, stream=True, stream_options={"include_usage": True})[2]
        with server("--fault", "stall:after=2,length=300ms") as about:
            began = time.monotonic()
            assert len(streamed(about["port"], 4)[0]) == 4
            assert time.monotonic() - began >= 0.3
        with server("--fault", "split-utf8") as about:
            self.split(about["port"])

    def split(self, port):
        """HTTP chunks end between the bytes of a character, and together they are whole."""
        body = json.dumps({"model": MODEL, "prompt": "x", "max_tokens": 40, "ignore_eos": True, "stream": True})
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
                               + str(len(body)).encode() + b"\r\n\r\n" + body.encode())
            wire = b""
            while part := connection.recv(65536):
                wire += part
        rest = wire.split(b"\r\n\r\n", 1)[1]
        pieces = []
        while rest:
            length, rest = rest.split(b"\r\n", 1)
            pieces.append(rest[:int(length, 16)])
            rest = rest[int(length, 16) + 2:]
        broken = 0
        for piece in pieces:
            try:
                piece.decode()
            except UnicodeDecodeError:
                broken += 1
        assert broken >= 2, pieces
        chunks, done = chunks_of(b"".join(pieces))
        assert done and len(chunks) == 40

    def energy(self):
        with server("--max-num-seqs", "32") as about:
            port = about["port"]
            # Warm enough that it stays so: leakage goes with the temperature.
            chat(port, 30)
            idle = []
            for _ in range(2):
                idle.append(counter_joules())
                time.sleep(0.8 if len(idle) == 1 else 0)
            idle_w = (idle[1][0] - idle[0][0]) / (idle[1][1] - idle[0][1])
            before = metrics(port)
            joules, began = counter_joules()
            asked = [threading.Thread(target=chat, args=(port, 200), kwargs={"question": f"question {i}"}) for i in range(24)]
            for thread in asked:
                thread.start()
            for thread in asked:
                thread.join()
            after = metrics(port)
            end_joules, ended = counter_joules()
        change = {name: after[name] - before[name] for name in after}
        assert change["vllm:generation_tokens_total"] == 24 * 200, change
        assert change["vllm:request_success_total"] == 24, change
        assert change["vllm:time_to_first_token_seconds_count"] == 24, change
        assert change["vllm:inter_token_latency_seconds_count"] == 24 * 199, change
        # Continuous batching: far fewer steps than tokens.
        assert 199 <= change["perjoule_twin_decode_steps_total"] < 24 * 199 / 3, change
        # By the tables at the chip's reference temperature, and at rest the rest of the time. A chip that is cooler leaks
        # less: 1 % of 110 W a degree, and from 34 C it comes to some 40 C.
        steps = change["perjoule_twin_step_joules_total"]
        rest = idle_w * max(0, ended - began - change["perjoule_twin_step_seconds_total"])
        measured = end_joules - joules
        print(f"counter {measured:.1f} J, steps {steps:.1f} J, rest {rest:.1f} J at {idle_w:.1f} W")
        assert 0.90 * (steps + rest) < measured < 1.02 * (steps + rest), (measured, steps, rest)

    def refusals(self):
        def refused(*words):
            ended = subprocess.run([COMMAND, "twin", "serve", *words], text=True, capture_output=True, timeout=60, check=False)
            assert ended.stderr.startswith("perjoule: twin serve: "), ended
            return ended.returncode, ended.stderr
        assert refused("--gpu", "h100")[0] == 2  # the machine is there
        assert refused("--device", "7")[0] == 2
        status, words = refused("--model", "none")
        assert status == 2 and "qwen3-8b" in words, words
        for option in (("--port", "x"), ("--fault", "melt"), ("--max-num-seqs", "0"), ("--kv-blocks", "999999999")):
            assert refused(*option)[0] == 2, option
        with server() as about:
            status, words = refused("--port", str(about["port"]))
            assert status == 3 and "in use" in words, (status, words)


class TwinServe(TwinTest):
    def test_chat_and_completions_whole_and_streamed(self):
        self.on_twin("answers")

    def test_errors_have_their_status(self):
        self.on_twin("errors")

    def test_every_fault(self):
        self.on_twin("faults")

    def test_the_counter_shows_what_the_steps_take(self):
        print(self.on_twin("energy").stdout, end="")

    def test_what_cannot_be_is_refused(self):
        self.on_twin("refusals")


class OwnMachine(CommandTest):
    def test_others_see_its_gpu_by_the_variables_it_prints(self):
        process = self.start("twin", "serve", "--gpu", "h100", "--port", "0", "--json")
        about = json.loads(process.stdout.readline())
        self.assertEqual(json.loads(chat(about["port"], 3)[2])["usage"]["completion_tokens"], 3)
        seen = self.call("devices", variables=about["environment"])
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertIn("H100", seen.stdout)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)

    def test_a_gpu_without_a_table_is_refused(self):
        for gpu in ("v100", "nonesuch"):
            self.assertEqual(self.call("twin", "serve", "--gpu", gpu).returncode, 2)


if __name__ == "__main__":
    main(Scenes)
