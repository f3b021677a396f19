#!/usr/bin/env python3
"""Run every test, stage by stage, and end with the plain line `N passed, N failed`.

Each stage is a build with its tests, or a program that is a test by itself; its time is printed. The exit code is 0
only when nothing failed. `--soak` makes the long ones long: fuzzing, kill loops, repeated runs. `--only STAGE` runs
one (the names are printed with the times). Logs lie in build/test-logs.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LOGS = TOP / "build" / "test-logs"
CORES = str(os.cpu_count() or 2)


class Result:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0


def run(command, log, env=None, timeout=3000):
    """Run one command with its output into a log. Returns (exit code, output)."""
    with open(log, "ab") as out:
        out.write(("$ " + " ".join(command) + "\n").encode())
        out.flush()
        start = out.tell()
        try:
            code = subprocess.run(command, cwd=TOP, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  env={**os.environ, **(env or {})}, timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            out.write(b"timed out\n")
            code = 124
    with open(log, "rb") as text:
        text.seek(start)
        return code, text.read().decode(errors="replace")


def build(preset, log, options=()):
    if not (TOP / "build" / preset / "build.ninja").exists():
        code, _ = run(["cmake", "--preset", preset, *options], log)
        if code:
            return code
    return run(["ninja", "-C", f"build/{preset}", "-j", CORES], log)[0]


def ctest(preset, log, result, only=None, exclude=None, env=None, jobs=CORES):
    """Run a build's tests; each ctest entry counts once."""
    command = ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", "-j", jobs]
    if only:
        command += ["-R", only]
    if exclude:
        command += ["-E", exclude]
    code, output = run(command, log, env)
    found = re.search(r"(\d+) tests? failed out of (\d+)", output)
    if not found:
        print(output[-3000:])
        result.failed += 1
        return
    failed, total = int(found.group(1)), int(found.group(2))
    result.skipped += len(re.findall(r"\*\*\*Skipped", output))
    result.passed += total - failed
    result.failed += failed
    if failed or code:
        print(output[-6000:])


def counted(code, output, result, name):
    """A program that is one test by itself."""
    if code == 0:
        result.passed += 1
    else:
        result.failed += 1
        print(f"{name} failed ({code}):\n{output[-4000:]}")


def weights_environment():
    """Real weights are used where they lie beside the project; tests say that they skip where not."""
    if "TENURE_TEST_WEIGHTS" in os.environ:
        return {}
    beside = TOP.parent / "shared" / "realfiles"
    return {"TENURE_TEST_WEIGHTS": str(beside)} if beside.is_dir() else {}


def stage_dev(log, result, args):
    if build("dev", log):
        result.failed += 1
        print(log.read_text(errors="replace")[-4000:])
        return
    env = weights_environment()
    if args.soak:
        env["TENURE_SOAK"] = "1"
    ctest("dev", log, result, env=env)


def stage_sanitize(log, result, args):
    if build("asan-ubsan", log):
        result.failed += 1
        print(log.read_text(errors="replace")[-4000:])
        return
    env = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1",
           "TENURE_SANITIZED": "1"}
    ctest("asan-ubsan", log, result, exclude="^house\\.", env={**env, **weights_environment()})


def stage_threads(log, result, args):
    if build("tsan", log):
        result.failed += 1
        print(log.read_text(errors="replace")[-4000:])
        return
    # Loops over faults, cuts and histories have one thread, and take minutes here.
    ctest("tsan", log, result, only="^(context|io|digest|weights|library)\\.",
          exclude="faults|posix_power|posix_histories", env={"TSAN_OPTIONS": "halt_on_error=1", "TENURE_SANITIZED": "1"})


def stage_valgrind(log, result, args):
    code, output = run([sys.executable, "tests/end/valgrind_import.py"], log,
                       {"TENURE": str(TOP / "build/dev/tenure")})
    counted(code, output, result, "valgrind of an import")


