"""One table of what can go wrong, over all verbs: docs/exit-status.md as a test."""
import os
import shutil
import subprocess
import unittest

from command import COMMAND, NOBODY, CommandTest, main, needs_nobody

CANNOT, USAGE, OURS = 3, 2, 125
GOOD = "limit,time_s,energy_j\n300,1.0,250\n400,0.8,260\n"


class ExitStatus(CommandTest):
    def expect(self, status, table, **more):
        """Each call's status, and that it says why in one line of its own and nothing on standard output."""
        for words in table:
            with self.subTest(" ".join(words)):
                called = self.call(*words, **more)
                self.assertEqual(called.returncode, status, called.stdout + called.stderr)
                self.assertRegex(called.stderr, r"(?m)^perjoule: ")

    def calibrate(self, meter, course):
        return ("doctor", "--calibrate", meter, "--course", course, "--source", "cpu:0/package")

    def reading(self, path):
        """All verbs that read a file, reading this one."""
        good = self.write("good.csv", "unix_s,power_w\n1,2\n")
        return [("frontier", path), ("compare", path, path), ("runs", "merge", path),
                ("twin", "run", "--replay", path, "--", "true"), self.calibrate(path, good), self.calibrate(good, path)]

    def writing(self, path, run):
        """All verbs that write a file where they are told to, but for run, which has statuses of its own."""
        return [("runs", "export", run, "-o", path), ("sweep", "--param", "n=1", "--output", path, "--", "true"),
                ("twin", "run", "--", COMMAND, "twin", "record", path, "--for", "50ms")]

    def kept(self):
        self.assertIn("kept as run", self.call("run", "--quiet", "--", "true").stderr)
        return "last"

    def test_help_and_version_say_when_nobody_can_read_them(self):
        for words in (("--version",), ("--help",), ("run", "--help")):
            with open("/dev/full", "w") as full:
                told = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(told.returncode, 3, words)
            self.assertIn("standard output", told.stderr)

    def test_a_device_that_does_not_exist(self):
        self.expect(USAGE, [
            ("run", "--sources", "gpu:none", "--", "true"),
            ("sweep", "--sources", "gpu:none", "--param", "n=1", "--", "true"),
            ("sweep", "--devices", "gpu:none", "--param", "n=1", "--", "true"),
            ("twin", "run", "--gpu", "nonesuch", "--", "true"),
            ("twin", "run", "--", COMMAND, "twin", "work", "matmul", "--steps", "1", "--device", "7"),
        ])

    def test_a_word_that_fits_two_devices(self):
        twin = ("twin", "run", "--gpu", "h100:2", "--", COMMAND)
        self.expect(USAGE, [(*twin, "run", "--sources", "GPU-7714", "--", "true"),
                            (*twin, "sweep", "--sources", "GPU-7714", "--param", "n=1", "--", "true"),
                            (*twin, "sweep", "--devices", "GPU-7714", "--param", "n=1", "--", "true")])

    def test_a_command_that_cannot_be_run(self):
        for verb in (("run",), ("twin", "run")):
            self.expect(127, [(*verb, "--", "no-such-command"), (*verb, "--", "/nonexistent/program")])
            self.expect(126, [(*verb, "--", self.write("data", "x"))])

    def test_a_run_that_does_not_exist(self):
        calls = [("runs", "show", "zzz"), ("runs", "delete", "zzz"), ("runs", "export", "zzz"),
                 ("runs", "merge", "zzz"), ("runs", "merge", "--job", "zzz"), ("compare", "zzz", "last"),
                 ("frontier", "zzz")]
        self.expect(USAGE, calls)  # where nothing is stored at all
        self.kept()
        self.expect(USAGE, calls)

    def test_a_file_that_does_not_exist(self):
        self.expect(USAGE, self.reading("/nonexistent/file"))
        self.expect(USAGE, self.writing("/nonexistent/folder/file", self.kept()))

    def test_a_malformed_file(self):
        for content in ("", "{", "{}", "no table at all\x00"):
            self.expect(USAGE, self.reading(self.write("bad", content)))

    @needs_nobody
    def test_a_file_that_may_not_be_read(self):
        self.folder.chmod(0o777)
        path = self.write("secret", GOOD)
        os.chmod(path, 0)
        self.expect(CANNOT, self.reading(path), before=NOBODY)

    @needs_nobody
    def test_a_folder_that_may_not_be_written(self):
        self.folder.chmod(0o777)
        closed = self.folder / "closed"
        closed.mkdir(mode=0o755)
        self.assertEqual(self.call("run", "--quiet", "--", "true", before=NOBODY).returncode, 0)
        self.expect(CANNOT, self.writing(str(closed / "file"), "last"), before=NOBODY)
        self.expect(OURS, [("run", option, str(closed / "file"), "--", "true") for option in ("--csv", "--output")],
                    before=NOBODY)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_a_full_disk(self):
        self.kept()
        disk = self.folder / "disk"
        disk.mkdir()
        calls = [(words, CANNOT) for words in self.writing(str(disk / "file"), "last")]
        calls += [(("run", option, str(disk / "file"), "--", "true"), OURS) for option in ("--csv", "--output")]
        for words, status in calls:
            with self.subTest(" ".join(words)):
                script = (f"mount -t tmpfs -o size=64k tmpfs {disk} || exit 77; "
                          f"head -c 65536 /dev/zero > {disk}/fill 2>/dev/null; exec \"$@\"")
                ended = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", COMMAND, *words], text=True,
                                       env=self.environment, capture_output=True, timeout=60, check=False)
                if ended.returncode in (1, 77) and "mount" in ended.stderr + ended.stdout:
                    self.skipTest("no file system of one's own here")
                self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
                self.assertIn("file", ended.stderr)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_runs_on_a_full_disk_can_still_be_read(self):
        disk = self.folder / "disk"
        disk.mkdir()
        script = (f"mount -t tmpfs -o size=400k tmpfs {disk} || exit 77; export PERJOULE_STATE={disk}/state; "
                  f"{COMMAND} run --quiet -- true >/dev/null; head -c 400000 /dev/zero > {disk}/fill 2>/dev/null; "
                  f"{COMMAND} runs list && {COMMAND} runs show last --json")
        ended = subprocess.run(["unshare", "-m", "sh", "-c", script], text=True, env=self.environment, capture_output=True,
                               timeout=60, check=False)
        if ended.returncode == 77:
            self.skipTest("no file system of one's own here")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("perjoule.run", ended.stdout)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_a_standard_output_that_takes_nothing(self):
        self.kept()
        table = self.write("t.csv", GOOD)
        calls = [(("devices",), CANNOT), (("doctor",), CANNOT), (("frontier", table), CANNOT),
                 (("runs", "list"), CANNOT), (("runs", "show", "last"), CANNOT), (("runs", "export", "last"), CANNOT),
                 (("compare", "last", "last"), CANNOT), (("runs", "merge", "last"), CANNOT),
                 (("twin", "devices"), CANNOT), (("top", "--count", "1", "--every", "50ms"), CANNOT),
                 (("run", "--", "true"), OURS)]
        for words, status in calls:
            with self.subTest(" ".join(words)), open("/dev/full", "w", encoding="utf-8") as full:
                ended = subprocess.run([COMMAND, *words], env=self.environment, text=True, stdout=full,
                                       stderr=subprocess.PIPE, timeout=60, check=False)
                self.assertEqual(ended.returncode, status, ended.stderr)
                self.assertIn("standard output", ended.stderr)

    def test_words_that_make_no_sense(self):
        self.expect(USAGE, [
            ("nonsense",), ("frontier",), ("run",), ("run", "--every", "soon", "--", "true"), ("runs",),
            ("runs", "list", "--last", "x"), ("runs", "export", "last", "--format", "xml"), ("top", "--every", "soon"),
            ("top", "--count", "0"), ("compare", "last"), ("devices", "--nonsense"), ("sweep", "--", "true"),
            ("sweep", "--param", "n", "--", "true"), ("twin", "work", "nonsense"), ("doctor", "--calibrate", "x"),
            ("devices", "--", "true"), ("twin", "run", "--json", "--", "true"),
        ])

    def test_every_verb_has_help(self):
        for words in ("run", "sweep", "top", "devices", "doctor", "runs list", "runs show", "runs delete", "runs export",
                      "runs merge", "compare", "frontier", "twin run", "twin work", "twin record", "twin devices"):
            with self.subTest(words):
                told = self.call(*words.split(), "--help")
                self.assertEqual(told.returncode, 0)
                self.assertIn("Examples:", told.stdout)

    def test_nothing_to_measure_is_the_machines_fault(self):
        folder = self.folder / "empty"
        folder.mkdir()
        nothing = {f"PERJOULE_{name}_ROOT": str(folder) for name in ("SYSFS", "PROCFS", "DEV")}
        nothing["PERJOULE_NVML"] = "/nonexistent.so"
        self.expect(CANNOT, [("top", "--count", "1"), ("sweep", "--power-limit", "100", "--", "true")], variables=nothing)
        self.expect(OURS, [("run", "--", "true")], variables=nothing)
        self.assertEqual(self.call("devices", variables=nothing).returncode, CANNOT)


if __name__ == "__main__":
    main()
