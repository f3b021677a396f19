"""A small library with its files, and every verb that changes either: what tests kill, and let meet a full disk.

Standard library only.
"""

import json
import os
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path

import trees
from command import TOP, integrity, key, objects, records, tenure

MODELS = 4
SCHEMA = TOP / "src/library/sql/0001_first.sql"
APPLICATION_ID = 0x54656E75
"""Of the library's file (src/library/migrate.h)."""


def other_disk(place):
    """A folder on another device than `place`, or None."""
    for folder in ("/var/tmp", "/dev/shm", tempfile.gettempdir()):
        if os.access(folder, os.W_OK) and os.stat(folder).st_dev != os.stat(place).st_dev:
            return folder
    return None


class World:
    """Some models with sidecars below `models`, a library that knows and tags them, and places for them to go.

    `disk` is a folder on another device, or None; `spare` one that is in nobody's way.
    """

    def __init__(self, place, disk, spare):
        self.place, self.spare = place, spare
        self.disk = Path(tempfile.mkdtemp(prefix="tenure-away-", dir=disk)) if disk else None
        self.models, self.new, self.library = place / "models", place / "new", place / "library.db"
        self.environment = {"XDG_DATA_HOME": str(place / "data")}

    def folders(self):
        return [self.place, *([self.disk] if self.disk else [])]

    def clear(self):
        for folder in self.folders():
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def put_files(self):
        (self.models / "sub").mkdir(parents=True)
        for i in range(MODELS):
            path = self.models / "sub" / f"style {i}.safetensors"
            trees.write_lora(path, 10 + i, 2, metadata={"ss_tag": str(i)})
            path.with_suffix(".json").write_text(f'{{"number": {i}}}')
            for file in (path, path.with_suffix(".json")):
                os.utime(file, ns=(10**18, 10**18 + i * 10**9))
        pipe = self.models / "pipe"
        pipe.mkdir()
        (pipe / "config.json").write_text('{"_class_name": "AutoencoderKL"}')
        trees.write_lora(pipe / "diffusion_pytorch_model.safetensors", 3, 2)

    def run(self, *words):
        return tenure(*words, library=self.library, env=self.environment)

    def must(self, *words):
        run = self.run(*words)
        if run.returncode:
            raise AssertionError(f"{words} ended with {run.returncode}: {run.stderr.decode(errors='replace')}")
        return run

    def begin(self, *words):
        """Files, and a library that knows them; `words` are more options of its import."""
        self.clear()
        self.put_files()
        self.must("import", *(words or ("--hash", "none")), "--quiet", self.models)
        for i in range(MODELS):
            self.must("tag", f"style {i}", f"+tag{i}")

    def files(self):
        """What lies where: bytes by path, without the library. In the trash a file may have got a number behind its
        name, and a note stand for no file, which trashes pass over: whoever is stopped between the two leaves it."""
        found = {}
        for folder in self.folders():
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.name.startswith("library.db") and path.suffix != ".trashinfo":
                    found[re.sub(r"(/Trash/files/[^/]+?)\.\d+(/|$)", r"\1\2", str(path))] = path.read_bytes()
        return found

    def state(self):
        self.must("list", "--json")
        return self.files(), sorted(key(record) for record in records(self.library))

    def take_back(self):
        """All that was done: a verb that was stopped between two models, and given again, was done in two events."""
        while any(line.get("can_undo") for line in objects(self.run("undo", "--list", "--json"))):
            self.must("undo")

    def look(self, wanted):
        """As something sudden left it: SQLite looks at a copy, and the bytes `wanted` must be somewhere."""
        copy = self.spare / "copy.db"
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{copy}{suffix}").unlink(missing_ok=True)
            if suffix != "-shm" and Path(f"{self.library}{suffix}").exists():
                shutil.copyfile(f"{self.library}{suffix}", f"{copy}{suffix}")
        wrong = integrity(copy)
        if wrong:
            raise AssertionError(f"SQLite finds: {wrong}")
        lost = set(wanted) - set(self.files().values())
        if lost:
            raise AssertionError(f"the bytes of {len(lost)} files are nowhere")


