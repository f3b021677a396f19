"""scan, roots, relink, missing, and what import says of what it did not find: as people and scripts use them."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, Ended, main
from tenure_files import header_bytes, lora_header, write_safetensors


class ScanTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.models = self.folder / "models"
        self.models.mkdir()

    def make(self, name: str, note: str = "") -> Path:
        """A LoRA; another `note` makes another file of the same kind."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_safetensors(path, lora_header(), {"note": note} if note else None)
        return path

    def import_(self, *paths: str) -> Ended:
        return self.tenure("import", "--hash", "none", *paths)

    def scan(self, *words: str) -> Ended:
        return self.tenure("scan", "--hash", "none", *words)

    def records(self) -> dict[int, dict[str, object]]:
        return {record["id"]: record for record in self.tenure("list", "--json").objects()}

    def tag(self, model: str | Path, word: str) -> None:
        ran = self.tenure("tag", model, f"+{word}")
        self.assertEqual(ran.code, 0, ran.err)

    def tagged(self, word: str) -> dict[str, object]:
        (found,) = [record for record in self.records().values() if word in record["tags"]]
        return found

    def summary(self, ran: Ended) -> dict[str, object]:
        found = ran.objects()[-1]["summary"]
        assert isinstance(found, dict)
        return found


class Scan(ScanTest):
    def test_without_a_library_or_a_root_it_says_how_to_begin(self) -> None:
        ran = self.scan()
        self.assertEqual((ran.code, ran.out), (0, ""))
        self.assertIn("tenure import", ran.err)
        path = self.make("models/a.safetensors")
        self.import_(str(path))  # a file is no root
        ran = self.scan()
        self.assertEqual((ran.code, ran.out), (0, ""), ran.err)
        self.assertIn("tenure roots add", ran.err)

    def test_it_says_what_is_new_moved_and_gone_and_the_words_stay_with_their_files(self) -> None:
        for name in "abcd":
            self.make(f"models/{name}.safetensors", name)
        self.import_("models")
        for name in "abcd":
            self.tag(f"models/{name}.safetensors", f"tag-{name}")
        (self.models / "a.safetensors").rename(self.models / "renamed.safetensors")
        shutil.copyfile(self.models / "b.safetensors", self.folder / "spare")
        (self.models / "b.safetensors").unlink()
        (self.models / "sub").mkdir()
        shutil.move(self.folder / "spare", self.models / "sub" / "b.safetensors")
        (self.models / "c.safetensors").unlink()
        self.make("models/e.safetensors", "e")
        ran = self.scan()
        self.assertEqual(ran.code, 0, ran.out + ran.err)
        self.assertRegex(ran.lines[0], r"^4 models in .* s \(1 new, 1 gone\)$")
        self.assertIn("1 relinked: moved, and found again", ran.lines)
        self.assertIn(f"gone  {self.models}/c.safetensors", ran.lines)
        self.assertEqual(self.tagged("tag-a")["path"], str(self.models / "renamed.safetensors"))
        self.assertEqual(self.tagged("tag-b")["path"], str(self.models / "sub" / "b.safetensors"))
        self.assertEqual(self.tagged("tag-c")["presence"], "missing")
        self.assertEqual(len(self.records()), 5)

    def test_json_tells_each_model_with_the_id_it_keeps(self) -> None:
        path = self.make("models/a.safetensors", "a")
        self.import_("models")
        (before,) = self.records()
        os.replace(shutil.copyfile(path, self.folder / "spare"), self.models / "z.safetensors")
        path.unlink()
        ran = self.scan("--json")
        self.assertEqual(ran.code, 0, ran.err)
        line = ran.objects()[0]
        self.assertEqual((line["id"], line["fresh"], line["changed"], line["relinked"]), (before, False, False, True))
        summary = self.summary(ran)
        self.assertEqual((summary["relinked"], summary["fresh"], summary["vanished"], summary["asks"]), (1, 0, 0, 0))

    def test_what_has_to_be_asked_makes_the_exit_code_1(self) -> None:
        path = self.make("models/a.safetensors", "a")
        self.import_("models")
        for name in "yz":
            shutil.copyfile(path, self.models / f"{name}.safetensors")
        path.unlink()
        ran = self.scan()
        self.assertEqual(ran.code, 1)
        self.assertIn("1 missing model may have been found: tenure relink", ran.lines)
        self.assertEqual(self.scan().code, 1, "it stays open until it is answered")

    def test_a_root_that_is_away_is_said_and_is_no_fault(self) -> None:
        self.make("models/a.safetensors", "a")
        self.import_("models")
        self.models.rename(self.folder / "unplugged")
        ran = self.scan()
        self.assertEqual(ran.code, 0, ran.out + ran.err)
        self.assertIn(f"away  {self.models}  1 model is offline", ran.lines)
        self.assertEqual(self.scan("models").code, 1, "but not where it was named")
        (self.folder / "unplugged").rename(self.models)
        self.assertEqual(self.scan().code, 0)
        self.assertEqual({record["presence"] for record in self.records().values()}, {"present"})

    def test_many_that_are_gone_are_ten_names_and_a_count(self) -> None:
        for i in range(13):
            self.make(f"models/{i:02}.safetensors", str(i))
        self.import_("models")
        for i in range(13):
            (self.models / f"{i:02}.safetensors").unlink()
        ran = self.scan()
        self.assertEqual(len([line for line in ran.lines if line.startswith("gone  ")]), 10, ran.out)
        self.assertIn("and 3 more are gone: tenure missing", ran.lines)

    def test_what_is_no_root_is_refused(self) -> None:
        self.make("models/a.safetensors", "a")
        (self.folder / "other").mkdir()
        self.import_("models")
        ran = self.scan("other")
        self.assertEqual(ran.code, 1)
        self.assertIn("no root", ran.err)


