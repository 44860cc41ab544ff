"""perjoule devices on machines without anything, and the verbs as an ordinary user."""
import json

from command import COMMAND, NOBODY, CommandTest, main, needs_nobody


class Devices(CommandTest):
    def empty(self):
        folder = self.folder / "empty"
        folder.mkdir(exist_ok=True)
        roots = {f"PERJOULE_{name}_ROOT": str(folder) for name in ("SYSFS", "PROCFS", "DEV")}
        return dict(roots, PERJOULE_NVML="/nonexistent.so")

    def test_a_machine_without_anything_says_so(self):
        listed = self.call("devices", "--json", variables=self.empty())
        self.assertEqual(listed.returncode, 3, listed.stderr)
        self.assertEqual(json.loads(listed.stdout)["schema"], "perjoule.devices.v1")
        run = self.call("run", "--", "true", variables=self.empty())
        self.assertEqual(run.returncode, 125)

    def test_a_broken_library_is_a_problem_not_a_crash(self):
        library = self.write("libnvidia-ml.so.1", "no library")
        listed = self.call("devices", variables={"PERJOULE_NVML": library})
        self.assertIn(listed.returncode, (0, 3))
        self.assertIn(library, listed.stdout + listed.stderr)

    def test_the_twins_devices_with_ids_ticks_and_ranges(self):
        listed = self.json("twin", "run", "--gpu", "v100", "--gpu", "h100", "--powercap", "--", COMMAND, "devices",
                           "--json")
        gpus = [device for device in listed["devices"] if device["kind"] == "gpu"]
        self.assertEqual([gpu["name"] for gpu in gpus], ["Tesla V100-SXM2-16GB", "NVIDIA H100 80GB HBM3"])
        self.assertEqual([gpu["sources"][0]["tick_s"] for gpu in gpus], [0.02, 0.1])
        self.assertIn("cpu:0/package", [s["id"] for device in listed["devices"] for s in device["sources"]])

    def test_a_calibrated_source_shows_what_is_left_of_its_error(self):
        course, meter = ["source,unix_s,time_s,power_w"], ["unix_s,power_w"]
        for i in range(40):
            power = 100 + 50 * (i % 4)
            course.append(f"cpu:0/package,{1000 + i},{i},{power}")
            meter.append(f"{1000 + i},{1.02 * power + 3}")
        twin = ("twin", "run", "--powercap", "--", COMMAND)

        def package():
            listed = self.json(*twin, "devices", "--json")
            return next(s for device in listed["devices"] for s in device["sources"] if s["id"] == "cpu:0/package")

        before = package()
        self.assertIsNone(before["calibration"])
        done = self.call("doctor", "--calibrate", self.write("meter.csv", "\n".join(meter) + "\n"), "--course",
                         self.write("course.csv", "\n".join(course) + "\n"), "--source", "cpu:0/package")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = package()
        self.assertLess(after["gain"], before["gain"])
        self.assertAlmostEqual(after["calibration"]["scale"], 1.02, places=3)
        self.assertIn("cpu:0/package: calibrated: true power = 1.0200 x reading +3", self.call(*twin, "devices").stdout)

    @needs_nobody
    def test_an_ordinary_user_can_list_run_and_choose(self):
        self.folder.chmod(0o777)
        self.assertIn(self.call("devices", before=NOBODY).returncode, (0, 3))
        run = self.call("run", "--", "sh", "-c", "id -u; exit 9", before=NOBODY)
        self.assertEqual(run.returncode, 9, run.stderr)
        self.assertTrue(run.stdout.startswith("65534"))
        self.assertIn("kept as run", run.stderr)
        table = self.write("t.csv", "limit,time_s,energy_j\n300,1,250\n400,0.8,260\n")
        self.assertEqual(self.call("frontier", table, before=NOBODY).returncode, 0)
        work = self.call("twin", "run", "--gpu", "h100", "--", COMMAND, "twin", "work", "training", "--steps", "1",
                         before=NOBODY)
        self.assertEqual(work.returncode, 0, work.stderr)


if __name__ == "__main__":
    main()
