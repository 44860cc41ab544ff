"""perjoule frontier on the files people have, good and bad: message, line, exit status."""
import json
import random
import re

from command import COMMAND, CommandTest, main

GOOD = "limit,time_s,energy_j\n300,1.0,250\n400,0.8,260\n500,0.75,300\n"


class Frontier(CommandTest):
    def refused(self, content, *wanted, name="table.csv", words=()):
        result = self.call("frontier", self.write(name, content), *words)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        for text in (name, *wanted):
            self.assertIn(text, result.stderr)

    def chosen(self, content, *words, name="table.csv"):
        result = self.call("frontier", self.write(name, content), "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["groups"][0]["chosen"]

    def test_a_choice_under_a_deadline(self):
        self.assertEqual(self.chosen(GOOD, "--deadline", "0.8s")["settings"]["limit"], "400")
        self.assertEqual(self.chosen(GOOD, "--deadline", "2s")["settings"]["limit"], "300")

    def test_bom_crlf_semicolons_and_decimal_commas_change_nothing(self):
        plain = self.chosen(GOOD, "--deadline", "0.8s")
        variants = {
            "bom": b"\xef\xbb\xbf" + GOOD.encode(),
            "crlf": GOOD.replace("\n", "\r\n"),
            "both": b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode(),
            "comma": GOOD.replace(",", ";").replace(".", ","),
            "no end of line": GOOD.rstrip("\n"),
        }
        for name, content in variants.items():
            with self.subTest(name):
                self.assertEqual(self.chosen(content, "--deadline", "0.8s")["settings"], plain["settings"])

    def test_bad_cells_are_named_by_line_and_column(self):
        self.refused("limit,time_s,energy_j\n300,1,250\n400,0.8\n", "line 3", "2 fields")
        self.refused("limit,time_s,energy_j\n300,1,nan\n", "line 2", "energy_j", "nan")
        self.refused("limit,time_s,energy_j\n300,inf,3\n", "line 2", "time_s")
        self.refused("limit,time_s,energy_j\n300,soon,3\n", "line 2", "time_s", "soon")
        self.refused('limit,time_s,energy_j\n300,"1,5",3\n', "line 2", "time_s", "comma")
        self.refused("limit,time_s,energy_j\n300,-1,3\n", "time")
        self.refused('limit,time_s,energy_j\n300,1,"3\n', "quote")

    def test_a_table_without_what_is_needed_says_what(self):
        self.refused("", )
        self.refused("limit,time_s\n300,1\n", "energy")
        self.refused("limit,time_s,energy_j\n")
        self.refused('{"a": [1, 2', name="table.json")
        self.refused('{"a": 1}', name="table.json")

    def test_a_missing_file_and_a_folder_are_named(self):
        missing = self.call("frontier", "/nonexistent/table.csv")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("/nonexistent/table.csv", missing.stderr)
        folder = self.call("frontier", str(self.folder))
        self.assertIn(folder.returncode, (2, 3))
        self.assertIn(str(self.folder), folder.stderr)

    def test_an_infeasible_constraint_is_an_answer(self):
        for words in (("--deadline", "0.1s"), ("--budget", "10J"), ("--power", "1W")):
            with self.subTest(words[0]):
                result = self.call("frontier", self.write("table.csv", GOOD), *words)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("nearest", result.stdout)

    def test_a_constraint_that_is_none_is_a_usage_error(self):
        for words in (("--deadline", "soon"), ("--budget", "-3J"), ("--eta", "2"), ("--deadline", "1s", "--knee")):
            with self.subTest(words):
                self.assertEqual(self.call("frontier", self.write("table.csv", GOOD), *words).returncode, 2)

    def kept(self, *words, twin=True):
        """The id of a run, on a simulated H100 or on this machine's own sources."""
        before = ("twin", "run", "--gpu", "h100", "--", COMMAND) if twin else ()
        told = self.call(*before, "run", "--quiet", *words)
        return re.search(r"kept as run (\w+)", told.stderr).group(1)

    def on_twin(self, steps, *words):
        return self.kept("--unit-pattern", "^step", "--unit", "step", "--tag", f"s{steps}", *words, "--", COMMAND,
                         "twin", "work", "matmul", "--steps", str(steps), "--duty", str(steps / 10))

    def test_stored_runs_are_points(self):
        first, second = self.on_twin(3), self.on_twin(6)
        answer = self.json("frontier", first, second, "--all", "--json", "--edp")
        self.assertEqual(answer["unit"], "step")
        points = answer["groups"][0]["points"]
        self.assertEqual({point["settings"]["run"] for point in points}, {first, second})
        self.assertEqual({point["settings"]["tag"] for point in points}, {"s3", "s6"})
        for point in points:
            ident = point["settings"]["run"]
            document = self.json("runs", "show", ident, "--json")["runs"][0]["document"]
            energy, stored = point["energy"], document["total"]
            units = document["unit"]["count"]
            for field in ("status", "grade", "boundary", "source"):
                self.assertEqual(energy[field], stored[field])
            self.assertIn("simulated", energy["status"])
            self.assertAlmostEqual(energy["joules"], stored["joules"] / units)
            self.assertAlmostEqual(energy["expanded_j"], stored["expanded_j"] / units)
            self.assertAlmostEqual(point["time_s"], document["duration_s"] / units)
        shown = self.call("frontier", first[:10], "last", "--all")
        self.assertIn(shown.returncode, (0, 1), shown.stderr)
        self.assertIn("simulated", shown.stdout)
        self.assertIn("per step", shown.stdout)

    def test_the_runs_of_a_tag_are_repeats_where_asked(self):
        idents = [self.kept("--tag", "same", "--", "sleep", "0.05", twin=False) for _ in range(2)]
        apart = self.json("frontier", *idents, "--json")
        self.assertEqual(apart["groups"][0]["candidates"], 2)
        together = self.json("frontier", *idents, "--settings", "tag", "--json")
        self.assertEqual(together["groups"][0]["candidates"], 1)

    def test_a_written_run_is_a_point_as_the_stored_one_is(self):
        ident = self.kept("--", "sleep", "0.05", twin=False)
        path = str(self.folder / "runs.json")
        self.assertEqual(self.call("runs", "export", ident, "-o", path).returncode, 0)
        stored = self.json("frontier", ident, "--json")["groups"][0]["frontier"]
        written = self.json("frontier", path, "--json")["groups"][0]["frontier"]
        self.assertEqual(stored, written)

    def test_unlike_work_is_not_put_side_by_side(self):
        steps = self.on_twin(3)
        whole = self.kept("--", "true", twin=False)
        refused = self.call("frontier", steps, whole)
        self.assertEqual(refused.returncode, 2, refused.stdout)
        for text in (steps, whole, "per step", "whole runs"):
            self.assertIn(text, refused.stderr)
        self.assertEqual(refused.stdout, "")

    def test_a_failed_run_and_a_table_beside_runs_are_noted(self):
        failed = self.kept("--", "sh", "-c", "exit 3", twin=False)
        table = self.write("table.csv", GOOD)
        answer = self.json("frontier", failed, table, "--json")
        notes = "\n".join(answer["notes"])
        self.assertIn("ended with status 3", notes)
        self.assertIn("table.csv does not say what its figures are for", notes)

    def test_a_word_that_is_neither_file_nor_run_says_that_both_were_tried(self):
        nothing = self.call("frontier", "3jw")
        self.assertEqual(nothing.returncode, 2)
        self.assertIn("no such file", nothing.stderr)
        self.assertIn("no run is stored", nothing.stderr)
        self.kept("--", "true", twin=False)
        unknown = self.call("frontier", "zzz")
        self.assertEqual(unknown.returncode, 2)
        for text in ("'zzz'", "no such file", "no run", "perjoule runs list"):
            self.assertIn(text, unknown.stderr)

    def test_a_file_called_like_a_run_is_the_file(self):
        self.kept("--", "true", twin=False)
        self.write("last", GOOD)
        answer = self.json("frontier", "last", "--json", cwd=str(self.folder))
        self.assertEqual(answer["rows"], 3)

    def test_a_pipe_is_read_once(self):
        read = self.call("frontier", "/dev/stdin", "--json", stdin=open(self.write("t.csv", GOOD), encoding="utf-8"))
        self.assertEqual(read.returncode, 0, read.stderr)

    def test_points_without_settings_are_named_by_their_rows(self):
        bare = "time_s,energy_j\n1.0,250\n0.8,260\n0.75,300\n"
        one = self.call("frontier", self.write("bare.csv", bare), "--deadline", "0.8s")
        self.assertIn("row 3", one.stdout)
        self.assertNotIn("the only configuration", one.stdout)
        two = self.call("frontier", self.write("a.csv", bare), self.write("b.csv", bare.replace("0.8,260", "0.7,200")))
        self.assertRegex(two.stdout, r"row \S*b\.csv:3")
        single = self.call("frontier", self.write("single.csv", "time_s,energy_j\n1.0,250\n"))
        self.assertIn("the only configuration", single.stdout)
        self.assertIn("1 of 1 point is on the frontier", single.stdout)

    def test_two_points_have_no_knee(self):
        two = self.write("two.csv", "limit,time_s,energy_j\n300,1.0,250\n400,0.8,300\n")
        told = self.call("frontier", two)
        self.assertIn("least energy-delay product", told.stdout)
        self.assertIn("a knee needs three points", told.stdout)
        self.assertIn("three points", json.loads(self.call("frontier", two, "--json").stdout)["groups"][0]["note"])
        three = self.write("three.csv", GOOD)
        self.assertIn("knee of the frontier", self.call("frontier", three).stdout)

    def test_random_bytes_never_crash(self):
        generator = random.Random(1)
        for i in range(20):
            content = b"\x1b[2J" + generator.randbytes(generator.randint(0, 400))
            if i % 2:  # half of them begin well
                content = GOOD.encode() + content
            result = self.call("frontier", self.write("noise.csv", content))
            self.assertIn(result.returncode, (0, 1, 2), result.stderr)
            self.assertNotIn("\x1b", result.stderr)  # no escape of a file's reaches the terminal


if __name__ == "__main__":
    main()
