#!/usr/bin/env python3
"""What the house measures of itself, as a table: docs/quality.md says what each figure should be.

  functions    lines and cyclomatic complexity, by lizard (from PyPI, into build/metrics-venv)
  structure    files over 800 lines, includes that point back, public functions without a comment (tests/house)
  twice        runs of six or more lines that stand twice, the same to the letter or alike but for names and numbers
  coverage     `--coverage`: lines and branches of src/ that the tests of the dev build run, by gcc and gcovr; `--kept`: of the
               last such run
  analyzers    `--analyze`: findings of gcc -fanalyzer
  mutants      what tools/mutate.py wrote into build/mutants/results.ndjson, where it was run

`--write` puts the table into docs/quality.md.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
VENV = TOP / "build/metrics-venv"
SOURCES = ["src", "include", "python/src"]
LINES_MAX, TWICE_LINES = 800, 6


def run(*command, **more):
    return subprocess.run([str(word) for word in command], cwd=TOP, capture_output=True, text=True, **more)


def tool(name):
    """A program of the venv, installed on first use."""
    program = VENV / "bin" / name
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin/pip", "install", "-q", "--disable-pip-version-check", "lizard", "gcovr"], check=True)
    return program


def quantile(sorted_values, share):
    return sorted_values[min(int(len(sorted_values) * share), len(sorted_values) - 1)]


# ---- functions ----


def functions(table):
    rows = list(csv.reader(io.StringIO(run(tool("lizard"), "--csv", *SOURCES).stdout)))
    lines, complexity = sorted(int(r[4]) for r in rows), sorted(int(r[1]) for r in rows)
    worst = max(rows, key=lambda r: int(r[1]))
    table.append(("functions", str(len(rows)), "", True))
    median, high = quantile(lines, 0.5), quantile(lines, 0.9)
    table.append(("lines of a function, median / 90th percentile", f"{median} / {high}", "≤ 15 / ≤ 55", median <= 15 and high <= 55))
    high = quantile(complexity, 0.9)
    table.append(("cyclomatic complexity, 90th percentile / worst", f"{high} / {complexity[-1]} ({worst[7]})", "≤ 8 / ≤ 20",
                  high <= 8 and complexity[-1] <= 20))  # fmt: skip


# ---- structure ----


def files_of(*patterns):
    return sorted(path for pattern in patterns for path in TOP.glob(pattern) if path.is_file())


def structure(table):
    code = files_of("src/**/*.[ch]", "include/**/*.h", "python/**/*.[ch]", "python/**/*.py", "tests/**/*.[ch]", "tests/**/*.py",
                    "tools/*.py", "bench/*.*", "fuzz/*.c")  # fmt: skip
    long = [path.relative_to(TOP) for path in code if len(path.read_text(errors="replace").splitlines()) > LINES_MAX]
    table.append(("files over 800 lines", f"{len(long)} {' '.join(map(str, long))}".strip(), "0", not long))
    for name, what in (("test_no_include_points_back", "`#include` pointing back"),
                       ("test_every_public_function_has_a_comment", "public functions without a comment")):  # fmt: skip
        said = run(sys.executable, "tests/house/test_house.py", "-k", name).stderr
        good = bool(re.search(r"^OK", said, re.M)) and "Ran 1 test" in said
        table.append((what, "0" if good else "some: tests/house tells", "0", good))


# ---- twice ----

NAME, NUMBER = re.compile(r"[A-Za-z_]\w*"), re.compile(r"\b\d\w*\b")
KEYWORDS = {"if", "for", "while", "return", "switch", "case", "static", "const", "void", "bool", "struct", "enum", "typedef",
            "else", "break", "sizeof", "continue", "goto", "do", "default", "unsigned", "int", "char"}  # fmt: skip


def lines_of(path, alike):
    """The lines that say something, with their numbers: no comments, braces alone, includes, or rows of tables."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), path.read_text(errors="replace"), flags=re.S)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = " ".join(re.sub(r"//.*", "", line).split())
        if len(line) < 4 or line.startswith(("#", "{", "TN_", "[")):
            continue
        if alike:
            line = NUMBER.sub("0", NAME.sub(lambda m: m.group() if m.group() in KEYWORDS else "n", line))
        found.append((number, line))
    return found


def twice(alike):
    """Pairs of runs, each told once at its beginning."""
    places = defaultdict(list)
    texts = {path: lines_of(path, alike) for path in files_of("src/**/*.c", "python/src/*.c")}
    for path, lines in texts.items():
        for i in range(len(lines) - TWICE_LINES + 1):
            window = tuple(line for _, line in lines[i : i + TWICE_LINES])
            if sum(map(len, window)) > 20 * TWICE_LINES:
                places[window].append((path, i))
    pairs, told = [], set()
    for where in places.values():
        for a, b in zip(where, where[1:]):
            before = ((a[0], a[1] - 1), (b[0], b[1] - 1))
            told.add((a, b))
            apart = a[0] != b[0] or b[1] - a[1] >= TWICE_LINES
            if apart and before not in told:
                pairs.append((a[0], texts[a[0]][a[1]][0], b[0], texts[b[0]][b[1]][0]))
    return pairs