def compare(what, found, expected):
    """Two states."""
    if found == expected:
        return
    if found[1] != expected[1]:
        only = [json.loads(record) for record in sorted(set(found[1]) ^ set(expected[1]))]
        differ = [(record["path"], sorted(record.items())) for record in only][:2]
    else:
        differ = []
    lost = [path for path, data in expected[0].items() if found[0].get(path) != data]
    more = [path for path, data in found[0].items() if expected[0].get(path) != data]
    raise AssertionError(f"{what}: files lost {lost}, more {more}; records that differ: {differ}")


class Verb:
    """A command. `before` leads to where it begins; with `undo` there is a way back; what it `deletes` is gone."""

    def __init__(self, name, before, words, undo=False, deletes=False):
        self.name, self.before, self.words, self.undo, self.deletes = name, before, words, undo, deletes


def verbs(world):
    """Each that changes files, or more of a library than one row."""

    def plain():
        world.begin()

    def after(*words):
        def before():
            world.begin()
            world.must(*words)

        return before

    def queued():
        world.begin("--quiet")

    def carried():
        world.begin()
        os.rename(world.models, world.new)

    def changed():
        """A file that moved, one that went, one that came."""
        world.begin()
        sub = world.models / "sub"
        os.rename(sub / "style 0.safetensors", world.models / "renamed.safetensors")
        (sub / "style 3.safetensors").unlink()
        trees.write_lora(sub / "fresh.safetensors", 9, 2)

    def older():
        world.clear()
        world.put_files()
        with sqlite3.connect(world.library) as db:
            db.executescript(SCHEMA.read_text())
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute("PRAGMA user_version = 1")
        db.close()

    def exported():
        world.begin()
        world.must("export", world.spare / "export.jsonl")
        for path in world.place.glob("library.db*"):
            path.unlink()

    model, disk, new = "style 1", world.disk, world.new
    move, trash = ("move", model, "style 2", new), ("remove", model, "pipe", "--to-trash")
    found = [
        Verb("copy", plain, ("import", "--hash", "none", "--copy-to", new, world.models)),
        Verb("import and move", plain, ("import", "--hash", "none", "--move-to", new, world.models)),
        Verb("move", plain, move, undo=True),
        Verb("trash", plain, trash, undo=True),
        Verb("deletion", plain, ("remove", model, "pipe", "--delete", "--yes"), deletes=True),
        Verb("undo of a move", after(*move), ("undo", "1")),
        Verb("undo of the trash", after(*trash), ("undo", "1")),
        Verb("hash job", queued, ("jobs", "run")),
        Verb("scan", changed, ("scan",)),
        Verb("relocate", carried, ("roots", "relocate", world.models, new)),
        Verb("migration", older, ("import", "--hash", "none", world.models)),
        Verb("restore", exported, ("restore", world.spare / "export.jsonl")),
    ]
    if disk:
        away = ("move", model, "pipe", disk)
        found += [
            Verb("copy to another disk", plain, ("import", "--hash", "none", "--copy-to", disk, world.models)),
            Verb("move to another disk", plain, away, undo=True),
            Verb("undo of a move to another disk", after(*away), ("undo", "1")),
        ]
    return found


def words(world):
    """Each that changes what people say of a model."""

    def plain():
        world.begin()

    return [
        Verb("tag", plain, ("tag", "style 1", "+one", "+two")),
        Verb("note", plain, ("note", "style 1", "a note " * 400)),
        Verb("rename", plain, ("rename", "style 1", "another name")),
        Verb("set", plain, ("set", "style 1", "--base", "sdxl")),
        Verb("root", plain, ("roots", "add", world.spare)),
        Verb("removal from the list", plain, ("remove", "style 1")),
    ]
