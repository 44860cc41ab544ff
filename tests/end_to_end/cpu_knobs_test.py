"""perjoule sweep over the settings of the CPUs (cpufreq), on a tree that stands for /sys."""

from command import CommandTest, main


class CpuKnobs(CommandTest):
    def setUp(self):
        super().setUp()
        sys = self.folder / "sys"
        self.policy = sys / "devices/system/cpu/cpufreq/policy0"
        self.policy.mkdir(parents=True)
        for name, content in (("scaling_governor", "powersave"),
                              ("scaling_available_governors", "performance powersave"),
                              ("energy_performance_preference", "balance_power"),
                              ("energy_performance_available_preferences", "performance balance_power power"),
                              ("scaling_max_freq", "3900000"), ("cpuinfo_min_freq", "800000"),
                              ("cpuinfo_max_freq", "3900000")):
            (self.policy / name).write_text(content + "\n")
        topology = sys / "devices/system/cpu/cpu0/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        self.environment.update(PERJOULE_SYSFS_ROOT=str(sys), PERJOULE_NVML="/nonexistent.so")

    def sweep(self, file, *words):
        """The settings of the points, and what the file held while each ran."""
        seen = self.folder / "seen"
        seen.write_text("")
        swept = self.json("sweep", *words, "--json", "--", "sh", "-c", f"echo $(cat {self.policy / file}) >>{seen}; sleep 0.05")
        return [point["settings"] for point in swept["points"]["points"]], seen.read_text().split()

    def now(self, file):
        return (self.policy / file).read_text().strip()

    def test_governor(self):
        settings, seen = self.sweep("scaling_governor", "--governor", "performance,powersave")
        self.assertEqual([one["governor"] for one in settings], ["performance", "powersave"])
        self.assertEqual(seen, ["performance", "powersave"])
        self.assertEqual(self.now("scaling_governor"), "powersave")

    def test_energy_preference(self):
        settings, seen = self.sweep("energy_performance_preference", "--energy-preference", "performance,power")
        self.assertEqual([one["energy preference"] for one in settings], seen)
        self.assertEqual(seen, ["performance", "power"])
        self.assertEqual(self.now("energy_performance_preference"), "balance_power")

    def test_processor_clock(self):
        settings, seen = self.sweep("scaling_max_freq", "--processor-clock", "1000:3000:1000")
        self.assertEqual([one["processor clock"] for one in settings], ["1000 MHz", "2000 MHz", "3000 MHz"])
        self.assertEqual(seen, ["1000000", "2000000", "3000000"])
        self.assertEqual(self.now("scaling_max_freq"), "3900000")

    def test_what_the_driver_does_not_know_turns_nothing(self):
        for words, reason in ((("--governor", "ondemand"), "performance, powersave"),
                              (("--processor-clock", "5000"), "800 to 3900 MHz")):
            refused = self.call("sweep", *words, "--", "true")
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(reason, refused.stderr)
        self.assertEqual(self.now("scaling_governor"), "powersave")


if __name__ == "__main__":
    main()
