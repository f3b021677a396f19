"""Help, wrong usage, environment, completion and man pages."""

import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, main

VERBS = (
    "import", "scan", "roots", "relink", "missing", "list", "show", "probe", "inspect", "hash", "verify", "jobs",
    "search", "tag", "note", "rename", "set", "duplicates", "usage", "export", "restore", "move", "remove", "undo",
    "help", "version",
)  # fmt: skip


class Help(CommandTest):
    def test_alone_it_names_the_three_commands_one_needs(self) -> None:
        ran = self.tenure()
        self.assertEqual(ran.code, 0)
        for command in ("tenure import", "tenure list", "tenure probe"):
            self.assertIn(command, ran.out)
        self.assertLess(len(ran.lines), 10)

    def test_help_names_every_verb_and_exit_code(self) -> None:
        ran = self.tenure("help")
        for verb in VERBS:
            self.assertRegex(ran.out, rf"(?m)^  {verb} ")
        for code in ("0", "1", "2", "3", "4", "5", "130"):
            self.assertRegex(ran.out, rf"(?m)^  {code} ")

    def test_help_of_a_verb_is_the_same_both_ways(self) -> None:
        for verb in VERBS:
            self.assertEqual(self.tenure("help", verb).out, self.tenure(verb, "--help").out)

    def test_help_in_json_is_one_object(self) -> None:
        self.assertIn("help", self.tenure("help", "--json").objects()[0])
        self.assertIn("version", self.tenure("--version", "--json").objects()[0])

    def test_the_version_is_that_of_the_file(self) -> None:
        version = (Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()
        self.assertEqual(self.tenure("--version").out, f"tenure {version}\n")
        self.assertEqual(self.tenure("version").out, f"tenure {version}\n")


class WrongUsage(CommandTest):
    def refused(self, *words: str, says: str, **environment: str) -> None:
        ran = self.tenure(*words, **environment)
        self.assertEqual(ran.code, 2, words)
        self.assertEqual(ran.out, "")
        self.assertEqual(len(ran.err.splitlines()), 1, ran.err)
        self.assertIn(says, ran.err)

    def test_one_line_that_helps(self) -> None:
        self.refused("probe", "x", "--jsno", says="did you mean --json?")
        self.refused("porbe", "x", says="did you mean `tenure probe`?")
        self.refused("probe", says="tenure probe PATH...")
        self.refused("help", "nothing", says="there is no verb `nothing`")

    def test_a_hash_that_there_is_not(self) -> None:
        self.refused("import", ".", "--hash", "md5", says="none, blake3, sha256 or all")

    def test_verify_wants_models_or_all(self) -> None:
        self.refused("verify", says="--all")
        self.refused("verify", "--all", "x", says="name none beside it")

    def test_a_variable_that_cannot_be_used_is_named(self) -> None:
        self.refused("probe", "x", says="TENURE_MEMORY", TENURE_MEMORY="lots")
        self.refused("probe", "x", says="TENURE_JOBS", TENURE_JOBS="0")
        self.refused("probe", "x", says="TENURE_LOG", TENURE_LOG="loud")

    def test_an_option_goes_before_its_variable(self) -> None:
        self.assertEqual(self.tenure("probe", "x", "--memory", "1G", TENURE_MEMORY="lots").code, 1)

    def test_in_json_it_is_an_object_as_well(self) -> None:
        ran = self.tenure("probe", "--json")
        self.assertEqual(ran.code, 2)
        self.assertEqual(ran.objects()[0]["error"]["status"], "invalid")


class Completion(CommandTest):
    def test_bash_reads_the_script(self) -> None:
        script = self.tenure("completion", "bash").stdout
        subprocess.run(["bash", "-n"], input=script, check=True)

    def complete(self, *words: str) -> list[str]:
        """What bash offers behind `words`, the last of which is being written."""
        quoted = " ".join(f"'{word}'" for word in words)
        script = self.tenure("completion", "bash").out + (
            f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _tenure; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        return ran.stdout.split()

    def test_bash_offers_verbs_options_and_words(self) -> None:
        self.assertEqual(self.complete("tenure", "pr"), ["probe"])
        self.assertEqual(set(self.complete("tenure", "")), set(VERBS))
        self.assertEqual(self.complete("tenure", "probe", "--wh"), ["--why"])
        self.assertEqual(self.complete("tenure", "list", "--wh"), [])
        self.assertEqual(self.complete("tenure", "import", "--hash", "b"), ["blake3"])
        self.assertEqual(self.complete("tenure", "--memory", "1G", "jobs", "re"), ["resume", "retry"])
        self.assertEqual(self.complete("tenure", "probe", "some"), [])  # files are left to bash

    def test_zsh_and_fish_read_their_scripts(self) -> None:
        for shell in ("zsh", "fish"):
            script = self.tenure("completion", shell).stdout
            self.assertIn(b"--dry-run" if shell == "zsh" else b"-l dry-run", script)
            if not shutil.which(shell):
                print(f"{shell} is not here: its script is not read by it")
                continue
            subprocess.run([shell, "-n"], input=script, check=True)


class ManPages(CommandTest):
    def test_groff_renders_every_page_without_a_warning(self) -> None:
        if not shutil.which("groff"):
            raise unittest.SkipTest("groff is not here")
        for verb in ("", *VERBS):
            page = self.tenure("man", *([verb] if verb else [])).stdout
            ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, check=True)
            self.assertEqual(ran.stderr, b"", verb)
            text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", ran.stdout.decode())
            self.assertIn("EXIT STATUS", text)
            self.assertIn("--json", text.replace("\u2212", "-").replace("\u2010", "-"))


if __name__ == "__main__":
    main()
