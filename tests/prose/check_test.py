#!/usr/bin/env python3
"""Tests of the prose check: small trees with one thing in them that is wrong, or looks so."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import extract
import rules

CHECK = pathlib.Path(__file__).resolve().parent / "check"
_loader = importlib.machinery.SourceFileLoader("check", str(CHECK))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", _loader))
_loader.exec_module(check)


def run(name, text, *arguments):
    """(exit status, lines of findings, last line) of a tree with this one file."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["git", "init", "-q", folder], check=True)
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        done = subprocess.run([CHECK, "--root", root, *arguments], capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith(f"{name}:")]
        return done.returncode, [line[len(name) + 1:] for line in lines], done.stdout.splitlines()[-1:]


class Check(unittest.TestCase):
    def findings(self, name, text):
        reader = extract.language_of(pathlib.Path(name), text.split("\n", 1)[0])
        return [f"{line}: {message}" for line, _, message in sorted(check.findings(pathlib.Path(name), text, reader))]

    def assert_found(self, name, text, *expected):
        lines = self.findings(name, text)
        self.assertEqual(len(lines), len(expected), lines)
        for line, start in zip(lines, expected):
            self.assertTrue(line.startswith(start), f"{line}, expected {start}")

    def test_a_finding_names_the_place_the_word_and_what_is_expected(self):
        self.assertEqual(run("a.md", "# Jobs\n\nNobody waits.\n")[:2],
                         (1, ['3: "Nobody": expected the noun of the thing: "no job", "another pod"']))

    def test_a_clean_tree_has_none(self):
        status, lines, last = run("a.md", "A job waits until it fits.\n")
        self.assertEqual((status, lines, last), (0, [], ["prose: 1 files, 0 findings"]))

    def test_comments_strings_and_names_of_each_language_are_read(self):
        for name, text, *expected in (
            ("a.cc", 'int a;  // nobody\nSay("told");\nint held_room;', '1: "nobody"', '2: "told"', '3: name "held_room"'),
            ("a.cc", 'auto text = R"(\none\nnobody)";', '3: "nobody"'),
            ("a.h", "/* one\n * anew\n */", '2: "anew"'),
            ("a.go", "// whoever\nvar a = `\ntold`", '1: "whoever"', '3: "told"'),
            ("a.js", "const a = 'nobody';", '1: "nobody"'),
            ("a.proto", "// told\nint32 berth = 1;", '1: "told"', '2: name "berth"'),
            ("a.py", '"""Nobody."""\na = f"told {b}"  # anew\n', '1: "Nobody"', '2: "anew"', '2: "told"'),
            ("a.sh", 'echo "it is told"  # anew', '1: "anew"', '1: "told"'),
            ("claim", "#!/usr/bin/env python3\n# anew\n", '2: "anew"'),
            ("a.yaml", "# anew\nwhy: nobody waits\nheld-room: 1", '1: "anew"', '2: "nobody"', '3: name "held-room"'),
            ("CMakeLists.txt", "add(a)  # anew", '1: "anew"'),
        ):  # fmt: skip
            with self.subTest(name=name, text=text):
                self.assert_found(name, text, *expected)

    def test_a_phrase_that_goes_over_two_lines_is_found_on_the_first(self):
        self.assert_found("a.cc", "int a;\n// it is let\n// in by the gate\n", '2: "let in"')
        self.assert_found("a.md", "The job is set\naside.\n", '1: "set aside"')
        self.assert_found("a.go", 'a("let " +\n\t"x")\nb("not told")', '3: "told"')

    def test_includes_do_not_move_the_lines(self):
        self.assert_found("a.cc", '#include <a>\n\n#include "who/promise.h"\n\n// told\n', '5: "told"')

    def test_what_looks_like_a_comment_in_a_string_is_none(self):
        self.assertEqual(self.findings("a.cc", 'a("http://x"); int nobodys;'), [])
        self.assertEqual(self.findings("a.yaml", 'a: "x # y"\n'), [])

    def test_legitimate_uses_are_no_findings(self):
        for name, text in (
            ("a.md", "Users who submit jobs wait. Operators of clusters who pay, too.\n"),
            ("a.md", "The queue holds 8 GPUs, whose model is T4.\n"),
            ("a.md", "It tells the user. The others wait. Memory growth is bounded.\n"),
            ("a.md", "Run `tests/bench/growth --out docs/growth.json`.\n"),
            ("a.js", "return new Promise((done) => done());"),
            ("a.cc", "std::promise<int> ready;"),
            ("a.cc", "int one_who_knows_nothing_whole = a.whole;  // threshold, household, cutoff\n".replace("who_", "")),
        ):
            with self.subTest(text=text):
                self.assertEqual(self.findings(name, text), [])

    def test_names_are_split_where_their_parts_begin(self):
        for name in ("HeldRoom", "heldRoomText", "held_room", "kHeldRoom", "tephra.sh/held-room"):
            self.assertEqual(len(list(rules.name_findings(name))), 1, name)
        for name in ("Whole", "whose", "stolen", "Atoll", "held_by_room", "promising"):
            self.assertEqual(list(rules.name_findings(name)), [], name)

    def test_sentences_have_at_most_25_words(self):
        long = " ".join(["word"] * 25) + " more."
        self.assert_found("a.md", f"Short.\nA {'to ' * 24}more. Short.\n", '2: sentence of 26 words ("A to')
        self.assertEqual(self.findings("a.md", " ".join(["to"] * 25) + ".\n"), [])
        self.assertEqual(self.findings("a.cc", f"// {long}\n"), [])

    def test_code_tables_and_links_count_for_no_sentence(self):
        many = " ".join(["to"] * 12)
        for text in (f"```\n{many} {many} {many}\n```\n", f"| {many} {many} {many} |\n",
                     f"Run `{many} {many}`\nor [{many}](http://a/{'b' * 20}).\n", f"- {many}\n- {many}\n- {many}\n",
                     f"{many}, e.g. {many}.\n", f"# {many}\n{many}.\n\n{many}\n"):  # fmt: skip
            with self.subTest(text=text):
                self.assertEqual(self.findings("a.md", text), [])

    def test_a_line_of_markdown_has_at_most_120_characters(self):
        self.assertEqual(self.findings("a.md", "x" * 120 + "\n"), [])
        self.assert_found("a.md", "\n| " + "x" * 119 + "\n", "2: line of 121 characters")
        self.assertEqual(self.findings("a.cc", "int a" + "a" * 150 + ";\n"), [])

    def test_words_in_tables_inline_code_and_fences_are_read(self):
        self.assert_found("a.md", "| told |\n", '1: "told"')
        self.assert_found("a.md", "Set `held_room` to 1.\n", '1: name "held_room"')
        self.assert_found("a.md", "```yaml\npromises: 1  # told\n```\n", '2: name "promises"', '2: "told"')

    def test_a_file_that_cannot_be_read_as_its_language_is_a_finding(self):
        self.assertIn("1: is no Python", run("a.py", "a = (\n")[1][0])

    def test_paths_limit_what_is_read_and_have_to_exist(self):
        self.assertEqual(run("docs/a.md", "told\n", "docs")[0], 1)
        self.assertEqual(run("docs/a.md", "told\n", "nowhere")[0], 2)

    def test_the_summary_counts_by_folder(self):
        status, lines, last = run("docs/adr/a.md", "told told\n", "--summary")
        self.assertEqual((status, lines), (1, []))
        self.assertEqual(last, ["prose: 1 files, 1 findings"])


class Pieces(unittest.TestCase):
    def test_a_piece_knows_the_line_of_each_part(self):
        piece = extract.Piece("doc", [(3, "one"), (4, "two"), (9, "three")])
        self.assertEqual(piece.text, "one two three")
        self.assertEqual([piece.line(piece.text.index(word)) for word in ("one", "two", "three")], [3, 4, 9])


if __name__ == "__main__":
    unittest.main()