class Roots(ScanTest):
    def test_the_list(self) -> None:
        self.make("models/a.safetensors", "a")
        self.import_("models")
        ran = self.tenure("roots")
        self.assertEqual(ran.lines[0].split(), ["models", "size", "state", "scanned", "root"])
        self.assertRegex(ran.lines[1], rf"^ *1  9\.5 MB  present  .* ago  {self.models}$")
        (root,) = self.tenure("roots", "--json").objects()
        self.assertEqual((root["path"], root["state"], root["models"]), (str(self.models), "present", 1))
        self.assertLess(abs(root["scanned"] - time.time()), 600)
        self.models.rename(self.folder / "unplugged")
        self.assertEqual(self.tenure("roots", "--json").objects()[0]["state"], "away")

    def test_add_and_remove(self) -> None:
        self.make("models/a.safetensors", "a")
        self.assertEqual(self.tenure("roots", "add", "models/").code, 0)
        self.assertEqual(self.records(), {})
        self.scan()
        self.assertEqual(len(self.records()), 1)
        ran = self.tenure("roots", "remove", "models")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("its models stay in the library", ran.out)
        self.assertEqual(len(self.records()), 1)
        self.assertEqual(self.tenure("roots", "--json").objects(), [])
        self.assertEqual(self.tenure("roots", "remove", "models").code, 1)

    def test_words_that_make_no_sense_are_wrong_usage(self) -> None:
        self.make("models/a.safetensors", "a")
        self.import_("models")
        for words in (["move", "x"], ["add"], ["add", "a", "b"], ["relocate", "models"], ["add", "models/a.safetensors"]):
            ran = self.tenure("roots", *words)
            self.assertEqual(ran.code, 2, (words, ran.err))
            self.assertEqual(len(ran.err.splitlines()), 1)

    def test_relocate_after_the_folder_was_moved_to_another_disk(self) -> None:
        for name in "abc":
            self.make(f"models/{name}.safetensors", name)
            self.import_("models")
            self.tag(f"models/{name}.safetensors", f"tag-{name}")
        before = {record["id"] for record in self.records().values()}
        shutil.copytree(self.models, self.folder / "disk")
        shutil.rmtree(self.models)
        ran = self.tenure("roots", "relocate", "models", "disk")
        self.assertEqual(ran.code, 0, ran.out + ran.err)
        self.assertIn("3 paths lie in the new place now", ran.lines)
        self.assertEqual(set(self.records()), before)
        for name in "abc":
            found = self.tagged(f"tag-{name}")
            self.assertEqual((found["path"], found["presence"]), (str(self.folder / f"disk/{name}.safetensors"), "present"))
        (root,) = self.tenure("roots", "--json").objects()
        self.assertEqual(root["path"], str(self.folder / "disk"))
        ran = self.tenure("roots", "relocate", "nowhere", "disk")
        self.assertEqual(ran.code, 1)
        self.assertIn("nothing is recorded below", ran.err)


