"""perjoule bench watch: a server that others load, that goes away and comes back, and a GPU that is lost."""
import json
import shutil
import signal
import subprocess
import time

from bench_test import LOAD, MODEL, PORT, near, perjoule, server
from command import COMMAND, TwinTest, main


class Scenes:
    def __init__(self, folder):
        self.folder = folder

    def watched(self):
        with server() as url:
            load = subprocess.Popen([COMMAND, "bench", "run", "--url", url, "--sources", "none", *LOAD, "--requests", "640"],
                                    stdout=subprocess.DEVNULL)
            time.sleep(1)
            textfile = self.folder / "serving.prom"
            lines = perjoule("bench", "watch", "--metrics", url, "--every", "1s", "--for", "4s", "--split", "model_name", "--json",
                             "--textfile", str(textfile)).stdout.splitlines()
            load.wait(timeout=100)
            documents = [json.loads(line) for line in lines]
            steps, whole = documents[:-1], documents[-1]
            assert len(steps) == 4 and whole["span"] == "whole", lines
            near(sum(one["energy"]["joules"] for one in steps), whole["energy"]["joules"], 1e-9)
            assert sum(one["output_tokens"] for one in steps) == whole["output_tokens"] > 0, whole
            assert whole["output_token"]["status"] == "simulated" and whole["output_token"]["expanded_j"] > 0, whole
            near(sum(one["energy"]["joules"] for one in whole["shares"]), whole["energy"]["joules"], 1e-9)
            assert whole["power_expanded_w"] > 0 and whole["tokens_per_joule_expanded"] > 0, whole
            near(whole["known_s"], whole["duration_s"], 0.1)
            assert not textfile.exists()
            unmetered = [json.loads(line) for line in perjoule("bench", "watch", "--metrics", url, "--every", "1s", "--for", "2s", "--sources",
                                                               "none", "--json").stdout.splitlines()][-1]
            assert unmetered["power_w"] is None and unmetered["output_tokens"] is not None and unmetered["energy_s"] == 0, unmetered
            # A textfile that can no longer be written costs nothing else.
            folder = self.folder / "gone"
            folder.mkdir()
            watching = subprocess.Popen([COMMAND, "bench", "watch", "--metrics", url, "--every", "1s", "--for", "4s", "--json", "--textfile",
                                         str(folder / "serving.prom")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(1.5)
            shutil.rmtree(folder)
            out, err = watching.communicate(timeout=60)
            assert watching.returncode == 0 and len(out.splitlines()) == 5 and err.count("--textfile") == 1, (watching.returncode, out, err)
            nowhere = perjoule("bench", "watch", "--metrics", "https://127.0.0.1:1", "--ca", "/nowhere/authorities.pem", status=2)
            assert "authorities" in nowhere.stderr, nowhere.stderr
            table = perjoule("bench", "watch", "--metrics", url, "--every", "1s", "--for", "2s", "--split", "model_name").stdout
            assert "none was made" in table and "(idle)" in table, table
            none = perjoule("bench", "watch", "--metrics", url, "--for", "1s", "--split", "tenant", status=2)
            assert "model_name" in none.stderr, none.stderr

    def watched_until_the_gpu_is_lost(self):
        textfile = self.folder / "serving.prom"
        with server() as url:
            load = subprocess.Popen([COMMAND, "bench", "run", "--url", url, "--sources", "none", *LOAD, "--requests", "3200"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            watch = subprocess.Popen([COMMAND, "bench", "watch", "--metrics", url, "--every", "1s", "--for", "12s", "--json", "--textfile",
                                      str(textfile)], stdout=subprocess.PIPE, text=True)
            steps, pages = [], []
            for line in watch.stdout:
                steps.append(json.loads(line))
                pages.append(textfile.read_text() if textfile.exists() else None)
            assert watch.wait(timeout=30) == 0
            load.kill()
            load.wait()
        whole = steps.pop()
        assert steps[1]["power_w"] > 0 and "perjoule_serving_power_watts " in pages[1], (steps[1], pages[1])
        lost, page = steps[-2], pages[-3]
        assert lost["energy"]["status"] == "missing" and lost["output_tokens"] is not None, lost
        assert lost["power_w"] is None and lost["tokens_per_joule"] is None and lost["output_token"]["joules"] is None, lost
        assert "tokens_per_second" in page and "watts" not in page and "_joule" not in page, page
        assert whole["energy"]["status"] == "simulated" and 0 < whole["energy_s"] < whole["duration_s"] - 2, whole
        assert whole["output_token"]["joules"] > 0 and whole["known_s"] < whole["tokens_s"], whole
        assert not textfile.exists()

    def watched_over_a_restart(self):
        textfile = self.folder / "serving.prom"
        words = [COMMAND, "twin", "serve", "--port", str(PORT), "--json", "--model", MODEL]
        url = f"http://127.0.0.1:{PORT}"

        def serve():
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            process.stdout.readline()
            return process

        def watch(*more):
            return subprocess.Popen([COMMAND, "bench", "watch", "--metrics", url, "--every", "1s", "--json", "--textfile", str(textfile), *more],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def load():
            perjoule("bench", "run", "--url", url, "--sources", "none", "--input-tokens", "50", "--output-tokens", "20", "--requests", "10", "--concurrency",
                     "4")

        def end(process, how=signal.SIGKILL):
            process.send_signal(how)
            process.wait()
            process.stdout.close()

        serving = serve()
        watching = watch("--for", "14s", "--split", "model_name")
        time.sleep(1.5)
        load()
        time.sleep(1.2)
        assert textfile.exists()
        end(serving)
        time.sleep(3.2)
        assert not textfile.exists(), textfile.read_text()
        serving = serve()
        load()
        out, err = watching.communicate(timeout=60)
        assert watching.returncode == 0, err
        assert err.count("still looking") == 1, err
        *steps, whole = [json.loads(line) for line in out.splitlines()]
        assert whole["span"] == "whole" and whole["output_tokens"] > 0, whole
        assert whole["output_tokens"] == sum(one["output_tokens"] for one in steps if one["output_tokens"] is not None), out
        assert [one["output_tokens"] for one in steps].count(None) == 1, out
        near(whole["energy_s"], whole["duration_s"], 0.02)
        assert 2 < whole["duration_s"] - whole["known_s"] < 8, whole
        near(sum(one["energy"]["joules"] for one in whole["shares"]), whole["energy"]["joules"], 1e-9)
        assert any(one.get("unknown") for one in whole["shares"]), whole["shares"]
        # One that does not come back.
        watching = watch("--for", "4s")
        time.sleep(2.5)
        end(serving)
        out, err = watching.communicate(timeout=60)
        assert watching.returncode == 3 and json.loads(out.splitlines()[-1])["span"] == "whole", (watching.returncode, out, err)
        assert not textfile.exists()


class BenchWatch(TwinTest):
    def test_others_load_is_watched(self):
        self.on_twin("watched")

    def test_a_lost_gpu_is_watched_as_unknown(self):
        self.on_twin("watched_until_the_gpu_is_lost", fault="lost:gpu=0,at=7s")

    def test_a_watch_outlives_its_server(self):
        self.on_twin("watched_over_a_restart")


if __name__ == "__main__":
    main(Scenes)
