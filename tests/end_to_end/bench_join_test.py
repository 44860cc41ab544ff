"""perjoule bench join: results of other tools and logs of power as a user has them, and the leaderboard over both."""
import json

from command import CommandTest, main

BEGIN = 1759842985  # 2025-10-07 13:16:25 UTC


def vllm(**more):
    return json.dumps({"date": "20251007-131636", "backend": "vllm", "model_id": "org/a", "num_prompts": 4,
                       "request_rate": "inf", "burstiness": 1.0, "max_concurrency": None, "duration": 10.0, "completed": 4,
                       "failed": 0, "total_input_tokens": 1000, "total_output_tokens": 500, "request_throughput": 0.4,
                       "output_throughput": 50.0, "total_token_throughput": 150.0, "median_itl_ms": 20.0,
                       "median_ttft_ms": 90.0, **more})


def smi(watts=(300.0, 200.0), units=True, hours=0):
    """A row a second and GPU, from 20 s before the run to 20 s after it."""
    lines = ["timestamp, index, power.draw [W]"]
    for second in range(-20, 31):
        clock = 13 * 3600 + 16 * 60 + 25 + second + 3600 * hours
        stamp = f"2025/10/07 {clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}.000"
        lines += [f"{stamp}, {gpu}, {power:.2f}{' W' if units else ''}" for gpu, power in enumerate(watts)]
    return "\n".join(lines) + "\n"


def table(watts=lambda second: 400.0, seconds=range(-20, 31)):
    return "unix_s,watts\n" + "".join(f"{BEGIN + second},{watts(second)}\n" for second in seconds)


