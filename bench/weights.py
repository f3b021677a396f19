"""The rows of bench/run.py about leases: bytes into memory beside safetensors 0.8.0 and beside the limit of the machine.

Everything is measured in turn, ours and theirs, and every sum of all bytes must agree. Cold means out of the system's
cache (bench/limit.c); what lies below the system may still have it, for all alike.
"""

import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

TENSORS = 1208
SMALL_TIMES, ROWS_TIMES = 20000, 200


def layout(count):
    """Sizes as in a checkpoint of some 2 GB: one large tensor, many of one to two MB, a quarter of 2 KiB."""
    rows = []
    for number in range(count):
        shape = [1024] if number % 4 == 3 else [32000, 4096] if number == count // 2 else [(512 + number * 37 % 1024) * 1024]
        rows.append((f"blocks.{number // 4}.{number % 4}.weight", shape))
    return rows


def write_file(path):
    """Once; the bytes come from the system's source of random ones, in blocks."""
    if path.exists():
        return
    header, offset = {}, 0
    for name, shape in layout(TENSORS):
        size = 2
        for number in shape:
            size *= number
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_suffix(".partial")
    with open(partial, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        block = os.urandom(1 << 24)
        while offset > 0:
            file.write(block[: min(offset, len(block))])
            offset -= len(block)
            block = block[1:] + block[:1]
    partial.rename(path)


def lines(command):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr
    return [[int(word) for word in line.split()] for line in run.stdout.splitlines()], run.stderr


class Sides:
    """What is measured in turn. A side that cannot run here is left out."""

    def __init__(self, bench, times):
        self.bench, self.times = bench, times

    def of(self, *commands, skip=0):
        """`skip` rounds at the head of every process are not counted."""
        series, sums = [self.bench.Series() for _ in commands], set()
        for _ in range(self.times):
            for one, command in zip(series, commands, strict=True):
                found, _ = lines(command)
                for row in (found or [])[skip:]:
                    one.rounds.append(row[0])
                    summed = len(row) > 1 and row[1] > 0 and Path(command[0]).name != "bench_limit"  # says its bytes
                    sums |= {row[1]} if summed else set()
        if len(sums) > 1:
            raise SystemExit(f"the sums of all bytes differ: {sums}")
        return series


def best(candidates):
    """The side with the least median among those that could run."""
    return min((one for one in candidates if one[1].rounds), key=lambda one: one[1].median(), default=("nobody", candidates[0][1]))


def limit(table, bench, work, ours, theirs, what, most):
    """Ours may take at most so many times what the limit takes."""
    middle, least = (ours.median() / theirs.median(), ours.least() / theirs.least()) if theirs.rounds else (0, 0)
    table.row(work, f"{ours.text()} (n={len(ours)})", f"{what}: {theirs.text()} (n={len(theirs)})",
              f"{middle:.2f}× / {least:.2f}× of it", f"≤ {most}× of it", middle <= most if theirs.rounds else None)


def warm(bench, table, sides, ours, peer, path):
    first, load, mapped, each = sides.of([*ours, "all", path, 1], [*peer, "load", "pread", path, 1],
                                         [*peer, "load", "mmap", path, 1], [*peer, "each", "mmap", path, 1])
    name, theirs = best([("`load_file` pread", load), ("`load_file` mmap", mapped), ("`safe_open` mmap", each)])
    bench.compare(table, "2 GB into owned memory, warm, first load of the process", first, f"safetensors {name}", theirs, 2.5)
    again, load, mapped, each = sides.of([*ours, "all", path, 4], [*peer, "load", "pread", path, 4],
                                         [*peer, "load", "mmap", path, 4], [*peer, "each", "mmap", path, 4], skip=1)
    name, theirs = best([("`load_file` pread", load), ("`load_file` mmap", mapped), ("`safe_open` mmap", each)])
    bench.compare(table, "the same again, in memory that is used again", again, f"safetensors {name}", theirs, 1.0)
    single, = sides.of([*ours, "each", path, 4], skip=1)
    bench.compare(table, "the same, one lease after the other", single, f"safetensors {name}", theirs, 1.0)


def cold(bench, table, sides, ours, peer, path, limits):
    ways = [[limits, "read", path, threads, 4096, 1] for threads in (1, 2, 4)]
    mine, one, two, four = sides.of([*ours, "cold", path, 1], *ways)
    name, theirs = best([("1 thread", one), ("2 threads", two), ("4 threads", four)])
    limit(table, bench, "2 GB into owned memory, cold", mine, theirs, f"direct reads of 4 MiB into one buffer, {name}", 1.11)
    pread, mapped = bench.Series(), bench.Series()
    for _ in range(sides.times):
        for one, backend in ((pread, "pread"), (mapped, "mmap")):
            subprocess.run([limits, "drop", path], check=True)
            one.rounds += [row[0] for row in lines([*peer, "load", backend, path, 1])[0] or []]
    bench.compare(table, "the same", mine, "safetensors `load_file` pread", pread, 1.5)
    bench.compare(table, "the same", mine, "safetensors `load_file` mmap", mapped, 3)


def add(bench, table, build, data, python, times):
    """All rows. `bench` is bench/run.py's module; `python` runs one with safetensors and numpy."""
    path = Path(data) / "two gigabytes.safetensors"
    write_file(path)
    ours, peer = [build / "bench_weights"], [python, Path(__file__).with_name("weights_peer.py")]
    limits, sides = build / "bench_limit", Sides(bench, times)
    shutil.copyfileobj(open(path, "rb"), open(os.devnull, "wb"), 1 << 24)  # warm
    small, bare = sides.of([*ours, "small", path, SMALL_TIMES, 5], [*ours, "pread", path, SMALL_TIMES, 5])
    limit(table, bench, f"{SMALL_TIMES:,} leases of a tensor of 2 KiB, warm", small, bare, "bare `pread` into a ready buffer", 3)
    warm(bench, table, sides, ours, peer, path)
    mine, theirs = sides.of([*ours, "rows", path, ROWS_TIMES, 5], [*peer, "rows", path, 1, 2])
    theirs.rounds = [ns * ROWS_TIMES for ns in theirs.rounds]  # it reads the whole tensor each time
    bench.compare(table, f"{ROWS_TIMES} times 4 rows (32,768 bytes) of a tensor of 262 MB", mine, "safetensors pread `get_slice`", theirs, 10)
    mine, theirs = sides.of([*ours, "views", path, 5], [*peer, "views", path, 5])
    bench.compare(table, "open it, and a view of every tensor", mine, "safetensors.torch `load_file` over a map", theirs, 5)
    if limits.exists():
        cold(bench, table, sides, ours, peer, path, limits)
