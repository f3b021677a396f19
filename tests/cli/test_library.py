"""import, list, show and jobs: what is recorded, what is said, and what an interrupt leaves."""

import base64
import os
import signal
import stat
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, Ended, main
from tenure_files import header_bytes, lora_header, write_safetensors


class LibraryTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.models = self.folder / "models"
        self.models.mkdir()

    def make(self, name: str, **how: int) -> Path:
        path = self.models / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_safetensors(path, lora_header(), **how)
        return path

    def make_many(self, count: int) -> None:
        """Files that differ in their metadata: no two have the same header."""
        header, data = header_bytes(lora_header(), {"n": "000000"})
        for i in range(count):
            with open(self.models / f"lora{i:06}.safetensors", "wb") as file:
                file.write(header.replace(b'"000000"', b'"%06d"' % i))
                file.truncate(len(header) + data)

    def summary(self, ran: Ended) -> dict[str, object]:
        found = ran.objects()[-1]["summary"]
        assert isinstance(found, dict)
        return found


class Import(LibraryTest):
    def test_it_ends_with_sums_bases_and_what_needs_a_look(self) -> None:
        for i in range(3):
            self.make(f"style{i}.safetensors")
        self.make("sub/broken.safetensors", short_by=1200000)
        for name in ("a.png", "b.txt", "c.json"):
            (self.models / name).write_text("x")
        ran = self.tenure("import", "models")
        self.assertEqual(ran.code, 1, ran.err)
        self.assertEqual(ran.err, "")
        self.assertRegex(ran.lines[0], r"^4 models in \d+(\.\d+)? s \(4 new\)$")
        self.assertRegex(ran.out, r"(?m)^sd-1  lora 4 +\d+\.\d MB$")
        self.assertRegex(ran.out, r"(?m)^also seen: 3 other files ")
        look = r"(?m)^1 needs a look\ndamaged  .*broken\.safetensors  short by 1\.2 MB: fetch it again$"
        self.assertRegex(ran.out, look)
        for line in ran.lines:
            self.assertLessEqual(len(line), 80)

    def test_a_second_import_finds_nothing_new(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "models")
        ran = self.tenure("import", "models")
        self.assertEqual(ran.code, 0, ran.out + ran.err)
        self.assertRegex(ran.lines[0], r"^1 model in .* s \(nothing new\)$")

    def test_json_has_a_line_for_every_model_and_ends_with_the_sums(self) -> None:
        self.make("a.safetensors")
        self.make("b.safetensors", short_by=5)
        for fresh in (True, False):
            ran = self.tenure("import", "--json", "models")
            self.assertEqual(ran.code, 1)
            found = ran.objects()
            models = {Path(each["path"]).name: each for each in found[:-1]}
            self.assertEqual(set(models), {"a.safetensors", "b.safetensors"})
            self.assertEqual({each["fresh"] for each in models.values()}, {fresh})
            self.assertEqual(models["a.safetensors"]["base"], "sd-1")
            self.assertEqual(models["b.safetensors"]["state"], "damaged")
            summary = self.summary(ran)
            self.assertEqual((summary["models"], summary["fresh"]), (2, 2 if fresh else 0))
            self.assertEqual(len(summary["problems"]), 1)

    def test_a_dry_run_records_nothing(self) -> None:
        self.make("a.safetensors")
        ran = self.tenure("import", "--dry-run", "models")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("dry run", ran.lines[0])
        self.assertEqual(self.tenure("list", "--json").objects(), [])

    def test_a_path_that_is_not_there_is_one_line_and_the_others_go_on(self) -> None:
        self.make("a.safetensors")
        ran = self.tenure("import", "nowhere", "models")
        self.assertEqual(ran.code, 1)
        self.assertTrue(ran.lines[0].startswith("unreadable   nowhere  "), ran.out)
        self.assertRegex(ran.out, r"(?m)^1 model in ")
        self.assertEqual(len(self.tenure("list", "--json").objects()), 1)

    def test_quiet_leaves_only_what_needs_a_look(self) -> None:
        self.make("a.safetensors")
        self.assertEqual(self.tenure("import", "-q", "models").out, "")
        self.make("b.safetensors", short_by=5)
        ran = self.tenure("import", "-q", "models")
        self.assertEqual(len(ran.lines), 2, ran.out)

    def test_a_list_on_stdin(self) -> None:
        paths = [self.make("a.safetensors"), self.make("b.safetensors")]
        listed = b"".join(bytes(path) + b"\0" for path in paths)
        self.assertEqual(self.tenure("import", "-", input=listed).code, 0)
        self.assertEqual(len(self.tenure("list", "--json").objects()), 2)

    def test_an_unreadable_folder_is_told(self) -> None:
        if os.geteuid() == 0:
            raise unittest.SkipTest("root may read every folder")
        self.make("a.safetensors")
        closed = self.models / "closed"
        closed.mkdir()
        closed.chmod(0)
        self.addCleanup(closed.chmod, stat.S_IRWXU)
        ran = self.tenure("import", "models")
        self.assertEqual(ran.code, 1)
        self.assertIn("1 folder could not be read", ran.out)

    def test_memory_too_small_is_refused(self) -> None:
        self.make("a.safetensors")
        ran = self.tenure("import", "--memory", "1K", "models")
        self.assertEqual(ran.code, 4, ran.out + ran.err)

    def test_a_library_in_a_place_that_cannot_be_is_one_line(self) -> None:
        self.make("a.safetensors")
        (self.folder / "file").write_text("x")
        ran = self.tenure("import", "models", "--library", "file/library.db")
        self.assertIn(ran.code, (1, 3))
        self.assertEqual(len(ran.err.splitlines()), 1, ran.err)

    def test_a_foreign_file_is_left_alone(self) -> None:
        self.make("a.safetensors")
        (self.folder / "other.db").write_bytes(b"not a library" * 100)
        ran = self.tenure("import", "models", "--library", "other.db")
        self.assertEqual(ran.code, 3)
        self.assertEqual((self.folder / "other.db").read_bytes(), b"not a library" * 100)


