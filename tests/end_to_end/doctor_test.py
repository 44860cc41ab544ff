"""perjoule doctor on the store of runs: each thing that can be wrong with it, and its remedy."""
import json
import sqlite3

from command import NOBODY, CommandTest, main, needs_nobody


class Doctor(CommandTest):
    def store(self):
        return self.folder / "state" / "runs.db"

    def keep_a_run(self):
        kept = self.call("run", "--quiet", "--", "true")
        self.assertIn("kept as run", kept.stderr)

    def finding(self, **more):
        """What it says of the store."""
        told = self.call("doctor", "--json", **more)
        findings = [f for f in json.loads(told.stdout)["findings"] if f["subject"] == "store"]
        self.assertEqual(len(findings), 1, told.stdout)
        self.assertEqual(findings[0]["weight"] == "hindrance", bool(findings[0]["remedy"]))
        if findings[0]["weight"] == "hindrance":
            self.assertEqual(told.returncode, 1)
        return findings[0]

    def test_a_store_that_is_well(self):
        self.assertEqual(self.finding()["weight"], "fine")
        self.keep_a_run()
        well = self.finding()
        self.assertEqual(well["weight"], "fine")
        self.assertIn("1 run in", well["text"])

    def test_a_file_where_the_folder_should_be(self):
        path = self.write("notes.txt", "x")
        found = self.finding(variables={"PERJOULE_STATE": path})
        self.assertIn(f"{path}: not a folder", found["text"])
        self.assertIn("PERJOULE_STATE", found["remedy"])
        for words in (("runs", "list"), ("runs", "show", "last"), ("frontier", "last"), ("compare", "last", "last~1")):
            refused = self.call(*words, variables={"PERJOULE_STATE": path})
            self.assertEqual(refused.returncode, 3, (words, refused.stderr))
            self.assertIn(path, refused.stderr)
            self.assertNotIn("no run is stored", refused.stderr)
        run = self.call("run", "--", "sh", "-c", "exit 6", variables={"PERJOULE_STATE": path})
        self.assertEqual(run.returncode, 6)
        self.assertIn("not kept", run.stderr)

    def test_a_newer_version(self):
        self.keep_a_run()
        with sqlite3.connect(self.store()) as database:
            database.execute("PRAGMA user_version=99")
        database.close()
        self.assertIn("version 99", self.finding()["text"])

    def test_damage_behind_a_whole_first_page(self):
        self.keep_a_run()
        with sqlite3.connect(self.store()) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        with self.store().open("r+b") as file:
            file.seek(4096 + 100)
            file.write(b"\xaa" * 3 * 4096)
        self.assertIn("move it away", self.finding()["remedy"])

    @needs_nobody
    def test_a_folder_that_may_not_be_written(self):
        self.keep_a_run()
        for path in (self.folder, *self.folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        found = self.finding(before=NOBODY)
        self.assertIn("cannot be written", found["text"])
        self.assertIn("1 run in", found["text"])
        self.assertIn("writable", found["remedy"])


if __name__ == "__main__":
    main()
