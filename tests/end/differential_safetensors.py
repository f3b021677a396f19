"""Tenure and the real safetensors 0.8.0 give the same verdict on 10,000 mutated headers and every crafted one.

A file is accepted by the real library when `safe_open` opens it and `deserialize` reads it; by Tenure when `probe`
calls it neither damaged nor anything worse. Where both accept, names, types, shapes and metadata must be equal. Where
Tenure refuses alone, the file must name a key twice: the point where docs/formats/safetensors.md says that Tenure is
stricter.

Run it with a Python that has safetensors 0.8.0 and numpy; TENURE names the command. `--seed N` and `--count N` repeat a
run; a file that makes a difference is kept and named.
"""

import argparse
import collections
import json
import os
import random
import re
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from command import SANITIZED, TOP, fast_folder, objects, tenure
from safetensors import deserialize, safe_open

CASES = TOP / "tests/data/format/header-cases"
REFUSED = ("damaged", "dangerous", "unreadable", "unsupported")
BATCH = 500


def has_duplicate_key(data):
    """Whether some object of the header names a key twice, by Python's reading of it."""
    size = struct.unpack("<Q", data[:8])[0]
    found = []

    def pairs(items):
        if len({key for key, _ in items}) < len(items):
            found.append(True)
        return dict(items)

    json.loads(data[8 : 8 + size], object_pairs_hook=pairs)
    return bool(found)


def real_reading(path, data):
    """(names, types and shapes; metadata) by the real library, or the text of its refusal."""
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata()
            names = sorted(file.keys())
        tensors = {name: (info["dtype"], list(info["shape"])) for name, info in deserialize(data)}
    except Exception as error:  # noqa: BLE001  (whatever it raises is a refusal)
        return None, f"{type(error).__name__}: {error}"
    if names != sorted(tensors):
        raise AssertionError(f"{path}: safe_open and deserialize disagree about the names")
    return (tensors, metadata or {}), None


def ours(paths):
    """probe's object for each path, in batches."""
    answers = {}
    for at in range(0, len(paths), BATCH):
        run = tenure("probe", "--json", "-", input="\0".join(paths[at : at + BATCH]).encode(), timeout=300)
        if run.returncode not in (0, 1):
            raise AssertionError(f"probe ended with {run.returncode}: {run.stderr[-2000:]}")
        answers.update((answer["path"], answer) for answer in objects(run))
    return answers


def our_readings(paths):
    """inspect's object for each path, in batches."""
    found = {}
    for at in range(0, len(paths), BATCH):
        run = tenure("inspect", "--json", "-", input="\0".join(paths[at : at + BATCH]).encode(), timeout=300)
        if run.returncode not in (0, 1):
            raise AssertionError(f"inspect ended with {run.returncode}: {run.stderr[-2000:]}")
        found.update((one["path"], one) for one in objects(run))
    return found


# ---- mutations ----

BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}
NAMES = [
    "model.diffusion_model.input_blocks.1.0.in_layers.0.weight",
    "lora_unet_down.alpha",
    "a",
    "b",
    "ключ",
    "模型",
    'q"uote',
    "back\\slash",
    "tab\tname",
    "",
    "\U0001f600",
    "__metadata",
    "x" * 300,
]
WORDS = [
    b"null",
    b"true",
    b"false",
    b"-1",
    b"0",
    b"-0",
    b"1",
    b"1.0",
    b"1e0",
    b"00",
    b"01",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775808",
    b'""',
    b'"F32"',
    b"[]",
    b"{}",
    b"[0]",
    b"[0,0]",
    b"[0,0,0]",
    b'"\\u0041"',
    b'"\\ud800"',
    b'"\\ud83d\\ude00"',
    b"NaN",
    b"Infinity",
    b"/**/",
    b"[[[[",
    b"]]",
    b'"__metadata__":{}',
    b'"__metadata__":null',
    b'"dtype"',
    b'"shape"',
    b'"data_offsets"',
    b'{"a":1}',
]
SPACES = [b" ", b"\n", b"\t", b"\r", b"\r\n", b"    ", b"\x0c", b"\xc2\xa0", b"\x00"]


