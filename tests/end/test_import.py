"""What an import promises while things go wrong around it: crashes, a second import, Ctrl-C, hostile names.

Standard library only; run by ctest (cmake/End.cmake), a class at a time.
"""

import fcntl
import os
import signal
import sqlite3
import struct
import subprocess
import threading
import time

import command
import trees
from command import Case, arguments, environment, integrity, jobs, key, objects, records, samples, tenure


class CrashIsolation(Case):
    """TENURE_TEST_CRASH=TEXT lets the process die by a fault of its own when it opens a path with TEXT in its name,
    as a fault in a reader would. Builds with tests have it."""

    CRASH = {"TENURE_TEST_CRASH": "poison"}

    def setUp(self):
        super().setUp()
        (self.models / "loras").mkdir(parents=True)
        for i in range(12):
            trees.write_lora(self.models / "loras" / f"sound {i:02d}.safetensors", 10 + i)
        trees.write_lora(self.models / "loras" / "poison.safetensors", 9)

    def import_until_it_ends(self, most=4, env=None):
        """Start it again, as a person would, until it does not die. Returns the last run and how often it died."""
        for deaths in range(most + 1):
            run = self.import_(env=env)
            if run.returncode >= 0:
                return run, deaths
            self.assertIn(-run.returncode, (signal.SIGSEGV, signal.SIGABRT), run.stderr[-500:])
        self.fail(f"the import died {most + 1} times")

    def test_a_file_that_kills_the_reader_is_set_aside_and_all_others_are_recorded(self):
        run, deaths = self.import_until_it_ends(env=self.CRASH)
        self.check(run, 1)
        self.assertEqual(deaths, 1, "the first import dies, the second goes on")
        by_presence = {}
        for record in records(self.library):
            by_presence.setdefault(record["presence"], []).append(os.path.basename(record["path"]))
        self.assertEqual(by_presence.get("crashed"), ["poison.safetensors"])
        self.assertEqual(len(by_presence["present"]), 12)
        self.assertIn(b"poison.safetensors", run.stdout)
        self.assertEqual([j for j in jobs(self.library) if j["kind"] == "import" and j["state"] != "done"], [])

    def test_what_was_set_aside_is_not_read_again_and_kills_nothing(self):
        self.import_until_it_ends(env=self.CRASH)
        run = self.check(self.import_(env=self.CRASH), 1)
        self.assertIn(b"poison.safetensors", run.stdout)
        self.assertEqual(len(records(self.library)), 13)

    def test_a_file_that_was_replaced_gets_another_chance(self):
        self.import_until_it_ends(env=self.CRASH)
        poison = self.models / "loras" / "poison.safetensors"
        poison.unlink()
        trees.write_lora(poison, 14)
        self.check(self.import_(), 0)
        self.assertEqual({r["presence"] for r in records(self.library)}, {"present"})

    def test_an_innocent_file_in_flight_is_not_blamed(self):
        self.import_until_it_ends(env={"TENURE_TEST_CRASH": "poison", "TENURE_JOBS": "8"})
        aside = [r["path"] for r in records(self.library) if r["presence"] == "crashed"]
        self.assertEqual([os.path.basename(p) for p in aside], ["poison.safetensors"])


class TwoAtOnce(Case):
    def test_two_imports_of_one_folder_with_readers_beside_lose_and_double_nothing(self):
        trees.small_tree(self.models)
        reference = self.place / "reference.db"
        tenure("import", "--hash", "none", self.models, library=reference)
        expected = sorted(key(r) for r in records(reference)), samples(reference)
        for _ in range(3):
            for path in self.place.glob("library.db*"):
                path.unlink()
            self.race()
            self.assertEqual((sorted(key(r) for r in records(self.library)), samples(self.library)), expected)
            self.assertEqual(integrity(self.library), [])
            self.assertEqual([j for j in jobs(self.library) if j["kind"] == "import" and j["state"] != "done"], [])

    def race(self):
        stop, wrong, looks = threading.Event(), [], []

        def read():
            while not stop.is_set():
                run = tenure("list", "--json", library=self.library)
                # Before the first import has made the library there may be nothing to list.
                if run.returncode:
                    wrong.append((run.returncode, run.stderr))
                else:
                    found = objects(run)
                    looks.append(len(found))
                    paths = [r["path"] for r in found]
                    if len(paths) != len(set(paths)):
                        wrong.append("a reader saw a path twice")

        imports = [
            subprocess.Popen(
                arguments("import", "--hash", "none", "--quiet", self.models, library=self.library),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(),
            )
            for _ in range(2)
        ]
        reader = threading.Thread(target=read)
        reader.start()
        try:
            for child in imports:
                out, err = child.communicate(timeout=300)
                self.assertEqual(child.returncode, 1, (out + err)[-2000:])  # 1: the tree holds damaged files
        finally:
            stop.set()
            reader.join()
        self.assertEqual(wrong, [])


