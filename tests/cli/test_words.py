"""search, tag, note, rename, set, list's filters, show, duplicates, usage, export and restore, as people and scripts use them."""

import hashlib
import os
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, Ended, main
from tenure_files import lora_header, write_safetensors


class WordsTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.models = self.folder / "models"
        (self.models / "sub").mkdir(parents=True)
        self.make("watercolor.safetensors", "Aquarell")
        self.make("sub/portrait.safetensors", "Faces")
        self.make("broken.safetensors", "x", short_by=5)
        self.tenure("import", "models")

    def make(self, name: str, title: str, **how: int) -> Path:
        path = self.models / name
        write_safetensors(path, lora_header(), {"modelspec.title": title}, **how)
        return path

    def names(self, ran: Ended) -> list[str]:
        self.assertIn(ran.code, (0, 1), ran.err)
        return [each["name"] for each in ran.objects()]

    def search(self, *words: str) -> list[str]:
        return self.names(self.tenure("search", "--json", *words))

    def record(self, model: str) -> dict[str, object]:
        return self.tenure("show", "--json", model).objects()[0]


class Search(WordsTest):
    def test_words_names_first_and_filters(self) -> None:
        self.tenure("note", "watercolor", "goes well with portraits")
        self.assertEqual(self.search("portrait"), ["portrait", "watercolor"])
        self.assertEqual(self.search("portrait", "--limit", "1"), ["portrait"])
        self.assertEqual(self.search("aquarell"), ["watercolor"])
        self.assertEqual(self.search("water", "color"), ["watercolor"])
        self.assertEqual(self.search("state:damaged"), ["broken"])
        self.assertEqual(sorted(self.search("type:lora", "base:sd-1")), ["broken", "portrait", "watercolor"])
        self.assertEqual(self.search("nowhere to be found"), [])

    def test_people_get_the_table_of_list(self) -> None:
        ran = self.tenure("search", "watercolor")
        self.assertEqual(ran.code, 0)
        self.assertEqual(ran.lines[0].split(), ["id", "base", "type", "size", "name", "state"])
        self.assertEqual(len(ran.lines), 2)
        ran = self.tenure("search", "nowhere")
        self.assertEqual((ran.code, ran.out), (0, ""))
        self.assertIn("nothing is found", ran.err)

    def test_a_filter_that_makes_no_sense_is_wrong_usage(self) -> None:
        ran = self.tenure("search", "state:broken")
        self.assertEqual(ran.code, 2)
        self.assertIn("damaged", ran.err)

    def test_without_a_library_it_says_how_to_begin(self) -> None:
        for words in (["search", "x"], ["tag"], ["tag", "x", "+y"], ["duplicates"], ["usage"]):
            ran = self.tenure(*words, "--library", "none.db")
            self.assertEqual((ran.code, ran.out), (0, ""), words)
            self.assertIn("tenure import", ran.err)
        self.assertFalse((self.folder / "none.db").exists())


class ListAndShow(WordsTest):
    def test_list_is_narrowed(self) -> None:
        self.tenure("tag", "portrait", "+mine")
        self.assertEqual(self.names(self.tenure("list", "--json", "--tag", "MINE")), ["portrait"])
        self.assertEqual(self.names(self.tenure("list", "--json", "--state", "damaged")), ["broken"])
        self.assertEqual(len(self.names(self.tenure("list", "--json", "--base", "sd-1", "--type", "lora"))), 3)
        ran = self.tenure("list", "--base", "flux")
        self.assertEqual((ran.code, ran.out), (0, ""))
        self.assertIn("no model", ran.err)
        self.assertEqual(self.tenure("list", "--state", "odd").code, 2)

    def test_missing_models_are_listed_by_themselves(self) -> None:
        (self.models / "watercolor.safetensors").unlink()
        self.tenure("import", "models")
        self.assertEqual(self.names(self.tenure("list", "--json", "--missing")), ["watercolor"])

    def test_an_empty_library_says_so(self) -> None:
        (self.folder / "empty").mkdir()
        self.tenure("import", "empty", "--library", "e.db")
        ran = self.tenure("list", "--library", "e.db")
        self.assertEqual((ran.code, ran.out), (0, ""))
        self.assertIn("the library is empty", ran.err)

    def test_show_is_grouped_and_says_what_is_wrong_in_sentences(self) -> None:
        ran = self.tenure("show", "broken")
        self.assertEqual(ran.code, 1)
        self.assertEqual(ran.lines[0], "broken")
        self.assertRegex(ran.out, r"(?m)^state +damaged$")
        self.assertRegex(ran.out, r"(?m)^what to do +short by 5 B: fetch it again$")
        self.assertRegex(ran.out, r"(?m)^fault +\S.* \S")
        self.assertRegex(ran.out, r"(?m)^because +an adapter for Stable Diffusion 1\.x: ")
        self.assertRegex(ran.out, r"(?m)^adapter +lora, kohya, rank 8, unet, text_encoder, layers 264$")
        self.assertRegex(ran.out, r"(?m)^title +x$")
        self.assertNotIn("{", ran.out)
        self.assertNotIn("null", ran.out)

    def test_a_name_that_several_have_lists_them(self) -> None:
        shutil.copy(self.models / "watercolor.safetensors", self.models / "sub" / "watercolor.safetensors")
        self.tenure("import", "models")
        ran = self.tenure("show", "watercolor")
        self.assertEqual(ran.code, 2)
        self.assertIn("2 models are called", ran.err)
        self.assertRegex(ran.err, r"(?m) \d+  .*/models/sub/watercolor\.safetensors$")
        self.assertRegex(ran.err, r"(?m) \d+  .*/models/watercolor\.safetensors$")


