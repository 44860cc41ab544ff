"""The store of runs and the comparison of two: a round trip, and a store that cannot be used."""
import csv
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import unittest

from command import COMMAND, NOBODY, CommandTest, main, needs_nobody


class Runs(CommandTest):
    def kept(self, *command):
        return re.search(r"kept as run (\w+)", self.call("run", "--quiet", "--", *command).stderr).group(1)

    def store(self):
        return self.folder / "state" / "runs.db"

    def test_list_show_export_delete(self):
        first, second = self.kept("true"), self.kept("sleep", "0.1")
        listed = self.json("runs", "list", "--json")
        self.assertEqual(listed["schema"], "perjoule.runs.v1")
        self.assertEqual([run["id"] for run in listed["runs"]], [second, first])
        self.assertEqual(listed["runs"][0]["command"], "sleep 0.1")
        shown = self.call("runs", "show", "last")
        self.assertIn("J", shown.stdout)
        self.assertEqual(shown.returncode, 0)
        path = self.folder / "runs.json"
        self.assertEqual(self.call("runs", "export", first, second, "-o", str(path)).returncode, 0)
        exported = json.loads(path.read_text())
        self.assertEqual({run["id"] for run in exported["runs"]}, {first, second})
        self.assertEqual(exported["runs"][0]["document"]["schema"], "perjoule.run.v1")
        table = self.call("runs", "export", second, "--format", "csv").stdout
        self.assertGreater(len(list(csv.reader(table.splitlines()))), 1)
        self.assertEqual(self.call("runs", "delete", first).returncode, 0)
        self.assertEqual([run["id"] for run in self.json("runs", "list", "--json")["runs"]], [second])
        gone = self.call("runs", "show", first)
        self.assertEqual(gone.returncode, 2)
        self.assertIn(first, gone.stderr)

    def test_an_exported_document_compares_like_the_stored_run(self):
        ident = self.kept("true")
        document = self.json("runs", "export", ident)["runs"][0]["document"]
        path = self.write("run.json", json.dumps(document))
        same = self.call("compare", path, "last")
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)

    def test_compare_tells_twice_the_work_from_the_same(self):
        document = self.folder / "{}.json"
        for name, steps in (("once", "5"), ("again", "5"), ("twice", "12")):
            run = self.json("twin", "run", "--gpu", "h100", "--", COMMAND, "run", "--json", "--sources",
                            "gpu:GPU-7714b111-2330-4084-8000-000000000001", "--", COMMAND, "twin", "work", "matmul",
                            "--steps", steps)
            (self.folder / f"{name}.json").write_text(json.dumps(run))
        once, again, twice = (str(document).format(name) for name in ("once", "again", "twice"))
        differs = self.call("compare", once, twice, "--json")
        self.assertEqual(differs.returncode, 1, differs.stdout)
        self.assertEqual(json.loads(differs.stdout)["schema"], "perjoule.compare.v1")
        self.assertEqual(self.call("compare", once, once).returncode, 0)
        self.assertIn(self.call("compare", once, again).returncode, (0, 1))
        broken = self.call("compare", once, self.write("x.json", "{}"))
        self.assertEqual(broken.returncode, 2)
        self.assertIn("x.json", broken.stderr)

    def test_the_parts_of_a_change_carry_their_uncertainty(self):
        documents = []
        for name, seconds in (("short", "0.2"), ("long", "0.5")):
            path = str(self.folder / f"{name}.json")
            self.assertEqual(self.call("run", "--quiet", "--baseline", "200ms", "--output", path, "--", "sleep",
                                       seconds).returncode, 0)
            documents.append(path)
        told = self.call("compare", *documents)
        # By plus-minus, or, where nothing but the estimate is there, by its interval.
        joules = r"-?[\d.]+ (\+- [\d.]+ \w*J|\w*J \(-?[\d.]+ \w*J to [\d.]+ \w*J\))"
        self.assertRegex(told.stdout, f"(?m)^static {joules}, dynamic {joules}")

    def faulty(self, name, fault):
        """A run of 3 s on a simulated H100, whole or with a fault, written and kept."""
        path = str(self.folder / f"{name}.json")
        words = ["twin", "run", "--gpu", "h100"] + (["--fault", fault] if fault else [])
        self.call(*words, "--", COMMAND, "run", "--quiet", "--sources", "gpu", "--output", path, "--", COMMAND, "twin",
                  "work", "matmul", "--steps", "30", "--duty", "1")
        return path, json.loads(pathlib.Path(path).read_text())

    def test_what_a_fault_hides_makes_a_lower_bound_that_wins_nothing(self):
        whole, document = self.faulty("whole", None)
        self.assertNotIn("lower_bound", document["total"])
        for fault in ("freeze:gpu=0,from=1.5s,until=60s", "lost:gpu=0,at=1.5s"):
            with self.subTest(fault):
                bound, document = self.faulty("bound", fault)
                self.assertIs(document["total"]["lower_bound"], True, document)
                self.assertEqual(document["total"]["grade"], "D")
                for pair in ((whole, bound), (bound, whole)):
                    told = self.call("compare", *pair)
                    self.assertEqual(told.returncode, 3, told.stdout + told.stderr)
                    self.assertIn("cannot tell: ", told.stdout)
                    self.assertIn("bound.json is a lower bound", told.stdout)
                shown = self.call("runs", "show", "last").stdout
                self.assertRegex(shown, r"total +at least [\d.]+ k?J")
                self.assertRegex(shown, "(?m)^note: gpu:.*: lower bound$")
                self.assertIn("at least", self.call("runs", "list").stdout)
                chosen = self.json("frontier", whole, bound, "--json", "--edp")["groups"][0]
                self.assertEqual(chosen["candidates"], 1)
                self.assertEqual(chosen["chosen"]["settings"]["run"], whole)
                self.assertEqual([p["settings"]["run"] for p in chosen["left_out"]], [bound])

    def test_what_show_prints_compares_and_another_version_is_refused(self):
        self.kept("sleep", "0.1")
        shown = self.json("runs", "show", "last", "--json")
        path = self.write("shown.json", json.dumps(shown))
        same = self.call("compare", path, "last")
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        newer = shown["runs"][0]["document"] | {"schema": "perjoule.run.v9"}
        path = self.write("newer.json", json.dumps(newer))
        for words in (("compare", path, "last"), ("runs", "merge", path), ("frontier", path)):
            refused = self.call(*words)
            self.assertEqual(refused.returncode, 3, refused.stdout + refused.stderr)
            self.assertIn("perjoule.run.v9", refused.stderr)

    def test_a_store_of_a_newer_version_is_left_alone(self):
        self.kept("true")
        with sqlite3.connect(self.store()) as database:
            database.execute("PRAGMA user_version=99")
        database.close()
        refused = self.call("runs", "list")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("version 99", refused.stderr)
        # The measurement itself is not lost for it.
        run = self.call("run", "--", "sh", "-c", "exit 5")
        self.assertEqual(run.returncode, 5)
        self.assertIn("not kept", run.stderr)
        self.assertIn("time", run.stdout)

    def test_what_is_no_store_is_left_alone(self):
        self.store().parent.mkdir(parents=True)
        self.store().write_text("a letter to my aunt\n" * 100)
        self.assertEqual(self.call("runs", "list").returncode, 3)
        self.assertEqual(self.call("run", "--", "true").returncode, 0)
        self.assertTrue(self.store().read_text().startswith("a letter"))

    @needs_nobody
    def test_a_read_only_store_can_be_read_and_costs_no_run(self):
        self.kept("true")
        for path in (self.folder, *self.folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.assertEqual(self.call("runs", "list", before=NOBODY).returncode, 0)
        run = self.call("run", "--", "sh", "-c", "exit 4", before=NOBODY)
        self.assertEqual(run.returncode, 4)
        self.assertIn("not kept", run.stderr)

    def on_a_full_disk(self, *options):
        """A run whose store, and whatever else it writes, lies on a disk without room."""
        disk = self.folder / "disk"
        disk.mkdir()
        words = " ".join(options).format(disk=disk)
        script = (f"mount -t tmpfs -o size=64k tmpfs {disk} || exit 77; "
                  f"head -c 65536 /dev/zero > {disk}/fill 2>/dev/null; "
                  f"PERJOULE_STATE={disk}/state {COMMAND} run {words} -- sh -c 'exit 6'")
        run = subprocess.run(["unshare", "-m", "sh", "-c", script], env=self.environment, text=True, capture_output=True,
                             timeout=60, check=False)
        if run.returncode in (1, 77):
            self.skipTest("no file system of one's own here")
        return run

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_a_full_disk_costs_no_run(self):
        run = self.on_a_full_disk()
        self.assertEqual(run.returncode, 6, run.stderr)
        self.assertIn("not kept", run.stderr)
        self.assertIn("time", run.stdout)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_a_document_that_cannot_be_written_costs_no_figure(self):
        run = self.on_a_full_disk("--output", "{disk}/run.json")
        self.assertEqual(run.returncode, 125, run.stderr)
        self.assertIn("run.json", run.stderr)
        self.assertIn("time", run.stdout)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_a_course_that_cannot_be_written_is_our_failure_and_costs_no_figure(self):
        run = self.on_a_full_disk("--csv", "{disk}/course.csv")
        self.assertEqual(run.returncode, 125, run.stderr)
        self.assertIn("course.csv", run.stderr)
        self.assertIn("time", run.stdout)


if __name__ == "__main__":
    main()
