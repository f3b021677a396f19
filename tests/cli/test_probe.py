"""probe and inspect: one answer a path, whatever its name and whatever is in it."""

import base64
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, main
from tenure_files import lora_header, write_safetensors

STATES = {"identified", "ambiguous", "unknown", "unsupported", "damaged", "dangerous", "unreadable"}


class Probe(CommandTest):
    def test_a_sound_file_is_one_line_and_exit_0(self) -> None:
        write_safetensors(self.folder / "a.safetensors", lora_header())
        ran = self.tenure("probe", "a.safetensors")
        self.assertEqual((ran.code, ran.err, len(ran.lines)), (0, "", 1), ran.out)
        self.assertRegex(ran.out, r"^identified +sd-1 lora .* 9\.5 MB  safetensors F16 +a\.safetensors$")

    def test_why_lists_evidence_below_the_line(self) -> None:
        write_safetensors(self.folder / "a.safetensors", lora_header())
        ran = self.tenure("probe", "--why", "a.safetensors")
        self.assertGreater(len(ran.lines), 1)
        self.assertTrue(all(line.startswith("  ") for line in ran.lines[1:]))
        self.assertTrue(any(line.startswith("  for ") for line in ran.lines), ran.out)

    def test_json_has_the_fields_of_the_contract(self) -> None:
        size = write_safetensors(self.folder / "a.safetensors", lora_header())
        (found,) = self.tenure("probe", "--json", "a.safetensors").objects()
        self.assertEqual(list(found)[0], "v")
        self.assertEqual(found["path"], "a.safetensors")
        self.assertEqual(found["size_bytes"], size)
        self.assertEqual(found["container"], "safetensors")
        self.assertEqual((found["state"], found["type"], found["base"]), ("identified", "lora", "sd-1"))
        self.assertEqual(found["dtypes"], {"F16": 792})
        self.assertEqual(found["tensors"], 792)
        for field in ("variant", "candidates", "evidence", "names", "metadata", "error", "warnings", "key_hash"):
            self.assertIn(field, found)

    def test_a_bad_file_never_stops_the_others(self) -> None:
        write_safetensors(self.folder / "good.safetensors", lora_header())
        write_safetensors(self.folder / "short.safetensors", lora_header(), short_by=1000)
        (self.folder / "empty.safetensors").touch()
        (self.folder / "junk.safetensors").write_bytes(os.urandom(4096))
        names = [f"{word}.safetensors" for word in ("short", "empty", "missing", "junk", "good")]
        ran = self.tenure("probe", "--json", *names)
        self.assertEqual(ran.code, 1)
        found = ran.objects()
        self.assertEqual([each["path"] for each in found], names)
        states = ["damaged", "damaged", "unreadable", "damaged", "identified"]
        self.assertEqual([each["state"] for each in found], states)
        self.assertEqual(found[0]["base"], "sd-1")  # the header is sound: what it is stays known
        self.assertEqual(found[2]["error"]["status"], "not_found")
        text = self.tenure("probe", *names)
        self.assertEqual(text.code, 1)
        self.assertEqual([line.split()[0] for line in text.lines], states)

    def test_missing_path_is_one_problem_line(self) -> None:
        ran = self.tenure("probe", "nowhere.safetensors")
        self.assertEqual((ran.code, len(ran.lines)), (1, 1))
        self.assertTrue(ran.out.startswith("unreadable "), ran.out)
        self.assertIn("nowhere.safetensors", ran.out)

    def test_a_path_that_is_not_there_is_missing(self) -> None:
        (found,) = self.tenure("probe", "--json", "nowhere.safetensors").objects()
        self.assertEqual((found["presence"], found["state"]), ("missing", "unreadable"))

    def test_an_index_named_directly_is_its_set(self) -> None:
        tensors = lora_header()
        write_safetensors(self.folder / "m-00001-of-00002.safetensors", tensors[:300])
        write_safetensors(self.folder / "m-00002-of-00002.safetensors", tensors[300:])
        shard_of = {t[0]: f"m-0000{1 if i < 300 else 2}-of-00002.safetensors" for i, t in enumerate(tensors)}
        (self.folder / "m.safetensors.index.json").write_text(json.dumps({"weight_map": shard_of}))
        (found,) = self.tenure("probe", "--json", "m.safetensors.index.json").objects()
        self.assertEqual((found["state"], found["type"], found["base"]), ("identified", "lora", "sd-1"))
        self.assertEqual(found["tensors"], len(tensors))

    def test_it_makes_no_library(self) -> None:
        self.tenure("probe", ".")
        self.assertFalse(self.library.exists())

    def test_memory_too_small_is_refused_with_numbers(self) -> None:
        write_safetensors(self.folder / "a.safetensors", lora_header())
        ran = self.tenure("probe", "--memory", "1K", "a.safetensors")
        self.assertEqual(ran.code, 4, ran.out + ran.err)
        self.assertRegex(ran.out + ran.err, r"\d")


