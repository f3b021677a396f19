"""Hashing that waits: what import says of it, what jobs run does, and what an interrupt leaves."""

import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, main


def weights(size: int) -> bytes:
    """A safetensors file of one tensor of random bytes."""
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(header)) + header + os.urandom(size)


class HashJobTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.models = self.folder / "models"
        self.models.mkdir()

    def make(self, name: str, size: int = 100_000) -> Path:
        path = self.models / name
        path.write_bytes(weights(size))
        return path

    def jobs(self, kind: str) -> list[dict[str, Any]]:
        return [job for job in self.tenure("jobs", "--json").objects() if job["kind"] == kind]

    def hashed(self, *words: str) -> list[dict[str, Any]]:
        return [each for each in self.tenure(*words, "--json").objects() if "hashed" in each]


class Queued(HashJobTest):
    def test_import_says_how_much_there_is_to_be_hashed(self) -> None:
        for name in ("a.safetensors", "b.safetensors"):
            self.make(name, 1_000_000)
        ran = self.tenure("import", "models")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertRegex(ran.out, r"(?m)^2 files, 2\.0 MB to be hashed: tenure jobs run$")
        summary = self.tenure("import", "--json", "models").objects()[-1]["summary"]
        expected = sum(path.stat().st_size for path in self.models.iterdir())
        self.assertEqual(summary["to_be_hashed"], {"files": 2, "size_bytes": expected, "seconds": None})
        (job,) = self.jobs("hash")
        self.assertEqual((job["state"], job["items"], job["bytes"], job["bytes_done"]), ("queued", 2, expected, 0))
        self.assertRegex(self.tenure("jobs").out, r"(?m)^ *2  hash +queued +0 of 2 +0 B of 2\.0 MB  the whole library$")

    def test_jobs_run_hashes_and_show_has_the_hashes(self) -> None:
        path = self.make("a.safetensors")
        self.make("b.safetensors")
        self.tenure("import", "models")
        ran = self.tenure("jobs", "run")
        self.assertEqual((ran.code, ran.err), (0, ""))
        self.assertRegex(ran.out, r"^2 files hashed, 200\.\d KB$")
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        (shown,) = self.tenure("show", "--json", "a").objects()
        self.assertEqual(shown["hashes"]["sha256"], sha256)
        self.assertEqual(shown["hashes"]["autov2"], sha256[:10])
        if shutil.which("b3sum"):
            b3sum = subprocess.run(["b3sum", "--no-names", path], capture_output=True, check=True).stdout.decode().strip()
            self.assertEqual(shown["hashes"]["blake3"], b3sum)
        self.assertNotIn("to be hashed", self.tenure("import", "models").out)
        self.assertEqual(self.tenure("jobs", "run").out, "nothing was left to do\n")

    def test_in_json_every_file_is_an_object(self) -> None:
        path = self.make("a.safetensors")
        self.tenure("import", "models")
        (found,) = self.hashed("jobs", "run")
        self.assertEqual(found["hashed"], True)
        self.assertEqual(found["path"], str(path.resolve()))
        self.assertEqual(found["size_bytes"], path.stat().st_size)
        self.assertEqual(found["sha256"], hashlib.sha256(path.read_bytes()).hexdigest())

    def test_a_file_that_changed_is_told_and_found_by_the_next_import(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "models")
        self.make("a.safetensors", 50_000)
        ran = self.tenure("jobs", "run")
        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.out, r"^changed  .*a\.safetensors  it changed since it was recorded")
        self.assertRegex(self.tenure("import", "models").out, r"(?m)^1 file, 50\.1 KB to be hashed")
        self.assertEqual(self.tenure("jobs", "run").code, 0)

    def test_a_paused_job_is_said_to_be_so(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "models")
        self.assertEqual(self.tenure("jobs", "pause").code, 0)
        self.assertIn("to be hashed: paused, tenure jobs resume", self.tenure("import", "models").out)
        self.assertEqual(self.tenure("jobs", "run").out, "nothing was left to do\n")
        self.tenure("jobs", "resume")
        self.assertRegex(self.tenure("jobs", "run").out, "^1 file hashed")

    def test_an_empty_list_says_so(self) -> None:
        self.assertIn("no job", self.tenure("jobs").err)  # no library either
        self.assertEqual(self.tenure("jobs", "run").out, "nothing was left to do\n")
        ran = self.tenure("jobs")
        self.assertEqual(ran.code, 0)
        self.assertIn("there are no jobs", ran.err)
        self.assertEqual(self.tenure("jobs", "--json").out, "")


class AtOnce(HashJobTest):
    def test_none_queues_nothing(self) -> None:
        self.make("a.safetensors")
        self.assertNotIn("hashed", self.tenure("import", "--hash", "none", "models").out)
        self.assertEqual(self.jobs("hash"), [])

    def test_each_word_is_done_before_the_end_also_for_what_is_unchanged(self) -> None:
        self.make("a.safetensors")
        self.tenure("import", "--hash", "none", "models")
        has: set[str] = set()
        for word, more in (
            ("blake3", {"blake3"}),
            ("sha256", {"sha256", "autov2"}),
            ("all", {"crc32", "autov1", "autov3", "key_hash", "content"}),
        ):
            ran = self.tenure("import", "--hash", word, "models")
            self.assertEqual(ran.code, 0, ran.err)
            self.assertRegex(ran.out, r"(?m)^1 file hashed, 100\.1 KB$")
            has |= more
            (shown,) = self.tenure("show", "--json", "a").objects()
            self.assertEqual(set(shown["hashes"]), has)
        self.assertNotIn("hashed", self.tenure("import", "--hash", "all", "models").out)
        self.assertEqual({job["state"] for job in self.jobs("hash")}, {"done"})


class Interrupted(HashJobTest):
    def test_ctrl_c_within_a_file_loses_nothing(self) -> None:
        self.make("a.safetensors")
        with open(self.make("b.safetensors"), "r+b") as file:
            header = json.dumps({"w": {"dtype": "U8", "shape": [8 << 30], "data_offsets": [0, 8 << 30]}}).encode()
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + (8 << 30))
        self.tenure("import", "models")
        process = self.start("jobs", "run", "--progress")
        assert process.stderr
        lines = [process.stderr.readline() for _ in range(2)]
        self.assertRegex(lines[1], rb" of 8\.6 GB ")
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertLess(time.monotonic() - began, 30)
        self.assertIn(b"nothing is lost. Go on with: tenure jobs run", err)
        (job,) = self.jobs("hash")
        self.assertEqual((job["state"], job["items"]), ("interrupted", 2))
        os.truncate(self.models / "b.safetensors", 200_000)
        self.tenure("import", "models")
        ran = self.tenure("jobs", "run")
        self.assertEqual(ran.code, 0, ran.out + ran.err)
        self.assertEqual({job["state"] for job in self.jobs("hash")}, {"done"})

    def test_a_pause_from_beside_stops_it_within_a_file(self) -> None:
        path = self.make("b.safetensors")
        os.truncate(path, 16 << 30)
        self.tenure("import", "models")
        process = self.start("jobs", "run", "--progress")
        assert process.stderr
        process.stderr.readline()
        self.assertEqual(self.tenure("jobs", "pause").code, 0)
        process.communicate(timeout=30)
        self.assertEqual(self.jobs("hash")[0]["state"], "paused")


if __name__ == "__main__":
    main()
