"""hash: digests that other programs agree with, one line or object a file, and exit codes."""

import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, main

ALL = ["blake3", "sha256", "crc32", "autov1", "autov2", "autov3", "key_hash", "content"]
MIB = 1 << 20


def pattern(size: int) -> bytes:
    """The input of BLAKE3's official test vectors: 0 to 250, again and again."""
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def safetensors(tensors: list[tuple[str, str, list[int], bytes]], metadata: dict[str, str] | None = None) -> bytes:
    entries: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, dtype, shape, values in tensors:
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    header = json.dumps(entries).encode()
    return struct.pack("<Q", len(header)) + header + data


def framed(tensors: list[tuple[str, str, list[int], bytes]]) -> bytes:
    """What docs/formats/content-hash.md says is hashed."""
    out = b""
    for name, dtype, shape, values in sorted(tensors, key=lambda tensor: tensor[0].encode()):
        for text in (name.encode(), dtype.encode()):
            out += struct.pack("<Q", len(text)) + text
        out += struct.pack(f"<Q{len(shape)}Q", len(shape), *shape) + struct.pack("<Q", len(values)) + values
    return out


TENSORS = [
    ("b.weight", "F16", [300, 1000], os.urandom(600_000)),
    ("a.weight", "F32", [1000, 1000], os.urandom(4_000_000)),
    ("a", "U8", [], b"\x07"),
    ("é", "BF16", [0, 4], b""),
]


def b3sum(data: bytes) -> str:
    return subprocess.run(["b3sum", "--no-names"], input=data, capture_output=True, check=True).stdout.decode().strip()


BLOCK = MIB
"""What is read, and hashed by BLAKE3 as one piece, at once (TN_PASS_BLOCK_BYTES)."""


