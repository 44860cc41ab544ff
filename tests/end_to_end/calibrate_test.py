"""perjoule doctor --calibrate: what it keeps narrows a source's error; what makes no sense is refused and never kept."""
import json
import math

from command import COMMAND, CommandTest, main


def load(t):
    return 300 + 150 * math.sin(t / 7) + (80 if t % 20 < 10 else 0)


class Calibrate(CommandTest):
    def setUp(self):
        super().setUp()
        devices = json.loads(self.twin("devices", "--json").stdout)
        self.source = next(s["id"] for d in devices["devices"] for s in d["sources"] if s["kind"] == "energy_counter"
                           and s["id"].startswith("gpu:"))
        self.kept = self.folder / "state" / "calibration.json"
        self.course = self.rows("course.csv", [self.source], lambda t: load(t))

    def twin(self, *words):
        return self.call("twin", "run", "--gpu", "h100", "--", COMMAND, *words)

    def rows(self, name, sources, power):
        lines = ["source,unix_s,time_s,power_w"]
        lines += [f"{source},{1e9 + t / 10:.1f},{t / 10},{power(t / 10)}" for source in sources for t in range(1200)]
        return self.write(name, "\n".join(lines) + "\n")

    def meter(self, power):
        return self.write("meter.csv", "unix_s,power_w\n" + "".join(f"{1e9 + t},{power(t - 0.5)}\n" for t in range(1, 119)))

    def calibrate(self, meter, *words):
        return self.twin("doctor", "--calibrate", meter, "--course", self.course, "--source", self.source, *words)

    def test_a_good_meter_is_kept_and_used(self):
        fitted = self.calibrate(self.meter(lambda t: 1.05 * load(t) + 3))
        self.assertEqual(fitted.returncode, 0, fitted.stderr)
        self.assertAlmostEqual(json.loads(self.kept.read_text())["calibrations"][0]["scale"], 1.05, delta=0.02)
        self.assertIn("corrected by an external meter: " + self.source, self.twin("doctor").stdout)
        self.assertEqual(self.twin("run", "--quiet", "--sources", "gpu", "--", "true").returncode, 0)

    def test_a_fit_of_no_sense_is_refused_and_not_kept(self):
        for power, said in ((lambda t: 800 - load(t), "does not follow"), (lambda t: 50, "never changed"),
                            (lambda t: 200 + 200 * (t * 7919 % 1000) / 1000, "does not follow")):
            refused = self.calibrate(self.meter(power))
            self.assertEqual(refused.returncode, 2, refused.stdout)
            self.assertIn(said, refused.stderr)
            self.assertFalse(self.kept.exists())

    def test_a_fit_that_contradicts_what_the_source_states_is_refused_or_told(self):
        for power, said in ((lambda t: load(t) / 1000, "in kW"), (lambda t: 5 * load(t) + 300, "this device alone")):
            refused = self.calibrate(self.meter(power))
            self.assertEqual(refused.returncode, 2, refused.stdout)
            self.assertIn(said, refused.stderr)
            self.assertFalse(self.kept.exists())
        told = self.calibrate(self.meter(lambda t: 1.4 * load(t)))
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("this device alone", told.stderr)

    def test_a_fit_that_narrows_nothing_is_refused(self):
        refused = self.calibrate(self.meter(load), "--meter-accuracy", "0.2")
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("narrows nothing", refused.stderr)
        self.assertFalse(self.kept.exists())

    def test_a_meter_is_one_and_not_the_source_itself(self):
        several = self.calibrate(self.rows("several.csv", [self.source, "cpu:0/package"], load))
        self.assertEqual(several.returncode, 2)
        self.assertIn("several sources", several.stderr)
        itself = self.calibrate(self.course)
        self.assertEqual(itself.returncode, 2)
        self.assertIn("itself", itself.stderr)
        self.assertFalse(self.kept.exists())

    def test_a_file_of_no_sense_is_a_hindrance_with_its_remedy(self):
        self.kept.parent.mkdir(exist_ok=True)
        for text in ("{", '{"calibrations": [{"source": "a", "scale": -1, "shift_w": 200}]}'):
            self.kept.write_text(text)
            told = self.call("doctor")
            self.assertEqual(told.returncode, 1, told.stdout)
            self.assertRegex(told.stdout, r"hinder  calibration: .*calibration\.json")
            self.assertIn("delete the file", told.stdout)
            refused = self.call("run", "--quiet", "--", "true")
            self.assertEqual(refused.returncode, 125)
            self.assertIn("delete the file", refused.stderr)


if __name__ == "__main__":
    main()
