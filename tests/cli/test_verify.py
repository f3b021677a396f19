"""verify: what is sound, what is not and why, in words and in JSON."""

import json
import os
import signal
import sqlite3
import struct
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, main


def weights(size: int, short_by: int = 0) -> bytes:
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(header)) + header + os.urandom(size - short_by)


def flip(path: Path, at: int = -1000) -> None:
    """Turn one bit over and leave size and time as they were: what a bad disk does."""
    stat = path.stat()
    with open(path, "r+b") as file:
        file.seek(at, os.SEEK_END)
        byte = file.read(1)
        file.seek(at, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


class Verify(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.models = self.folder / "models"
        self.models.mkdir()

    def make(self, name: str, size: int = 100_000, short_by: int = 0) -> Path:
        path = self.models / name
        path.write_bytes(weights(size, short_by))
        return path

    def verified(self, *words: str | Path, code: int = 0) -> list[dict[str, Any]]:
        ran = self.tenure("verify", "--json", *words)
        self.assertEqual(ran.code, code, ran.err)
        return ran.objects()

    def test_without_a_library_the_structure_is_looked_at(self) -> None:
        path = self.make("a.safetensors")
        (found,) = self.verified(path)
        self.assertEqual(found, {"v": 1, "path": str(path), "sound": True, "hashed_bytes": 0, "findings": []})
        self.assertFalse(self.library.exists())
        short = self.make("short.safetensors", 1000, short_by=10)
        (found,) = self.verified(short, code=1)
        self.assertEqual(found["sound"], False)
        (finding,) = found["findings"]
        size = short.stat().st_size
        self.assertEqual((finding["severity"], finding["status"]), ("error", "truncated"))
        self.assertEqual((finding["expected"], finding["found"]), (size + 10, size))
        self.assertEqual(set(finding) - {"file"},
                         {"severity", "status", "message", "tensor", "offset", "expected", "found"})  # fmt: skip

    def test_a_bit_that_turned_over_is_found_and_remembered(self) -> None:
        self.make("a.safetensors")
        bad = self.make("b.safetensors")
        self.tenure("import", "--hash", "blake3", "models")
        self.assertEqual([each["sound"] for each in self.verified("--all")], [True, True])
        flip(bad)
        self.assertEqual(self.tenure("import", "models").code, 0)  # nobody notices: size and time are the same
        ran = self.tenure("verify", "--all")
        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.out, r"(?m)^unsound  .*b\.safetensors\n  error    bad_checksum  its bytes are not those ")
        self.assertRegex(ran.out, r"(?m)^1 model is sound, 1 is not; 200\.\d KB compared by hash$")
        events = sqlite3.connect(self.library).execute("SELECT detail FROM events WHERE what = 'rotten'").fetchall()
        self.assertEqual(len(events), 1)
        self.assertRegex(events[0][0], r"^part 0: blake3 was [0-9a-f]{64}, is [0-9a-f]{64}$")
        quick = self.tenure("verify", "--quick", "--all")
        self.assertEqual(quick.code, 0)
        # What hashing for another digest sees it as well, and takes no hash of the bad bytes.
        ran = self.tenure("import", "--hash", "sha256", "models")
        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.out, r"(?m)^damaged  .*b\.safetensors  its bytes are not those ")
        (shown,) = self.tenure("show", "--json", "b").objects()
        self.assertEqual(set(shown["hashes"]), {"blake3"})

    def test_a_file_that_was_replaced_is_no_rot(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "--hash", "blake3", "models")
        path = self.make("a.safetensors", 70_000)
        (found,) = self.verified(path)
        self.assertEqual(found["sound"], True)
        self.assertEqual([each["status"] for each in found["findings"]], ["changed"])

    def test_what_was_never_hashed_says_so(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "models")
        (found,) = self.verified("a")
        self.assertEqual([(each["severity"], each["status"]) for each in found["findings"]], [("note", "not_hashed")])

    def test_quiet_prints_what_is_not_sound(self) -> None:
        self.make("a.safetensors")
        self.make("b.safetensors", 1000, short_by=1)
        ran = self.tenure("verify", "--quiet", self.models / "a.safetensors", self.models / "b.safetensors")
        self.assertEqual(ran.code, 1)
        self.assertEqual(len(ran.lines), 2, ran.out)

    def test_a_bad_path_stops_no_other(self) -> None:
        path = self.make("a.safetensors")
        found = self.verified("nowhere", path, code=1)
        self.assertEqual([each["sound"] for each in found], [False, True])
        self.assertEqual(found[0]["findings"][0]["status"], "not_found")

    def test_a_list_on_stdin(self) -> None:
        paths = [self.make("a.safetensors"), self.make("b.safetensors")]
        ran = self.tenure("verify", "--json", "-", input=b"".join(bytes(path) + b"\0" for path in paths))
        self.assertEqual([each["sound"] for each in ran.objects()], [True, True])

    def test_ctrl_c_ends_it_within_a_file(self) -> None:
        path = self.make("a.safetensors")
        os.truncate(path, 16 << 30)  # a hole: nothing is read from the disk
        self.tenure("import", "--hash", "none", "models")
        with sqlite3.connect(self.library) as library:
            library.execute("INSERT INTO hashes SELECT 1, 0, 'blake3', 'x', size, mtime_ns FROM files")
        process = self.start("verify", "--all", "--progress")
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, b""), err)
        self.assertIn(b"interrupted after 0 of 1", err)

    def test_a_library_that_cannot_be_written_is_read(self) -> None:
        path = self.make("a.safetensors")
        self.tenure("import", "--hash", "blake3", "models")
        flip(path)
        self.library.chmod(0o400)
        self.library.parent.chmod(0o500)
        self.addCleanup(self.library.parent.chmod, 0o700)
        (found,) = self.verified("--all", code=1)
        self.assertEqual(found["findings"][0]["status"], "bad_checksum")


if __name__ == "__main__":
    main()
