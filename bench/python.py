#!/usr/bin/env python3
"""The Python package beside safetensors 0.8.0, in one run, as ratios.

Usage: python.py [--times N] [--only WORD], with a Python that has tenure, safetensors 0.8.0, NumPy and, for its rows,
torch. Every side runs in a process of its own, in turn, so that whatever else the machine does hits all; the peer is
the quicker of its two backends. Figures are the least of all rounds, and the ratio compares these. All files are read
once before: everything is warm. The exit code says whether every goal was met.
"""

import argparse
import gc
import importlib.util
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DATA = TOP / "build" / "bench-data"
SMALL, SMALL_BYTES = 2000, 4096
BACKENDS = ("mmap", "pread")


# ---- one side, in a process: a line a round has nanoseconds and, of a load, the sum of its bytes and most memory ----


def modules(side, framework):
    if side == "tenure":
        import tenure.safetensors as opener
    else:
        import safetensors as opener
    loader = importlib.import_module(f"{opener.__name__}.{framework}")
    return opener.safe_open, loader.load_file


def small(safe_open, framework, path, backend, rounds):
    """Every small tensor of a file; nanoseconds a tensor."""
    with safe_open(path, {"numpy": "np", "torch": "pt"}[framework], backend=backend) as file:
        names = file.offset_keys()
        for _ in range(rounds + 1):
            began = time.perf_counter_ns()
            for name in names:
                file.get_tensor(name)
            print((time.perf_counter_ns() - began) // len(names))


def opening(safe_open, path, backend, rounds):
    for _ in range(rounds + 1):
        began = time.perf_counter_ns()
        with safe_open(path, "np", backend=backend) as file:
            count = len(file.keys())
        print(time.perf_counter_ns() - began)
    return count


def most_memory():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def loading(load_file, framework, path, backend, rounds):
    """Until every byte was summed."""
    word = importlib.import_module(framework).int64
    for _ in range(rounds):
        gc.collect()
        began = time.perf_counter_ns()
        total = 0
        for tensor in load_file(path, backend=backend).values():
            total += int(tensor.reshape(-1).view(word).sum())
        del tensor
        print(time.perf_counter_ns() - began, total, most_memory())


def importing(name):
    began = time.perf_counter_ns()
    importlib.import_module(name)
    print(time.perf_counter_ns() - began)


def side(arguments):
    work, who, framework, backend, path, rounds = arguments
    if work == "import":
        return importing(who)
    safe_open, load_file = modules(who, framework)
    if work == "small":
        return small(safe_open, framework, path, backend, int(rounds))
    if work == "open":
        return opening(safe_open, path, backend, int(rounds))
    return loading(load_file, framework, path, backend, int(rounds))


# ---- all sides in turn ----


def run(*arguments):
    command = [sys.executable, __file__, "--side", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr[-2000:]}")
    return [tuple(int(word) for word in line.split()) for line in done.stdout.splitlines()]


class Side:
    """Rounds of one side: its name, and each round's nanoseconds, sum and memory."""

    def __init__(self, name):
        self.name, self.rounds = name, []

    def least(self):
        return min(one[0] for one in self.rounds)

    def memory(self):
        return max(one[2] for one in self.rounds)


def touch(size):
    """Have the system hold so much memory ready: a virtual machine gets its own at the first touch."""
    subprocess.run([sys.executable, "-c", f"b'x' * int('{size}')"], check=True)


def in_turn(times, work, framework, path, rounds):
    ours, theirs = Side("tenure"), [Side(backend) for backend in BACKENDS]
    ready = 3 * path.stat().st_size if work == "load" else 0
    for _ in range(times):
        touch(ready)
        ours.rounds += run(work, "tenure", framework, "mmap", path, rounds)
        for one in theirs:
            touch(ready)
            one.rounds += run(work, "safetensors", framework, one.name, path, rounds)
    sums = {one[1] for each in (ours, *theirs) for one in each.rounds if len(one) > 1}
    if len(sums) > 1:
        raise SystemExit(f"the sums of all bytes differ: {sums}")
    return ours, min(theirs, key=Side.least), theirs


def amount(ns):
    return f"{ns / 1e3:.2f} µs" if ns < 1e5 else f"{ns / 1e6:.2f} ms" if ns < 1e9 else f"{ns / 1e9:.2f} s"


class Table:
    def __init__(self):
        self.missed = []
        print("| work | Tenure | safetensors, the quicker backend | ratio | goal | met |\n|---|---|---|---|---|---|")

    def row(self, work, ours, theirs, ratio, goal, met):
        self.missed += [] if met else [work]
        met = "-" if goal == "-" else "yes" if met else "**no**"
        print(f"| {work} | {ours} | {theirs} | {ratio} | {goal} | {met} |", flush=True)

    def compare(self, work, ours, theirs, goal):
        ratio = theirs.least() / ours.least()
        mine, its = (f"{amount(one.least())} (n={len(one.rounds)})" for one in (ours, theirs))
        wanted = f"≥ {goal}\u00d7" if goal else "-"
        self.row(work, mine, f"{theirs.name}: {its}", f"{ratio:.2f}\u00d7", wanted, goal is None or ratio >= goal)


def write_small(path):
    header, at = {}, 0
    for number in range(SMALL):
        shape = [SMALL_BYTES // 4] if number % 2 else [SMALL_BYTES // 64, 16]
        header[f"blocks.{number}.weight"] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + SMALL_BYTES]}
        at += SMALL_BYTES
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + os.urandom(1024) * (at // 1024))


def prepare():
    sys.path[:0] = [str(TOP / "bench"), str(TOP / "tests/support")]
    import run as bench
    import tenure_files
    import weights

    DATA.mkdir(parents=True, exist_ok=True)
    for count in (2515, 10000):
        tenure_files.write_safetensors(DATA / f"header {count}.safetensors", bench.header_tensors(count))
    write_small(DATA / "small.safetensors")
    weights.write_file(DATA / "two gigabytes.safetensors")


def loads(table, framework, times):
    """The first load of a process, and those after it, in memory that is used again."""
    path = DATA / "two gigabytes.safetensors"
    for rounds, word in ((1, "first load of the process"), (3, "again")):
        ours, best, theirs = in_turn(times, "load", framework, path, rounds)
        work = f"`load_file` of 2 GB with {framework} until every byte was summed, {word}"
        table.compare(work, ours, best, 1.0)
        for one in theirs:
            if one is not best:
                table.compare("the same beside its other backend", ours, one, None)
        most, mine = min(one.memory() for one in theirs), ours.memory()
        sizes = f"{mine >> 20} MiB", f"the lesser: {most >> 20} MiB", f"{mine / most:.3f} of it"
        table.row(f"{work}: most memory resident", *sizes, "no more", mine <= most)


def imports(table, times):
    ours, theirs = Side("tenure"), Side("safetensors")
    for _ in range(4 * times):
        for one in (ours, theirs):
            one.rounds += run("import", one.name, "-", "-", "-", 1)
    said = f"`import safetensors`: {amount(theirs.least())}"
    table.row("`import tenure`", amount(ours.least()), said, "-", "≤ 20 ms", ours.least() <= 20e6)


def main():
    if sys.argv[1:2] == ["--side"]:
        side(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", default="", help="small, open, load or import")
    args = parser.parse_args()
    prepare()
    frameworks = ["numpy", *(["torch"] if importlib.util.find_spec("torch") else [])]
    table = Table()
    for framework in frameworks if args.only in ("", "small") else ():
        ours, best, _ = in_turn(args.times, "small", framework, DATA / "small.safetensors", 10)
        table.compare(f"a tensor of 4 KiB with {framework}, `get_tensor`, warm", ours, best, 1.0)
    for count in (2515, 10000) if args.only in ("", "open") else ():
        ours, best, _ = in_turn(args.times, "open", "numpy", DATA / f"header {count}.safetensors", 10)
        table.compare(f"`safe_open` and `keys` of {count:,} tensors", ours, best, 5.0)
    for framework in frameworks if args.only in ("", "load") else ():
        loads(table, framework, args.times)
    if args.only in ("", "import"):
        imports(table, args.times)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
