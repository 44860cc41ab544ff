"""perjoule leaderboard on results good and bad, and, where the data sets are, on what others published."""
import csv
import io
import json
import os
import pathlib
import unittest

from command import CommandTest, main, needs_nobody

# The environment's word is for tests; commands are called without it.
DATA = pathlib.Path(os.environ.get("PERJOULE_DATA") or pathlib.Path(__file__).resolve().parents[3] / "shared/data")
PUBLISHED = DATA / "mlenergy_leaderboard"


def needs_published_data(test):
    """Skips a test without the data sets; fails it where PERJOULE_DATA promises them and they are not there."""
    there = (PUBLISHED / "expected_recommendations.json").exists()
    return unittest.skipUnless(there or os.environ.get("PERJOULE_DATA"),
                               "no data sets: set PERJOULE_DATA or put them in ../shared/data")(test)


def text_row(model="org/a", batch=8, itl=10.0, energy=0.5, length=100.0, rate=1000.0, **more):
    return {"model_id": model, "gpu_model": "H100", "num_gpus": 1, "tensor_parallel": 1, "max_num_seqs": batch,
            "avg_batch_size": batch * 0.99, "weight_precision": "bfloat16", "total_params_billions": 8.0,
            "energy_per_token_joules": energy, "energy_per_request_joules": energy * length, "avg_output_len": length,
            "avg_power_watts": energy * rate, "output_throughput_tokens_per_sec": rate, "median_itl_ms": itl,
            "p95_itl_ms": 2 * itl, **more}


def task(*rows, name="chat", **more):
    return json.dumps({"task": name, "configurations": list(rows), **more})


ROWS = (text_row(), text_row(batch=64, itl=40.0, energy=0.25, length=150.0),
        text_row("org/b", itl=20.0, energy=0.375, gpu_model="B200", nickname="B"))