class ListAndShow(LibraryTest):
    def test_without_a_library_it_says_how_to_begin(self) -> None:
        ran = self.tenure("list")
        self.assertEqual((ran.code, ran.out), (0, ""))
        self.assertIn("tenure import", ran.err)
        self.assertFalse(self.library.exists())

    def test_list_is_a_table(self) -> None:
        self.make("a.safetensors")
        self.make("b.safetensors", short_by=5)
        self.tenure("import", "models")
        ran = self.tenure("list")
        self.assertEqual(ran.code, 0)
        self.assertEqual(ran.lines[0].split(), ["id", "base", "type", "size", "name", "state"])
        self.assertRegex(ran.out, r"(?m)^ *\d+  sd-1  lora  9\.5 MB  a[^ ]*$")
        self.assertRegex(ran.out, r"(?m)^ *\d+  sd-1  lora  9\.5 MB  b[^ ]*  +damaged$")

    def test_limit(self) -> None:
        for i in range(5):
            self.make(f"{i}.safetensors")
        self.tenure("import", "models")
        self.assertEqual(len(self.tenure("list", "--json", "--limit", "3").objects()), 3)
        self.assertEqual(len(self.tenure("list", "--json").objects()), 5)

    def test_show_takes_an_id_a_path_and_a_name(self) -> None:
        path = self.make("a.safetensors")
        self.tenure("import", "models")
        (listed,) = self.tenure("list", "--json").objects()
        for field in ("id", "name", "tags", "note", "added", "hashes", "path", "base", "presence"):
            self.assertIn(field, listed)
        for model in (str(listed["id"]), str(path), "models/a.safetensors", listed["name"]):
            ran = self.tenure("show", "--json", model)
            self.assertEqual(ran.code, 0, (model, ran.err))
            self.assertEqual(ran.objects()[0]["id"], listed["id"])
        text = self.tenure("show", str(listed["id"]))
        self.assertRegex(text.out, r"(?m)^base +sd-1$")
        self.assertRegex(text.out, r"(?m)^size +9\.5 MB \(9,547,632 bytes\)$")
        self.assertRegex(text.out, r"(?m)^dtypes +F16 792$")

    def test_show_of_what_is_not_there_is_told(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "models")
        ran = self.tenure("show", "4711", "models/a.safetensors")
        self.assertEqual(ran.code, 1)
        self.assertEqual(len(ran.err.splitlines()), 1, ran.err)

    def test_names_that_are_no_utf_8_come_back(self) -> None:
        name = b"\xff\xfe.safetensors"
        write_safetensors(os.path.join(os.fsencode(self.models), name), lora_header())
        self.tenure("import", "models")
        (listed,) = self.tenure("list", "--json").objects()
        path = base64.b64decode(listed["path_b64"])
        self.assertTrue(path.endswith(name))
        self.assertEqual(self.tenure("show", "--json", path).objects()[0]["id"], listed["id"])

    def test_a_read_only_library_can_be_listed(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "models")
        self.library.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
        self.library.chmod(stat.S_IRUSR)
        self.addCleanup(self.library.parent.chmod, stat.S_IRWXU)
        self.assertEqual(len(self.tenure("list", "--json").objects()), 1)
        if os.geteuid() != 0:
            ran = self.tenure("import", "models")
            self.assertEqual(ran.code, 3, ran.out + ran.err)

    def test_a_closed_pipe_ends_list_quietly(self) -> None:
        self.make_many(1500)
        self.tenure("import", "models")
        process = self.start("list", "--json")
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(60), 0)


