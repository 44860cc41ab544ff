"""perjoule compare: only like is held against like, and what is left out is said."""
import json
import os
import subprocess

from command import COMMAND, TwinTest, main


class Compare(TwinTest):
    def run_file(self, name, joules, boundary="B0", status="measured"):
        energy = {"joules": joules, "expanded_j": 1, "status": status, "boundary": boundary, "source": "s", "grade": "A"}
        return self.write(name, json.dumps({"schema": "perjoule.run.v1", "duration_s": 2, "total": energy}))

    def test_unlike_boundaries_are_refused_and_unlike_statuses_said(self):
        a = self.run_file("a.json", 100)
        refused = self.call("compare", a, self.run_file("b.json", 200, boundary="B1", status="estimated"))
        self.assertEqual(refused.returncode, 3, refused.stdout)
        self.assertIn("cannot tell: unlike boundaries: B0", refused.stdout)
        noted = self.call("compare", a, self.run_file("c.json", 200, status="estimated"))
        self.assertEqual(noted.returncode, 1)
        self.assertIn("note: unlike statuses: measured", noted.stdout)

    def test_gains_of_two_machines_do_not_cancel(self):
        def run(host, joules):
            energy = {"joules": joules, "expanded_j": joules * 0.12, "random_j": 0.5, "status": "measured", "boundary": "B0",
                      "systematic": [{"sensor": "cpu:0/package/gain", "sigma_j": joules * 0.058}],
                      "source": "cpu:0/package", "grade": "C"}
            return self.write(f"{host}-{joules}.json", json.dumps(
                {"schema": "perjoule.run.v1", "host": host, "duration_s": 2, "total": energy}))
        apart = self.call("compare", run("n1", 150), run("n2", 162))
        self.assertEqual(apart.returncode, 0, apart.stdout)
        self.assertIn("of two machines, n1 and n2", apart.stdout)
        self.assertEqual(self.call("compare", run("n1", 150), run("n1", 162)).returncode, 1)

    def test_unlike_sources(self):
        self.on_twin("unlike_sources")


class Scenes:
    def __init__(self, folder):
        self.folder = folder

    def measured(self, name, sources):
        path = str(self.folder / name)
        subprocess.run([COMMAND, "run", "--quiet", "--no-store", "--sources", sources, "--output", path, "--", "sleep", "0.5"],
                       check=True)
        return path

    def compare(self, *words):
        return subprocess.run([COMMAND, "compare", *words], text=True, capture_output=True, check=False)

    def unlike_sources(self):
        os.environ["PERJOULE_SYSFS_ROOT"] = str(self.folder)  # no processor is metered: the estimate
        gpu, both, cpu = (self.measured(f"{i}.json", words) for i, words in enumerate(("gpu", "gpu,cpu", "cpu")))
        for pair in ((gpu, both), (both, gpu)):
            told = self.compare(*pair)
            assert told.returncode == 0, told
            assert "note: only gpu:" in told.stdout and "left out" in told.stdout, told
            assert "estimated" not in told.stdout, told
        told = self.compare(gpu, cpu)
        assert told.returncode == 3, told
        assert "no source was measured in both" in told.stdout, told
        told = self.compare(gpu, cpu, "--json")
        assert json.loads(told.stdout)["verdict"] == "unknown", told


if __name__ == "__main__":
    main(Scenes)