def systems(pair):
    """The same call for two systems is meant to be alike: src/os, one contract."""
    return "_posix" in pair[0].name and "_win32" in pair[2].name


def doubles(table, show):
    for alike, what in ((False, "runs of six or more lines standing twice, the same"), (True, "the same, alike but for names")):
        pairs = [pair for pair in twice(alike) if not systems(pair)]
        table.append((what, str(len(pairs)), "0", not pairs))
        for a, i, b, j in pairs if show else ():
            print(f"  {a.relative_to(TOP)}:{i} ~ {b.relative_to(TOP)}:{j}")


# ---- coverage ----


def run_covered(build):
    flags = "--coverage -O1 -g -fno-inline"
    if not (build / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "dev", "-B", build, f"-DCMAKE_C_FLAGS={flags}", "-DCMAKE_EXE_LINKER_FLAGS=--coverage",
                        "-DCMAKE_SHARED_LINKER_FLAGS=--coverage"], cwd=TOP, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    subprocess.run(["ninja", "-C", build, "--quiet"], check=True)
    for old in build.rglob("*.gcda"):
        old.unlink()
    run("ctest", "--test-dir", build, "-j", os.cpu_count())


def coverage(table, kept):
    build = TOP / "build/coverage"
    if not kept:
        run_covered(build)
    out = build / "coverage.json"
    # A branch of an assertion that holds is never taken, and one of a call that is inlined away is nobody's.
    run(tool("gcovr"), "-r", TOP, "--filter", "src/", "--object-directory", build, "--exclude-lines-by-pattern", r".*\bassert\(.*",
        "--gcov-ignore-errors=all", "--gcov-ignore-parse-errors=all", "--json-summary", out, build)  # fmt: skip
    found = json.loads(out.read_text())
    table.append(("lines of `src/` that tests run", f"{found['line_percent']:.1f} %", "≥ 92 %", found["line_percent"] >= 92))
    table.append(("branches", f"{found['branch_percent']:.1f} %", "≥ 80 %", found["branch_percent"] >= 80))
    files = sorted(found["files"], key=lambda f: f["line_covered"] - f["line_total"])
    for one in files[:12]:
        print(f"  {one['filename']}: {one['line_total'] - one['line_covered']} lines not run ({one['line_percent']} %)")


# ---- analyzers and mutants ----


def analyze(table):
    build = TOP / "build/analyze"
    if not (build / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release", "-B", build, "-DCMAKE_C_FLAGS=-fanalyzer -Wno-error"], cwd=TOP, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
    said = run("ninja", "-C", build, "-k", "0").stdout
    found = sorted(set(re.findall(r"^(.*?:\d+):\d+: warning: .*?\[(-Wanalyzer[\w-]+)\]", said.replace(f"{TOP}/", ""), re.M)))
    found = [one for one in found if "blake3" not in one[0]]
    for place, what in found:
        print(f"  {place} {what}")
    table.append(("findings of `gcc -fanalyzer`", str(len(found)), "0, or explained", not found))


def mutants(table):
    path = TOP / "build/mutants/results.ndjson"
    if not path.exists():
        return
    rounds = [json.loads(line)["round"] for line in path.read_text().splitlines()]
    dead = sum(r > 0 for r in rounds)
    share = 100 * dead / max(len(rounds), 1)
    table.append((f"mutants killed, of {len(rounds)} at random", f"{share:.0f} %", "≥ 85 %", share >= 85))


# ---- the table ----


def text_of(table):
    lines = ["| figure | measured | goal | |", "|---|---|---|---|"]
    lines += [f"| {what} | {found} | {goal} | {'' if not goal else 'yes' if met else '**no**'} |" for what, found, goal, met in table]
    return "\n".join(lines)


def write(text):
    page = TOP / "docs/quality.md"
    commit = run("git", "rev-parse", "--short", "HEAD").stdout.strip()
    begin, end = "<!-- table: tools/metrics.py --write -->", "<!-- end -->"
    body = page.read_text()
    head, rest = body.split(begin)
    page.write_text(f"{head}{begin}\nMeasured at {commit}.\n\n{text}\n{end}{rest.split(end)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coverage", action="store_true", help="build with gcc's coverage, run the tests (minutes)")
    parser.add_argument("--kept", action="store_true", help="of a build whose tests have run")
    parser.add_argument("--analyze", action="store_true", help="build with gcc -fanalyzer (minutes)")
    parser.add_argument("--show", action="store_true", help="name the places that stand twice")
    parser.add_argument("--write", action="store_true", help="put the table into docs/quality.md")
    args = parser.parse_args()
    table = []
    functions(table)
    structure(table)
    doubles(table, args.show)
    if args.coverage or args.kept:
        coverage(table, args.kept)
    if args.analyze:
        analyze(table)
    mutants(table)
    print(text_of(table))
    if args.write:
        write(text_of(table))


if __name__ == "__main__":
    main()
