"""An import where nothing can be written: a disk that is full, a folder that is read-only.

The full disk is a real one, a file system of a few hundred kilobytes, and needs root to be mounted; without root its
tests skip. Standard library only; run by ctest (cmake/End.cmake), a class at a time.
"""

import os
import shutil
import subprocess

import changing_verbs
import command
import trees
from command import SANITIZED, SOAK, TENURE, Case, environment, integrity, key, records, tenure

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


def mounted_ext4(case, folder, size, block=4096):
    """The same with ext4 in a file, whose blocks and journal fill up in another way."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        case.skipTest("an ext4 in a file needs root and mkfs.ext4")
    image = folder.with_suffix(".img")
    with open(image, "wb") as file:
        file.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-b", str(block), str(image)], check=True, capture_output=True)
    folder.mkdir()
    run = subprocess.run(["mount", "-o", "loop", str(image), str(folder)], capture_output=True)
    if run.returncode:
        case.skipTest(f"no loop device here: {run.stderr.decode(errors='replace').strip()}")
    case.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=True)


def mounted_xfs(case, folder):
    """XFS in a file, which can let two files have the same blocks."""
    if os.geteuid() != 0 or not shutil.which("mkfs.xfs"):
        case.skipTest("an XFS in a file needs root and mkfs.xfs")
    image = folder.with_suffix(".img")
    with open(image, "wb") as file:
        file.truncate(320 << 20)
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", str(image)], check=True, capture_output=True)
    folder.mkdir()
    run = subprocess.run(["mount", "-o", "loop", str(image), str(folder)], capture_output=True)
    if run.returncode:
        case.skipTest(f"no XFS here: {run.stderr.decode(errors='replace').strip()}")
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


class FullDiskForEachVerb(Case):
    """Every verb that changes something, with a little more space left each time until it needs no more: the write that
    fails is each of its writes. Files, library, trash and destination share the disk."""

    STEP = 4096 * (1 if SOAK else 24 if SANITIZED else 6)  # 4096: a block of ext4
    CODES = (1, 4)  # one model of several could not be done; no space

    def world_on(self, block):
        disk = self.place / f"disk of {block}"
        mounted_ext4(self, disk, 8 << 20, block)
        self.ballast = disk / "ballast"
        (disk / "world").mkdir()
        return changing_verbs.World(disk / "world", None, self.place)

    def with_space(self, world, verb, leave):
        """How much more should be left the next time; 0 when it was enough."""
        verb.before()
        before = world.files()
        fill(self.ballast, leave)
        run = world.run(*verb.words)
        if run.returncode:
            self.check(run, *self.CODES)
            self.assertRegex(run.stderr.decode().lower(), "full|space|are needed there", verb.name)
        world.look([] if verb.deletes else before.values())
        self.ballast.unlink()
        if run.returncode:
            self.check(world.run(*verb.words), 0, 1, 2, 3)
        changing_verbs.compare(f"{verb.name} with {leave} bytes", world.state(), verb.end)
        refused_beforehand = b"are needed there" in run.stderr
        return 0 if run.returncode == 0 else self.STEP * (20 if refused_beforehand else 1)

    def sweep(self, world, verb):
        verb.before()
        world.must(*verb.words)
        verb.end = world.state()
        leave = 0
        while more := self.with_space(world, verb, leave):
            leave += more
            self.assertLess(leave, 4 << 20, f"{verb.name}: never enough space")
        return leave

    def sweep_all(self, block):
        world = self.world_on(block)
        for verb in changing_verbs.verbs(world) + changing_verbs.words(world):
            enough = self.sweep(world, verb)
            print(f"{verb.name}: {enough} bytes were enough", flush=True)
            self.assertGreater(enough, 0)

    def test_it_is_refused_or_done_whole(self):
        self.sweep_all(4096)

    def test_the_same_where_blocks_are_smaller_than_pages(self):
        """A map's pages can then lack space that the file seems to have: a write to one would be the end (SIGBUS)."""
        self.sweep_all(1024)


class SharedBlocks(Case):
    """A copy on a disk that can share blocks takes no space, and is as good as any other."""

    def test_a_copy_takes_no_space(self):
        disk = self.place / "disk"
        mounted_xfs(self, disk)
        self.models = disk / "models"
        self.models.mkdir()
        size = 64 << 20
        data = os.urandom(1 << 20)
        path = self.models / "big.safetensors"
        head = b'{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (size, size)
        with open(path, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for _ in range(size // len(data)):
                file.write(data)
        os.sync()
        before = shutil.disk_usage(disk).free
        self.check(self.import_("--copy-to", disk / "copies", self.models), 0)
        os.sync()
        self.assertLess(before - shutil.disk_usage(disk).free, size // 8)
        copy = next((disk / "copies").rglob("big.safetensors"))
        self.assertEqual(copy.read_bytes(), path.read_bytes())
        with open(copy, "r+b") as file:  # it is a file of its own
            file.seek(1 << 20)
            file.write(b"other")
        self.assertNotEqual(copy.read_bytes(), path.read_bytes())


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
