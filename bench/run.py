#!/usr/bin/env python3
"""Tenure's speed beside its peers, in one run, as ratios; prints the tables of docs/performance.md.

Peers: safetensors 0.8.0 from PyPI (build/venv, made when missing) and its Rust crate (bench/rust; left out with a word
where there is no cargo); b3sum and openssl, where they are. InvokeAI's classification is measured only by tools/peers.py; here its measured figure stands.

Rounds of ours and theirs alternate, so that whatever else the machine does hits both; medians and minima are of all
rounds together, and a ratio compares like with like. Single-thread rows are pinned to one core. All files are read
once before: everything is warm. `--write` puts the tables into docs/performance.md. Standard library only.
"""

import argparse
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BUILD = TOP / "build" / "bench"
DATA = TOP / "build" / "bench-data"
PAGE = TOP / "docs" / "performance.md"
sys.path.insert(0, str(TOP / "tests" / "support"))
import library as kept  # noqa: E402
import tenure_files  # noqa: E402
import weights  # noqa: E402

INVOKEAI_MS = 62.0
"""Mean milliseconds a file of InvokeAI 6.14.2's ModelConfigFactory.from_model_on_disk with the hash given, over 100
LoRA headers of 744 tensors, n = 5, 2-core AMD EPYC, Python 3.11, torch 2.15. tools/peers.py measures it here."""

CORES = sorted(os.sched_getaffinity(0))


class Series:
    """Nanoseconds of many rounds."""

    def __init__(self, rounds=()):
        self.rounds = list(rounds)

    def median(self):
        return statistics.median(self.rounds) / 1e6

    def least(self):
        return min(self.rounds) / 1e6

    def text(self):
        return f"{number(self.median())} / {number(self.least())} ms"

    def __len__(self):
        return len(self.rounds)


def number(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(4 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
"""glibc's allocator gives nothing back to the system: the work itself is measured, not the page faults around it."""


def rounds_of(command, column=0, env=None):
    """Run one side for some rounds. Column 0 is time on the clock, column 1, where there is one, CPU time."""
    if shutil.which("taskset"):
        command = ["taskset", "-c", str(CORES[-1]), *map(str, command)]
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **(env or {})})
    if run.returncode:
        raise SystemExit(f"{command}: {run.stderr}")
    return [int(line.split()[column]) for line in run.stdout.splitlines()]


def side_by_side(commands, times):
    """Alternate between the sides; every command runs its own rounds each time."""
    sides = [Series() for _ in commands]
    for _ in range(times):
        for series, command in zip(sides, commands, strict=True):
            if command:
                series.rounds += rounds_of(command)
    return sides


# ---- what is measured on ----


def header_tensors(count):
    """Names and shapes as in the U-Net of SDXL."""
    rows = []
    for i in range(count):
        block = f"model.diffusion_model.input_blocks.{i // 80}.1.transformer_blocks.{i // 8 % 10}"
        rows.append((f"{block}.attn{i // 4 % 2 + 1}.to_{'qkvo'[i % 4]}.{i}.weight", "F16", (640, 640)))
    return rows


def write_loras(folder, count, tensors):
    """The same LoRA many times; only a tag differs, as fine-tunes of one recipe do."""
    if folder.is_dir() and len(list(folder.iterdir())) == count:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    header, data = tenure_files.header_bytes(tensors, {"ss_tag": "%%%%%%%%", "ss_network_module": "networks.lora"})
    text = header[8:]
    for i in range(count):
        own = text.replace(b"%%%%%%%%", b"%08d" % i)
        with open(folder / f"lora {i:04d}.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(own)) + own)
            file.truncate(8 + len(own) + data)


def prepare():
    DATA.mkdir(parents=True, exist_ok=True)
    for count in (2500, 10000):
        tenure_files.write_safetensors(DATA / f"header {count}.safetensors", header_tensors(count))
    lora = tenure_files.lora_header(250, 16)  # 750 tensors
    write_loras(DATA / "loras 1000", 1000, lora)
    write_loras(DATA / "loras 100", 100, lora)
    write_loras(DATA / "loras 4500", 4500, tenure_files.lora_header(264, 16))


def build():
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "bench"], cwd=TOP, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet"], check=True)


