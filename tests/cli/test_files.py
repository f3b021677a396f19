"""Files moved, removed and brought back: move, remove, undo, import --copy-to and --move-to, and a kill at any point."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from tenure_command import CommandTest, Ended, main
from tenure_files import write_safetensors

SET_INDEX = (
    '{"metadata":{"total_size":48},"weight_map":{"v":"set-00001-of-00002.safetensors",'
    '"w":"set-00002-of-00002.safetensors"}}'
)


def other_disk() -> str | None:
    """A folder on another device than temporary files, where the machine has one."""
    here = os.stat(tempfile.gettempdir()).st_dev
    for place in ("/dev/shm", "/var/tmp"):
        if os.path.isdir(place) and os.access(place, os.W_OK) and os.stat(place).st_dev != here:
            return place
    return None


class FilesTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.environment["XDG_DATA_HOME"] = str(self.folder / "data")
        self.models = self.folder / "m"
        (self.models / "sub").mkdir(parents=True)
        write_safetensors(self.models / "sub" / "x.v1.safetensors", [("w", "F16", [64, 64])])
        (self.models / "sub" / "x.v1.json").write_text("{}")
        write_safetensors(self.models / "set-00001-of-00002.safetensors", [("v", "F16", [4, 3])])
        write_safetensors(self.models / "set-00002-of-00002.safetensors", [("w", "F16", [4, 3])])
        (self.models / "set.safetensors.index.json").write_text(SET_INDEX)
        self.folder_model = self.models / "pipe"
        self.folder_model.mkdir()
        (self.folder_model / "config.json").write_text('{"_class_name":"AutoencoderKL"}')
        write_safetensors(self.folder_model / "diffusion_pytorch_model.safetensors", [("w", "F16", [4, 5])])

    def ok(self, *words: str | Path, **more: Any) -> Ended:
        ended = self.tenure(*words, **more)
        self.assertEqual(ended.code, 0, ended.err)
        return ended

    def import_all(self) -> None:
        self.ok("import", self.models, "--hash", "none")

    def paths(self) -> dict[str, str]:
        return {record["name"]: record["path"] for record in self.ok("list", "--json").objects()}

    def files(self, *folders: Path) -> dict[str, bytes]:
        found = {}
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    found[str(path)] = path.read_bytes()
        return found

    def disk(self) -> Path:
        place = other_disk()
        if place is None:
            self.skipTest("this machine has one disk only")
        folder = Path(tempfile.mkdtemp(prefix="tenure-", dir=place))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder


class Verbs(FilesTest):
    def test_a_move_says_what_it_did_and_how_to_take_it_back(self) -> None:
        self.import_all()
        ended = self.ok("move", "x.v1", self.folder / "new")
        self.assertEqual(ended.lines, [f"x.v1: 2 files, 8.3 KB, moved to {self.folder}/new/x.v1.safetensors"])
        self.assertIn("take it back with: tenure undo 1", ended.err)
        self.assertEqual(sorted(p.name for p in (self.folder / "new").iterdir()), ["x.v1.json", "x.v1.safetensors"])
        self.assertFalse((self.models / "sub").exists())
        ended = self.ok("undo")
        self.assertEqual(ended.lines, [f"x.v1: 2 files, 8.3 KB, moved to {self.models}/sub/x.v1.safetensors"])

    def test_a_move_in_json(self) -> None:
        self.import_all()
        said = self.ok("move", "x.v1", "set", self.folder / "new", "--json").objects()
        self.assertEqual([(o["kind"], o["state"], o["files"], o["event"]) for o in said],
                         [("move", "done", 2, 1), ("move", "done", 3, 1)])
        self.assertTrue(all(o["can_undo"] for o in said))
        undone = self.ok("undo", "--json").objects()
        self.assertEqual([(o["name"], o["undoes"]) for o in undone], [("set", 2), ("x.v1", 1)])

    def test_a_dry_run_changes_nothing(self) -> None:
        self.import_all()
        before = self.files(self.models)
        for words in (["move", "x.v1", self.folder / "new"], ["remove", "x.v1"], ["remove", "set", "--to-trash"],
                      ["remove", "pipe", "--delete"]):
            ended = self.ok(*words, "--dry-run")
            self.assertIn("would be", ended.out)
        self.assertEqual(self.files(self.models), before)
        self.assertEqual(len(self.paths()), 3)
        self.assertEqual(self.ok("undo", "--list").out.splitlines()[1:], [])

    def test_a_bad_model_does_not_stop_the_others(self) -> None:
        self.import_all()
        ended = self.tenure("move", "nothing", "x.v1", self.folder / "new")
        self.assertEqual(ended.code, 1)
        self.assertIn("x.v1: 2 files", ended.out)

    def test_a_taken_name_is_refused_with_both_sizes(self) -> None:
        self.import_all()
        new = self.folder / "new"
        new.mkdir()
        (new / "x.v1.safetensors").write_bytes(b"another")
        ended = self.tenure("move", "x.v1", new)
        self.assertEqual(ended.code, 3)
        size = (self.models / "sub" / "x.v1.safetensors").stat().st_size
        self.assertIn(f"it has 7 bytes, the one to go there {size}", ended.err)
        self.assertEqual((new / "x.v1.safetensors").read_bytes(), b"another")

    def test_the_list_is_all_that_remove_changes(self) -> None:
        self.import_all()
        before = self.files(self.models)
        ended = self.ok("remove", "x.v1", "set")
        self.assertIn("x.v1: taken out of the list; its files stay where they are", ended.lines)
        self.assertEqual(self.files(self.models), before)
        self.assertEqual(list(self.paths()), ["pipe"])
        self.ok("undo")
        self.assertEqual(sorted(self.paths()), ["pipe", "set", "x.v1"])

    def test_tags_notes_and_ids_come_back_from_the_trash(self) -> None:
        self.import_all()
        self.ok("tag", "x.v1", "+best")
        self.ok("note", "x.v1", "a word")
        before = self.ok("show", "x.v1", "--json").objects()[0]
        self.ok("remove", "x.v1", "--to-trash")
        self.assertEqual(self.tenure("show", "x.v1").code, 1)
        self.ok("undo")
        self.assertEqual(self.ok("show", "x.v1", "--json").objects()[0], before)

    def test_what_was_moved_is_found_by_its_new_path(self) -> None:
        self.import_all()
        self.ok("move", "x.v1", self.folder / "elsewhere")
        found = self.ok("search", "elsewhere", "--json").objects()
        self.assertEqual([o["name"] for o in found], ["x.v1"])

    def test_deleting_cannot_be_undone_and_says_so(self) -> None:
        self.import_all()
        self.ok("remove", "x.v1", "--delete", "--yes")
        self.assertFalse((self.models / "sub").exists())
        ended = self.tenure("undo")
        self.assertEqual(ended.code, 2)
        self.assertIn("for good", ended.err)

    def test_options_that_exclude_each_other(self) -> None:
        self.assertEqual(self.tenure("remove", "x", "--delete", "--to-trash").code, 2)
        self.assertEqual(self.tenure("import", self.models, "--copy-to", "a", "--move-to", "b").code, 2)
        self.assertEqual(self.tenure("undo", "x").code, 2)

    def test_the_list_of_events(self) -> None:
        self.import_all()
        self.assertEqual(self.ok("undo", "--list", "--json").objects(), [])
        self.ok("move", "x.v1", "set", self.folder / "new")
        self.ok("remove", "pipe", "--to-trash")
        self.ok("undo")
        lines = [line.split() for line in self.ok("undo", "--list").lines[1:]]
        self.assertEqual([line[:2] for line in lines], [["1", "move"], ["3", "trash"], ["4", "undo"]])
        self.assertIn("more", lines[0])

    def test_there_is_nothing_to_undo(self) -> None:
        self.import_all()
        ended = self.tenure("undo")
        self.assertEqual(ended.code, 1)
        self.assertIn("nothing to undo", ended.err)

    def test_copy_to_imports_the_copies(self) -> None:
        before = self.files(self.models)
        ended = self.ok("import", self.models, "--copy-to", self.folder / "lib", "--hash", "none")
        self.assertIn("3 models", ended.out)
        self.assertEqual(self.files(self.models), before)
        self.assertEqual(set(self.paths().values()), {
            f"{self.folder}/lib/sub/x.v1.safetensors", f"{self.folder}/lib/set.safetensors.index.json",
            f"{self.folder}/lib/pipe",
        })  # fmt: skip
        again = self.ok("import", self.models, "--copy-to", self.folder / "lib", "--hash", "none")
        self.assertNotIn("copied", again.out)
        (self.models / "sub" / "x.v1.safetensors").write_bytes(b"12345678")
        other = self.tenure("import", self.models, "--copy-to", self.folder / "lib", "--hash", "none")
        self.assertEqual(other.code, 1)
        self.assertIn("another file of this name", other.out + other.err)

    def test_names_that_are_no_utf8(self) -> None:
        (self.models / "sub").rename(self.models / "kept")
        shutil.rmtree(self.models)
        self.models.mkdir()
        odd = os.fsencode(self.models) + b"/odd\xff.safetensors"
        write_safetensors(odd, [("w", "F16", [4, 4])])
        said = self.ok("import", self.models, "--copy-to", self.folder / "lib", "--hash", "none", "--json").objects()
        self.assertIn("to_b64", said[0])
        self.ok("move", os.fsencode(self.folder) + b"/lib/odd\xff.safetensors", self.folder / "new")
        self.assertTrue(os.path.exists(os.fsencode(self.folder) + b"/new/odd\xff.safetensors"))
        self.ok("undo")
        self.ok("undo", "1")

    def test_move_to_keeps_records(self) -> None:
        self.import_all()
        ids = {record["name"]: record["id"] for record in self.ok("list", "--json").objects()}
        (self.models / "notes.md").write_text("stays")
        self.ok("import", self.models, "--move-to", self.folder / "lib", "--hash", "none")
        self.assertEqual({record["name"]: record["id"] for record in self.ok("list", "--json").objects()}, ids)
        self.assertEqual([p.name for p in self.models.rglob("*")], ["notes.md"])
        self.ok("undo")
        self.assertEqual(len(self.files(self.models)), 8)

    def test_a_dry_run_of_copy_to(self) -> None:
        ended = self.ok("import", self.models, "--copy-to", self.folder / "lib", "--dry-run")
        self.assertEqual(ended.out.count("would be copied to"), 3)
        self.assertFalse((self.folder / "lib").exists())


class OtherDisk(FilesTest):
    def test_there_and_back(self) -> None:
        disk = self.disk()
        self.import_all()
        before = self.files(self.models)
        times = {name: os.stat(name).st_mtime_ns for name in before}
        self.ok("move", "x.v1", "set", "pipe", disk / "lib")
        self.assertEqual(self.files(self.models), {})
        self.assertEqual(sorted(self.files(disk / "lib").values()), sorted(before.values()))
        self.ok("undo")
        self.assertEqual(self.files(self.models), before)
        self.assertEqual({name: os.stat(name).st_mtime_ns for name in before}, times)

    def small_disk(self, options: str) -> Path:
        place = self.folder / "small"
        place.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("only root can mount a small disk")
        self.addCleanup(subprocess.run, ["umount", place], check=False)
        return place

    def test_space_is_checked_first(self) -> None:
        place = self.small_disk("size=2M")
        big = self.models / "big.safetensors"
        write_safetensors(big, [("w", "U8", [4 << 20])])
        with big.open("r+b") as file:
            file.seek(1000)
            file.write(os.urandom(3 << 20))
        self.import_all()
        ended = self.tenure("move", "big", place / "lib")
        self.assertEqual(ended.code, 4, ended.err)
        self.assertRegex(ended.err, r"4\.2 MB are needed there, 2\.1 MB are free")
        self.assertEqual(list(place.iterdir()), [])
        ended = self.tenure("import", self.models, "--copy-to", place / "lib")
        self.assertEqual(ended.code, 4, ended.err)
        self.assertEqual(list(place.iterdir()), [])
        self.assertTrue(big.exists())

    def test_a_read_only_disk_refuses(self) -> None:
        place = self.small_disk("size=2M,ro")
        self.import_all()
        before = self.files(self.models)
        ended = self.tenure("move", "x.v1", place / "lib")
        self.assertEqual(ended.code, 3, ended.err)
        self.assertEqual(self.files(self.models), before)
        self.assertIn("x.v1", self.paths())


class AtOnce(FilesTest):
    def test_two_moves_of_one_model(self) -> None:
        """One of them gets it, whichever; nothing is lost and nothing stands twice."""
        self.import_all()
        for turn in range(6):
            folders = [self.folder / f"{side}{turn}" for side in "ab"]
            running = [self.start("move", "set", "pipe", folder) for folder in folders]
            for child in running:
                child.communicate(timeout=60)
                self.assertIn(child.returncode, (0, 1, 3))
            found = self.files(*[f for f in folders if f.exists()])
            self.assertEqual(len(found), 5, sorted(found))
            for name in ("set", "pipe"):
                self.assertTrue(os.path.exists(self.paths()[name]), name)
            self.assertEqual([o for o in self.ok("undo", "--list", "--json").objects() if o["state"] == "planned"], [])


class Kills(FilesTest):
    """Dead at any point, and every file is whole at exactly one place, which the library knows."""

    POINTS = ("act.planned", "act.copying", "act.copied", "act.named", "act.renamed", "act.trashed", "act.set_aside",
              "act.placed", "act.recorded", "act.source_removed", "place.one")  # fmt: skip

    def killed(self, point: str, nth: int, *words: str | Path) -> bool:
        """Run a command that dies at the nth passing of a point; False when it never comes by."""
        ran = subprocess.run(
            [os.environ.get("TENURE", "tenure"), *words], capture_output=True, cwd=self.folder, timeout=60,
            env=self.environment | {"TENURE_TEST_KILL": f"{point}:{nth}"},
        )  # fmt: skip
        self.assertIn(ran.returncode, (0, -signal.SIGKILL), ran.stderr)
        return ran.returncode != 0

    def recover(self) -> None:
        """Any verb that changes files ends what was left open, before it does its own."""
        self.assertEqual(self.tenure("undo", "99999").code, 1)
        open_acts = [o for o in self.ok("undo", "--list", "--json").objects() if o["state"] in ("planned", "placed")]
        self.assertEqual(open_acts, [])

    def check(self, expected: list[bytes], *folders: Path) -> None:
        found = self.files(*folders)
        self.assertEqual(sorted(found.values()), expected, sorted(found))
        self.assertFalse([name for name in found if ".tn-" in name])
        for name, path in self.paths().items():
            self.assertTrue(os.path.exists(path), f"{name} is not at {path}")
        scanned = [f for f in (self.models, self.away) if f.exists()]
        said = self.ok("import", *scanned, "--hash", "none", "--json").objects()
        summary = next(o["summary"] for o in said if "summary" in o)
        self.assertEqual((summary["fresh"], summary["changed"], summary["vanished"]), (0, 0, 0), said)

    def each_kill(self, prepare: Any, *words: str | Path, folders: list[Path], undo: bool = True) -> int:
        died = 0
        for point in self.POINTS:
            for nth in (1, 2, 3, 5):
                prepare()
                before = sorted(self.files(*folders).values())
                if not self.killed(point, nth, *words):
                    if undo:
                        self.ok("undo")
                    break
                died += 1
                with self.subTest(point=point, nth=nth):
                    self.recover()
                    self.check(before, *folders)
        return died

    def prepare(self) -> None:
        """Everything at its first place again."""
        if self.library.exists():
            shutil.rmtree(self.library.parent)
        for folder in (self.models, self.away):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.kept, self.models)
        self.import_all()

    def setUp(self) -> None:
        super().setUp()
        self.kept = self.folder / "kept"
        shutil.copytree(self.models, self.kept)
        self.away = self.folder / "away"

    def test_a_move(self) -> None:
        died = self.each_kill(self.prepare, "move", "x.v1", "set", "pipe", self.away, folders=[self.models, self.away])
        self.assertGreaterEqual(died, 12)

    def test_a_move_to_another_disk(self) -> None:
        self.away = self.disk() / "lib"
        died = self.each_kill(self.prepare, "move", "x.v1", "set", "pipe", self.away, folders=[self.models, self.away])
        self.assertGreaterEqual(died, 24)

    def test_an_undo_from_another_disk(self) -> None:
        self.away = self.disk() / "lib"

        def prepare() -> None:
            self.prepare()
            self.ok("move", "set", "pipe", self.away)

        died = self.each_kill(prepare, "undo", folders=[self.models, self.away], undo=False)
        self.assertGreaterEqual(died, 16)

    def test_into_the_trash_and_out_of_it(self) -> None:
        trash = self.folder / "data" / "Trash"

        def prepare() -> None:
            shutil.rmtree(trash, ignore_errors=True)
            self.prepare()

        def trashed() -> None:
            prepare()
            self.ok("remove", "set", "pipe", "--to-trash")

        files = trash / "files"
        died = self.each_kill(prepare, "remove", "set", "pipe", "--to-trash", folders=[self.models, files])
        died += self.each_kill(trashed, "undo", folders=[self.models, files], undo=False)
        self.assertGreaterEqual(died, 16)

    def test_copies(self) -> None:
        self.away = self.folder / "lib"
        died = 0
        for point in self.POINTS:
            for nth in (1, 2, 3, 5):
                shutil.rmtree(self.away, ignore_errors=True)
                shutil.rmtree(self.library.parent, ignore_errors=True)
                words = ("import", self.models, "--copy-to", self.away, "--hash", "none")
                if not self.killed(point, nth, *words):
                    break
                died += 1
                with self.subTest(point=point, nth=nth):
                    self.assertEqual(self.files(self.models).keys(), {
                        name.replace(str(self.kept), str(self.models)) for name in self.files(self.kept)
                    })  # fmt: skip
                    self.ok(*words)
                    self.assertEqual(sorted(self.files(self.away).values()), sorted(self.files(self.kept).values()))
                    self.assertEqual(len(self.paths()), 3)
        self.assertGreaterEqual(died, 12)

    def test_a_deletion(self) -> None:
        for point in self.POINTS:
            for nth in (1, 2, 3):
                self.prepare()
                if not self.killed(point, nth, "remove", "set", "pipe", "--delete"):
                    break
                with self.subTest(point=point, nth=nth):
                    self.recover()
                    left, known = self.files(self.models), self.paths()
                    self.assertEqual(sum("set" in name for name in left), 3 if "set" in known else 0, (left.keys(), known))
                    self.assertEqual(sum("pipe" in name for name in left), 2 if "pipe" in known else 0, (left.keys(), known))
                    self.assertFalse(list(self.models.glob(".tn-*")))


if __name__ == "__main__":
    main()
