"""--html and perjoule page: one file that has the documents inside and asks nobody."""
import json
import re

from command import CommandTest, main


def documents(page):
    """Those that stand in the page."""
    found = re.search(r'<script type="application/json" id="documents">(.*?)</script>', page, re.S)
    return json.loads(found[1])


class Page(CommandTest):
    def test_a_verbs_page_has_what_it_would_have_printed(self):
        table = self.write("points.csv", "power limit,time_s,energy_j\n200 W,2,100\n300 W,1.5,120\n400 W,1.2,150\n")
        page = self.folder / "page.html"
        made = self.call("frontier", table, "--deadline", "1.6s", "--html", str(page))
        self.assertEqual((made.returncode, made.stdout), (0, f"page: {page}\n"), made.stderr)
        inside = documents(page.read_text())
        self.assertEqual(inside, [self.json("frontier", table, "--deadline", "1.6s", "--json")])
        both = self.call("frontier", table, "--html", str(page), "--json")
        self.assertEqual(documents(page.read_text()), [json.loads(both.stdout)])
        # Nothing of another machine is asked for.
        self.assertEqual(re.findall(r"(?:src|href)=\"(?!data:)[^\"]*\"", page.read_text()), [])

    def test_lines_are_documents_and_texts_are_no_tags(self):
        page = self.folder / "page.html"
        made = self.call("run", "--tag", "</script><b>", "--html", str(page), "--", "true")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(documents(page.read_text())[0]["tags"], ["</script><b>"])
        made = self.call("top", "--count", "2", "--every", "100ms", "--json", "--html", str(page))
        self.assertEqual([one["schema"] for one in documents(page.read_text())], ["perjoule.top.v1"] * 2)
        self.assertEqual(len(made.stdout.splitlines()), 2)

    def test_several_documents_are_one_page(self):
        one = self.write("one.json", json.dumps({"schema": "a"}, indent=2))
        lines = self.write("lines.jsonl", '{"schema": "b"}\n{"schema": "c"}\n')
        page = self.folder / "page.html"
        made = self.call("page", one, lines, "--output", str(page))
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual([document["schema"] for document in documents(page.read_text())], ["a", "b", "c"])

    def test_what_makes_no_page(self):
        empty = self.write("empty.json", "")
        self.assertEqual(self.call("page", empty, "--output", str(self.folder / "x.html")).returncode, 3)
        self.assertEqual(self.call("page", "/nowhere.json", "--output", str(self.folder / "x.html")).returncode, 2)
        self.assertFalse((self.folder / "x.html").exists())
        # A page that cannot be written is said before anything is measured; a verb that fails leaves none.
        slow = self.call("run", "--html", "/nowhere/x.html", "--", "sleep", "30")
        self.assertEqual(slow.returncode, 125 if slow.returncode == 125 else 2, slow.stderr)
        failed = self.call("frontier", "/nowhere.csv", "--html", str(self.folder / "x.html"))
        self.assertEqual(failed.returncode, 2, failed.stderr)
        self.assertFalse((self.folder / "x.html").exists())


if __name__ == "__main__":
    main()