def peer_python():
    python = TOP / "build/venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(TOP / "build/venv")], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "safetensors==0.8.0", "numpy"],
            check=True,
        )
    return [str(python), str(TOP / "bench/peer.py")]


def streamers_python():
    """A Python with the two loaders that need torch: some gigabytes, so only where they are asked for."""
    python = TOP / "build/streamers-venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(TOP / "build/streamers-venv")], check=True)
        packages = ["safetensors==0.8.0", "numpy", "torch", "fastsafetensors==0.5.0", "runai-model-streamer==0.17.1"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], check=True)
    return str(python)


def peer_rust():
    """The crate's program, or None where it cannot be built."""
    if not shutil.which("cargo"):
        print("no cargo here: the Rust crate is left out", file=sys.stderr)
        return None
    target = TOP / "build" / "bench-rust"
    run = subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--target-dir", str(target)],
        cwd=TOP / "bench/rust",
        capture_output=True,
        text=True,
    )
    if run.returncode:
        print(f"the Rust crate cannot be built and is left out: {run.stderr[-500:]}", file=sys.stderr)
        return None
    return [str(target / "release" / "peer")]


# ---- the rows ----


class Table:
    def __init__(self):
        self.rows = []

    def row(self, work, ours, theirs, ratio, goal, met):
        self.rows.append((work, ours, theirs, ratio, goal, "yes" if met else "**no**" if met is not None else "-"))

    def text(self):
        lines = [
            "| work | Tenure, median / least | peer, median / least | ratio, median / least | goal | met |",
            "|---|---|---|---|---|---|",
        ]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in self.rows])


def ratio(ours, theirs):
    return theirs.median() / ours.median(), theirs.least() / ours.least()


def compare(table, work, ours, peer, theirs, goal):
    if not theirs.rounds:
        table.row(work, ours.text(), f"{peer}: left out", "-", f"≥ {goal}×" if goal else "-", None)
        return
    middle, least = ratio(ours, theirs)
    table.row(
        work,
        f"{ours.text()} (n={len(ours)})",
        f"{peer}: {theirs.text()} (n={len(theirs)})",
        f"{middle:.1f}× / {least:.1f}×",
        f"≥ {goal}×" if goal else "-",
        middle >= goal if goal else None,
    )