class People(WordsTest):
    def test_tags(self) -> None:
        ran = self.tenure("tag", "watercolor", "portrait", "+Mine", "+needs 24 GB")
        self.assertEqual((ran.code, ran.err), (0, ""))
        self.assertEqual(ran.lines, ["watercolor: +Mine +needs 24 GB", "portrait: +Mine +needs 24 GB"])
        self.assertEqual(self.record("watercolor")["tags"], ["Mine", "needs 24 GB"])
        self.assertEqual(self.tenure("tag", "watercolor", "--remove", "mine", "-r", "needs 24 gb").code, 0)
        self.assertEqual(self.record("watercolor")["tags"], [])
        ran = self.tenure("tag")
        self.assertEqual([line.split(None, 1) for line in ran.lines], [["models", "tag"], ["1", "Mine"], ["1", "needs 24 GB"]])
        self.assertEqual([each["tag"] for each in self.tenure("tag", "--json").objects()], ["Mine", "needs 24 GB"])

    def test_tags_for_many_from_a_list(self) -> None:
        ids = "".join(f"{each['id']}\n" for each in self.tenure("list", "--json").objects())
        ran = self.tenure("tag", "--json", "-", "+all", input=ids.encode())
        self.assertEqual([each["tags"] for each in ran.objects()], [["all"]] * 3)

    def test_one_that_is_not_there_does_not_stop_the_others(self) -> None:
        ran = self.tenure("tag", "nobody", "portrait", "+x")
        self.assertEqual(ran.code, 1)
        self.assertEqual(len(ran.err.splitlines()), 1)
        self.assertEqual(self.record("portrait")["tags"], ["x"])

    def test_what_is_no_tag_is_wrong_usage(self) -> None:
        for words in (["portrait", "+"], ["portrait", "+a\nb"], ["portrait"], ["+x"], ["portrait", "+" + 65 * "x"]):
            ran = self.tenure("tag", *words)
            self.assertEqual(ran.code, 2, words)
            self.assertEqual(len(ran.err.splitlines()), 1, words)
        self.assertEqual(self.record("portrait")["tags"], [])

    def test_a_model_whose_name_begins_with_a_plus(self) -> None:
        self.tenure("rename", "portrait", "+odd")
        self.assertEqual(self.tenure("tag", "+x", "--", "+odd").code, 0)
        self.assertEqual(self.record("+odd")["tags"], ["x"])

    def test_notes(self) -> None:
        self.assertEqual(self.tenure("note", "portrait", "first\nsecond").lines, ["portrait: noted"])
        self.assertEqual(self.tenure("note", "portrait").lines, ["first", "second"])
        self.assertEqual(self.tenure("note", "portrait", "-", input=b"from stdin\n").code, 0)
        self.assertEqual(self.record("portrait")["note"], "from stdin")
        self.assertEqual(self.tenure("note", "portrait", "--", "-").code, 0)
        self.assertEqual(self.record("portrait")["note"], "-")
        self.assertEqual(self.tenure("note", "portrait", "").lines, ["portrait: the note is gone"])
        self.assertIsNone(self.record("portrait")["note"])
        self.assertEqual(self.tenure("note", "portrait").out, "")
        self.assertEqual(self.tenure("note", "portrait", "-", input=b"\xff\xfe\n").code, 2)

    def test_a_note_cannot_move_the_cursor(self) -> None:
        self.tenure("note", "portrait", "red \x1b[31m text")
        for words in (["note", "portrait"], ["show", "portrait"]):
            self.assertNotIn("\x1b", self.tenure(*words).out)

    def test_rename_keeps_the_file(self) -> None:
        ran = self.tenure("rename", "portrait", "Faces for all")
        self.assertEqual(ran.lines, ["Faces for all: named so in the library; the file stays portrait.safetensors"])
        self.assertTrue((self.models / "sub/portrait.safetensors").exists())
        for model in ("Faces for all", "portrait.safetensors", "portrait", "models/sub/portrait.safetensors"):
            self.assertEqual(self.record(model)["name"], "Faces for all")
        self.assertIn("Faces for all (portrait.safetensors)", self.tenure("list").out)
        self.tenure("import", "models")
        self.assertEqual(self.record("portrait")["name"], "Faces for all")

    def test_set_and_take_back(self) -> None:
        before = self.record("portrait")
        ran = self.tenure("set", "portrait", "--base", "sdxl", "--variant", "inpaint")
        self.assertEqual(ran.lines, ["portrait: sdxl lora (inpaint)"])
        now = self.record("portrait")
        self.assertEqual((now["base"], now["type"], now["variant"], now["decided_by"]), ("sdxl", "lora", "inpaint", "user"))
        self.tenure("import", "models")
        self.assertEqual(self.record("portrait")["base"], "sdxl")
        self.assertRegex(self.tenure("show", "portrait").out, r"(?m)^decided by +you ")
        self.assertEqual(self.tenure("set", "portrait", "--auto").code, 0)
        self.assertEqual(self.record("portrait"), before)

    def test_set_refuses_slips_of_the_fingers(self) -> None:
        ran = self.tenure("set", "portrait", "--type", "lorra")
        self.assertEqual(ran.code, 2)
        self.assertIn("control_lora", ran.err)
        ran = self.tenure("set", "portrait", "--base", "sdlx")
        self.assertEqual(ran.code, 2)
        self.assertIn("did you mean sdxl?", ran.err)
        ran = self.tenure("set", "portrait", "--base", "quite-new")
        self.assertEqual(ran.code, 2)
        self.assertIn("--new-word", ran.err)
        self.assertEqual(self.tenure("set", "portrait", "--base", "quite-new", "--new-word").code, 0)
        self.assertEqual(self.tenure("set", "watercolor", "--base", "quite-new").code, 0)
        self.assertEqual(self.tenure("set", "portrait").code, 2)