class Relink(ScanTest):
    def two_candidates(self) -> None:
        path = self.make("models/a.safetensors", "a")
        self.import_("models")
        self.tag(path, "mine")
        for name in "yz":
            shutil.copyfile(path, self.models / f"{name}.safetensors")
        path.unlink()
        self.scan()

    def replaced(self) -> None:
        path = self.make("models/b.safetensors", "b")
        self.import_("models")
        self.tag(path, "old")
        path.unlink()
        self.make("models/b.safetensors", "another")
        self.scan()

    def test_nothing_to_ask(self) -> None:
        self.make("models/a.safetensors", "a")
        self.import_("models")
        ran = self.tenure("relink")
        self.assertEqual((ran.code, ran.out), (0, ""))
        self.assertIn("nothing has to be asked", ran.err)

    def test_it_lists_what_could_be_meant(self) -> None:
        self.two_candidates()
        ran = self.tenure("relink")
        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.lines[0], rf"^\d+  a  missing, was at {self.models}/a\.safetensors$")
        self.assertRegex(ran.lines[1], rf"^  1: \d+  {self.models}/y\.safetensors  \(same size and sample\)$")
        self.assertEqual(len(ran.lines), 3)
        (line,) = self.tenure("relink", "--json").objects()
        self.assertEqual((line["name"], line["path"], line["presence"], line["chosen"]),
                         ("a", str(self.models / "a.safetensors"), "missing", None))  # fmt: skip
        self.assertEqual([(Path(c["path"]).name, c["why"]) for c in line["candidates"]],
                         [("y.safetensors", "same_bytes"), ("z.safetensors", "same_bytes")])  # fmt: skip

    def test_yes_takes_what_has_one_candidate_and_leaves_the_rest(self) -> None:
        self.two_candidates()
        self.replaced()
        ran = self.tenure("relink", "--yes")
        self.assertEqual(ran.code, 1, "one is left open")
        self.assertIn("1 model has its file again", ran.lines)
        self.assertEqual(self.tagged("old")["presence"], "present")
        self.assertEqual(self.tagged("mine")["presence"], "missing")

    def test_a_person_is_asked_for_each(self) -> None:
        self.two_candidates()
        self.replaced()
        ran = self.tenure("relink", "--interactive", input=b"7\nx\n2\ns\n")
        self.assertEqual(ran.code, 1)
        self.assertEqual(self.tagged("mine")["path"], str(self.models / "z.safetensors"))
        self.assertEqual(self.tagged("old")["presence"], "missing")
        self.assertIn("1 left open: tenure relink --interactive", ran.lines)

    def test_an_answer_that_never_comes_changes_nothing(self) -> None:
        self.two_candidates()
        self.assertEqual(self.tenure("relink", "--interactive", input=b"").code, 1)
        self.assertEqual(self.tagged("mine")["presence"], "missing")

    def test_both_at_once_is_wrong_usage(self) -> None:
        self.assertEqual(self.tenure("relink", "--yes", "--interactive").code, 2)

    def test_missing_lists_it(self) -> None:
        self.two_candidates()
        ran = self.tenure("missing")
        self.assertEqual(ran.lines[0].split(), ["id", "presence", "name", "was", "at"])
        self.assertRegex(ran.lines[1], rf"missing +a +{self.models}/a\.safetensors$")
        (line,) = self.tenure("missing", "--json").objects()
        self.assertEqual((line["presence"], line["tags"]), ("missing", ["mine"]))


