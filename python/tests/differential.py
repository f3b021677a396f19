#!/usr/bin/env python3
"""tenure.safetensors and safetensors 0.8.0 side by side over random cases: headers, slices, element types, saves.

Usage: differential.py [--count N] [--seed N]. Each case has its own seed, so that one alone can be repeated with
`--only SEED`. Results, files, error classes and texts are equal, or the case is one of
tenure.safetensors.differences, found here by what it is and not by what came out. Wants NumPy; takes torch where it is.
"""

import argparse
import collections
import json
import os
import random
import re
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np
import safetensors as theirs
import safetensors.numpy as their_numpy

import tenure.safetensors as ours
import tenure.safetensors.numpy as our_numpy
from tenure.safetensors.differences import DIFFERENCES

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/support"))
from header_mutations import BITS, has_duplicate_key, mutated_file  # noqa: E402

try:
    import safetensors.torch as their_torch
    import torch

    import tenure.safetensors.torch as our_torch
except ImportError:
    torch = None

NAMED = {row.name for row in DIFFERENCES}


class Different(AssertionError):
    """The two sides do not agree."""


def plain(value):
    """A value as something that can be compared: type, shape and bytes of every tensor in it."""
    if torch is not None and isinstance(value, torch.Tensor):
        one = value.view(torch.uint8) if value.dtype.itemsize == 1 else value  # torch copies not every type
        one = one.clone(memory_format=torch.contiguous_format)
        data = one.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
        return ("torch", str(value.dtype), tuple(value.shape), data)
    if isinstance(value, (np.ndarray, np.generic)):
        return (type(value).__name__, str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def outcome(call, *arguments, **keywords):
    """The value of a call, or the class and text of its exception."""
    try:
        return "value", plain(call(*arguments, **keywords))
    except BaseException as error:  # Rust's panics are no Exceptions
        return type(error).__name__, str(error)


def equal(expected, found, what):
    if found != expected:
        raise Different(f"{what}\n  safetensors: {expected!r:.600}\n  Tenure:      {found!r:.600}")


class Case:
    """One case: its chance, a folder of its own, and the differences that it showed."""

    def __init__(self, seed, folder):
        self.rng, self.folder, self.seen = random.Random(seed), folder, set()

    def named(self, name):
        assert name in NAMED, name
        self.seen.add(name)


# ---- headers ----


def begins_of(data):
    """Where the tensors begin, by a header that can be read at all."""
    try:
        root = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
        return [one["data_offsets"][0] for name, one in root.items() if name != "__metadata__"]
    except (AttributeError, IndexError, ValueError, TypeError, KeyError, RecursionError, struct.error):
        return []


def without_chance(outcome, data):
    """Leave out serde_json's words (json_details), and which of two tensors in one place the original names."""
    kind, value = outcome
    if kind == "value":
        return outcome
    value = re.sub(r"(invalid JSON in header: ).*", r"\1", value, flags=re.S)
    begins = begins_of(data)
    if len(set(map(str, begins))) < len(begins):
        value = re.sub(r"invalid (offset for tensor `.*`|shape, .*)$", "...", value, flags=re.S)
    return kind, value


def header_case(case):
    data = mutated_file(case.rng)
    size = min(struct.unpack("<Q", data[:8])[0], len(data))
    data = data[: 8 + size] + case.rng.randbytes(max(len(data) - 8 - size, 0))
    path = str(case.folder / "case.safetensors")
    Path(path).write_bytes(data)
    framework = case.rng.choice(["np", "pt"] if torch else ["np"])
    opened = [outcome(open_and_tell, module, path, framework) for module in (theirs, ours)]
    if opened[0][0] == "value" and opened[1][0] != "value" and duplicate(data):
        case.named("duplicate_names")
    else:
        expected, found = (without_chance(one, data) for one in opened)
        if expected[0] != "value" and "invalid JSON" in str(expected[1]):
            case.named("json_details")
        equal(expected, found, "safe_open")
        if expected[0] == "value":
            read_all(case, path, framework)
    apart = [outcome(taken_apart, module, data) for module in (theirs, ours)]
    equal(*(without_chance(one, data) for one in apart), "deserialize")
    if apart[0][0] == "value":
        load_bytes(case, data)
    return data


def duplicate(data):
    try:
        return has_duplicate_key(data)
    except (ValueError, RecursionError):
        return False


def open_and_tell(module, path, framework):
    with module.safe_open(path, framework=framework) as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  (it cannot be iterated)
        shapes = {name: (one.get_dtype(), one.get_shape()) for name, one in slices.items()}
        full = [name for name in file.offset_keys() if 0 not in shapes[name][1]]  # of others the order is chance
        return file.metadata(), file.keys(), full, shapes


def taken_apart(module, data):
    found = [(name, one["dtype"], one["shape"], bytes(one["data"])) for name, one in module.deserialize(data)]
    return sorted(found)


def read_all(case, path, framework):
    backend = case.rng.choice(["mmap", "pread"])
    with (
        theirs.safe_open(path, framework, backend=backend) as their_file,
        ours.safe_open(path, framework, backend=backend) as our_file,
    ):
        for name in their_file.keys():  # noqa: SIM118
            expected, found = (outcome(one.get_tensor, name) for one in (their_file, our_file))
            if framework == "pt" and our_file.get_slice(name).get_dtype() == "F4" and is_f4(expected, found):
                case.named("f4_with_torch")
            else:
                equal(expected, found, f"get_tensor {name!r} {framework} {backend}")


def load_bytes(case, data):
    sides = [(their_numpy, our_numpy)] + ([(their_torch, our_torch)] if torch else [])
    their_side, our_side = case.rng.choice(sides)
    expected, found = outcome(their_side.load, data), outcome(our_side.load, data)
    if expected[0] == "KeyError" and expected[1] in ("'F8_E8M0'", "'F4'") and our_side is not our_numpy:
        case.named("load_more_dtypes")  # with several such types either may be met first
    elif expected[0] == "value" or not several_unknown(data):
        equal(expected, found, f"{our_side.__name__}.load")
    elif found[0] == "value":
        raise Different(f"{our_side.__name__}.load takes what safetensors refuses: {expected}")


def several_unknown(data):
    """Whether which tensor fails first is chance: the original's order is."""
    return len(ours.deserialize(data)) > 1


def is_f4(expected, found):
    """Whether the original counts elements of F4 where torch counts pairs, and Tenure counts pairs."""
    return found != expected and (found[0] == "value" or "f4_x2" in found[1]) and fails_by_f4(expected)


def fails_by_f4(expected):
    kind, text = expected
    return kind == "NotImplementedError" or (kind == "RuntimeError" and text.startswith("shape '"))


# ---- slices ----


def whole_tensor(case):
    """A file of one tensor and, where NumPy has its type, the array."""
    word = case.rng.choice(sorted(BITS))
    shape = [case.rng.choice([0, 1, 2, 3, 4, 7]) for _ in range(case.rng.choice([0, 1, 2, 2, 3, 3, 4]))]
    count = int(np.prod(shape, dtype=np.int64))
    if count * BITS[word] % 8:
        word = "U8"
    size = count * BITS[word] // 8
    data = bytes(byte & 1 for byte in case.rng.randbytes(size)) if word == "BOOL" else case.rng.randbytes(size)
    header = json.dumps({"x": {"dtype": word, "shape": shape, "data_offsets": [0, size]}}).encode()
    path = str(case.folder / "slice.safetensors")
    Path(path).write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path, word, shape


def end_of_slice(rng, n):
    return rng.choice([None, rng.randrange(n + 3), rng.randrange(n + 1), rng.randrange(-n - 2, n + 3)])


def index_item(rng, n):
    kind = rng.randrange(12)
    if kind < 4:
        return rng.randrange(-n - 1, n + 2)
    if kind < 10:
        step = rng.choice([None, None, None, 1, 2, 3, 100, 0, -1])
        return slice(end_of_slice(rng, n), end_of_slice(rng, n), step)
    return rng.choice(
        [None, "x", 1.5, True, False, 1 << 31, -(1 << 31) - 1, 1 << 64, np.int64(0), np.int8(-1), b"", []]
    )


def random_index(rng, shape):
    if rng.random() < 0.06:
        return rng.choice([[], [0], [0, 1], (), ..., None, 0, -1, True, "x", slice(None), (..., ...)])
    items = [index_item(rng, n) for n in shape[: rng.randrange(len(shape) + 1)]]
    if rng.random() < 0.05:
        items += [index_item(rng, 2)] * (len(shape) - len(items) + 1)
    if rng.random() < 0.25:
        items.insert(rng.randrange(len(items) + 1), ...)
    return items[0] if len(items) == 1 and rng.random() < 0.5 else tuple(items)


def slice_case(case, indexes=8):
    path, word, shape = whole_tensor(case)
    framework, backend = case.rng.choice(["np", "pt"] if torch else ["np"]), case.rng.choice(["mmap", "pread"])
    with (
        theirs.safe_open(path, framework, backend=backend) as their_file,
        ours.safe_open(path, framework, backend=backend) as our_file,
    ):
        their_slice, our_slice = their_file.get_slice("x"), our_file.get_slice("x")
        for _ in range(indexes):
            index = random_index(case.rng, shape)
            expected = ("aborted", "")
            if (framework, backend) == ("pt", "mmap") or forward(index, shape, negative=False) == forward(
                index, shape, False, False
            ):
                expected = outcome(their_slice.__getitem__, index)
            found = outcome(our_slice.__getitem__, index)
            what = f"{word} {shape}[{index!r}] {framework} {backend}"
            name = accident(expected)
            if (
                word == "F4"
                and framework == "pt"
                and expected != found
                and (name or 0 in shape or fails_by_f4(expected))
            ):
                case.named("f4_with_torch")
                if found[0] == "value" and backend == "mmap" and 0 not in shape:
                    pairs = our_file.get_tensor("x").view(torch.uint8)[index]
                    equal(plain(pairs)[2:], tuple(found[1][2:]), what)
            elif name:
                better(case, name, index, shape, found, their_slice, lambda of=our_file: of.get_tensor("x"))
            else:
                equal(expected, found, what)
    return path


def accident(expected):
    """The difference by which the original fails here, and Tenure may answer; None where there is none."""
    kind, text = expected
    if kind == "value":
        return None
    if kind == "SafetensorError" and re.search("out of bounds.* of size 0$", text):
        return "empty_dimension"
    if kind == "OverflowError":
        return "negative_bounds"
    return "backward_range" if kind == "aborted" else None


def better(case, name, index, shape, found, their_slice, whole):
    """Tenure gives NumPy's answer; or refuses, as the original refuses the same slice in other words."""
    if found[0] == "value":
        numbers = tuple(int(item) if isinstance(item, bool) else item for item in _items(index))
        equal(outcome(lambda: whole()[numbers]), found, f"{name}: {shape}[{index!r}]")
    else:
        again = outcome(their_slice.__getitem__, forward(index, shape))
        if again[0] == "value" or (again[0] != found[0] and not accident(again)):
            raise Different(f"{name}: {shape}[{index!r}] is {again!r:.300}\n  Tenure: {found}")
    case.named(name)


def _items(index):
    if isinstance(index, tuple):
        return list(index)
    return [slice(0, 0)] if isinstance(index, list) and not index else [index]


def forward(index, shape, negative=True, backward=True):
    """The same index without negative bounds and without ranges that run backward; or without one of the two."""
    items = _items(index)
    at = items.index(Ellipsis) if any(item is Ellipsis for item in items) else len(items)
    for place, item in enumerate(items):
        dim = place if place < at else len(shape) - len(items) + place
        if isinstance(item, slice) and 0 <= dim < len(shape):
            start, stop = item.start, item.stop
            if negative:
                start, stop = (n if n is None or n >= 0 else max(n + shape[dim], 0) for n in (start, stop))
            end = shape[dim] if stop is None else stop
            if backward and start is not None and shape[dim] > start > end >= 0:
                stop = start
            items[place] = slice(start, stop, item.step)
    return tuple(items)


# ---- saves ----

NUMPY_WORDS = [
    "float32", "float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    "complex64",
]  # fmt: skip
TORCH_WORDS = [
    "float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool", "complex64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float4_e2m1fn_x2", "complex128", "quint8",
]  # fmt: skip
LETTERS = 'abcXYZ019._-/ "\\\t\n\x00\x01\x1f\x7fé中\u2028\ufffe😀'


def random_text(rng):
    return "".join(rng.choice(LETTERS) for _ in range(rng.choice([0, 1, 2, 5, 12])))


def random_metadata(rng):
    if rng.random() < 0.04:
        return rng.choice([{"a": 1}, {1: "a"}, [], "x", {"a": None}, {"a": b"x"}])
    return rng.choice([None, None, {}, {random_text(rng): random_text(rng)},
                       {random_text(rng): random_text(rng) for _ in range(4)}])  # fmt: skip


def random_shape(rng):
    return tuple(rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(4)))