class Sums(WordsTest):
    def test_duplicates(self) -> None:
        self.assertIn("no model is there twice", self.tenure("duplicates").err)
        shutil.copy(self.models / "watercolor.safetensors", self.models / "copy.safetensors")
        os.link(self.models / "watercolor.safetensors", self.models / "link.safetensors")
        self.tenure("import", "models")
        ran = self.tenure("duplicates")
        self.assertEqual(ran.code, 0)
        self.assertIn("not hashed", ran.out)
        self.assertRegex(ran.lines[-1], r"^1 group is possible: up to 9\.5 MB; `tenure jobs run`")
        group, summary = self.tenure("duplicates", "--json").objects()
        self.assertEqual((group["certainty"], len(group["models"])), ("possible", 2))
        self.assertEqual(summary["summary"]["possible_saves_bytes"], group["size_bytes"])

    def test_usage(self) -> None:
        size = (self.models / "watercolor.safetensors").stat().st_size
        os.link(self.models / "watercolor.safetensors", self.models / "sub" / "again.safetensors")
        self.tenure("import", "models")
        root, sub = self.tenure("usage", "--json").objects()
        self.assertEqual((root["path"], root["depth"], root["models"]), (str(self.models), 0, 3))
        broken = (self.models / "broken.safetensors").stat().st_size
        portrait = (self.models / "sub/portrait.safetensors").stat().st_size
        self.assertEqual(root["bytes"], size + broken + portrait)
        self.assertEqual(sub["path"], str(self.models / "sub"))
        ran = self.tenure("usage")
        self.assertRegex(ran.out, r"(?m)^ +3  28\.\d MB  .*/models$")
        self.assertRegex(ran.out, r"(?m)^ +\d+  \S+ MB    sub$")
        (base,) = self.tenure("usage", "--json", "--by", "base").objects()
        self.assertEqual((base["base"], base["models"]), ("sd-1", 3))
        on_disk = self.tenure("usage", "--json", "--disk").objects()[0]["stored_bytes"]
        self.assertLess(on_disk, root["bytes"])
        self.assertEqual(self.tenure("usage", "--disk", "--by", "type").code, 2)