class Interrupted(LibraryTest):
    count = 3000

    def interrupt(self) -> Ended:
        process = self.start("import", "models", "--progress")
        assert process.stderr
        first = process.stderr.readline()  # it is at work
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        return Ended(process.returncode, out, first + err)

    def test_ctrl_c_ends_with_130_and_the_next_run_goes_on(self) -> None:
        self.make_many(self.count)
        ran = self.interrupt()
        if ran.code == 0:
            raise unittest.SkipTest("it was done before it could be interrupted")
        self.assertEqual(ran.code, 130, ran.err)
        self.assertIn("nothing is lost", ran.err)
        self.assertIn("tenure jobs run", ran.err)
        (job,) = self.tenure("jobs", "--json").objects()
        self.assertEqual((job["kind"], job["state"]), ("import", "interrupted"))
        ran = self.tenure("import", "models")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("went on with an import that had been interrupted", ran.out)
        self.assertIn(f"{self.count:,} models", ran.out)
        paths = [each["path"] for each in self.tenure("list", "--json").objects()]
        self.assertEqual((len(paths), len(set(paths))), (self.count, self.count))

    def test_jobs_run_goes_on_as_well(self) -> None:
        self.make_many(self.count)
        if self.interrupt().code == 0:
            raise unittest.SkipTest("it was done before it could be interrupted")
        self.assertRegex(self.tenure("jobs").out, r"(?m)^ *\d+  import  interrupted ")
        ran = self.tenure("jobs", "run")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertEqual(len(self.tenure("list", "--json").objects()), self.count)
        self.assertEqual(self.tenure("jobs", "--json").objects()[0]["state"], "done")

    def test_a_job_can_be_paused_resumed_and_cancelled(self) -> None:
        self.make_many(self.count)
        if self.interrupt().code == 0:
            raise unittest.SkipTest("it was done before it could be interrupted")
        (job,) = self.tenure("jobs", "--json").objects()
        for words, state in ((["pause"], "paused"), (["resume", str(job["id"])], None), (["cancel"], "cancelled")):
            ran = self.tenure("jobs", *words)
            self.assertEqual(ran.code, 0, ran.err)
            now = self.tenure("jobs", "--json").objects()[0]["state"]
            self.assertEqual(now, state or now)
        self.assertEqual(self.tenure("jobs", "cancel", "4711").code, 1)
        self.assertIn("no job to cancel", self.tenure("jobs", "cancel").err)


if __name__ == "__main__":
    main()
