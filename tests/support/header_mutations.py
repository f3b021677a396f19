"""Headers of safetensors files, sound and nearly sound, for the comparisons with the real library.

`mutated_file` gives a whole file; `has_duplicate_key` knows the one point where docs/formats/safetensors.md says that
Tenure is stricter. Standard library only.
"""

import json
import re
import struct

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
