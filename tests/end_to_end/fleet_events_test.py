"""perjoule fleet simulate request by request, as a user has it."""
import csv
import json
import os
import pathlib
import random
import subprocess
import unittest

from command import CommandTest, main

DATA = pathlib.Path(os.environ.get("PERJOULE_DATA") or pathlib.Path(__file__).resolve().parents[3] / "shared/data")
CONVERSATIONS = DATA / "azure_llm_2023/AzureLLMInferenceTrace_conv.csv"


def trace(requests, minutes=10, lengths=((100, 20), (700, 150), (2000, 400), (1500, 40))):
    """A trace of that many requests with lengths by turns, evenly over some minutes."""
    rows = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    for i in range(requests):
        second = 60 * minutes * i / requests
        prompt, output = lengths[i % len(lengths)]
        rows.append(f"2024-05-10 00:{int(second // 60):02}:{second % 60:09.6f},{prompt},{output}")
    return "\n".join(rows)


class FleetEvents(CommandTest):
    def simulated(self, *words):
        return self.json("fleet", "simulate", *words, "--json")

    def refused(self, status, *words, wanted=()):
        ended = self.call("fleet", "simulate", *words)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        for text in wanted:
            self.assertIn(text, ended.stderr)

    def test_every_policy_adds_up_and_says_what_it_rests_on(self):
        path = self.write("t.csv", trace(3000))
        timeline = self.folder / "timeline.csv"
        found = self.simulated(path, "--timeline", str(timeline), "--gpu-hour-price", "2")
        self.assertEqual([one["policy"] for one in found["policies"]],
                         ["single-pool", "multi-pool", "scale-inst", "scale-shard", "scale-freq", "all-knobs"])
        with timeline.open(encoding="utf-8") as file:
            minutes = list(csv.DictReader(file))
        for one in found["policies"]:
            every = one["all"]
            self.assertEqual(every["requests"], 3000)
            self.assertEqual(every["done"] + every["squashed"] + every["failed"], 3000)
            self.assertEqual(every["requests"], sum(c["requests"] for c in one["classes"].values()))
            self.assertEqual(one["energy"]["status"], "simulated")
            self.assertIn("synthetic", one["energy"]["source"])
            self.assertGreater(every["attainment"], 0.9)
            joules = sum(float(row["power_w"]) * float(row["duration_s"]) for row in minutes if row["policy"] == one["policy"])
            self.assertAlmostEqual(joules / one["energy"]["joules"], 1, places=5)
            self.assertAlmostEqual(one["gpu_cost_per_hour"], 2 * 8 * one["mean_servers"], places=6)
        shown = self.call("fleet", "simulate", path, "--policy", "single-pool,all-knobs", "--classes")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for text in ("Simulated: nobody measured this fleet", "IN TIME", "LL", "synthetic"):
            self.assertIn(text, shown.stdout)

    def test_a_seed_gives_the_same_answer_and_another_another(self):
        path = self.write("t.csv", trace(400))
        words = (path, "--policy", "all-knobs", "--scale", "3")
        first = self.simulated(*words)
        self.assertEqual(first, self.simulated(*words))
        self.assertNotEqual(first["policies"][0]["energy"], self.simulated(*words, "--seed", "2")["policies"][0]["energy"])
        self.assertEqual(first["policies"][0]["all"]["requests"], 1200)

    def test_the_best_steps_of_each_layout(self):
        path = self.write("t.csv", trace(2000))
        words = (path, "--policy", "single-pool")
        plain = self.simulated(*words)
        self.assertEqual(plain["engines"], [{"gpus": gpus, "step_tokens": 512, "carries_tps": None} for gpus in (2, 4, 8)])
        best = self.simulated(*words, "--step-tokens", "best")
        engines = best["engines"]
        self.assertEqual([one["gpus"] for one in engines], [2, 4, 8])
        steps = [one["step_tokens"] for one in engines]
        # More GPUs are quicker with a prompt, so that more of it fits between two tokens.
        self.assertEqual(steps, sorted(steps))
        self.assertGreater(steps[-1], 512)
        self.assertTrue(all(one["carries_tps"] > 0 for one in engines), engines)
        self.assertIn(f"{steps[-1]} over 8 GPUs", " ".join(best["notes"]))
        # They are what the simulation runs by.
        fixed = self.simulated(*words, "--step-tokens", str(steps[-1]))
        self.assertEqual(best["policies"], fixed["policies"])
        self.assertEqual(best["settings"]["step-tokens"], "best")

    def test_wrong_and_learned_predictions(self):
        path = self.write("t.csv", trace(2000))
        words = (path, "--policy", "all-knobs", "--predictor")
        wrong = self.simulated(*words, "wrong:40%")["policies"][0]
        self.assertAlmostEqual(wrong["mispredicted"] / 2000, 0.4, delta=0.05)
        # Here the prompt's length tells the output's.
        learned = self.simulated(*words, "learned", "--train", path)
        self.assertEqual(learned["policies"][0]["mispredicted"], 0)
        self.assertIn("100.0 % right", " ".join(learned["notes"]))
        kept = str(self.folder / "kept.json")
        self.simulated(*words, "learned", "--train", path, "--keep-predictor", kept)
        again = self.simulated(*words, kept)
        self.assertEqual(again["policies"], learned["policies"])
        self.refused(2, *words, "oracle", "--keep-predictor", kept, wanted=("--train",))
        self.refused(3, *words, self.write("none.json", "{}"), wanted=("not an output predictor",))
        moved = self.simulated(*words, "wrong:40%", "--outliving", "move")["policies"][0]
        self.assertEqual(moved["all"]["done"], 2000)

    def test_a_table_of_rates_after_days_that_are_learnt(self):
        lengths = self.write("t.csv", trace(100))
        rates = self.write("rates.csv", "bin,minute_start,r\n" + "".join(
            f"{i},{60 * i},{30 if i % 24 < 12 else 90}\n" for i in range(50)))
        prices = self.write("prices.csv", "time,price_per_kwh,carbon_g_per_kwh\n0,0.2,400\n")
        words = (rates, "--column", "r", "--lengths", lengths, "--policy", "scale-inst", "--prices", prices)
        found = self.simulated(*words, "--learn", "2d")["policies"][0]
        # To the end of the minute in which the last one ended.
        self.assertAlmostEqual(found["duration_s"], 2 * 3600, delta=180)
        hours = found["duration_s"] / 3600
        self.assertAlmostEqual(found["all"]["requests"], 2 * 3600 * 0.5, delta=300)
        self.assertAlmostEqual(found["electricity_per_hour"], 0.2 * found["energy_kwh"] / hours, places=6)
        self.assertAlmostEqual(found["carbon_g_per_hour"], 400 * found["energy_kwh"] / hours, places=3)
        self.refused(2, *words, "--learn", "9d", wanted=("--learn 9d",))
        self.refused(2, rates, "--column", "r", wanted=("--lengths",))
        # The simulation begins with the table, whenever that is.
        later = self.write("later.csv", "bin,minute_start,r\n" + "".join(f"{i},{6000 + i},60\n" for i in range(10)))
        short = self.simulated(later, "--column", "r", "--lengths", lengths, "--policy", "single-pool")["policies"][0]
        self.assertLessEqual(short["duration_s"], 12 * 60)
        self.assertAlmostEqual(short["all"]["requests"], 600, delta=120)
        tokens = self.write("tokens.csv", "start_s,duration_s,prompt_tps\n0,60,1000\n")
        self.refused(2, tokens, "--lengths", lengths, wanted=("--fluid",))

    def test_bad_input_ends_with_a_result(self):
        out_of_order = trace(200).splitlines()
        body = out_of_order[1:]
        random.Random(1).shuffle(body)
        shuffled = self.simulated(self.write("s.csv", "\n".join(out_of_order[:1] + body)), "--policy", "single-pool")["policies"][0]
        self.assertGreater(shuffled["out_of_order"], 50)
        self.assertEqual(shuffled["all"]["done"], 200)
        odd = self.write("o.csv", trace(400, lengths=((0, 10), (100, 0), (3_000_000, 1), (200, 20))))
        failed = self.simulated(odd, "--policy", "all-knobs")["policies"][0]["all"]
        self.assertEqual((failed["done"], failed["squashed"], failed["failed"]), (100, 0, 300))
        much = self.write("m.csv", trace(20000, minutes=2))
        for policy in ("single-pool", "all-knobs"):
            few = self.simulated(much, "--policy", policy, "--servers", "1")["policies"][0]
            self.assertEqual(few["all"]["done"] + few["all"]["squashed"], 20000)
            self.assertGreater(few["all"]["squashed"], 1000)
            self.assertFalse(few["keeps_attainment"])
        self.refused(3, self.write("bad.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n"), wanted=("line 2",))
        self.refused(2, str(self.folder / "nowhere.csv"), wanted=("nowhere.csv",))
        good = self.write("t.csv", trace(100))
        for words, text in ((("--policy", "nosuch"), "single-pool"), (("--attainment", "120%"), "--attainment"),
                            (("--predictor", "nosuch"), "oracle"), (("--predictor", "learned"), "--train"),
                            (("--scale", "1.5"), "--scale"), (("--margin", "nan"), "--margin"), (("--start", "-1s"), "--start"),
                            (("--predictor", "wrong:140%"), "between 0 and 1"), (("--learn", "1d"), "--learn"),
                            (("--outliving", "x"), "--outliving"), (("--servers", "0"), "--servers"), (("--ttft", "1s"), "only with --fluid"),
                            (("--first-token", "1s,2s"), "--first-token"), (("--step-tokens", "0"), "--step-tokens"),
                            (("--step-tokens", "worst"), "or best"),
                            (("--fluid", "--margin", "2"), "not with --fluid")):
            self.refused(2, good, *words, wanted=(text,))

    def test_levels_that_nothing_can_keep_are_told_and_those_that_are_late_kept(self):
        path = self.write("t.csv", trace(500))
        self.refused(1, path, "--first-token", "1ms,1ms,1ms", wanted=("no layout meets",))
        loose = self.simulated(path, "--first-token", "10s,10s,10s", "--between-tokens", "1s", "--policy", "all-knobs")
        self.assertEqual(loose["policies"][0]["all"]["attainment"], 1)
        self.assertEqual(loose["settings"]["between-tokens"], "1s")

    @unittest.skipUnless(CONVERSATIONS.exists() or os.environ.get("PERJOULE_DATA"), "no data sets: set PERJOULE_DATA")
    def test_the_shipped_tables_are_what_their_script_makes(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "tools/fleet_tables"
        made = subprocess.run([script, DATA, "--check"], capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)

    @unittest.skipUnless(CONVERSATIONS.exists() or os.environ.get("PERJOULE_DATA"), "no data sets: set PERJOULE_DATA")
    def test_azures_conversations_times_ten(self):
        found = self.simulated(str(CONVERSATIONS), "--scale", "10", "--policy", "single-pool,all-knobs")
        single, every = found["policies"]
        self.assertEqual(every["all"]["requests"], 193_660)
        self.assertEqual(every["all"]["done"], 193_660)
        self.assertGreater(every["saving"], 0.3)
        self.assertTrue(every["keeps_attainment"] and single["keeps_attainment"])


if __name__ == "__main__":
    main()
