"""perjoule frontier on the files people have, good and bad: message, line, exit status."""
import json
import random

from command import CommandTest, main

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
