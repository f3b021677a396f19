"""An import where nothing can be written: a disk that is full, a folder that is read-only.

The full disk is a real one, a file system of a few hundred kilobytes, and needs root to be mounted; without root its
tests skip. Standard library only; run by ctest (cmake/End.cmake), a class at a time.
"""

import os
import shutil
import subprocess

import command
import trees
from command import TENURE, Case, environment, integrity, key, records, tenure

NOBODY = 65534


def mounted(case, folder, size):
    """Mount a file system of `size` bytes on `folder` until the test is over, or skip the test."""
    if os.geteuid() != 0:
        case.skipTest("mounting a small file system needs root")
    folder.mkdir()
    run = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if run.returncode:
        case.skipTest(f"nothing can be mounted here: {run.stderr.decode(errors='replace').strip()}")
    case.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=True)


def mounted_ext4(case, folder, size):
    """The same with ext4 in a file, whose blocks and journal fill up in another way."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        case.skipTest("an ext4 in a file needs root and mkfs.ext4")
    image = folder.with_suffix(".img")
    with open(image, "wb") as file:
        file.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True, capture_output=True)
    folder.mkdir()
    run = subprocess.run(["mount", "-o", "loop", str(image), str(folder)], capture_output=True)
    if run.returncode:
        case.skipTest(f"no loop device here: {run.stderr.decode(errors='replace').strip()}")
    case.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=True)


def fill(path, leave):
    """Take all space of the file system but `leave` bytes."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
        file.flush()
        size = os.fstat(file.fileno()).st_size
        file.truncate(max(size - leave, 0))


class FullDisk(Case):
    def setUp(self):
        super().setUp()
        self.models.mkdir()
        for i in range(150):
            trees.write_lora(self.models / f"style {i:03d}.safetensors", 40, 4, metadata={"ss_tag": str(i)})
        self.disk = self.place / "disk"

    def run_on_a_full_disk(self, leave):
        """An import whose library has `leave` bytes to grow in; then with space again."""
        self.library = self.disk / "library.db"
        for path in self.disk.glob("*"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        fill(self.disk / "ballast", leave)
        run = self.check(self.import_(), 0, 4)
        if run.returncode == 4:
            self.assertRegex(run.stderr.decode().lower(), "full|space")
        (self.disk / "ballast").unlink()
        if self.library.exists():
            self.assertEqual(integrity(self.library), [])
        self.check(self.import_(), 0)
        self.assertEqual(len(records(self.library)), 150)
        return run.returncode

    def test_it_is_refused_with_4_and_the_library_opens_afterwards(self):
        mounted(self, self.disk, 16 << 20)
        codes = {leave: self.run_on_a_full_disk(leave) for leave in (0, 4096, 20000, 65536, 150000, 300000)}
        self.assertEqual(codes[0], 4, codes)
        self.assertEqual(codes[65536], 4, codes)

    def test_the_same_on_ext4(self):
        mounted_ext4(self, self.disk, 16 << 20)
        codes = {leave: self.run_on_a_full_disk(leave) for leave in (0, 20000, 150000)}
        self.assertEqual(codes[0], 4, codes)

    def test_a_full_disk_does_not_hurt_what_was_recorded_before(self):
        mounted(self, self.disk, 16 << 20)
        self.library = self.disk / "library.db"
        self.check(self.import_(), 0)
        before = {r["path"]: key(r) for r in records(self.library)}
        for i in range(150, 400):
            trees.write_lora(self.models / f"style {i:03d}.safetensors", 40, 4, metadata={"ss_tag": str(i)})
        fill(self.disk / "ballast", 30000)
        self.check(self.import_(), 4)
        now = {r["path"]: key(r) for r in records(self.library)}
        self.assertEqual({path: now.get(path) for path in before}, before)
        (self.disk / "ballast").unlink()
        self.check(self.import_(), 0)
        self.assertEqual(len(records(self.library)), 400)


class ReadOnly(Case):
    """A library on read-only media can be read; an import says that it cannot write, and changes nothing."""

    def setUp(self):
        super().setUp()
        self.models.mkdir()
        for i in range(5):
            trees.write_lora(self.models / f"style {i}.safetensors", 10 + i)
        self.shelf = self.place / "shelf"

    def read_only_shelf(self):
        """A folder that the whole system holds read-only, with a library in it."""
        mounted(self, self.shelf, 8 << 20)
        self.library = self.shelf / "library.db"
        self.check(self.import_(), 0)
        subprocess.run(["mount", "-o", "remount,ro", str(self.shelf)], check=True)

    def test_it_can_be_listed(self):
        self.read_only_shelf()
        self.assertEqual(len(records(self.library)), 5)

    def test_an_import_says_so_and_changes_nothing(self):
        self.read_only_shelf()
        trees.write_lora(self.models / "new.safetensors", 30)
        run = self.check(self.import_(), 3)
        self.assertIn("read-only", run.stderr.decode())
        self.assertEqual(len(records(self.library)), 5)

    def test_a_folder_without_permission_is_an_error_with_its_name(self):
        if os.geteuid() != 0:
            self.shelf.mkdir(mode=0o555)
            run = tenure("import", "--hash", "none", self.models, library=self.shelf / "library.db")
        else:
            os.chmod(self.place, 0o755)
            self.shelf.mkdir(mode=0o555)
            # The build may lie where that user cannot go: the program is run from a copy that it can read.
            program = shutil.copy(TENURE, self.place)
            os.chmod(program, 0o755)
            run = subprocess.run(
                [program, "import", self.models, "--library", self.shelf / "library.db"],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=environment(),
                timeout=120,
                user=NOBODY,
            )
        self.check(run, 1, 3)
        self.assertIn("shelf", run.stderr.decode())
        self.assertEqual(os.listdir(self.shelf), [])


if __name__ == "__main__":
    command.main()