class Interrupt(Case):
    """Ctrl-C ends an import with 130; the next one goes on and ends with the same library."""

    def setUp(self):
        super().setUp()
        (self.models).mkdir()
        for i in range(400):
            trees.write_lora(self.models / f"style {i:03d}.safetensors", 264, 4, metadata={"ss_tag": str(i)})
        began = time.monotonic()
        self.reference = self.place / "reference.db"
        self.check(tenure("import", "--hash", "none", self.models, library=self.reference), 0)
        self.seconds = time.monotonic() - began

    def interrupted(self, after, number):
        child = subprocess.Popen(
            arguments("import", "--hash", "none", self.models, library=self.library),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        time.sleep(after)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        return child.returncode, out + err

    def test_it_exits_130_and_can_be_resumed(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for path in self.place.glob("library.db*"):
                path.unlink()
            for share in (
                0.5,
                0.35,
                0.2,
                0.65,
                0.1,
            ):  # how fast it is depends on the machine: try until it is in the middle
                code, said = self.interrupted(max(self.seconds * share, 0.01), number)
                if code not in (0, -number):
                    break
            self.assertEqual(code, 130, said[-1000:])
            self.assertEqual(integrity(self.library), [])
            states = [j["state"] for j in jobs(self.library) if j["kind"] == "import"]
            self.assertEqual(states[-1], "interrupted")
            before = len(records(self.library))
            self.check(self.import_(), 0)
            self.assertLessEqual(before, 400)
            self.assertEqual(
                sorted(key(r) for r in records(self.library)), sorted(key(r) for r in records(self.reference))
            )
            self.assertEqual({j["state"] for j in jobs(self.library) if j["kind"] == "import"}, {"done"})

    def test_jobs_run_goes_on_too(self):
        for share in (0.4, 0.25, 0.6, 0.1):
            code, said = self.interrupted(max(self.seconds * share, 0.01), signal.SIGINT)
            if code not in (0, -signal.SIGINT):
                break
        self.assertEqual(code, 130, said[-1000:])
        self.check(tenure("jobs", "run", library=self.library), 0)
        self.assertEqual(len(records(self.library)), 400)


class DeadJobs(Case):
    """What a killed import leaves behind is seen for what it is, and is closed by the import that finishes its work."""

    def setUp(self):
        super().setUp()
        self.models.mkdir()
        for i in range(300):
            trees.write_lora(self.models / f"style {i:03d}.safetensors", 264, 4, metadata={"ss_tag": str(i)})
        run = self.import_(env={"TENURE_TEST_KILL": "import.batch_marked:2"})
        self.assertEqual(run.returncode, -signal.SIGKILL)

    def states(self):
        return [j["state"] for j in jobs(self.library) if j["kind"] == "import"]

    def test_it_is_listed_as_interrupted(self):
        self.assertEqual(self.states(), ["interrupted"])

    def test_the_next_import_goes_on_with_it(self):
        self.check(self.import_(), 0)
        self.assertEqual(self.states(), ["done"])

    def test_a_lock_that_outlives_its_process_leaves_no_job_open(self):
        """A child between its start and its exec holds the lock of a parent that was killed a moment longer."""
        with open(f"{self.library}-lock", "r+b") as locks:
            fcntl.fcntl(locks, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 1, 1, 0))
            child = subprocess.Popen(
                arguments("import", "--hash", "none", self.models, library=self.library),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
            with sqlite3.connect(f"file:{self.library}?mode=ro", uri=True) as db:
                while child.poll() is None and db.execute("SELECT count(*) FROM jobs").fetchone() == (1,):
                    time.sleep(0.001)
        self.assertEqual(child.wait(120), 0)
        self.assertEqual(self.states(), ["done", "done"])
        self.assertEqual(len(records(self.library)), 300)


class Names(Case):
    """Names of files and tensors cannot move the cursor, colour the terminal or ring its bell."""

    ESCAPES = [
        b"red \x1b[31m",
        b"title \x1b]0;owned\x07",
        b"clear \x1b[2J\x1b[H",
        b"bell \x07",
        b"back \x08\x08\x08",
        b"line\nbreak",
        b"return\rover",
        b"c1 \xc2\x9b31m",
        b"rtl \xe2\x80\xae",
        b"not utf8 \xff\xfe",
    ]

    def setUp(self):
        super().setUp()
        self.models.mkdir()
        for i, name in enumerate(self.ESCAPES):
            path = os.fsencode(self.models) + b"/" + name + b".safetensors"
            trees.write_lora(path, 10 + i)
        evil = self.models / "tensors.safetensors"
        trees.tenure_files.write_safetensors(
            evil,
            [("\x1b[31mred\x07", "F16", (4,)), ("a\nb", "F16", (4,))],
            metadata={"title\x1b[2J": "owned \x1b]0;x\x07", "modelspec.title": "\x1b[5mblink"},
        )
        damaged = os.fsencode(self.models) + b"/broken \x1b[41m.safetensors"
        trees.write_lora(damaged, 10, short_by=4)

    def assert_harmless(self, output, lines_are_ours=True):
        text = output.decode("utf-8")  # not valid UTF-8: an error
        bad = {
            c
            for c in text
            if (ord(c) < 0x20 and c != "\n")
            or 0x7F <= ord(c) < 0xA0
            or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
        }
        self.assertEqual(bad, set(), text[:2000])

    def test_no_verb_prints_them_raw(self):
        run = self.check(self.import_(), 1)
        self.assert_harmless(run.stdout)
        self.assert_harmless(run.stderr)
        paths = sorted(os.path.join(os.fsencode(self.models), n) for n in os.listdir(os.fsencode(self.models)))
        for verb, rest in (
            ("list", []),
            ("probe", ["--why", *paths]),
            ("inspect", ["--lenient", *paths]),
            ("show", [str(r["id"]) for r in records(self.library)]),
            ("jobs", []),
        ):
            with self.subTest(verb=verb):
                run = tenure(verb, *rest, library=self.library)
                self.assertIn(run.returncode, (0, 1), run.stderr)
                self.assertGreater(len(run.stdout), 0)
                self.assert_harmless(run.stdout)
                self.assert_harmless(run.stderr)

    def test_json_gives_every_name_back_to_the_byte(self):
        self.check(self.import_(), 1)
        from base64 import b64decode

        found = {b64decode(r["path_b64"]) if "path_b64" in r else os.fsencode(r["path"]) for r in records(self.library)}
        there = {os.path.join(os.fsencode(self.models), n) for n in os.listdir(os.fsencode(self.models))}
        self.assertEqual(found, there)


if __name__ == "__main__":
    command.main()