class DryRun(ScanTest):
    def said(self, ran: Ended) -> list[str]:
        """Everything but the first line, which has the time, and what is said of hashing."""
        return [line for line in ran.lines[1:] if "to be hashed" not in line]

    def test_it_shows_the_table_and_the_problems_of_a_real_one(self) -> None:
        for name in "abc":
            self.make(f"models/{name}.safetensors", name)
        write_safetensors(self.models / "broken.safetensors", lora_header(), short_by=1200000)
        (self.models / "page.safetensors").write_text("<html>not found</html>")
        (self.models / "a.png").write_text("x")
        dry = self.tenure("import", "--dry-run", "models")
        self.assertFalse(self.library.exists())
        real = self.import_("models")
        self.assertEqual(dry.code, real.code)
        self.assertEqual(self.said(dry), self.said(real))
        self.assertGreater(len(self.said(real)), 3)
        self.make("models/d.safetensors", "d")
        (self.models / "b.safetensors").rename(self.models / "moved.safetensors")
        dry = self.tenure("import", "--dry-run", "models")
        self.assertRegex(dry.lines[0], r"^6 models in .* \(dry run, nothing is recorded, 1 new\)$")
        self.assertEqual(self.said(dry), self.said(self.import_("models")))

    def test_it_makes_no_library_and_needs_no_place_for_one(self) -> None:
        self.make("models/a.safetensors", "a")
        (self.folder / "file").write_text("x")
        ran = self.tenure("import", "--dry-run", "models", TENURE_LIBRARY=str(self.folder / "file" / "library.db"))
        self.assertEqual(ran.code, 0, ran.err)
        self.assertRegex(ran.lines[0], r"^1 model in ")
        ran = self.tenure("import", "--dry-run", "models", TENURE_LIBRARY="/proc/nowhere/library.db")
        self.assertEqual(ran.code, 0, ran.err)

    def test_it_leaves_a_library_as_it_is(self) -> None:
        self.make("models/a.safetensors", "a")
        self.import_("models")
        self.make("models/b.safetensors", "b")
        before = {path.name: path.read_bytes() for path in self.library.parent.iterdir()}
        self.library.chmod(stat.S_IRUSR)
        self.library.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
        self.addCleanup(self.library.parent.chmod, stat.S_IRWXU)
        ran = self.tenure("import", "--dry-run", "models")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertRegex(ran.lines[0], r"^2 models in .* \(dry run, nothing is recorded, 1 new\)$")
        after = {path.name: path.read_bytes() for path in self.library.parent.iterdir()}
        self.assertEqual({name: after.get(name) for name in before}, before)


class Said(ScanTest):
    """What an import says of what it could not do, or did beside what was asked for."""

    def test_a_link_that_leads_nowhere_is_not_a_model_that_is_gone(self) -> None:
        self.make("models/a.safetensors", "a")
        (self.models / "dangling.safetensors").symlink_to("nowhere")
        for _ in range(2):
            ran = self.import_("models")
            self.assertEqual(ran.code, 0)
            self.assertNotIn("gone", ran.out)
            self.assertIn("1 link leads nowhere", ran.lines)

    def test_links_that_lead_outside_are_followed_and_said(self) -> None:
        self.make("models/a.safetensors", "a")
        for i in range(3):
            self.make(f"outside{i}/{i}.safetensors", str(i))
            (self.models / f"link{i}").symlink_to(self.folder / f"outside{i}")
        (self.models / "inside").symlink_to(self.models)
        ran = self.import_("models")
        self.assertRegex(ran.lines[0], r"^4 models in ")
        self.assertIn("3 links lead to folders outside; they were followed", ran.lines)

    def test_a_folder_that_cannot_be_read_is_named_with_the_reason(self) -> None:
        self.make("models/a.safetensors", "a")
        deep = self.models
        for _ in range(130):  # deeper than is walked: 128 folders
            deep = deep / "d"
        os.makedirs(deep)
        ran = self.import_("models")
        self.assertEqual(ran.code, 1)
        self.assertIn("1 folder could not be read", ran.lines)
        self.assertRegex(ran.out, r"(?m)^unreadable  .*/d/d  it lies too deep in other folders$")

    def test_a_path_that_is_named_and_not_there_makes_the_exit_code_1(self) -> None:
        self.make("models/a.safetensors", "a")
        self.assertEqual(self.import_("nowhere").code, 1)
        self.assertEqual(self.import_("nowhere", "models").code, 1)
        self.assertEqual(self.import_("models").code, 0)

    def test_an_interrupted_import_ends_with_an_object_that_says_so(self) -> None:
        header, data = header_bytes(lora_header(), {"n": "000000"})
        for i in range(3000):
            with open(self.models / f"lora{i:06}.safetensors", "wb") as file:
                file.write(header.replace(b'"000000"', b'"%06d"' % i))
                file.truncate(len(header) + data)
        process = self.start("import", "--hash", "none", "--json", "models")
        assert process.stdout
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if process.returncode == 0:
            raise unittest.SkipTest("it was done before it could be interrupted")
        ran = Ended(process.returncode, first + out, err)
        self.assertEqual(ran.code, 130)
        last = ran.objects()[-1]
        self.assertEqual((last["status"], last["resume"]), ("interrupted", "tenure jobs run"))
        recorded = len(self.tenure("list", "--json").objects())
        self.assertEqual(last["fresh"] + last["changed"] + last["unchanged"], recorded)
        self.assertEqual(len(ran.objects()) - 1, recorded, "each that was recorded was told")
        self.assertLessEqual(last["done"], last["found"])


if __name__ == "__main__":
    main()
