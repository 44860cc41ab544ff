"""perjoule doctor --fix: what it puts back and writes, and that it writes on no other machine than the one it sees."""
import json
import os
import pathlib

from command import NOBODY, CommandTest, main, needs_nobody

RULES = ("sysusers.d/perjoule-rapl.conf", "udev/rules.d/70-perjoule-rapl.rules")


class DoctorFix(CommandTest):
    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        policy = self.tree / "sys/devices/system/cpu/cpufreq/policy0"
        policy.mkdir(parents=True)
        self.governor = policy / "scaling_governor"
        self.governor.write_text("powersave\n")
        (policy / "scaling_available_governors").write_text("performance powersave\n")
        topology = self.tree / "sys/devices/system/cpu/cpu0/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        self.environment.update(PERJOULE_SYSFS_ROOT=str(self.tree / "sys"), PERJOULE_NVML="/nonexistent.so")
        self.real = [(pathlib.Path("/etc") / rule).exists() for rule in RULES]

    def tearDown(self):
        now = [(pathlib.Path("/etc") / rule).exists() for rule in RULES]
        self.assertEqual(now, self.real, "the real /etc was written to")

    def leave_a_knob(self):
        """As a process that was killed leaves it."""
        entry = {"knob": "cpu:0/governor", "original": "performance", "pid": 999999999, "start_ticks": 1,
                 "boot_id": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
        knobs = self.folder / "knobs"
        knobs.mkdir(exist_ok=True)
        (knobs / "cpu:0@governor.json").write_text(json.dumps(entry))

    def test_the_rule_is_written_below_the_root_that_is_set(self):
        fixed = self.call("doctor", "--fix", "--group", "power", "--json")
        self.assertIn(fixed.returncode, (0, 1), fixed.stderr)
        etc = self.tree / "sys/etc"
        self.assertEqual(json.loads(fixed.stdout)["written"], [str(etc / rule) for rule in RULES])
        self.assertIn("chgrp power", (etc / RULES[1]).read_text())

    def test_a_root_of_its_own_wins(self):
        fixed = self.call("doctor", "--fix", variables={"PERJOULE_ETC_ROOT": str(self.folder / "settings")})
        self.assertIn(fixed.returncode, (0, 1), fixed.stderr)
        self.assertTrue((self.folder / "settings" / RULES[1]).exists())

    def test_within_the_twin_the_simulated_machine_is_mended(self):
        del self.environment["PERJOULE_SYSFS_ROOT"], self.environment["PERJOULE_NVML"]
        fixed = self.call("twin", "run", "--gpu", "h100", "--", os.environ["PERJOULE_COMMAND"], "doctor", "--fix",
                          "--json")
        self.assertIn(fixed.returncode, (0, 1), fixed.stderr)
        for path in json.loads(fixed.stdout)["written"]:
            self.assertFalse(path.startswith("/etc/"), path)

    @needs_nobody
    def test_an_ordinary_users_knobs_come_before_what_needs_root(self):
        self.leave_a_knob()
        for path in (self.folder, self.folder / "knobs", self.governor.parent):
            path.chmod(0o777)
        self.governor.chmod(0o666)
        closed = self.folder / "closed"
        closed.mkdir(mode=0o755)
        fixed = self.call("doctor", "--fix", before=NOBODY, variables={"PERJOULE_ETC_ROOT": str(closed)})
        self.assertEqual(self.governor.read_text().strip(), "performance")
        self.assertIn("put back: cpu:0/governor put back to performance", fixed.stdout)
        self.assertEqual(fixed.returncode, 3)
        self.assertIn("sudo perjoule doctor --fix", fixed.stderr)
        self.assertEqual(list(closed.iterdir()), [])

    @needs_nobody
    def test_what_an_ordinary_user_may_not_put_back_is_a_warning(self):
        self.leave_a_knob()
        self.folder.chmod(0o777)
        (self.folder / "knobs").chmod(0o777)
        run = self.call("run", "--", "true", before=NOBODY)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("cpu:0/governor: not put back to performance", run.stderr)
        self.assertEqual(self.governor.read_text().strip(), "powersave")


if __name__ == "__main__":
    main()
