"""perjoule sweep on a simulated GPU: its points, and the knob left as it was found, whatever happens."""
import json
import os
import pathlib
import re
import signal
import subprocess

from command import COMMAND, TwinTest, limit_mw, main, wait_for_limit


class Sweep(TwinTest):
    def test_points_over_power_limits(self):
        self.on_twin("points")
        points = json.loads((self.folder / "points.json").read_text())["points"]
        self.assertEqual([point["settings"]["power limit"] for point in points], ["300 W", "500 W", "700 W"])
        for point in points:  # of the GPU, beside whatever there is of this machine's processors
            self.assertIn("simulated", point["energy"]["status"].split(" + "))
        self.assertGreater(points[0]["time_s"], points[-1]["time_s"])
        chosen = self.call("frontier", str(self.folder / "points.json"), "--slowdown", "1.5")
        self.assertEqual(chosen.returncode, 0, chosen.stderr)

    def test_a_setting_part_of_which_went_unseen_is_not_recommended(self):
        swept = self.call("twin", "run", "--gpu", "h100", "--fault", "freeze:gpu=0,from=4s,until=60s", "--", COMMAND,
                          "sweep", "--power-limit", "700,600,500", "--sources", "gpu", "--output",
                          str(self.folder / "points.json"), "--", COMMAND, "twin", "work", "matmul", "--steps", "20",
                          "--duty", "1")
        self.assertEqual(swept.returncode, 0, swept.stdout + swept.stderr)
        self.assertIn("at least", swept.stderr)
        self.assertRegex(swept.stdout, r"Left out of the choice \(\?\): power limit \d00 W: at least")
        bounds = {point["settings"]["power limit"]: point["energy"].get("lower_bound", False)
                  for point in json.loads((self.folder / "points.json").read_text())["points"]}
        self.assertFalse(bounds["700 W"])
        self.assertIn(True, bounds.values())
        recommended = re.search(r"Recommended .*: power limit (\d00 W)", swept.stdout).group(1)
        self.assertFalse(bounds[recommended])

    def test_an_impossible_limit_turns_nothing(self):
        self.on_twin("impossible")

    def test_ctrl_c_restores_the_knob(self):
        self.on_twin("interrupted")

    def test_an_interrupted_sweep_shows_what_it_has_and_exits_130(self):
        self.on_twin("interrupted_late")

    def test_a_program_that_takes_the_signal_and_ends_well_ends_the_sweep_too(self):
        self.on_twin("interrupted_politely")

    def test_an_output_that_cannot_be_written_is_told_before_the_sweep_starts(self):
        started = self.folder / "started"
        for path, status in (("/nonexistent/folder/points.csv", 2), (str(self.folder), 3)):
            refused = self.call("sweep", "--param", "n=1,2", "--output", path, "--", "touch", str(started))
            self.assertEqual(refused.returncode, status, refused.stderr)
            self.assertIn(path, refused.stderr)
            self.assertFalse(started.exists())

    def test_a_whole_run_has_no_place_among_figures_per_unit(self):
        script = "test $n = 1 || for i in 1 2; do echo >&$PERJOULE_UNIT_FD; sleep 0.05; done"
        path = self.folder / "points.json"
        swept = self.call("sweep", "--param", "n=1,2", "--unit", "step", "--output", str(path), "--", "sh", "-c", script)
        self.assertIn("no step was counted; left out", swept.stderr)
        self.assertEqual([p["settings"]["n"] for p in json.loads(path.read_text())["points"]], ["2"])

    def test_what_a_sweep_prints_is_read_as_points(self):
        printed = self.call("sweep", "--param", "n=1,2", "--json", "--", "sleep", "0.0{n}")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        read = self.json("frontier", self.write("sweep.json", printed.stdout), "--json", "--all")
        self.assertEqual({p["settings"]["n"] for p in read["groups"][0]["points"]}, {"1", "2"})

    def test_after_sigkill_the_next_start_restores_it(self):
        self.on_twin("killed")

    def test_any_verb_that_looks_at_the_machine_restores_it_and_a_living_owner_is_left_alone(self):
        self.on_twin("killed_then_others")

    def test_words_that_make_no_sense_are_refused_before_anything_runs(self):
        for words, message in ((["--processors", "1:90000:4"], "this process may use"), (["--processors", "1.4"], "whole number"),
                               (["--param", "a=1", "--cool-down", "-1s"], "--cool-down -1s"),
                               (["--param", "a=1", "--warm-up", "-1s"], "--warm-up -1s"),
                               (["--param", "a=1", "--every", "0"], "--every 0"),
                               (["--param", "a=1", "--param", "a=2"], "given twice"), (["--param", "a=1,,2"], "an empty value")):
            ran = self.folder / "ran"
            refused = self.call("sweep", *words, "--", "touch", str(ran))
            self.assertEqual(refused.returncode, 2, (words, refused.stderr))
            self.assertIn(message, refused.stderr)
            self.assertFalse(ran.exists(), words)

    def test_a_sweep_that_measured_nothing_leaves_the_points_of_an_earlier_one(self):
        path = self.write("points.csv", "kept\n")
        failed = self.call("sweep", "--param", "a=1,2", "--output", path, "--", "false")
        self.assertEqual(failed.returncode, 3)
        self.assertEqual(pathlib.Path(path).read_text(), "kept\n")

    def test_a_misspelt_parameter_is_refused_before_anything_runs(self):
        ran = self.folder / "ran"
        refused = self.call("sweep", "--param", "batch=8,16", "--", "touch", str(ran), "{bach}")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("{batch}", refused.stderr)
        self.assertFalse(ran.exists())

    def test_a_command_that_fails_points_to_its_words(self):
        swept = self.call("sweep", "--param", "n=0,1", "--", "sh", "-c", "exit $n")
        self.assertEqual(swept.returncode, 0, swept.stderr)
        self.assertIn("--show-output", swept.stderr)

    def test_processors_are_those_this_process_may_use(self):
        counts = self.call("sweep", "--processors", "1", "--show-output", "--", "nproc", before=("taskset", "-c", "1"))
        self.assertEqual(counts.returncode, 0, counts.stderr)

    def test_a_reader_that_goes_away_leaves_no_knob_turned(self):
        self.on_twin("unread")

    def test_a_setting_that_cannot_be_made_costs_nothing_that_was_measured(self):
        for fault in ("return:call=nvmlDeviceSetPowerManagementLimit,code=999,from=4s", "lost:at=4s"):
            path = self.folder / "points.csv"
            path.unlink(missing_ok=True)
            swept = self.call("twin", "run", "--gpu", "h100", "--fault", fault, "--", COMMAND, "sweep", "--sources", "gpu",
                              "--power-limit", "300:700:100", "--output", str(path), "--", "sleep", "1.2")
            self.assertEqual(swept.returncode, 3, (fault, swept.stderr))
            self.assertIn("300 W", swept.stdout, (fault, swept.stderr))
            self.assertIn("ended before its time", swept.stderr)
            self.assertIn("300 W", path.read_text())
            self.assertNotIn("700 W", path.read_text())

    def test_a_knob_that_stays_turned_is_no_success(self):
        stuck = "return:call=nvmlDeviceSetPowerManagementLimit,code=999,from=2s"
        swept = self.call("twin", "run", "--gpu", "h100", "--fault", stuck, "--", COMMAND, "sweep", "--sources", "gpu",
                          "--power-limit", "300", "--", "sleep", "3")
        self.assertEqual(swept.returncode, 3, swept.stderr)
        self.assertIn("stays turned", swept.stderr)
        self.assertIn("300 W", swept.stdout)

    def test_the_point_is_the_limit_in_force(self):
        self.on_twin("capped", fault="cap:value=350")
        points = json.loads((self.folder / "points.json").read_text())["points"]
        self.assertEqual([point["settings"]["power limit"] for point in points], ["300 W", "350 W"])

    def test_the_interval_of_a_short_steady_part_holds_the_truth(self):
        self.on_twin("steady")
        points = json.loads((self.folder / "points.json").read_text())["points"]
        step = json.loads((self.folder / "long.json").read_text())["points"][0]["energy"]["joules"]
        for point in points:
            energy = point["energy"]
            self.assertGreater(energy["expanded_j"], 0.1 * energy["joules"])  # a few ticks only
            self.assertLess(abs(energy["joules"] - step), energy["expanded_j"], point)

    def test_without_such_a_knob_it_says_so(self):
        refused = self.call("sweep", "--power-limit", "300:700:100", "--", "true",
                            variables={"PERJOULE_NVML": "/nonexistent.so", "PERJOULE_SYSFS_ROOT": str(self.folder)})
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("power limit", refused.stderr)


