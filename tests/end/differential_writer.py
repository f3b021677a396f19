"""The safetensors writer of Tenure and the real one, safetensors 0.8.0, write the same bytes for random sets of tensors.

Calls libtenure.so as any program would, through ctypes; LIBTENURE names it. Run it with a Python that has safetensors
0.8.0 and numpy. `--seed N` and `--count N` repeat a run; the set that makes a difference is printed.
"""

import argparse
import ctypes as c
import os
import random
import sys
import tempfile
from pathlib import Path

from safetensors import TensorSpec, serialize

# tn_dtype's order, include/tenure/status.h; bits an element; the real writer's word (None: it takes none by this way)
DTYPES = ["BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
          "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64"]
WORDS = {"BOOL": ("bool", 8), "U8": ("uint8", 8), "I8": ("int8", 8), "F8_E5M2": ("float8_e5m2", 8),
         "F8_E4M3": ("float8_e4m3fn", 8), "F8_E8M0": ("float8_e8m0fnu", 8), "I16": ("int16", 16), "U16": ("uint16", 16),
         "F16": ("float16", 16), "BF16": ("bfloat16", 16), "I32": ("int32", 32), "U32": ("uint32", 32),
         "F32": ("float32", 32), "C64": ("complex64", 64), "F64": ("float64", 64), "I64": ("int64", 64),
         "U64": ("uint64", 64)}


class Text(c.Structure):
    _fields_ = [("bytes", c.c_char_p), ("size", c.c_size_t)]


class Tensor(c.Structure):
    _fields_ = [("name", Text), ("dtype", c.c_int), ("rank", c.c_uint32), ("shape", c.POINTER(c.c_uint64))]


class Pair(c.Structure):
    _fields_ = [("key", Text), ("value", Text)]


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("metadata", c.POINTER(Pair)), ("metadata_count", c.c_size_t),
                ("metadata_empty", c.c_bool)]


def text(value):
    data = value.encode()
    return Text(data, len(data))


def random_name(rng):
    letters = "abcXYZ019._-/ \"\\\t\n\x01\x7féü中\u2028😀"
    return "".join(rng.choice(letters) for _ in range(rng.randrange(12)))


def random_set(rng):
    tensors = {}
    for _ in range(rng.choice([0, 1, 2, 3, 8, 30])):
        dtype = rng.choice(sorted(WORDS))
        shape = [rng.choice([0, 1, 2, 3, 7]) for _ in range(rng.randrange(4))]
        size = WORDS[dtype][1] // 8
        for n in shape:
            size *= n
        tensors[random_name(rng)] = (dtype, shape, rng.randbytes(size))
    # The real writer leaves the order of several pairs to chance, and writes JSON that it cannot read itself when there
    # is metadata and no tensor.
    metadata = rng.choice([None, {}, {random_name(rng): random_name(rng)}]) if tensors else None
    return tensors, metadata


def theirs(tensors, metadata):
    specs, keep = {}, []
    for name, (dtype, shape, data) in tensors.items():
        buffer = c.create_string_buffer(data, max(1, len(data)))
        keep.append(buffer)
        specs[name] = TensorSpec(dtype=WORDS[dtype][0], shape=shape, data_ptr=c.addressof(buffer), data_len=len(data))
    return bytes(serialize(specs, metadata))


def check(library, status, err):
    if status != 0:
        raise RuntimeError(f"status {status}: {bytes(err).split(bytes(1))[0]!r}")


def ours(library, context, path, rng, tensors, metadata):
    array = (Tensor * max(1, len(tensors)))()
    keep = []
    for i, (name, (dtype, shape, _)) in enumerate(tensors.items()):
        numbers = (c.c_uint64 * max(1, len(shape)))(*shape)
        keep.append(numbers)
        array[i] = Tensor(text(name), DTYPES.index(dtype), len(shape), numbers)
    pairs = (Pair * 1)(*[Pair(text(k), text(v)) for k, v in (metadata or {}).items()])
    options = Options(c.sizeof(Options), pairs, len(metadata or {}), metadata is not None)
    writer, err = c.c_void_p(), c.create_string_buffer(65536)
    check(library, library.tn_writer_open(context, str(path).encode(), array, c.c_size_t(len(tensors)),
                                          c.byref(options), c.byref(writer), err), err)
    rest = [(i, data) for i, (_, _, data) in enumerate(tensors.values())]
    while rest:  # side by side, in pieces
        i, data = rest.pop(rng.randrange(len(rest)))
        size = rng.randrange(len(data) + 1)
        check(library, library.tn_writer_put(writer, c.c_size_t(i), data[:size], c.c_size_t(size), err), err)
        if size < len(data):
            rest.append((i, data[size:]))
    check(library, library.tn_writer_finish(writer, err), err)
    library.tn_writer_destroy(writer)
    return path.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10000)
    args = parser.parse_args()
    library = c.CDLL(os.environ["LIBTENURE"])
    library.tn_writer_destroy.argtypes = [c.c_void_p]
    context, err = c.c_void_p(), c.create_string_buffer(65536)
    check(library, library.tn_context_create(None, c.byref(context), err), err)
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        for n in range(args.count):
            tensors, metadata = random_set(rng)
            real = theirs(tensors, metadata)
            found = ours(library, context, Path(folder) / "m.safetensors", rng, tensors, metadata)
            if real != found:
                print(f"set {n} of seed {args.seed} differs: {tensors!r} {metadata!r}\n{real!r}\n{found!r}")
                return 1
    print(f"{args.count} sets, the same bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