def random_array(rng):
    word = rng.choice(NUMPY_WORDS) if rng.random() < 0.98 else rng.choice(["complex128", "datetime64[s]", "O", "S3"])
    shape = random_shape(rng)
    count = int(np.prod(shape, dtype=np.int64))
    array = np.array([rng.randrange(128) for _ in range(count)], np.uint8).astype(word).reshape(shape)
    turn = rng.randrange(24)
    if turn == 0:
        return array.T
    if turn == 1 and array.ndim:
        return array[::2]
    if turn == 2:
        return array.astype(array.dtype.newbyteorder(">"))
    return array


def random_tensor(rng):
    dtype, shape = getattr(torch, rng.choice(TORCH_WORDS)), random_shape(rng)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = bytearray(byte & 1 for byte in rng.randbytes(size))
    if dtype == torch.quint8:
        return torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, dtype)
    if not size:
        return torch.empty(shape, dtype=dtype)
    tensor = torch.frombuffer(raw, dtype=torch.uint8).view(dtype).reshape(shape)
    turn = rng.randrange(24)
    if turn == 0:
        return tensor.T if tensor.ndim == 2 else tensor
    if turn == 1 and tensor.ndim:
        return tensor[1:]
    if turn == 2 and tensor.dtype == torch.float32:
        return tensor.to_sparse()
    return tensor