class BenchJoin(CommandTest):
    def setUp(self):
        super().setUp()
        self.environment["TZ"] = "UTC"

    def join(self, result, power, *words):
        return self.json("bench", "join", self.write("r.json", result), "--power", self.write("p.csv", power), "--json", *words)

    def refused(self, status, result, power, *words, wanted=()):
        ended = self.call("bench", "join", self.write("r.json", result), "--power", self.write("p.csv", power), *words)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        self.assertEqual(ended.stdout, "")
        for text in wanted:
            self.assertIn(text, ended.stderr)

    def test_joules_from_nvidia_smi(self):
        for units in (True, False):
            joined = self.join(vllm(), smi(units=units))
            self.assertEqual(joined["schema"], "perjoule.bench-result.v1")
            self.assertAlmostEqual(joined["join"]["energy"]["joules"], 5000, places=6)
            self.assertAlmostEqual(joined["energy"]["output_token"]["joules"], 10, places=9)
            self.assertAlmostEqual(joined["energy"]["response"]["joules"], 1250, places=6)
            self.assertEqual(joined["energy"]["output_token"]["status"], "reconstructed")
            self.assertEqual(joined["energy"]["output_token"]["boundary"], "B0")
            self.assertEqual(joined["gpus"]["count"], 2)
            # 5 % of 3000 J and of 2000 J, independent of one another, one sigma.
            self.assertAlmostEqual(joined["join"]["one_sigma"]["gain_j"], 0.05 * 13e6 ** 0.5 / 3 ** 0.5, places=6)

    def test_the_table_says_how_sure_it_is(self):
        told = self.call("bench", "join", self.write("r.json", vllm()), "--power", self.write("p.csv", smi()))
        self.assertEqual(told.returncode, 0, told.stderr)
        for text in ("r.json", "A TOKEN", "10.0", "+-", "B0", "known within 2.00 s", "date as the end", "reconstructed", "one sigma: place"):
            self.assertIn(text, told.stdout)

    def test_local_time_is_told_by_the_offset(self):
        ahead = vllm(date="20251007-151636")
        self.assertAlmostEqual(self.join(ahead, smi(hours=2), "--offset", "2h")["join"]["energy"]["joules"], 5000, places=6)
        self.assertAlmostEqual(self.join(vllm(), smi(hours=2), "--offset", "2h", "--result-offset", "0s")["join"]["energy"]["joules"],
                               5000, places=6)
        self.environment["TZ"] = "TST-2"  # two hours ahead
        self.assertAlmostEqual(self.join(ahead, smi(hours=2))["join"]["energy"]["joules"], 5000, places=6)
        self.refused(3, vllm(), smi(hours=2), "--result-offset", "0s", "--offset", "0s", wanted=("--offset",))

    def test_the_leaderboard_ranks_what_was_joined(self):
        output = str(self.folder / "joined.json")
        ended = self.call("bench", "join", self.write("r.json", vllm()), "--power", self.write("p.csv", smi()), "--output", output)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        board = self.json("leaderboard", output, "--json")["boards"][0]
        self.assertEqual([row["model"] for row in board["rows"]], ["org/a"])
        self.assertAlmostEqual(board["rows"][0]["energy_j"], 10, places=9)
        self.assertEqual(board["benchmark"], "vllm bench serve")

    def test_a_table_needs_to_be_told_what_it_is_of(self):
        self.refused(2, vllm(), table(), wanted=("p.csv", "--boundary"))
        joined = self.join(vllm(), table(), "--boundary", "node", "--gain", "1%")
        self.assertAlmostEqual(joined["join"]["energy"]["joules"], 4000, places=6)
        self.assertEqual(joined["join"]["energy"]["boundary"], "B1")
        self.assertAlmostEqual(joined["join"]["one_sigma"]["gain_j"], 40 / 3 ** 0.5, places=6)
        self.assertEqual(joined["gpus"]["count"], 1)

    def test_a_window_in_place_of_the_results(self):
        report = json.dumps({"engine": {"model": "org/t", "version": "1.0"}, "request_info": {"num_requests": 10, "avg_output_length": 20},
                             "performance": {"request_throughput_req_s": 1.0, "total_latency_ms": 10000}})
        self.refused(2, report, table(), "--boundary", "gpu", wanted=("does not say when", "--begin"))
        joined = self.join(report, table(), "--boundary", "gpu", "--begin", str(BEGIN), "--end", str(BEGIN + 10.0))
        self.assertAlmostEqual(joined["energy"]["output_token"]["joules"], 20, places=9)
        self.assertEqual(joined["window"]["known_within_s"], 0)

    def test_edges_cost_what_power_steps_there(self):
        def load(second):
            return 500.0 if 0 <= second <= 10 else 100.0
        words = ("--boundary", "gpu", "--gain", "0")
        steps = self.join(vllm(), table(load), *words)["join"]["one_sigma"]["place_j"]
        self.assertGreater(steps, 300)
        self.assertAlmostEqual(self.join(vllm(), table(), *words)["join"]["one_sigma"]["place_j"], 0, places=6)
        self.assertLess(self.join(vllm(), table(load), *words, "--within", "0.1s")["join"]["one_sigma"]["place_j"], steps / 5)

    def test_what_the_log_does_not_cover(self):
        self.refused(3, vllm(), table(seconds=range(3, 31)), "--boundary", "gpu", wanted=("p.csv", "begins 3.000 s after"))
        self.refused(3, vllm(), table(seconds=range(-20, 6)), "--boundary", "gpu", wanted=("ends 5.000 s before",))

    def test_mlperf_with_its_power_meter(self):
        self.write("mlperf_log_summary.txt", "====\nMLPerf Results Summary\n====\nSUT name : S\nScenario : Offline\n"
                   "Mode     : PerformanceOnly\nSamples per second: 2\nTokens per second: 200\nResult is : VALID\n"
                   "Max latency (ns)                : 10000000000\nMean latency (ns)               : 5000000000\n")
        self.write("mlperf_log_detail.txt", ":::MLLOG {\"key\": \"power_begin\", \"value\": \"10-07-2025 13:16:25.000\"}\n"
                   ":::MLLOG {\"key\": \"power_end\", \"value\": \"10-07-2025 13:16:35.000\"}\n")
        meter = "".join(f"Time,10-07-2025 05:16:{second:02}.000,Watts,800.0,Volts,230.0,Amps,3.5,PF,0.9,Mark,run\n"
                        for second in range(10, 50))
        joined = self.json("bench", "join", str(self.folder / "mlperf_log_summary.txt"), "--power", self.write("spl.txt", meter),
                           "--offset=-8h", "--gain", "1%", "--json")
        self.assertAlmostEqual(joined["energy"]["output_token"]["joules"], 4, places=9)
        self.assertAlmostEqual(joined["energy"]["response"]["joules"], 400, places=6)
        self.assertEqual(joined["energy"]["response"]["boundary"], "B1")

    def test_several_results_of_which_one_was_elsewhere(self):
        def benchmark(begin):
            return {"config": {"strategy": {"type_": "concurrent", "streams": 4}, "backend": {"model": "org/g"}},
                    "scheduler_metrics": {"measure_start_time": begin, "measure_end_time": begin + 5},
                    "metrics": {"request_totals": {"successful": 10, "errored": 0},
                                "output_token_count": {"successful": {"total_sum": 1000.0}},
                                "inter_token_latency_ms": {"successful": {"mean": 10.0}}}}
        report = json.dumps({"metadata": {"guidellm_version": "0.5.0"},
                             "benchmarks": [benchmark(BEGIN), benchmark(BEGIN + 6), benchmark(BEGIN + 600)]})
        output = str(self.folder / "joined.json")
        ended = self.call("bench", "join", self.write("g.json", report), "--power", self.write("p.csv", table()), "--boundary",
                          "gpu", "--output", output)
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        self.assertIn("left out", ended.stderr)
        self.assertIn("row 3", ended.stderr)
        ranked = self.json("leaderboard", output, "--json")
        self.assertEqual(ranked["results"], 2)
        self.assertAlmostEqual(ranked["boards"][0]["rows"][0]["energy_j"], 2, places=9)
        self.refused(2, report, table(), "--boundary", "gpu", "--begin", str(BEGIN), "--end", str(BEGIN + 1), wanted=("one run",))

    def test_words_that_make_no_sense(self):
        for words in (("--gain", "120%"), ("--gain", "much"), ("--boundary", "rack"), ("--begin", "5"), ("--begin", "5", "--end", "6"),
                      ("--offset", "30h"), ("--within=-1s",), ("--begin", str(BEGIN), "--end", str(BEGIN))):
            with self.subTest(words=words):
                self.refused(2, vllm(), smi(), *words, wanted=("bench join",))
        self.refused(2, "{}", smi(), wanted=("r.json", "vllm bench serve"))
        self.refused(2, vllm(), "no log", wanted=("p.csv", "nvidia-smi"))
        missing = self.call("bench", "join", self.write("r.json", vllm()))
        self.assertEqual(missing.returncode, 2)
        self.assertIn("--power", missing.stderr)

    def test_our_own_log(self):
        rows = "".join(f"{source},{BEGIN + second + 0.5},{second + 0.5},{watts}\n" for second in range(-5, 20)
                       for source, watts in (("gpu:GPU-a", 250.0), ("gpu:GPU-a/power", 260.0), ("node/dcmi", 900.0)))
        log = "source,unix_s,time_s,power_w\n" + rows
        self.assertAlmostEqual(self.join(vllm(), log)["join"]["energy"]["joules"], 2500, places=6)
        node = self.join(vllm(), log, "--boundary", "node")
        self.assertAlmostEqual(node["join"]["energy"]["joules"], 9000, places=6)


if __name__ == "__main__":
    main()