class Scenes:
    """What happens within the simulated machine."""

    def __init__(self, folder):
        self.folder = folder

    def sweep(self, limits, *command):
        return [COMMAND, "sweep", "--power-limit", limits, *command]

    def points(self):
        subprocess.run(self.sweep("300:700:200", "--output", str(self.folder / "points.json"), "--", COMMAND, "twin",
                                  "work", "matmul", "--duty", "1", "--steps", "6"), check=True)
        assert limit_mw() == 700_000

    def impossible(self):
        refused = subprocess.run(self.sweep("100:700:100", "--", "true"), text=True, capture_output=True, check=False)
        assert refused.returncode == 2, refused
        assert "200 to 700 W" in refused.stderr, refused.stderr
        assert limit_mw() == 700_000

    def start_long(self):
        running = subprocess.Popen(self.sweep("300,400", "--", "sleep", "30"), start_new_session=True)
        wait_for_limit(300_000)
        return running

    def interrupted(self):
        running = self.start_long()
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: the whole group
        status = running.wait(timeout=30)
        assert limit_mw() == 700_000, f"left at {limit_mw()}"
        assert status == 130, status

    def interrupted_late(self):
        path = self.folder / "points.csv"
        running = subprocess.Popen(self.sweep("300,400", "--output", str(path), "--", "sh", "-c",
                                              "sleep $(test -e second && echo 30 || echo 0.3); touch second"),
                                   start_new_session=True, cwd=self.folder, text=True, stdout=subprocess.PIPE)
        wait_for_limit(400_000)
        os.killpg(running.pid, signal.SIGINT)
        out, _ = running.communicate(timeout=30)
        assert running.returncode == 130, running.returncode
        assert limit_mw() == 700_000, f"left at {limit_mw()}"
        assert "300 W" in out and "400 W" not in out, out
        assert "300 W" in path.read_text()

    def interrupted_politely(self):
        running = subprocess.Popen(self.sweep("300,400", "--", "sh", "-c", "trap 'exit 0' TERM; touch ready; sleep 30 & wait"),
                                   start_new_session=True, cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        wait_for_limit(300_000)
        for _ in range(500):
            if (self.folder / "ready").exists():
                break
            subprocess.run(["sleep", "0.02"], check=True)
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=30)
        assert running.returncode == 143, (running.returncode, err)
        assert "interrupted before anything was measured" in err, err
        assert limit_mw() == 700_000, f"left at {limit_mw()}"

    def killed_then_others(self):
        for words in (["run", "--", "true"], ["devices"], ["devices", "--json"], ["top", "--count", "1", "--every", "0.1s"],
                      ["doctor"]):
            running = self.start_long()
            told = subprocess.run([COMMAND, *words], text=True, capture_output=True, check=False)
            assert limit_mw() == 300_000, f"{words}: a living sweep's limit was taken from it"
            assert "put back" not in told.stdout + told.stderr, told
            os.killpg(running.pid, signal.SIGKILL)
            running.wait(timeout=30)
            assert limit_mw() == 300_000
            told = subprocess.run([COMMAND, *words], text=True, capture_output=True, check=False)
            assert limit_mw() == 700_000, f"{words}: left at {limit_mw()}"
            where = told.stdout if words == ["doctor"] else told.stderr
            assert where.count("put back to 700 W") == 1, told
            again = subprocess.run([COMMAND, *words], text=True, capture_output=True, check=False)
            assert "put back" not in again.stdout + again.stderr, again

    def capped(self):
        subprocess.run(self.sweep("300,500", "--sources", "gpu", "--output", str(self.folder / "points.json"), "--", "sleep",
                                  "0.2"), check=True)

    def steady(self):
        # Of short runs the last steps are steady; a long one tells what a step takes.
        for values, steps, name in (("1,2,3", "7", "points"), ("1", "40", "long")):
            subprocess.run([COMMAND, "sweep", "--param", "n=" + values, "--sources", "gpu", "--warm-up", "0.6s",
                            "--unit-pattern", r"step (\d+)", "--output", str(self.folder / f"{name}.json"), "--", COMMAND,
                            "twin", "work", "training", "--steps", steps], check=True)

    def unread(self):
        piped = subprocess.Popen(self.sweep("300:500:100", "--sources", "gpu", "--", "sleep", "0.2"), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        piped.stdout.readline()
        piped.stdout.close()
        assert piped.wait(timeout=60) not in (0, -signal.SIGPIPE), piped.returncode
        assert limit_mw() == 700_000, f"left at {limit_mw()}"

    def killed(self):
        running = self.start_long()
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(timeout=30)
        assert limit_mw() == 300_000
        told = subprocess.run(self.sweep("500", "--", "true"), text=True, capture_output=True, check=True)
        assert limit_mw() == 700_000, f"left at {limit_mw()}"
        assert "put back" in told.stderr, told.stderr


if __name__ == "__main__":
    main(Scenes)