def headers(table, python, rust, times):
    ours = [str(BUILD / "bench_checkpoint"), "open"]
    for count, rounds in ((2500, 60), (10000, 20)):
        file = str(DATA / f"header {count}.safetensors")
        parsed, mine, parse, whole, package = side_by_side(
            [
                [*ours[:1], "parse", file, rounds],
                [*ours, file, rounds],
                rust and [*rust, "parse", file, rounds],
                rust and [*rust, "open", file, rounds],
                [*python, "open", file, max(rounds // 4, 5)],
            ],
            times,
        )
        work = f"parse and validate a header of {count:,} tensors into a catalog, mapped before"
        compare(table, work, parsed, "crate `read_metadata`, mapped before", parse, 6)
        compare(table, "open it: read, every check, catalog", mine, "crate open + map + `read_metadata` + names", whole, None)
        compare(table, "the same", mine, "package `safe_open` + `keys`", package, None)


def lists(table, python, times):
    folder = str(DATA / "loras 1000")
    mine, package = side_by_side(
        [[str(BUILD / "bench_checkpoint"), "list", folder, 3], [*python, "list", folder, 1]], times
    )
    compare(
        table,
        "names, types, shapes of 1,000 LoRAs of 750 tensors",
        mine,
        "package `safe_open`, `keys`, `get_slice`",
        package,
        6,
    )


def identify(table, times, invokeai_ms):
    folder = str(DATA / "loras 100")
    mine = Series()
    for _ in range(times):
        mine.rounds += rounds_of([BUILD / "bench_checkpoint", "identify", folder, 5])
    theirs = Series([(invokeai_ms or INVOKEAI_MS) * 1e6 * 100])
    source = "measured here" if invokeai_ms else "as stated above"
    compare(table, "identify 100 of them", mine, f"InvokeAI 6.14.2 classifies, no hashing, {source}", theirs, 300)


def import_once(library, env=None):
    """One import in a process of its own: seconds on the clock, CPU seconds, stderr."""
    before = os.times()
    began = time.perf_counter_ns()
    run = subprocess.run(
        [
            str(BUILD / "tenure"),
            "import",
            "--hash",
            "none",
            "--quiet",
            "--library",
            str(library),
            str(DATA / "loras 4500"),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
    )
    took = time.perf_counter_ns() - began
    after = os.times()
    if run.returncode:
        raise SystemExit(f"the import ended with {run.returncode}: {run.stderr} {run.stdout}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return took, cpu, run.stderr


def fresh(library):
    for path in library.parent.glob(library.name + "*"):
        path.unlink()


def imports(table, times):
    library = DATA / "library.db"
    new, again = Series(), Series()
    fresh(library)
    import_once(library)  # fills the page cache
    for _ in range(max(times, 5)):
        fresh(library)
        new.rounds.append(import_once(library)[0])
        again.rounds.append(import_once(library)[0])
    table.row(
        "import 4,500 LoRA-sized files into a new library, `--hash none`",
        f"{new.text()} (n={len(new)})",
        "-",
        "-",
        "< 3 s",
        new.median() < 3000,
    )
    table.row(
        "import again, nothing changed", f"{again.text()} (n={len(again)})", "-", "-", "< 0.5 s", again.median() < 500
    )


def whole_library(table):
    """What 100,000 models cost: bench/library.py."""
    for work, found, goal, met in kept.rows(BUILD / "tenure", BUILD / "bench_library", DATA):
        table.row(f"a library of 100,000 models: {work}", found, "-", "-", goal, met)


def profile(times):
    """Where the time of an import of 4,500 files goes."""
    library = DATA / "library.db"
    env = {"LD_PRELOAD": str(BUILD / "sqlite_time.so")}
    cpu, wall, sqlite_cpu, sqlite_wall = [], [], [], []
    for _ in range(max(times, 5)):
        fresh(library)
        took, seconds, said = import_once(library, env)
        found = re.search(r"sqlite_time: cpu_ns=(\d+) wall_ns=(\d+)", said)
        wall.append(took / 1e6)
        cpu.append(seconds * 1e3)
        sqlite_cpu.append(int(found.group(1)) / 1e6)
        sqlite_wall.append(int(found.group(2)) / 1e6)
    folder = DATA / "loras 4500"
    opened, sampled, named = (
        Series(rounds_of([BUILD / "bench_checkpoint", mode, folder, times], column=1, env=KEEP_MEMORY))
        for mode in ("list", "sample", "identify")
    )
    whole, sqlite = statistics.median(cpu), statistics.median(sqlite_cpu)
    sample = max(sampled.median() - opened.median(), 0)
    rest = whole - sqlite - sampled.median() - max(named.median() - opened.median(), 0)
    lines = ["| part of a new import of 4,500 files | CPU time | share |", "|---|---|---|"]
    for name, ms in (
        ("SQLite (every call that works)", sqlite),
        ("sample digests (BLAKE3 and their reads)", sample),
        ("open and parse headers", opened.median()),
        ("match rules", max(named.median() - opened.median(), 0)),
        ("the rest: walk, records' JSON, memory from the system, threads", rest),
        ("whole import", whole),
    ):
        lines.append(f"| {name} | {number(ms)} ms | {100 * ms / whole:.0f} % |")
    note = (
        f"Medians of {len(cpu)} imports; on the clock {number(statistics.median(wall))} ms, of which the thread that "
        f"records was inside SQLite for {number(statistics.median(sqlite_wall))} ms. SQLite is measured inside the "
        "import (bench/sqlite_time.c); the others by doing each alone on the same files (bench/checkpoint.c), with "
        "an allocator that keeps its memory."
    )
    return "\n".join(lines) + "\n\n" + note


def starts(table, times):
    file = str(DATA / "loras 100" / "lora 0000.safetensors")
    spawn = [str(BUILD / "bench_checkpoint"), "spawn", 40]
    mine, nothing = side_by_side([[*spawn, BUILD / "tenure", "probe", file], [*spawn, "true"]], times)
    table.row(
        "`tenure probe FILE` from process start",
        f"{mine.text()} (n={len(mine)})",
        f"`true`: {nothing.text()} (n={len(nothing)})",
        "-",
        "≤ 10 ms",
        mine.median() <= 10,
    )


# ---- digests ----


BIG = DATA / "random 2 GiB"
"""What digests are taken of: no tool can be quick about it by what is in it."""


def write_big():
    if BIG.exists() and BIG.stat().st_size == 2 << 30:
        return
    with open(BIG, "wb") as file:
        for _ in range(2 << 10):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())


def timed(command, threads):
    """One process from start to end, in nanoseconds, on as many cores as it may have threads."""
    if shutil.which("taskset"):
        command = ["taskset", "-c", ",".join(map(str, CORES[-threads:])), *command]
    began = time.perf_counter_ns()
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{command}: {run.stderr}")
    return time.perf_counter_ns() - began


def hash_command(algo, threads):
    return [BUILD / "tenure", "hash", "--algo", algo, "--jobs", threads, BIG]


def alternate(times, *works):
    """Each work returns nanoseconds; a work that is None is left out."""
    sides = [Series() for _ in works]
    for _ in range(times):
        for series, work in zip(sides, works, strict=True):
            if work:
                series.rounds.append(work())
    return sides


def peer_command(name, *arguments):
    if shutil.which(name):
        return [name, *arguments, BIG]
    print(f"no {name} here: it is left out", file=sys.stderr)
    return None


def compare_share(table, work, ours, peer, theirs, goal):
    """For goals under 1: how much of the peer's speed ours has."""
    if not theirs.rounds:
        table.row(work, ours.text(), f"{peer}: left out", "-", f"≥ {goal}×", None)
        return
    middle, least = ratio(ours, theirs)
    table.row(
        work,
        f"{ours.text()} (n={len(ours)})",
        f"{peer}: {theirs.text()} (n={len(theirs)})",
        f"{middle:.2f}× / {least:.2f}×",
        f"≥ {goal}×",
        middle >= goal,
    )


def warm_digests(table, times):
    BIG.read_bytes()
    for threads in sorted({1, len(CORES)}):
        theirs = peer_command("b3sum", "--num-threads", threads)
        ours, peer = alternate(
            times,
            lambda n=threads: timed(hash_command("blake3", n), n),
            theirs and (lambda c=theirs, n=threads: timed(c, n)),
        )
        compare_share(table, f"BLAKE3 of 2 GiB, warm, threads: {threads}", ours, "`b3sum`", peer, 0.95)
    openssl = peer_command("openssl", "dgst", "-sha256")
    ours, peer = alternate(
        times, lambda: timed(hash_command("sha256", 1), 1), openssl and (lambda: timed(openssl, 1))
    )
    compare_share(table, "SHA-256 of it, warm, threads: 1", ours, "`openssl dgst`", peer, 0.95)
    cores = len(CORES)
    both, blake3, sha256 = alternate(
        times, *(lambda a=algo: timed(hash_command(a, cores), cores) for algo in ("blake3,sha256", "blake3", "sha256"))
    )
    slower = max(blake3, sha256, key=Series.median)
    compare_share(
        table,
        f"BLAKE3 and SHA-256 in one pass, warm, threads: {cores}",
        both,
        "Tenure: the slower of the two alone",
        slower,
        0.9 if cores > 1 else 0,
    )


def cold_digest(table, times):
    """The limit is the best that direct reads of several sizes and depths do, in the same rounds."""
    limit = BUILD / "bench_limit"
    cores = len(CORES)

    def ours():
        subprocess.run([str(limit), "drop", str(BIG)], check=True)
        return timed(hash_command("blake3", cores), cores)

    def read(threads, kib):
        run = subprocess.run(
            [str(limit), "read", str(BIG), str(threads), str(kib), "1"], capture_output=True, text=True, check=True
        )
        return int(run.stdout.split()[0])

    shapes = [(1, 1024), (2, 1024), (4, 512)]
    mine, *limits = alternate(times, ours, *(lambda t=t, k=k: read(t, k) for t, k in shapes))
    best = min(limits, key=Series.median)
    compare_share(table, "BLAKE3 of it, cold", mine, "direct reads into huge pages alone (bench/limit.c)", best, 0.95)


def digests(table, times):
    write_big()
    warm_digests(table, times)
    cold_digest(table, times)


def memory(table):
    env = {**os.environ, "TENURE": str(BUILD / "tenure"), "TENURE_MANY_PROBE": str(BUILD / "many_probe")}
    run = subprocess.run(
        [sys.executable, str(TOP / "tests/end/test_memory.py"), "ManyProbe"], capture_output=True, text=True, env=env
    )
    found = re.search(
        r"RSS after the tenth (\d+) KB, at the end (\d+) KB, most (\d+) KB; read beyond the header at most (-?\d+)",
        run.stdout,
    )
    says = (
        f"RSS {int(found.group(1)) / 1024:.1f} MB after the tenth, {int(found.group(2)) / 1024:.1f} MB at the end; "
        f"at most {found.group(4)} bytes read beyond a header"
        if found
        else run.stderr[-300:].replace("\n", " ")
    )
    table.row(
        "200 sparse 1 GiB and ten sparse 40 GiB checkpoints, one process, `prlimit --data=512M`",
        says,
        "-",
        "-",
        "end within 1 MB of the tenth; ≤ 128 KiB a file beside the header",
        run.returncode == 0,
    )


# ---- the page ----


def said(*command):
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True).stdout.strip()


def machine():
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    cpu = model.group(1).strip() if model else "an unknown CPU"
    commit = said("git", "rev-parse", "--short", "HEAD") or "none"
    changes = " with changes" if said("git", "status", "--porcelain", "--untracked-files=no") else ""
    compiler = said("cc", "--version").split("\n")[0]
    return (
        f"Commit {commit}{changes}; {len(CORES)} cores of {cpu}, Linux {os.uname().release}, {compiler}; "
        f"load at the start {os.getloadavg()[0]:.1f}."
    )


def write(text):
    page = PAGE.read_text()
    begin, end = "<!-- measured by bench/run.py -->\n", "<!-- end of what was measured -->"
    head, rest = page.split(begin, 1)
    PAGE.write_text(head + begin + text + end + rest.split(end, 1)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5, help="how often the sides alternate")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--streamers", action="store_true", help="also fastsafetensors and Run:ai's streamer, with torch")
    parser.add_argument("--invokeai-ms", type=float, help="milliseconds a file, as tools/peers.py measured")
    parser.add_argument("--build", type=Path, help="a build folder to use as it is, instead of build/bench")
    args = parser.parse_args()
    if args.build:
        globals()["BUILD"] = args.build.resolve()
    else:
        build()
    about = machine()
    prepare()
    python, rust, table = peer_python(), peer_rust(), Table()
    headers(table, python, rust, args.times)
    lists(table, python, args.times)
    identify(table, args.times, args.invokeai_ms)
    imports(table, args.times)
    whole_library(table)
    starts(table, args.times)
    digests(table, args.times)
    memory(table)
    streamers = streamers_python() if args.streamers else None
    weights.add(sys.modules[__name__], table, BUILD, DATA, python[0], streamers, args.times)
    text = f"{about}\n\n{table.text()}\n\n{profile(args.times)}\n"
    print(text)
    if args.write:
        write(text)
    return 1 if any("**no**" in row for row in table.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