def random_set(rng, one):
    tensors = {random_text(rng): one(rng) for _ in range(rng.choice([0, 1, 2, 3, 8]))}
    if tensors and rng.random() < 0.05:
        name = rng.choice(sorted(tensors))
        tensors[name + "2"] = rng.choice([tensors[name], 3, None, [1.0]])
    return tensors


def save_case(case):
    use_torch = torch is not None and case.rng.random() < 0.5
    their_side, our_side = (their_torch, our_torch) if use_torch else (their_numpy, our_numpy)
    tensors = random_set(case.rng, random_tensor if use_torch else random_array)
    metadata = random_metadata(case.rng)
    expected, found = outcome(their_side.save, tensors, metadata), outcome(our_side.save, tensors, metadata)
    path = case.folder / "saved.safetensors"
    path.unlink(missing_ok=True)
    written = outcome(our_side.save_file, tensors, path, metadata)
    written = ("value", path.read_bytes()) if written[0] == "value" else written
    equal(found, written, "save and save_file of Tenure")
    compare_saved(case, tensors, metadata, expected, found, use_torch)
    if found[0] == "value":
        load_saved(case, path, found[1])


def compare_saved(case, tensors, metadata, expected, found, use_torch):
    outlines = {name: (getattr(one, "dtype", one), getattr(one, "shape", "")) for name, one in tensors.items()}
    what = f"save of {outlines!r:.500} with {metadata!r}"
    if expected[0] != "value":
        if found[0] == expected[0] and sorted(found[1]) == sorted(expected[1]):
            return  # a set in a text is shown in any order
        equal(expected, found, what)
    equal(expected[0], found[0], f"{what}\n{found[1]!r:.300}")
    mine, other = found[1], expected[1]
    if not tensors and metadata == {}:
        case.named("nothing_with_empty_metadata")
        return
    start = [8 + struct.unpack("<Q", one[:8])[0] for one in (mine, other)]
    if metadata is not None and len(metadata) > 1:
        case.named("metadata_order")
        equal(*(json.loads(one[8:at]) for one, at in zip((other, mine), reversed(start), strict=True)), what)
        mine, other = mine[start[0] :], other[start[1] :]
    if not use_torch and any(not one.flags.c_contiguous for one in tensors.values()):
        case.named("noncontiguous_numpy")
        equal(len(other), len(mine), what)
        return
    equal(other, mine, what)


