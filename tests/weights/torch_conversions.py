#!/usr/bin/env python3
"""What PyTorch makes of every element type when it becomes another: recorded once, compared ever after.

`torch_conversions.py FILE` writes the table that tests/weights/test_convert.c reads: for each pair of types the SHA-256 of
all results, NaNs made alike first (PyTorch gives different payloads in the middle and at the end of one tensor) and
what C leaves undefined left out.
`torch_conversions.py --check FILE` computes it again and says where it differs. The inputs are made by the same arithmetic
here and in the test.
"""

import argparse
import hashlib
import sys

import numpy as np
import torch

# name, torch type, numpy type of its bits, all NaNs as this one (None: it has none)
TYPES = [
    ("BOOL", torch.bool, np.uint8, None),
    ("U8", torch.uint8, np.uint8, None),
    ("I8", torch.int8, np.uint8, None),
    ("F8_E5M2", torch.float8_e5m2, np.uint8, 0x7F),
    ("F8_E4M3", torch.float8_e4m3fn, np.uint8, 0x7F),
    ("F8_E8M0", torch.float8_e8m0fnu, np.uint8, 0xFF),
    ("F8_E4M3FNUZ", torch.float8_e4m3fnuz, np.uint8, 0x80),
    ("F8_E5M2FNUZ", torch.float8_e5m2fnuz, np.uint8, 0x80),
    ("I16", torch.int16, np.uint16, None),
    ("U16", torch.uint16, np.uint16, None),
    ("F16", torch.float16, np.uint16, 0x7E00),
    ("BF16", torch.bfloat16, np.uint16, 0x7FC0),
    ("I32", torch.int32, np.uint32, None),
    ("U32", torch.uint32, np.uint32, None),
    ("F32", torch.float32, np.uint32, 0x7FC00000),
    ("F64", torch.float64, np.uint64, 0x7FF8000000000000),
    ("I64", torch.int64, np.uint64, None),
    ("U64", torch.uint64, np.uint64, None),
]
SIGNED = {np.uint8: torch.uint8, np.uint16: torch.int16, np.uint32: torch.int32, np.uint64: torch.int64}
LOW_32 = [0, 1, 0x0FFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF]
LOW_64 = [0, 1, 0x0FFFFFFF, 0x10000000, 0x10000001, 0x7FFFFFFFFFFF, 0x800000000000, 0x800000000001]


def around_powers(bits):
    """2^b - 2 to 2^b + 2 and their negatives, modulo 2^bits."""
    values = [sign * ((1 << b) + d) for b in range(bits) for d in range(-2, 3) for sign in (1, -1)]
    return [v % (1 << bits) for v in values]


def inputs(name, kind):
    """The bits of every input of a type, in order."""
    if name == "BOOL":
        return np.array([0, 1], np.uint8)
    if kind in (np.uint8, np.uint16):
        return np.arange(1 << (8 * kind().itemsize), dtype=np.uint64).astype(kind)
    if name == "F32":
        return (np.arange(65536, dtype=np.uint32)[:, None] << 16 | np.array(LOW_32, np.uint32)).reshape(-1)
    if name == "F64":
        high = np.arange(65536, dtype=np.uint64)[:, None] << np.uint64(48)
        return (high | np.array(LOW_64, np.uint64)).reshape(-1)
    return np.array(around_powers(8 * kind().itemsize), kind)


def converted(bits, kind, source, target, target_kind):
    if source == target:
        return bits
    signed = torch.from_numpy(bits.view(f"i{bits.itemsize}") if kind is not np.uint8 else bits)
    return signed.view(source).to(target).view(SIGNED[target_kind]).numpy().view(target_kind)


FLOATS = {name for name, _, _, nan in TYPES if nan is not None}


def leave_out_undefined(source, bits, kind, source_type, target, values):
    """0 in place of integers made of a float that is NaN or too great: C leaves those undefined, and PyTorch differs
    from type to type."""
    if source not in FLOATS or target in FLOATS or target == "BOOL":
        return values
    numbers = converted(bits, kind, source_type, torch.float64, np.uint64).view(np.float64)
    limit = 2.0 ** (63 if values.itemsize == 8 else 31)
    return np.where(np.abs(numbers) < limit, values, values.dtype.type(0))


def make_alike(name, values, nan):
    """Every NaN of a float type as the one in the table."""
    if nan is None:
        return values
    if name in ("F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0"):
        return values  # they have one alone
    sign = 1 << (8 * values.itemsize - 1)
    infinite = {"F8_E5M2": 0x7C, "F8_E4M3": 0x7E, "F16": 0x7C00, "BF16": 0x7F80, "F32": 0x7F800000,
                "F64": 0x7FF0000000000000}[name]
    kind = values.dtype.type
    return np.where(values & kind(sign - 1) > kind(infinite), kind(nan), values)


def table():
    for source, source_type, source_kind, _ in TYPES:
        bits = inputs(source, source_kind)
        for target, target_type, target_kind, nan in TYPES:
            if source == target:
                continue
            try:
                values = converted(bits, source_kind, source_type, target_type, target_kind)
            except (RuntimeError, NotImplementedError):
                continue  # a pair PyTorch has no code for
            values = leave_out_undefined(source, bits, source_kind, source_type, target, values)
            alike = make_alike(target, values, nan)
            yield f"{source} {target} {hashlib.sha256(alike.tobytes()).hexdigest()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    head = f"# PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}: made by tests/weights/torch_conversions.py"
    lines = list(table())
    if not args.check:
        with open(args.file, "w") as out:
            out.write("\n".join([head, *lines]) + "\n")
        return 0
    recorded = [line.rstrip("\n") for line in open(args.file) if not line.startswith("#")]
    differ = sorted(set(recorded) ^ set(lines))
    print(f"PyTorch {torch.__version__}: {len(lines)} pairs of types, {len(differ)} lines differ")
    print("\n".join(differ))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
