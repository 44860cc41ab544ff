"""perjoule fleet: profiles, plans and fluid simulations as a user has them, by hand and on recorded data."""
import json
import os
import pathlib
import unittest

from command import CommandTest, main

DATA = pathlib.Path(os.environ.get("PERJOULE_DATA") or pathlib.Path(__file__).resolve().parents[3] / "shared/data")
PROFILES = DATA / "serving/dvfs_profiles"
LLAMA = PROFILES / "dynamo_dvfs_profile_A100-SXM4-80GB_meta-llama_Llama-3.3-70B-Instruct.csv"
QWEN_A100 = PROFILES / "dynamo_dvfs_profile_A100_80GB_PCIe_Qwen_Qwen2.5-14B.csv"
QWEN_A6000 = PROFILES / "dynamo_dvfs_profile_RTX_A6000_Qwen_Qwen2.5-14B.csv"


def needs_data(test):
    """Skips a test without the data sets; fails it where PERJOULE_DATA promises them and they are not there."""
    return unittest.skipUnless(LLAMA.exists() or os.environ.get("PERJOULE_DATA"),
                               "no data sets: set PERJOULE_DATA or put them in ../shared/data")(test)


def beam(rows):
    return "clock,tp,pp,tps,gpu_power,ttft_mean,tbt_mean,ttft_p99,tbt_p90\n" + "".join(
        f"{clock},8,1,{load},{power},{ttft},50,9000,80\n" for clock, load, power, ttft in rows)


SMALL = beam([(1000, 100, 200, 900), (1000, 200, 400, 3000), (2000, 100, 350, 200), (2000, 200, 600, 400)])


