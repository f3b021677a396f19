"""A library, and models, on a file system like one behind a network: slow, perhaps without locks, and cut off at any time.

It is a real one, by FUSE (tests/support/netfs_posix.c, named by TENURE_NETFS); without FUSE, or root, the tests skip.
Standard library only; run by ctest (cmake/End.cmake).
"""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import command
import trees
from command import TENURE, Case, arguments, environment, integrity, objects, records, tenure

LATENCY_MS = 2
MODELS = 8


class NetworkFolder(Case):
    def setUp(self):
        super().setUp()
        self.backing, self.net = self.place / "backing", self.place / "net"
        self.cut = self.backing / ".netfs-eio"
        (self.backing / "models").mkdir(parents=True)
        self.net.mkdir()
        for i in range(MODELS):
            trees.write_lora(self.backing / "models" / f"style {i}.safetensors", 10 + i, metadata={"ss_tag": str(i)})
        self.models, self.library = self.net / "models", self.net / "library.db"

    def mount(self, *more, latency=LATENCY_MS):
        program = os.environ.get("TENURE_NETFS", str(Path(TENURE).parent / "netfs"))
        if not Path(program).exists() or not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("there is no FUSE here")
        self.server = subprocess.Popen([program, self.backing, self.net, str(latency), *more], stderr=subprocess.PIPE)
        self.addCleanup(self.end)
        for _ in range(500):
            if os.path.ismount(self.net):
                return
            if self.server.poll() is not None:
                self.skipTest(f"nothing can be mounted here: {self.server.stderr.read().decode(errors='replace')}")
            time.sleep(0.01)
        self.fail("the file system was not mounted within five seconds")

    def end(self):
        self.server.kill()
        self.server.wait(10)
        self.server.stderr.close()
        subprocess.run(["umount", "-l", str(self.net)], capture_output=True)

    def unmount(self):
        subprocess.run(["umount", "-l", str(self.net)], check=True)
        self.server.wait(10)

    def states(self):
        return sorted((r["name"], r["state"]) for r in records(self.library))

    def presence(self):
        return {record["presence"] for record in records(self.library)}

    def test_everything_works_only_slower(self):
        self.mount()
        self.check(self.import_(), 0)
        self.assertEqual(len(records(self.library)), MODELS)
        self.check(tenure("tag", "style 3", "+far", library=self.library), 0)
        found = self.check(tenure("search", "tag:far", library=self.library), 0)
        self.assertIn(b"style 3", found.stdout)
        os.rename(self.models / "style 5.safetensors", self.models / "renamed.safetensors")
        self.check(tenure("scan", library=self.library), 0)
        self.check(tenure("move", "style 3", self.net / "other", library=self.library), 0)
        self.assertTrue((self.backing / "other" / "style 3.safetensors").exists())
        self.check(tenure("undo", library=self.library), 0)
        self.check(tenure("import", "--hash", "all", self.models, library=self.library), 0)
        self.assertEqual(self.states(), sorted([(f"style {i}", "identified") for i in range(MODELS) if i != 5] + [("renamed", "identified")]))
        self.assertFalse((self.net / "library.db-shm").exists())
        self.assertEqual(integrity(self.backing / "library.db"), [])

    def test_a_second_program_is_told_that_the_first_has_it(self):
        self.mount(latency=4)
        self.check(self.import_(), 0)
        trees.write_lora(self.backing / "models" / "fresh.safetensors", 30)
        command_line = arguments("import", "--hash", "none", "--quiet", self.models, library=self.library)
        first = subprocess.Popen(command_line, env=environment())
        time.sleep(0.5)
        second = tenure("tag", "style 1", "+second", library=self.library)
        self.check(second, 0, 5)  # it waited for its turn, or was told why not
        if second.returncode:
            self.assertIn("another program", second.stderr.decode())
        self.assertEqual(first.wait(120), 0)
        self.assertEqual(len(records(self.library)), MODELS + 1)
        self.assertEqual(integrity(self.backing / "library.db"), [])

    def test_without_locks_none_is_made_and_one_that_is_there_is_only_read(self):
        self.mount("no-locks")
        run = self.check(self.import_(), 3)
        self.assertIn("this file system has no locks", run.stderr.decode())
        self.assertFalse(self.library.exists())
        self.library = self.place / "library.db"  # on a disk of this machine
        self.check(self.import_(), 0)
        for tail in ("", "-lock"):
            shutil.copy(f"{self.library}{tail}", self.net / f"library.db{tail}")
        self.library = self.net / "library.db"
        self.assertEqual(len(records(self.library)), MODELS)
        run = self.check(tenure("tag", "style 1", "+new", library=self.library), 3)
        self.assertIn("read", run.stderr.decode())

    def test_reads_that_fail_are_of_the_files_and_a_later_import_mends_it(self):
        self.mount()
        self.library = self.place / "library.db"
        self.cut.touch()
        run = self.check(self.import_(), 1)
        self.assertIn("could not read", run.stdout.decode() + run.stderr.decode())
        self.assertEqual({state for _, state in self.states()}, {"unreadable"})
        self.cut.unlink()
        self.check(self.import_(), 0)
        self.assertEqual({state for _, state in self.states()}, {"identified"})

    def test_a_wire_that_is_cut_in_the_middle_leaves_a_library_that_is_whole(self):
        for after in (0.05, 0.3):
            with self.subTest(after=after):
                self.mount(latency=3)
                child = subprocess.Popen(
                    arguments("import", "--hash", "all", "--quiet", self.models, library=self.library),
                    env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )
                time.sleep(after)
                self.cut.touch()
                self.assertIn(child.wait(120), (0, 1, 3))
                self.cut.unlink()
                self.check(self.import_(), 0)
                self.assertEqual({state for _, state in self.states()}, {"identified"})
                self.assertEqual(integrity(self.backing / "library.db"), [])
                self.end()

    def test_models_of_a_file_system_that_went_are_offline_and_come_back(self):
        for how in ("unmounted", "dead", "dead and still mounted", "dead and remembered"):
            with self.subTest(how=how):
                self.mount(*{"dead and still mounted": ["stays"], "dead and remembered": ["stays", "cached"]}.get(how, []))
                self.library = self.place / f"{how}.db"
                self.check(self.import_(), 0)
                if how == "unmounted":
                    self.unmount()
                else:
                    self.server.send_signal(signal.SIGKILL)  # "transport endpoint is not connected"
                    self.server.wait(10)
                said = self.check(tenure("scan", library=self.library), 0, 1)
                self.assertEqual(self.presence(), {"offline"}, said.stdout + said.stderr)
                self.assertEqual([root["state"] for root in objects(tenure("roots", "--json", library=self.library))], ["away"])
                self.assertNotIn(b"errno", said.stdout + said.stderr)
                self.end()
                self.mount()
                self.check(tenure("scan", library=self.library), 0)
                self.assertEqual(self.presence(), {"present"})
                self.end()


if __name__ == "__main__":
    command.main()