ENTRY = re.compile(rb'"(?:[^"\\]|\\.)*"\s*:\s*\{[^{}]*\}')


def base_header(rng):
    """A sound file: some tensors of any type, with or without metadata, entries in any order."""
    entries, at = [], 0
    for name in rng.sample(NAMES, rng.randint(0, 6)):
        dtype = rng.choice(list(BITS))
        shape = [rng.choice((0, 1, 2, 3, 4, 8)) for _ in range(rng.randint(0, 4))]
        count = 1
        for length in shape:
            count *= length
        if count * BITS[dtype] % 8:
            dtype = "U8"
        end = at + count * BITS[dtype] // 8
        fields = [("dtype", dtype), ("shape", shape), ("data_offsets", [at, end])]
        rng.shuffle(fields)
        if rng.random() < 0.05:
            fields.append(("more", rng.choice([1, "x", None, [1, {"y": 2.5e3}]])))
        entries.append((name, dict(fields)))
        at = end
    rng.shuffle(entries)
    if rng.random() < 0.5:
        pairs = {
            rng.choice("abcdef") * rng.randint(0, 3): rng.choice(["", "pt", "ü", "\x01", "{}"])
            for _ in range(rng.randint(0, 3))
        }
        entries.insert(rng.randint(0, len(entries)), ("__metadata__", pairs))
    separators = rng.choice([(",", ":"), (", ", ": "), (",\n", " : ")])
    text = json.dumps(dict(entries), separators=separators, ensure_ascii=rng.random() < 0.5).encode()
    return bytearray(text + b" " * rng.randint(0, 8)), at


def mutate(header, rng):
    """One change of the header's text."""
    at = rng.randrange(len(header)) if header else 0
    kind = rng.randrange(12)
    if kind == 0:
        header[at : at + 1] = bytes([rng.randrange(256)])
    elif kind == 1:
        del header[at : at + rng.choice((1, 1, 2, 5))]
    elif kind == 2:
        header[at:at] = rng.choice(SPACES)
    elif kind == 3:
        header[at:at] = rng.choice(WORDS)
    elif kind == 4:
        end = min(at + rng.randrange(1, 60), len(header))
        header[at:at] = header[at:end]
    elif kind in (5, 6):
        digits = [i for i, c in enumerate(header) if 48 <= c <= 57]
        if digits:
            i = rng.choice(digits)
            header[i] = 48 + (header[i] - 48 + rng.choice((1, 9, 5))) % 10
    elif kind == 7:
        ends = [i for i, c in enumerate(header) if c in b",:{}[]"]
        i = rng.choice(ends) if ends else 0
        header[i:i] = rng.choice(SPACES[:6])
    elif kind == 8:
        letters = [i for i, c in enumerate(header) if 97 <= c <= 122]
        if letters:
            i = rng.choice(letters)
            header[i : i + 1] = b"\\u%04x" % header[i]
    elif kind == 9:
        text, old = bytes(header), rng.choice(list(BITS)).encode()
        header[:] = text.replace(
            b'"' + old + b'"', b'"' + rng.choice([*BITS, "F128", "f32", "F8_E4M3FN"]).encode() + b'"', 1
        )
    elif kind == 10:
        commas = [i for i, c in enumerate(header) if c == 44]
        if commas:
            i = rng.choice(commas)
            header[i : i + 1] = rng.choice([b"", b",,", b";"])
    else:
        entries = list(ENTRY.finditer(header))
        if entries:
            at, copy = rng.choice(entries).start(), rng.choice(entries).group()
            header[at:at] = bytes(copy) + b","