class Names(CommandTest):
    """Names that would break a line, a terminal or a decoder."""

    odd = (b"new\nline.safetensors", b"\x1b[2Jclear.safetensors", b"tab\there.safetensors",
           b"\xff\xfebytes.safetensors", "\u202ereversed.safetensors".encode(), "日本語.safetensors".encode(),
           b"-dash.safetensors", b"back\\slash.safetensors", b"q\"uote'.safetensors", b" blank .safetensors")  # fmt: skip

    def setUp(self) -> None:
        super().setUp()
        for name in self.odd:
            write_safetensors(os.path.join(os.fsencode(self.folder), name), lora_header(2))

    def test_each_name_is_one_line_that_cannot_move_the_cursor(self) -> None:
        ran = self.tenure("probe", "--", *self.odd)
        self.assertEqual(len(ran.lines), len(self.odd), ran.out)
        for byte in range(0x20):
            if byte != 0x0A:
                self.assertNotIn(bytes([byte]), ran.stdout)
        self.assertNotIn("\u202e", ran.out)

    def test_json_gives_every_byte_back(self) -> None:
        for verb in ("probe", "inspect"):
            found = self.tenure(verb, "--json", "--", *self.odd).objects()
            self.assertEqual(len(found), len(self.odd))
            for each, name in zip(found, self.odd, strict=True):
                if "path_b64" in each:
                    self.assertEqual(base64.b64decode(each["path_b64"]), name)
                    self.assertRaises(UnicodeDecodeError, name.decode)
                else:
                    self.assertEqual(each["path"].encode(), name)

    def test_lists_on_stdin(self) -> None:
        ran = self.tenure("probe", "--json", "-", input=b"\0".join(self.odd) + b"\0")
        self.assertEqual(len(ran.objects()), len(self.odd))
        plain = [name for name in self.odd if b"\n" not in name]
        ran = self.tenure("probe", "--json", "-", input=b"\n".join(plain))
        self.assertEqual(len(ran.objects()), len(plain))
        self.assertEqual(self.tenure("probe", "-").stdout, b"")

    def test_behind_two_dashes_a_dash_is_a_file(self) -> None:
        write_safetensors(self.folder / "-", lora_header(2))
        self.assertEqual(len(self.tenure("probe", "--", "-").lines), 1)