def stage_fuzz(log, result, args):
    if build("fuzz", log):
        result.failed += 1
        print(log.read_text(errors="replace")[-4000:])
        return
    seconds = 1800 if args.soak else 10
    for target in sorted((TOP / "build/fuzz").glob("fuzz_*")):
        if target.suffix or not os.access(target, os.X_OK):
            continue
        name = target.name.removeprefix("fuzz_")
        corpus = TOP / "build/fuzz-corpus" / name
        corpus.mkdir(parents=True, exist_ok=True)
        command = [str(target), f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1",
                   f"-artifact_prefix={TOP}/build/fuzz-", str(corpus)]
        seeds = TOP / "fuzz/seeds" / name
        if seeds.is_dir():
            command.append(str(seeds))
        dictionary = TOP / "fuzz" / f"{name}.dict"
        if dictionary.exists():
            command.append(f"-dict={dictionary}")
        code, output = run(command, log)
        counted(code, output, result, f"fuzzing {name}")


def stage_windows(log, result, args):
    code, output = run(["sh", "tools/fetch-mingw-deps"], log)
    if code == 0:
        code = build("mingw", log)
    if code:
        result.failed += 1
        print(log.read_text(errors="replace")[-4000:])
        return
    ctest("mingw", log, result, jobs="1")
    code, output = run([sys.executable, "tests/end/windows_client.py"], log)
    if code == 77:
        result.skipped += 1
        print(output.splitlines()[-1])
    else:
        counted(code, output, result, "a client of the DLL that shares no line with it")


def stage_differential(log, result, args):
    python = TOP / "build/venv/bin/python"
    if not python.exists():
        run([sys.executable, "-m", "venv", "build/venv"], log)
        code, output = run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check",
                            "safetensors==0.8.0", "numpy"], log)
        if code:
            return counted(code, output, result, "installing safetensors 0.8.0")
    code, output = run([str(python), "tests/end/differential_safetensors.py"], log,
                       {"TENURE": str(TOP / "build/dev/tenure")})
    counted(code, output, result, "differential test against safetensors 0.8.0")
    code, output = run([str(python), "tests/end/differential_writer.py", "--count", "100000" if args.soak else "2000"], log,
                       {"LIBTENURE": str(TOP / "build/dev/libtenure.so"), "TMPDIR": "/dev/shm"})
    counted(code, output, result, "differential test against the writer of safetensors 0.8.0")


def stage_python(log, result, args):
    code, output = run([sys.executable, "python/tests/stage.py"], log, {"TENURE_SOAK": "1"} if args.soak else None, timeout=7200)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", output)}
    result.passed += counts.get("passed", 0)
    result.failed += counts.get("failed", 0) + counts.get("error", 0)
    result.skipped += counts.get("skipped", 0)
    if code:
        result.failed += not counts
        print(output[-6000:])


def stage_demo(log, result, args):
    code, output = run([sys.executable, "tests/end/demo_from_clone.py"], log)
    counted(code, output, result, "make demo from a fresh clone")


STAGES = [("dev", stage_dev), ("asan-ubsan", stage_sanitize), ("tsan", stage_threads), ("valgrind", stage_valgrind),
          ("fuzz", stage_fuzz), ("differential", stage_differential),
          ("python", stage_python), ("windows", stage_windows), ("demo", stage_demo)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--only", action="append", choices=[name for name, _ in STAGES])
    args = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    total, began = Result(), time.monotonic()
    for name, stage in STAGES:
        if args.only and name not in args.only:
            continue
        log = LOGS / f"{name}.log"
        log.unlink(missing_ok=True)
        result, start = Result(), time.monotonic()
        print(f"stage {name} ...", flush=True)
        stage(log, result, args)
        total.passed += result.passed
        total.failed += result.failed
        print(f"stage {name}: {result.passed} passed, {result.failed} failed in {time.monotonic() - start:.0f} s", flush=True)
    print(f"all stages: {time.monotonic() - began:.0f} s")
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