class Fleet(CommandTest):
    def profile(self, text=SMALL, name="dynamo_dvfs_profile_H100_Qwen_Q.csv"):
        return self.write(name, text)

    def refused(self, status, *words, wanted=()):
        ended = self.call("fleet", *words)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        for text in wanted:
            self.assertIn(text, ended.stderr)
        return ended

    def test_profiles_are_joined_and_written_as_our_table(self):
        ours = str(self.folder / "ours.csv")
        shown = self.call("fleet", "profile", self.profile(), "--output", ours)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for text in ("Qwen/Q", "H100", "2000 MHz", "100 to 200", "reconstructed", "BEAM artifact"):
            self.assertIn(text, shown.stdout)
        again = self.json("fleet", "profile", ours, "--json")
        self.assertEqual(again["schema"], "perjoule.fleet-profile.v1")
        self.assertEqual(len(again["curves"]), 2)
        self.assertEqual(again["curves"][0]["points"][0]["power_w"], 200)
        self.assertEqual(again["curves"][0]["points"][0]["ttft"]["mean_s"], 0.9)
        self.assertIsNone(again["curves"][0]["points"][0]["tbt"]["p99_s"])
        self.assertIn("900.0 ms", self.call("fleet", "profile", ours, "--points").stdout.replace("900 ms", "900.0 ms"))
        self.refused(2, "profile", ours, self.profile(), wanted=("a second time",))

    def test_benchmark_results_are_points(self):
        result = {"schema": "perjoule.bench-result.v1", "task": "t", "kind": "text", "model": {"id": "org/a"},
                  "gpus": {"model": "H100", "count": 4}, "parallel": {"tensor": 4}, "lengths": {"mean_input": 500},
                  "power_w": 1500, "rates_per_s": {"responses": 2}, "latency": {"ttft": {"mean_s": 0.2}, "itl": {"mean_s": 0.02}}}
        path = self.write("r.json", json.dumps(result))
        self.refused(2, "profile", path, wanted=("r.json", "--clock"))
        curve = self.json("fleet", "profile", path, "--clock", "1410MHz", "--json")["curves"][0]
        self.assertEqual((curve["tp"], curve["clock_mhz"], curve["points"][0]["load_tps"]), (4, 1410, 1000))

    def test_a_plan_by_hand(self):
        plan = self.json("fleet", "plan", "100,350", "--profile", self.profile(), "--json")
        self.assertEqual(plan["schema"], "perjoule.fleet-plan.v1")
        small, large = plan["loads"]
        self.assertEqual(small["clocks"][0]["chosen"]["clock_mhz"], 1000)
        self.assertAlmostEqual(small["clocks"][0]["saving"], 1 - 200 / 350, places=12)
        self.assertEqual(small["pool"]["power_w"], 200)
        # Four at 100 and the lower clock are better than one at 200 and two at 100.
        self.assertEqual(large["pool"]["power_w"], 800)
        self.assertEqual(large["pool"]["instances"], [{"kind": "H100 x8", "count": 4, "tp": 8, "pp": 1, "clock_mhz": 1000,
                                                       "load_tps": 100, "power_w": 200}])
        limited = self.json("fleet", "plan", "350", "--profile", self.profile(), "--most-gpus", "24", "--json")["loads"][0]
        self.assertEqual(limited["pool"]["power_w"], 1000)
        self.assertEqual(limited["pool"]["gpus"], 24)
        self.assertIsNotNone(limited["equal_split_w"])

    def test_what_cannot_be_planned_says_why(self):
        profile = self.profile()
        ended = self.refused(1, "plan", "500", "--profile", profile, "--most", "H100=2", wanted=("carry at most 400",))
        self.assertIn("infeasible", ended.stdout)
        self.refused(1, "plan", "100", "--profile", profile, "--ttft", "100ms", wanted=("no point of the profile meets",))
        self.refused(2, "plan", "100", wanted=("--profile",))
        self.refused(2, "plan", "100", "--profile", profile, "--most", "A100=2", wanted=("H100 x8",))
        self.refused(2, "plan", "100", "--profile", profile, "--solver", "guess", wanted=("exact or cbc",))
        self.refused(2, "plan", "100", "--profile", profile, "--statistic", "median", wanted=("mean or tail",))
        self.refused(2, "plan", "100", "--profile", profile, "--gpu", "B200", wanted=("Qwen/Q on H100",))
        self.refused(2, "plan", "much", "--profile", profile)
        tail = self.json("fleet", "plan", "100", "--profile", profile, "--statistic", "tail", "--ttft", "9s", "--json")
        self.assertEqual(tail["target"]["ttft_statistic"], "p99")
        self.assertEqual(tail["loads"][0]["pool"]["power_w"], 200)

    def test_a_load_as_a_fluid_by_hand(self):
        load = self.write("load.csv", "start_s,duration_s,prompt_tps\n0,1800,400\n1800,1800,100\n")
        prices = self.write("prices.csv", "time,price_per_kwh,carbon_g_per_kwh\n0,0.2,500\n1800,0.1,\n")
        words = ("fleet", "simulate", "--fluid", load, "--profile", self.profile(), "--prices", prices, "--gpu-hour-price", "2")
        found = self.json(*words, "--json")
        self.assertEqual(found["schema"], "perjoule.fleet-simulation.v1")
        policies = {one["policy"]: one for one in found["policies"]}
        self.assertEqual(found["most_servers"], 2)
        # 1,200 W, then 700 W of two servers that are held at their lowest point.
        self.assertAlmostEqual(policies["single-pool"]["energy_kwh"], 0.95, places=12)
        self.assertAlmostEqual(policies["scale-freq"]["energy_kwh"], 0.8, places=12)
        self.assertAlmostEqual(policies["scale-inst"]["energy_kwh"], 0.775, places=12)
        self.assertAlmostEqual(policies["joint"]["energy_kwh"], 0.7, places=12)
        self.assertAlmostEqual(policies["single-pool"]["electricity_per_hour"], 0.6 * 0.2 + 0.35 * 0.1, places=12)
        self.assertIsNone(policies["single-pool"]["carbon_g_per_hour"])
        self.assertAlmostEqual(policies["scale-inst"]["gpu_cost_per_hour"], 1.5 * 8 * 2, places=12)
        self.assertEqual(policies["joint"]["energy"]["status"], "reconstructed")
        told = self.call(*words)
        for text in ("single-pool", "joint", "ABOVE JOINT", "SAVED", "nobody measured", "BEAM artifact"):
            self.assertIn(text, told.stdout)

    def test_what_a_small_fleet_cannot_serve_is_stated(self):
        load = self.write("load.csv", "start_s,duration_s,prompt_tps\n0,60,400\n60,60,100\n")
        words = ("simulate", "--fluid", load, "--profile", self.profile())
        found = self.json("fleet", *words, "--servers", "1", "--policy", "joint", "--json")["policies"][0]
        self.assertEqual(found["unserved_tokens"], 12000)
        self.assertAlmostEqual(found["attainment"], 0.6, places=12)
        self.assertEqual([one["start_s"] for one in found["missed_bins"]], [0])
        self.assertIn("12000 tokens unserved", self.call("fleet", *words, "--servers", "1").stdout)
        self.refused(1, *words, "--tbt", "1ms", wanted=("nearest is",))
        self.refused(2, "simulate", load, "--profile", self.profile(), wanted=("--fluid",))
        self.refused(2, *words, "--policy", "best", wanted=("single-pool",))
        self.refused(2, "simulate", "--fluid", self.write("no.csv", "a,b\n1,2\n"), "--profile", self.profile(), wanted=("no load",))
        self.refused(2, *words, "--servers", "0")

    @needs_data
    def test_pools_on_recorded_profiles(self):
        for solver in ("exact", "cbc"):
            ended = self.call("fleet", "plan", "9600", "--profile", str(QWEN_A100), "--profile", str(QWEN_A6000), "--most",
                              "A100_80GB_PCIe=2,RTX_A6000=4", "--solver", solver, "--json")
            if solver == "cbc" and "coinor-libcbc3" in ended.stderr:
                self.assertEqual(ended.returncode, 3)
                continue
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertAlmostEqual(json.loads(ended.stdout)["loads"][0]["pool"]["power_w"], 944.9291, places=4)

    @needs_data
    def test_the_week_on_recorded_profiles(self):
        load = DATA / "azure_llm_2024_load/load_10min_digitised.csv"
        found = self.json("fleet", "simulate", "--fluid", str(load), "--column", "conv_req_per_min", "--tokens-per-request", "1632",
                          "--epoch", "30min", "--profile", str(LLAMA), "--json")
        kwh = {one["policy"]: one["energy_kwh"] for one in found["policies"]}
        for policy, wanted in (("single-pool", 8947.395), ("scale-freq", 5844.808), ("scale-inst", 5837.141),
                               ("scale-inst-freq", 4286.691), ("both", 4257.979)):
            self.assertAlmostEqual(kwh[policy] / wanted, 1, delta=1e-4)
            self.assertLessEqual(kwh["joint"], kwh[policy])

    @needs_data
    def test_the_hour_on_a_trace(self):
        trace = DATA / "azure_llm_2023/AzureLLMInferenceTrace_code.csv"
        found = self.json("fleet", "simulate", "--fluid", str(trace), "--scale", "10", "--profile", str(LLAMA), "--ttft", "700ms",
                          "--tbt", "90ms", "--policy", "single-pool,both", "--json")
        self.assertEqual(found["load"]["bins"], 57)
        self.assertEqual(found["most_servers"], 57)
        self.assertAlmostEqual(found["policies"][0]["energy_kwh"] / 84.8364, 1, delta=1e-4)
        self.assertAlmostEqual(found["policies"][1]["energy_kwh"] / 21.2858, 1, delta=1e-4)


if __name__ == "__main__":
    main()