class Inspect(CommandTest):
    def test_every_tensor_with_its_place(self) -> None:
        tensors = [("a", "F16", (2, 3)), ("b.weight", "F32", ()), ("c", "I64", (0, 4))]
        write_safetensors(self.folder / "a.safetensors", tensors, {"title": "T\u00e4st", "note": "x\ny"})
        (found,) = self.tenure("inspect", "--json", "a.safetensors").objects()
        header = found["header_bytes"]
        self.assertEqual(header % 8, 0)
        self.assertEqual(found["metadata"], {"title": "T\u00e4st", "note": "x\ny"})
        self.assertEqual(found["dtypes"], {"F16": 1, "F32": 1, "I64": 1})
        self.assertEqual(found["parameters"], 7)  # 2 * 3 + 1 + 0
        rows = {each["name"]: each for each in found["tensors"]}
        self.assertEqual(rows["a"]["shape"], [2, 3])
        self.assertEqual((rows["a"]["offset"], rows["a"]["size_bytes"]), (header, 12))
        self.assertEqual((rows["b.weight"]["offset"], rows["b.weight"]["size_bytes"]), (header + 12, 4))
        self.assertEqual((rows["c"]["shape"], rows["c"]["size_bytes"]), ([0, 4], 0))
        self.assertEqual(found["findings"], [])

    def test_the_table_says_the_same(self) -> None:
        write_safetensors(self.folder / "a.safetensors", [("a", "F16", (2, 3))], {"title": "x"})
        ran = self.tenure("inspect", "a.safetensors")
        self.assertEqual(ran.code, 0)
        self.assertRegex(ran.out, r"(?m)^name  dtype  shape +offset  bytes$")
        self.assertRegex(ran.out, r"(?m)^a     F16    \[2, 3\] +\d+     12$")
        self.assertRegex(ran.out, r"(?m)^ +title  x$")

    def test_a_short_file_is_shown_and_lenient_forgives_it(self) -> None:
        write_safetensors(self.folder / "a.safetensors", [("a", "F16", (100,)), ("b", "F16", (100,))], short_by=10)
        ran = self.tenure("inspect", "--json", "a.safetensors")
        self.assertEqual(ran.code, 1)
        (found,) = ran.objects()
        self.assertEqual(found["findings"][0]["status"], "truncated")
        flags = {each["name"]: each.get("flags", []) for each in found["tensors"]}
        self.assertEqual((flags["a"], flags["b"]), ([], ["short"]))
        self.assertEqual(self.tenure("inspect", "--lenient", "a.safetensors").code, 0)
        self.assertIn("not all in the file", self.tenure("inspect", "a.safetensors").out)

    def test_what_cannot_be_opened_is_named_and_the_rest_goes_on(self) -> None:
        write_safetensors(self.folder / "a.safetensors", [("a", "F16", (1,))])
        (self.folder / "bad.safetensors").write_bytes(b"\xff" * 100)
        ran = self.tenure("inspect", "--json", "gone", "bad.safetensors", "a.safetensors")
        self.assertEqual(ran.code, 1)
        found = ran.objects()
        self.assertEqual([each.get("state") for each in found], ["unreadable", "damaged", None])
        self.assertEqual(found[0]["error"]["status"], "not_found")


class Outputs(CommandTest):
    def test_a_reader_that_goes_away_ends_it_quietly(self) -> None:
        tensors = [(f"tensor.{i}", "F16", (4,)) for i in range(50000)]
        write_safetensors(self.folder / "many.safetensors", tensors)
        for options in ([], ["--json"]):
            process = self.start("inspect", "many.safetensors", *options)
            assert process.stdout and process.stderr
            process.stdout.read(100)
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()
            self.assertEqual(process.wait(60), 0)

    def test_a_full_disk_is_told_and_exits_3(self) -> None:
        if not os.path.exists("/dev/full"):
            raise unittest.SkipTest("there is no /dev/full here")
        write_safetensors(self.folder / "a.safetensors", lora_header(2))
        for words in (["probe", "a.safetensors"], ["inspect", "--json", "a.safetensors"], ["help"], ["--version"]):
            with open("/dev/full", "wb") as full:
                process = self.start(*words, stdout=full)
                _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 3, words)
            self.assertIn(b"No space left on device", err)

    def test_nothing_goes_to_a_pipe_but_text(self) -> None:
        write_safetensors(self.folder / "a.safetensors", lora_header(2))
        for words in (["probe", "--why", "a.safetensors"], ["inspect", "a.safetensors"]):
            ran = self.tenure(*words)
            self.assertNotIn(b"\x1b", ran.stdout + ran.stderr)
            self.assertNotIn(b"\r", ran.stdout + ran.stderr)
            self.assertFalse(any(line.endswith(" ") for line in ran.lines))

    def test_progress_can_be_forced(self) -> None:
        for name in ("a", "b"):
            write_safetensors(self.folder / name, lora_header(2))
        ran = self.tenure("probe", "--progress", "--json", "a", "b")
        self.assertRegex(ran.err, r"^0 of 2  a\n")
        self.assertEqual(len(ran.objects()), 2)


class Start(CommandTest):
    def test_probe_starts_no_thread_and_opens_little(self) -> None:
        """Start time is measured in bench/; what costs it is counted here."""
        write_safetensors(self.folder / "a.safetensors", lora_header(2))
        try:
            ran = subprocess.run(
                ["strace", "-f", "-c", "-o", "calls", os.environ["TENURE"], "probe", "a.safetensors"],
                cwd=self.folder, capture_output=True, timeout=60,
            )  # fmt: skip
        except FileNotFoundError:
            raise unittest.SkipTest("strace is not here") from None
        if ran.returncode != 0:
            raise unittest.SkipTest("strace cannot be used here")
        calls = (self.folder / "calls").read_text()
        self.assertNotRegex(calls, r"clone|clone3")


if __name__ == "__main__":
    main()