def mutated_file(rng):
    header, data = base_header(rng)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        mutate(header, rng)
    size, length = len(header), data
    if rng.random() < 0.06:
        size = rng.choice(
            (0, 1, size + 1, max(size - 1, 0), size + 8, 100_000_000, 100_000_001, (1 << 64) - 1, 1 << 63)
        )
    if rng.random() < 0.06:
        length = max(0, data + rng.choice((-1, 1, 8, 4096, -data)))
    return struct.pack("<Q", size) + bytes(header) + bytes(length)


# ---- the comparison ----


class Comparison:
    def __init__(self):
        self.counts = collections.Counter()
        self.stricter = collections.Counter()
        self.differences = []

    def differ(self, path, what):
        self.differences.append((path, what))

    def verdicts(self, paths):
        """Compare verdicts; returns what the real library read of the files that both accept."""
        answers, both = ours(paths), {}
        for path in paths:
            data = Path(path).read_bytes()
            reading, refusal = real_reading(path, data)
            answer = answers.get(path)
            if answer is None:
                self.differ(path, "probe says nothing about it")
            elif reading is None:
                self.refused_there(path, answer, refusal)
            elif answer["state"] in REFUSED:
                self.refused_here(path, data, answer)
            else:
                self.counts["accepted by both"] += 1
                both[path] = reading
        return both

    def refused_there(self, path, answer, refusal):
        if answer["state"] in REFUSED:
            self.counts["refused by both"] += 1
        else:
            self.differ(path, f"the real library refuses it ({refusal}), probe says {answer['state']}")

    def refused_here(self, path, data, answer):
        """The one stricter point: a name that stands twice. An entry that the real library passes over because a later
        one has its name is checked here too, so that the refusal may be for what else is wrong with it."""
        error = answer["error"] or {"status": None, "message": None}
        if has_duplicate_key(data):
            self.stricter["duplicate" if error["status"] == "duplicate" else "fault in a duplicate"] += 1
        else:
            self.differ(path, f"the real library accepts it, probe says {answer['state']}: {error}")

    def contents(self, both):
        readings = our_readings(list(both))
        for path, (tensors, metadata) in both.items():
            one = readings.get(path)
            if one is None:
                self.differ(path, "inspect says nothing about it")
                continue
            here = {t["name"]: (t["dtype"], t["shape"]) for t in one["tensors"]}
            if here != tensors or len(one["tensors"]) != len(tensors):
                self.differ(path, f"tensors here {here}, there {tensors}")
            if one["metadata"] != metadata:
                self.differ(path, f"metadata here {one['metadata']}, there {metadata}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000 if SANITIZED else 10000)
    parser.add_argument("--seed", type=int, default=20260601)
    args = parser.parse_args()
    rng, comparison = random.Random(args.seed), Comparison()
    cases = sorted(str(p) for p in CASES.glob("*.safetensors"))
    comparison.contents(comparison.verdicts(cases))
    print(f"{len(cases)} crafted headers: {dict(comparison.counts)}, stricter {dict(comparison.stricter)}")
    place = tempfile.mkdtemp(prefix="tenure-differential-", dir=fast_folder())
    paths = []
    for i in range(args.count):
        paths.append(os.path.join(place, f"{i:05d}.safetensors"))
        Path(paths[-1]).write_bytes(mutated_file(rng))
    before = collections.Counter(comparison.counts)
    comparison.contents(comparison.verdicts(paths))
    done = comparison.counts - before
    print(f"{args.count} mutated headers, seed {args.seed}: {dict(done)}, stricter in all {dict(comparison.stricter)}")
    for path, what in comparison.differences[:20]:
        print(f"DIFFERENT {path}: {what}")
    print(f"{len(comparison.differences)} differences")
    if comparison.differences:
        return 1
    shutil.rmtree(place)
    if len(cases) < 80 or min(done["accepted by both"], done["refused by both"]) < args.count // 5:
        print("FAILED: too few cases of one kind to mean anything")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