class Hash(CommandTest):
    def hash_of(self, data: bytes, algo: str, name: str = "file") -> dict[str, object]:
        (self.folder / name).write_bytes(data)
        ran = self.tenure("hash", "--json", "--algo", algo, name)
        self.assertEqual((ran.code, ran.err), (0, ""))
        (found,) = ran.objects()
        self.assertEqual(found.pop("v"), 1)
        self.assertEqual(found.pop("path"), name)
        return found

    def test_whole_files_at_sizes_around_every_border(self) -> None:
        for size in (0, 1, 55, 56, 63, 64, 65, 1023, 1024, 1025, MIB - 1, MIB, MIB + 1, MIB + 65_537, 3 * MIB + 17):
            data = pattern(size)
            sha256 = hashlib.sha256(data).hexdigest()
            expected = {
                "sha256": sha256,
                "crc32": f"{zlib.crc32(data):08x}",
                "autov1": hashlib.sha256(data[0x100000:0x110000]).hexdigest()[:8],
                "autov2": sha256[:10],
            }
            with self.subTest(size=size):
                self.assertEqual(self.hash_of(data, "sha256,crc32,autov1,autov2"), expected)

    @unittest.skipUnless(shutil.which("b3sum"), "b3sum is not installed")
    def test_blake3_is_that_of_b3sum(self) -> None:
        for size in (0, 1, 1023, 1024, 1025, 2048, 102_400, MIB, MIB + 1, 5 * MIB + 3):
            with self.subTest(size=size):
                self.assertEqual(self.hash_of(pattern(size), "blake3"), {"blake3": b3sum(pattern(size))})

    @unittest.skipUnless(shutil.which("b3sum"), "b3sum is not installed")
    def test_pieces_make_what_b3sum_makes_with_any_number_of_workers(self) -> None:
        for size in (8 * BLOCK + 1, 9 * BLOCK - 1, 16 * BLOCK, 16 * BLOCK + 1, 33 * BLOCK + 1024, 41 * BLOCK + 77):
            data = pattern(size)
            (self.folder / "file").write_bytes(data)
            expected = f"blake3    {b3sum(data)}  file\nsha256    {hashlib.sha256(data).hexdigest()}  file\n"
            for jobs in range(1, 9):
                with self.subTest(size=size, jobs=jobs):
                    self.assertEqual(self.tenure("hash", "--jobs", str(jobs), "file").out, expected)

    def test_answers_come_in_the_order_in_which_files_were_named(self) -> None:
        names = [f"f{i}" for i in range(20)]
        for i, name in enumerate(names):
            (self.folder / name).write_bytes(pattern(20 * MIB if i % 7 == 0 else i))
        asked = [*names[:5], "gone", *names[5:]]
        for jobs in ("1", "4"):
            with self.subTest(jobs=jobs):
                ran = self.tenure("hash", "--json", "--jobs", jobs, "--algo", "crc32", *asked)
                self.assertEqual([found["path"] for found in ran.objects()], asked)
                self.assertEqual(
                    [found.get("crc32") for found in ran.objects()],
                    [None if n == "gone" else f"{zlib.crc32((self.folder / n).read_bytes()):08x}" for n in asked],
                )

    def test_autov3_is_of_all_behind_the_header(self) -> None:
        data = safetensors(TENSORS)
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        expected = hashlib.sha256(data[begin:]).hexdigest()[:12]
        self.assertEqual(self.hash_of(data, "autov3", "a.safetensors"), {"autov3": expected})
        edited = safetensors(TENSORS, {"title": "another"})
        self.assertEqual(self.hash_of(edited, "autov3,autov1", "b.safetensors")["autov3"], expected)

    def test_key_hash_is_diffsynths(self) -> None:
        # DiffSynth-Studio: MD5 over the sorted names and name:shape texts, joined by commas.
        texts = [text for name, _, shape, _ in TENSORS for text in (name, name + ":" + "_".join(map(str, shape)))]
        expected = hashlib.md5(",".join(sorted(texts)).encode()).hexdigest()
        self.assertEqual(self.hash_of(safetensors(TENSORS), "key_hash", "a.safetensors"), {"key_hash": expected})

    @unittest.skipUnless(shutil.which("b3sum"), "b3sum is not installed")
    def test_content_is_framed_as_documented_and_independent_of_order(self) -> None:
        expected = {"content": "c1:" + b3sum(framed(TENSORS))}
        self.assertEqual(self.hash_of(safetensors(TENSORS), "content", "a.safetensors"), expected)
        turned = safetensors(TENSORS[::-1], {"note": "x"})
        self.assertEqual(self.hash_of(turned, "content", "b.safetensors"), expected)
        changed = [*TENSORS[:2], ("a", "U8", [], b"\x08"), TENSORS[3]]
        self.assertNotEqual(self.hash_of(safetensors(changed), "content", "c.safetensors"), expected)

    def test_without_algo_there_are_two_lines_a_file(self) -> None:
        (self.folder / "a").write_bytes(b"abc")
        ran = self.tenure("hash", "a")
        self.assertEqual(ran.code, 0)
        # printf abc | b3sum; SHA-256: FIPS 180-4.
        self.assertEqual(
            ran.out,
            "blake3    6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85  a\n"
            "sha256    ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n",
        )

    def test_what_a_file_cannot_have_is_a_dash_or_null(self) -> None:
        (self.folder / "a.txt").write_bytes(b"abc")
        ran = self.tenure("hash", "--algo", "autov3,content,key_hash", "a.txt")
        self.assertEqual((ran.code, ran.out), (0, "autov3    -  a.txt\nkey_hash  -  a.txt\ncontent   -  a.txt\n"))
        (found,) = self.tenure("hash", "--json", "--algo", ",".join(ALL), "a.txt").objects()
        self.assertEqual(list(found), ["v", "path", *ALL])
        self.assertEqual([found[word] for word in ("autov3", "key_hash", "content")], [None, None, None])

    def test_a_damaged_file_has_what_can_be_had_and_needs_a_look(self) -> None:
        data = safetensors(TENSORS)[:-100]
        (self.folder / "a.safetensors").write_bytes(data)
        ran = self.tenure("hash", "--json", "--algo", "sha256,content", "a.safetensors")
        self.assertEqual(ran.code, 1)
        (found,) = ran.objects()
        self.assertEqual(found["sha256"], hashlib.sha256(data).hexdigest())
        self.assertIsNone(found["content"])
        self.assertEqual(found["error"]["status"], "truncated")
        self.assertEqual(self.tenure("hash", "a.safetensors").code, 0)  # these two can be had

    def test_a_bad_path_never_stops_the_others(self) -> None:
        (self.folder / "a").write_bytes(b"abc")
        (self.folder / "d").mkdir()
        ran = self.tenure("hash", "gone", "d", "a", "--algo", "crc32")
        self.assertEqual((ran.code, ran.out), (1, f"crc32     {zlib.crc32(b'abc'):08x}  a\n"))
        self.assertIn("gone: ", ran.err)
        ran = self.tenure("hash", "--json", "gone", "d", "a", "--algo", "crc32")
        gone, folder, sound = ran.objects()
        self.assertEqual((ran.code, gone["path"], gone["error"]["status"]), (1, "gone", "not_found"))
        self.assertEqual((folder["path"], folder["error"]["status"]), ("d", "not_a_file"))
        self.assertEqual(sound["crc32"], f"{zlib.crc32(b'abc'):08x}")

    def test_words_that_are_no_digests_are_wrong_usage(self) -> None:
        (self.folder / "a").write_bytes(b"abc")
        for words in ("md5", "", "blake3,", ",blake3", "blake3,,sha256", "blake3 sha256", "blake"):
            with self.subTest(words=words):
                ran = self.tenure("hash", "--algo", words, "a")
                self.assertEqual((ran.code, ran.out), (2, ""))
                self.assertIn("blake3|sha256", ran.err)
        self.assertEqual(self.tenure("hash").code, 2)
        self.assertEqual(self.tenure("probe", "--algo", "blake3", "a").code, 2)

    def test_names_of_any_bytes_and_lists_on_stdin(self) -> None:
        name = b"x\xff\x1b[31m"
        with open(os.path.join(os.fsencode(self.folder), name), "wb") as file:
            file.write(b"abc")
        (found,) = self.tenure("hash", "--json", "--algo", "autov2", "-", input=name + b"\0").objects()
        self.assertEqual(found["autov2"], "ba7816bf8f")
        self.assertIn("path_b64", found)
        self.assertNotIn(b"\x1b", self.tenure("hash", name).stdout)

    def test_progress_counts_megabytes_on_stderr(self) -> None:
        with open(self.folder / "big", "wb") as file:
            file.truncate(64_000_000)
        ran = self.tenure("hash", "--progress", "--algo", "crc32", "big")
        self.assertEqual(ran.code, 0)
        self.assertRegex(ran.err, r"^\d+ of 64\b.*MB, big\n")
        self.assertEqual(self.tenure("hash", "--algo", "crc32", "big").err, "")

    @unittest.skipIf(os.name == "nt", "signals are sent as on POSIX")
    def test_an_interrupt_ends_it_soon_with_130(self) -> None:
        with open(self.folder / "big", "wb") as file:
            file.truncate(1 << 40)
        running = self.start("hash", "--progress", "big")
        assert running.stderr is not None
        running.stderr.readline()  # it has begun
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=20)
        self.assertEqual((running.returncode, out), (130, b""))


if __name__ == "__main__":
    main()