def load_saved(case, path, data):
    """Both sides read what Tenure wrote."""
    for their_side, our_side in [(their_numpy, our_numpy)] + ([(their_torch, our_torch)] if torch else []):
        backend = case.rng.choice(["mmap", "pread"])
        expected = outcome(their_side.load_file, path, backend=backend)
        found = outcome(our_side.load_file, path, backend=backend)
        if expected[0] == "value":
            equal(expected, found, f"{our_side.__name__}.load_file")
        elif is_f4(expected, found):
            case.named("f4_with_torch")
        elif several_unknown(data):
            assert found[0] != "value", (expected, found)
        else:
            equal(expected[0], found[0], f"{our_side.__name__}.load_file {expected[1]} {found[1]}")


# ---- raw specs ----


def spec_case(case):
    """TensorSpec and serialize with shapes, types and sizes that agree or nearly do."""
    rng = case.rng
    memory = np.frombuffer(rng.randbytes(256), np.uint8)
    wanted = {}
    for at in range(rng.choice([1, 1, 2, 3])):
        shape = [rng.choice([0, 1, 2, 3, 4, 8, -1, 1 << 32, 1 << 63, 1 << 64, 1.5, "2"][: rng.choice([6, 6, 6, 12])])
                 for _ in range(rng.randrange(4))]  # fmt: skip
        word = rng.choice([*TORCH_WORDS, "F32", "float6_e2m3fn", "", 'q"', "x\n\t\\"])
        size = rng.choice([0, 1, 2, 4, 8, 16, 32, 64, 128])
        if all(type(n) is int and 0 <= n < 9 for n in shape) and rng.random() < 0.7:
            width = int("".join(re.findall(r"(8|16|32|64|128)", word.replace("float8_e", "8_"))[:1]) or 8)
            size = min(int(np.prod(shape, dtype=np.int64)) * width // 8, 256)
        wanted[f"t{at}"] = {"dtype": word, "shape": shape, "data_ptr": memory.ctypes.data, "data_len": size}
    metadata = random_metadata(rng)
    if metadata and len(metadata) > 1:
        metadata = None

    def written(module):
        return module.serialize({name: module.TensorSpec(**one) for name, one in wanted.items()}, metadata)

    def shown(module):
        return [repr(module.TensorSpec(**one)) for one in wanted.values()]

    for call in (shown, written):
        expected, found = outcome(call, theirs), outcome(call, ours)
        if expected[0] == found[0] == "TypeError":
            continue  # the words are PyO3's
        equal(expected, found, f"{call.__name__} {wanted!r:.900} {metadata!r}")


KINDS = ((header_case, 8), (slice_case, 6), (save_case, 4), (spec_case, 2))


def run_one(seed, folder):
    """Run the case of a seed; gives its kind and the named differences that it showed."""
    case = Case(seed, Path(folder))
    (kind,) = case.rng.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])
    kind(case)
    return kind.__name__, case.seen


def run(count, seed, most=20):
    """Run many cases; gives how many of each kind and difference there were, and what differed."""
    counts, failures = collections.Counter(), []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for at in range(seed, seed + count):
            try:
                kind, seen = run_one(at, folder)
                counts[kind] += 1
                counts.update(seen)
            except Exception as error:
                failures.append((at, error))
                if len(failures) >= most:
                    break
    return counts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20_260_000)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    if args.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(run_one(args.only, folder))
        return 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where Rust's panics are told
    counts, failures = run(args.count, args.seed)
    cases = {kind.__name__: counts.pop(kind.__name__) for kind, _ in KINDS}
    print(f"{args.count:,} cases beside safetensors {theirs.__version__}, seed {args.seed}: {cases}")
    print(f"of them with a named difference: {dict(sorted(counts.items()))}")
    for seed, error in failures:
        print(f"DIFFERENT --only {seed}: {type(error).__name__} {error}")
    print(f"{len(failures)} differences without a name")
    return 1 if failures or min(cases.values()) < args.count // 20 else 0


if __name__ == "__main__":
    sys.exit(main())
