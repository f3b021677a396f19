"""Slices of leases and of real NumPy arrays are the same, in shape and in every byte, over thousands of random indices.

Run it with a Python that has numpy and safetensors; TENURE_LEASE_SLICES names the program of lease_slices.c. `--seed N`
and `--count N` repeat a run.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from safetensors.numpy import save_file

SHAPES = [(5, 4, 3), (3, 2, 5, 4), (17, 9), (40,), (4, 0, 3), (), (6, 700), (2000, 7), (2, 1, 1, 2, 3)]
DTYPES = ["int8", "float16", "float32", "int64", "uint8", "float64", "uint16", "complex64"]


def tensors(rng):
    made = {}
    for number, shape in enumerate(SHAPES):
        dtype = numpy.dtype(DTYPES[number % len(DTYPES)])
        count = int(numpy.prod(shape, dtype=int))
        made[f"t{number}"] = numpy.frombuffer(rng.randbytes(count * dtype.itemsize), dtype=dtype).reshape(shape)
    return made


def some(rng, size):
    return None if rng.random() < 0.25 else rng.randint(-size - 2, size + 2)


def random_index(rng, rank, shape):
    items, dimension = [], 0
    while len(items) < 8 and rng.random() < 0.88:
        kind = rng.random()
        if dimension == rank and rng.random() < 0.95:
            break
        size = shape[dimension] if dimension < rank else 3
        if kind < 0.12:
            items.append(None)
        elif kind < 0.22 and Ellipsis not in items:
            items.append(Ellipsis)
        elif kind < 0.45:
            beyond = rng.random() < 0.05
            items.append(rng.randint(-size - 1, size) if beyond or size == 0 else rng.randrange(-size, size))
            dimension += 1
        else:
            step = rng.choice([None, 1, 2, 3, -1, -2, -7, 10**6, -(2**63) + 1, 2**63 - 1])
            items.append(slice(some(rng, size), some(rng, size), step))
            dimension += 1
    return tuple(items)


def word(item):
    if item is None:
        return "n"
    if item is Ellipsis:
        return "e"
    if isinstance(item, slice):
        return "r" + ",".join("-" if part is None else str(part) for part in (item.start, item.stop, item.step))
    return f"a{item}"


def expected(array, index):
    try:
        found = array[index]
    except (IndexError, ValueError):
        return "invalid"
    found = numpy.asarray(found)
    shape = ",".join(str(size) for size in found.shape)
    return f"ok [{shape}] {found.tobytes().hex()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=20261201)
    parser.add_argument("--count", type=int, default=9000)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    made = tensors(rng)
    lines, wanted = [], []
    for number in range(args.count):
        name = rng.choice(sorted(made))
        index = random_index(rng, made[name].ndim, made[name].shape)
        lines.append(" ".join([str(number % 3), name, *map(word, index)]))
        wanted.append(expected(made[name], index))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "slices.safetensors"
        save_file(made, path)
        run = subprocess.run([os.environ["TENURE_LEASE_SLICES"], str(path)], input="\n".join(lines) + "\n",
                             capture_output=True, text=True, check=True)
    found = run.stdout.splitlines()
    wrong = [(line, want[:200], got[:200]) for line, want, got in zip(lines, wanted, found, strict=True) if want != got]
    for line, want, got in wrong[:5]:
        print(f"{line}\n  numpy  {want}\n  tenure {got}")
    refused = wanted.count("invalid")
    print(f"{len(lines)} slices by numpy {numpy.__version__}, {refused} of them refused by both: {len(wrong)} differ")
    return 1 if wrong or refused == len(lines) else 0


if __name__ == "__main__":
    sys.exit(main())