class Leaderboard(CommandTest):
    def results(self, *rows):
        return self.write("chat.json", task(*(rows or ROWS)))

    def board(self, *words, rows=()):
        return self.json("leaderboard", self.results(*rows), "--json", *words)["boards"][0]

    def refused(self, name, content, *wanted):
        result = self.call("leaderboard", self.write(name, content))
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        for text in (name, *wanted):
            self.assertIn(text, result.stderr)

    def test_a_ranking(self):
        rows = self.board()["rows"]
        self.assertEqual([row["model"] for row in rows], ["org/a", "org/b"])
        self.assertEqual(rows[0]["energy_j"], 0.25)
        self.assertEqual(rows[0]["saved_per_unit"], 0.5)
        self.assertEqual(rows[0]["saved_per_response"], 0.25)
        self.assertEqual(rows[0]["result"]["batch"]["max_num_seqs"], 64)
        self.assertIsNone(rows[0]["result"]["energy"]["output_token"]["expanded_j"])
        told = self.call("leaderboard", self.results())
        self.assertEqual(told.returncode, 0, told.stderr)
        for text in ("250.0 mJ", "bfloat16", "1 x H100", "reconstructed", "no uncertainty stated"):
            self.assertIn(text, told.stdout)

    def test_filters_are_inclusive(self):
        self.assertEqual([r["model"] for r in self.board("--gpu", "h100")["rows"]], ["org/a"])
        self.assertEqual([r["model"] for r in self.board("--model", "B")["rows"]], ["org/b"])
        at_bound = self.board("--deadline", "40ms")["rows"]
        self.assertEqual(at_bound[0]["energy_j"], 0.25)
        self.assertEqual(self.board("--deadline", "39ms")["rows"][0]["model"], "org/b")
        by_p95 = self.board("--metric", "p95-itl", "--deadline", "40ms")["rows"]
        self.assertEqual([r["energy_j"] for r in by_p95], [0.375, 0.5])
        budget = self.board("--deadline", "20ms", "--energy-budget", "375mJ")
        self.assertEqual([r["model"] for r in budget["rows"]], ["org/b"])
        self.assertEqual(budget["misses"][0]["model"], "org/a")

    def test_by_response(self):
        rows = self.board("--by", "response", "--model", "org/a")["rows"]
        self.assertEqual((rows[0]["energy_j"], rows[0]["result"]["batch"]["max_num_seqs"]), (37.5, 64))

    def test_the_shipped_table(self):
        table = str(pathlib.Path(__file__).resolve().parents[2] / "data/mlenergy_v2_llm.csv")
        rows = self.json("leaderboard", table, "--by", "response", "--deadline", "100ms", "--json")["boards"][0]["rows"]
        self.assertEqual([round(row["energy_j"], 2) for row in rows], [57.39, 247.97])
        claim = self.json("leaderboard", table, "--claim", "llama-3.1-8b", "--json")["claims"][0]
        self.assertEqual([round(figure["here"], 2) for figure in claim["figures"][:2]], [79.27, 41.94])
        nothing = self.call("leaderboard", table, "--claim", "reasoning")
        self.assertEqual(nothing.returncode, 1)

    def test_infeasible_is_an_answer_with_the_nearest_miss(self):
        for words in ((), ("--frontier", "org/a")):
            told = self.call("leaderboard", self.results(), "--deadline", "9ms", *words)
            self.assertEqual(told.returncode, 1, told.stderr)
            self.assertIn("10.0000 ms", told.stdout)

    def test_quality_and_joules_per_correct_answer(self):
        rows = self.board(rows=(text_row(accuracy=0.5), text_row("org/b", energy=0.4)))["rows"]
        self.assertEqual({r["model"]: r.get("per_correct_j") for r in rows}, {"org/a": 100, "org/b": None})
        self.assertIn("J per correct answer", self.call("leaderboard", str(self.folder)).stdout)

    def test_unlike_benchmarks_stand_apart(self):
        self.results()
        own = {"schema": "perjoule.bench-result.v1", "benchmark": "perjoule", "task": "chat", "model": {"id": "m"},
               "gpus": {"model": "H100", "count": 1}, "latency": {"itl": {"p50_s": 0.01}},
               "energy": {"output_token": {"joules": 0.1, "expanded_j": 0.01, "status": "measured", "boundary": "B0",
                                           "source": "gpu:0"}}}
        self.write("own.json", json.dumps(own))
        apart = self.json("leaderboard", str(self.folder), "--json")["boards"]
        self.assertEqual(sorted(b["benchmark"] for b in apart), ["ML.ENERGY v3", "perjoule"])
        together = self.json("leaderboard", str(self.folder), "--together", "--json")["boards"]
        self.assertEqual([r["model"] for r in together[0]["rows"]], ["m", "org/a", "org/b"])
        told = self.call("leaderboard", str(self.folder), "--together").stdout
        self.assertIn("100 +- 10 mJ", told)
        self.assertIn("measured, GPUs alone (B0), k=2", told)

    def test_what_is_spoken_against_is_left_out_and_said(self):
        wrong = text_row("org/wrong", energy=0.01, avg_power_watts=99.0)
        negative = text_row("org/negative", energy=-1.0)
        told = self.call("leaderboard", self.results(*ROWS, wrong, negative, ROWS[0]))
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertNotIn("org/wrong", told.stdout)
        self.assertNotIn("org/negative", told.stdout)
        self.assertIn("3 results", told.stderr)
        self.assertIn("row 4: power = energy per output token x output rate is off", told.stderr)

    def test_checks(self):
        full = self.json("leaderboard", self.results(), "--validity", "--json")["boards"][0]["rows"][0]["checks"]
        states = {check["rule"]: check["state"] for check in full}
        self.assertEqual(states["average power"], "passed")
        self.assertEqual(states["window"], "not checked")
        idle = text_row("org/idle", energy=0.01)  # 10 W
        rows = self.board("--valid-only", rows=(*ROWS, idle))["rows"]
        self.assertNotIn("org/idle", [row["model"] for row in rows])

    def test_bad_files_are_named_by_row(self):
        good = task(*ROWS)
        self.refused("cut.json", good[:200], "line")
        self.refused("kind.json", task(text_row(max_num_seqs="many")), "row 1", "max_num_seqs")
        self.refused("gpu.json", task(ROWS[0], {"model_id": "x"}), "row 2", "gpu_model")
        self.refused("nan.json", good.replace("10.0", "NaN"), "line")
        self.refused("none.json", "{}", "known format")
        self.refused("words.txt", "no results here", "known format")
        self.refused("empty.json", "")
        table = io.StringIO()
        csv.writer(table).writerows((
            "family task model gpu tp pp max_bs avg_bs energy_per_req_j avg_tpot_s token_tput_tok_s avg_output_tokens".split(),
            ("llm", "chat", "m", "H100", 1, 1, 8, 8, "nan", 0.1, 100, 30)))
        self.refused("llm.csv", table.getvalue(), "line 2", "energy_per_req_j")

    def test_a_bad_file_in_a_folder_is_none_to_pass_over(self):
        self.results()
        self.write("bad.json", "{")
        self.write("README.md", "words")
        refused = self.call("leaderboard", str(self.folder))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("bad.json", refused.stderr)
        skipped = self.call("leaderboard", str(self.folder), "--skip-bad")
        self.assertEqual(skipped.returncode, 0, skipped.stderr)
        self.assertIn("bad.json", skipped.stderr)
        self.assertIn("passed over 1 file", skipped.stderr)

    def test_nothing_there(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for path in (str(empty), str(self.folder / "none.json")):
            result = self.call("leaderboard", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn(path, result.stderr)

    @needs_nobody
    def test_a_folder_that_may_not_be_read(self):
        self.results()
        closed = self.folder / "closed"
        closed.mkdir(mode=0o700)
        self.folder.chmod(0o755)
        result = self.call("leaderboard", str(self.folder),
                           before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("closed", result.stderr)

    def test_words_that_make_no_sense(self):
        path = self.results()
        for words in (("--by", "x"), ("--metric", "x"), ("--gpu", "H300"), ("--deadline", "0"), ("--claim", "x"),
                      ("--frontier", "org/a", "--model", "org/b"), ("--metric", "p99-ttft")):
            with self.subTest(words):
                self.assertEqual(self.call("leaderboard", path, *words).returncode, 2)

    def test_no_escape_reaches_the_terminal(self):
        told = self.call("leaderboard", self.results(text_row("org/\x1b[2J")), "--context", "--validity")
        self.assertNotIn("\x1b", told.stdout + told.stderr)


SETTINGS = {"num_gpus": ("gpus", "count"), "max_num_seqs": ("batch", "max_num_seqs"), "max_bs": ("batch", "max_num_seqs"),
            "batch_size": ("batch", "size"), "tensor_parallel": ("parallel", "tensor"),
            "expert_parallel": ("parallel", "expert"), "data_parallel": ("parallel", "data"),
            "ulysses_degree": ("parallel", "ulysses"), "ring_degree": ("parallel", "ring"), "gpu_model": ("gpus", "model"),
            "avg_power_watts": ("power_w",), "avg_output_len": ("lengths", "mean_output"),
            "output_throughput_tokens_per_sec": ("rates_per_s", "output_tokens"),
            "energy_per_request_joules": ("energy", "response", "joules")}
METRICS = {"median_itl_ms": "median-itl", "p90_itl_ms": "p90-itl", "p95_itl_ms": "p95-itl", "avg_tpot_s": "mean-tpot",
           "batch_latency_s": "batch"}
ENERGIES = {"v2/llm.csv": "energy_per_req_j", "v2/diffusion.csv": "energy_per_output_j",
            "tasks/text-to-image.json": "energy_per_image_joules", "tasks/text-to-video.json": "energy_per_video_joules"}


@needs_published_data
class PublishedData(CommandTest):
    def examples(self):
        with open(PUBLISHED / "expected_recommendations.json", encoding="utf-8") as file:
            examples = json.load(file)["examples"]
        self.assertEqual(len(examples), 12)
        for example in examples:
            factor = 1e-3 if example["latency_metric"].endswith("_ms") else 1
            gpus = [] if example["gpu_models"] == "all" else example["gpu_models"]
            yield example, factor, gpus

    def near(self, found, wanted):
        self.assertLessEqual(abs(found - wanted), 1e-9 * abs(wanted))

    def same_point(self, point, wanted, factor, result=None):
        self.near(point["time_s"], wanted["latency"] * factor)
        self.near(point["energy"]["joules"], wanted["energy"])
        for name, value in wanted.items():
            if result is None or name in ("latency", "energy"):
                continue
            found = result
            for step in SETTINGS[name]:
                found = found[step]
            self.assertEqual(found, value) if isinstance(value, str) else self.near(found, value)

    def same_choice(self, status, group, example, factor, results=(None, None)):
        self.assertEqual(status, 1 if example["chosen"] is None else 0)
        self.assertEqual((group["candidates"], group["feasible"]), (example["candidates"], example["feasible"]))
        self.same_point(group["fastest"], example["fastest"], factor, results[0])
        if example.get("frontier"):
            self.assertEqual(len(group["frontier"]), len(example["frontier"]))
            for point, wanted in zip(group["frontier"], example["frontier"]):
                self.same_point(point, wanted, factor)
        if example["chosen"] is None:
            self.near(group["miss"]["reached"], 36.031765514053404e-3)
            return
        self.same_point(group["chosen"], example["chosen"], factor, results[1])
        self.near(group["energy_saved"], example["saving_energy_fraction"])

    def test_the_twelve_recommendations_by_leaderboard(self):
        for example, factor, gpus in self.examples():
            with self.subTest(example["model_id"], deadline=example["deadline"]):
                words = [w for gpu in gpus for w in ("--gpu", gpu)]
                if example["input"] == "v2/llm.csv":
                    words += ["--by", "response"]
                result = self.call(
                    "leaderboard", str(PUBLISHED / example["input"]), "--frontier", example["model_id"], "--json", "--metric",
                    METRICS[example["latency_metric"]], "--deadline", f"{example['deadline'] * factor}s", *words)
                group = json.loads(result.stdout)["frontiers"][0]
                self.same_choice(result.returncode, group, example, factor,
                                 (group["fastest_result"], group.get("chosen_result")))
                if "saving_per_response_fraction" in example:
                    self.near(group["saved_per_response"], example["saving_per_response_fraction"])

    def test_the_twelve_recommendations_by_frontier(self):
        for example, factor, gpus in self.examples():
            with self.subTest(example["model_id"], deadline=example["deadline"]):
                second = example["input"].startswith("v2")
                words = [w for gpu in gpus for w in ("--where", f"{'gpu' if second else 'gpu_model'}={gpu}")]
                energy = ENERGIES.get(example["input"], "energy_per_token_joules")
                result = self.call(
                    "frontier", str(PUBLISHED / example["input"]), "--json", "--map", f"time={example['latency_metric']}",
                    "--map", f"energy={energy}", "--where", f"{'model' if second else 'model_id'}={example['model_id']}",
                    "--deadline", f"{example['deadline'] * factor}s", *words)
                self.same_choice(result.returncode, json.loads(result.stdout)["groups"][0], example, factor)

    def test_the_infeasible_one_says_by_how_much(self):
        result = self.call("leaderboard", str(PUBLISHED), "--task", "gpqa", "--model", "Qwen/Qwen3-32B", "--gpu", "B200",
                           "--deadline", "30ms")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("36.0318 ms", result.stdout)

    def test_all_claims_have_figures(self):
        claims = self.json("leaderboard", str(PUBLISHED), "--claims", "--json")["claims"]
        self.assertEqual(len(claims), 10)
        for claim in claims:
            self.assertTrue(claim["figures"] and claim["reason"], claim["name"])
        verdicts = {claim["name"]: claim["verdict"] for claim in claims}
        self.assertEqual(verdicts["tdp-overestimate"], "reproduced")
        self.assertEqual(verdicts["llama-3.1-8b"], "close")
        self.assertEqual(verdicts["h100-70b"], "not in these data")


if __name__ == "__main__":
    main()