class ExportAndRestore(WordsTest):
    def digest(self, path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def test_a_round_trip_loses_nothing(self) -> None:
        name = b"\xff\xfe.safetensors"
        write_safetensors(os.path.join(os.fsencode(self.models), name), lora_header())
        self.tenure("import", "models")
        self.tenure("tag", "portrait", "+x")
        self.tenure("note", "portrait", "a note")
        self.tenure("set", "portrait", "--base", "sdxl")
        one, two = self.folder / "one.jsonl", self.folder / "two.jsonl"
        self.assertEqual(self.tenure("export", one).code, 0)
        ran = self.tenure("restore", one, "--library", "other.db")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("4 models restored", ran.out)
        self.assertEqual(self.tenure("export", two, "--library", "other.db").code, 0)
        self.assertEqual(one.read_bytes(), two.read_bytes())
        for listed in ("list", "jobs", "tag"):
            self.assertEqual(self.tenure(listed, "--json", "--library", "other.db").out, self.tenure(listed, "--json").out)
        ran = self.tenure("import", "--json", "models", "--library", "other.db")
        self.assertEqual(ran.objects()[-1]["summary"]["fresh"], 0)
        self.assertEqual(self.record("portrait")["note"], "a note")

    def test_through_pipes(self) -> None:
        text = self.tenure("export")
        self.assertEqual((text.code, text.err), (0, ""))
        ran = self.tenure("restore", "-", "--library", "other.db", input=text.stdout)
        self.assertEqual(ran.code, 0, ran.err)
        self.assertEqual(self.tenure("export", "--library", "other.db").stdout, text.stdout)

    def test_what_is_no_export_leaves_an_empty_library(self) -> None:
        whole = self.tenure("export").stdout
        for name, bad in (("cut", whole[:-30]), ("foreign", b"{}\n"), ("binary", os.urandom(3000)), ("empty", b"")):
            (self.folder / name).write_bytes(bad)
            ran = self.tenure("restore", name, "--library", "other.db")
            self.assertEqual(ran.code, 1, name)
            self.assertRegex(ran.err, r"^tenure: .*line \d+: [^\n]*\n$")
            self.assertEqual(self.tenure("list", "--json", "--library", "other.db").objects(), [])
        self.assertEqual(self.tenure("restore", "-", "--library", "other.db", input=whole).code, 0)

    def test_a_library_in_use_is_not_overwritten(self) -> None:
        (self.folder / "x.jsonl").write_bytes(self.tenure("export").stdout)
        ran = self.tenure("restore", "x.jsonl")
        self.assertEqual(ran.code, 3)
        self.assertIn("holds something already", ran.err)

    def test_a_file_that_is_not_there_makes_no_library(self) -> None:
        self.assertEqual(self.tenure("restore", "nowhere", "--library", "other.db").code, 1)
        self.assertFalse((self.folder / "other.db").exists())
        self.assertNotEqual(self.tenure("export", "x", "--library", "other.db").code, 0)
        self.assertFalse((self.folder / "x").exists())

    def test_an_older_export_stays_until_the_new_one_is_whole(self) -> None:
        target = self.folder / "x.jsonl"
        target.write_text("old")
        self.assertEqual(self.tenure("export", target, "--json").objects()[0]["bytes"], target.stat().st_size)
        self.assertNotEqual(self.tenure("export", "none/x.jsonl").code, 0)
        self.assertEqual([each.name for each in self.folder.iterdir() if ".new-" in each.name], [])

    def test_a_full_disk_ends_an_export_with_4(self) -> None:
        if not Path("/dev/full").exists():
            raise unittest.SkipTest("no /dev/full here")
        with open("/dev/full", "wb") as full:
            process = self.start("export", stdout=full)
            assert process.stderr
            self.assertNotEqual(process.wait(60), 0)
            self.assertIn(b"could not be written", process.stderr.read())
            process.stderr.close()


if __name__ == "__main__":
    main()
