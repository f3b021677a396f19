"""The rows of bench/run.py about leases: bytes into memory beside safetensors 0.8.0 and beside the limit of the machine.

Everything is measured in turn, ours and theirs, and every sum of all bytes must agree. Cold means out of the system's
cache (bench/limit.c); what lies below the system may still have it, for all alike.
"""

import contextlib
import json
import os
import shutil
import struct
import subprocess
import time
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


def write_file(path, tensors=TENSORS):
    """Once; the bytes come from the system's source of random ones, in blocks."""
    if path.exists():
        return
    header, offset = {}, 0
    for name, shape in layout(tensors):
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

    def __init__(self, bench, times, before=None):
        self.bench, self.times, self.before = bench, times, before

    def of(self, *commands, skip=0):
        """`skip` rounds at the head of every process are not counted; `before` is run before each process."""
        series, sums = [self.bench.Series() for _ in commands], set()
        for _ in range(self.times):
            for one, command in zip(series, commands, strict=True):
                for early in self.before or []:
                    subprocess.run([str(word) for word in early], check=True)
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


def loaders(peers, path, rounds):
    """Every peer that ends in owned memory: its name, and its command."""
    python, streamers, program = peers
    found = [(f"safetensors `load_file` {backend}", [python, program, "load", backend, path, rounds]) for backend in ("pread", "mmap")]
    found.append(("safetensors `safe_open` mmap", [python, program, "each", "mmap", path, rounds]))
    for threads in (2, 16) if streamers else ():
        found.append((f"fastsafetensors, {threads} threads", [streamers, program, "fastsafetensors", threads, path, rounds]))
        found.append((f"Run:ai's streamer, {threads} at once", [streamers, program, "runai", threads, path, rounds]))
    return found


def warm(bench, table, sides, fresh, ours, peers, path):
    once, often = loaders(peers, path, 1), loaders(peers, path, 4)
    first, *theirs = fresh.of([*ours, "all", path, 1], *(command for _, command in once))
    name, theirs = best([(name, one) for (name, _), one in zip(once, theirs, strict=True)])
    bench.compare(table, "2 GB into owned memory, warm, first load of the process", first, name, theirs, 2.5)
    again, *theirs = sides.of([*ours, "all", path, 4], *(command for _, command in often), skip=1)
    name, theirs = best([(name, one) for (name, _), one in zip(often, theirs, strict=True)])
    bench.compare(table, "the same again, in memory that is used again", again, name, theirs, 1.0)
    (hashed,) = sides.of([*ours, "compared", path, 4], skip=1)
    limit(table, bench, "the same, each tensor compared with its BLAKE3 on the way", hashed, again, "Tenure without that", 1.1)
    (single,) = sides.of([*ours, "each", path, 4], skip=1)
    bench.compare(table, "the same, one lease after the other", single, name, theirs, 1.0)


def cold(bench, table, sides, fresh, ours, peers, path, limits):
    shapes = [(threads, kib) for threads in (1, 2, 4) for kib in (1024, 4096)]
    ways = [[limits, "read", path, threads, kib, 1] for threads, kib in shapes]
    mine, *found = fresh.of([*ours, "cold", path, 1], *ways)
    (again,) = sides.of([*ours, "cold", path, 3], skip=1)
    (hashed,) = sides.of([*ours, "compared", path, 3, "cold"], skip=1)
    limit(table, bench, "that, each tensor compared with its BLAKE3 on the way", hashed, again, "Tenure without that", 1.1)
    name, theirs = best([(f"{kib >> 10} MiB, {threads} at once", one) for (threads, kib), one in zip(shapes, found, strict=True)])
    what = f"direct reads over and over into the same huge pages, {name}"
    limit(table, bench, "2 GB into owned memory, cold, first load of the process", mine, theirs, what, 1.11)
    limit(table, bench, "the same again, in memory that is used again", again, theirs, what, 1.11)
    once = loaders(peers, path, 1)
    goals = {"safetensors `load_file` pread": 1.5, "safetensors `load_file` mmap": 3}
    dropped = Sides(bench, sides.times, [*fresh.before, [limits, "drop", path]]).of(*(command for _, command in once))
    for (name, _), one in zip(once, dropped, strict=True):
        bench.compare(table, "the same, first load", mine, name, one, goals.get(name))


@contextlib.contextmanager
def slow_mount(program, backing, place, latency_ms):
    """A FUSE file system over `backing`; None where nothing can be mounted."""
    if not program.exists():
        yield None
        return
    place.mkdir(exist_ok=True)
    server = subprocess.Popen([program, backing, place, str(latency_ms), "cached"], stderr=subprocess.DEVNULL)
    for _ in range(300):
        if os.path.ismount(place) or server.poll() is not None:
            break
        time.sleep(0.01)
    yield place if os.path.ismount(place) else None
    subprocess.run(["umount", "-l", str(place)], capture_output=True)
    server.kill()
    server.wait()


def network(bench, table, build, data, ours, peer, times):
    """A file of some 500 MB behind FUSE, every read of which takes 5 ms longer; out of the cache before each round."""
    backing = Path(data) / "behind"
    backing.mkdir(exist_ok=True)
    write_file(backing / "a.safetensors", 160)
    with slow_mount(build / "netfs", backing, Path(data) / "mount", 5) as place:
        if place is None:
            print("no FUSE here: the network row is left out")
            return
        path = place / "a.safetensors"
        sides = Sides(bench, times, [[build / "bench_limit", "drop", path]])
        mine, theirs = sides.of([*ours, "all", path, 1], [*peer, "load", "mmap", path, 1])
    bench.compare(table, "a file of 500 MB behind FUSE with 5 ms a read, cold", mine, "safetensors `load_file` mmap", theirs, 10)


def add(bench, table, build, data, python, streamers, times):
    """All rows. `bench` is bench/run.py's module; `python` has safetensors and numpy, `streamers`, or None, also
    fastsafetensors and Run:ai's streamer."""
    path = Path(data) / "two gigabytes.safetensors"
    write_file(path)
    program = Path(__file__).with_name("weights_peer.py")
    ours, peer, peers = [build / "bench_weights"], [python, program], (python, streamers, program)
    limits, sides = build / "bench_limit", Sides(bench, times)
    fresh = Sides(bench, times, [[limits, "touch", 3 * path.stat().st_size >> 20]])
    shutil.copyfileobj(open(path, "rb"), open(os.devnull, "wb"), 1 << 24)  # warm
    small, bare = sides.of([*ours, "small", path, SMALL_TIMES, 5], [*ours, "pread", path, SMALL_TIMES, 5])
    limit(table, bench, f"{SMALL_TIMES:,} leases of a tensor of 2 KiB, warm", small, bare, "bare `pread` into a ready buffer", 3)
    warm(bench, table, sides, fresh, ours, peers, path)
    mine, theirs = sides.of([*ours, "rows", path, ROWS_TIMES, 5], [*peer, "rows", path, 1, 2])
    theirs.rounds = [ns * ROWS_TIMES for ns in theirs.rounds]  # it reads the whole tensor each time
    bench.compare(table, f"{ROWS_TIMES} times 4 rows (32,768 bytes) of a tensor of 262 MB", mine, "safetensors pread `get_slice`", theirs, 10)
    mine, theirs = sides.of([*ours, "views", path, 5], [*peer, "views", path, 5])
    bench.compare(table, "open it, and a view of every tensor", mine, "safetensors.torch `load_file` over a map", theirs, 5)
    cold(bench, table, sides, fresh, ours, peers, path, limits)
    network(bench, table, build, data, ours, peer, min(times, 3))
