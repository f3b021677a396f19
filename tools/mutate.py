#!/usr/bin/env python3
"""Mutation test: change one small thing in the sources, and see whether the tests notice.

Draws mutants at random from src/core, format, weights, library and digest (`--folders`), of six kinds: a comparison moved by
one or turned round, `&&` for `||`, `+` for `-`, a number one larger, a condition denied, a call or a check left out. Each is
built in a copy of the committed tree under build/mutants, with the tests of its folder and, while these pass, those of the
folders above and of the command. What does not build, or builds the same object, is drawn again. Prints a line a mutant, and
at the end how many were killed; survivors are a missing test or have to be explained (docs/quality.md).

As root on Linux all of it runs where nothing but the copy and an empty /tmp can be written to: a mutant may remove anything.
Standard library only.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PLACE = TOP / "build" / "mutants"
TREE = PLACE / "tree"
ABOVE = {
    "core": ["core", "os", "context", "fuzz", "format"],
    "format": ["format", "fuzz", "identify"],
    "digest": ["digest", "library\\.test_(hash|digest|jobs|verify)"],
    "weights": ["weights"],
    "library": ["library"],
}
SLOW = "posix_power|posix_histories|faults"  # minutes; run in the second round
SECOND = "^(command|cli|identify|weights|library|end\\.(import|library|tree|export))"

SWAPS = [
    ("comparison", r" (<=|>=|<|>) ", {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    ("equality", r" (==|!=) ", {"==": "!=", "!=": "=="}),
    ("and for or", r" (&&|\|\|) ", {"&&": "||", "||": "&&"}),
    ("plus for minus", r"(?<=[\w\])]) (\+|-) (?=[\w(])", {"+": "-", "-": "+"}),
]


class Mutant:
    def __init__(self, path, line, kind, before, after):
        self.path, self.line, self.kind, self.before, self.after = path, line, kind, before, after

    def text(self):
        return f"{self.path}:{self.line}: {self.kind}: `{self.before.strip()}` -> `{self.after.strip()}`"


def is_code(line):
    text = line.strip()
    return bool(text) and not text.startswith(("#", "*", "/*", "//", "assert", "static_assert", "_Static_assert", "case "))


def bare(line):
    """The same length, with strings and comments blanked."""
    line = re.sub(r'"(\\.|[^"\\])*"', lambda m: "_" * len(m.group()), line)
    return re.sub(r"/\*.*?\*/|/\*.*$", lambda m: "_" * len(m.group()), line)


def of_line(line):
    """Every mutant of one line: (kind, new line)."""
    plain, found = bare(line), []
    for kind, pattern, swap in SWAPS:
        for m in re.finditer(pattern, plain):
            found.append((kind, line[: m.start(1)] + swap[m.group(1)] + line[m.end(1) :]))
    for m in re.finditer(r"(?<![\w.\"'x])(\d+)(?=[\s,;)\]u])", plain):
        found.append(("number", line[: m.start(1)] + str(int(m.group(1)) + 1) + line[m.end(1) :]))
    m = re.match(r"(\s*(?:} else )?if )\((.*)\)( \{)?$", plain)
    if m:
        found.append(("denied", f"{line[:m.end(1)]}(!({line[m.start(2):m.end(2)]})){m.group(3) or ''}"))
    m = re.match(r"(\s+)TN_TRY\((.*)\);$", plain)
    if m:
        found.append(("check left out", f"{m.group(1)}(void)({line[m.start(2):m.end(2)]});"))
    m = re.match(r"(\s+)(?:\(void\))?([a-z]\w*)\(.*\);$", plain)
    if m and m.group(2) not in ("return", "sizeof", "assert", "while"):
        found.append(("call left out", m.group(1) + ";"))
    return found


def draw(rng, folders):
    files = [p for folder in folders for p in sorted((TREE / "src" / folder).glob("*.c")) if "neon" not in p.name and "armv8" not in p.name]
    lines = [(p, n) for p in files for n, line in enumerate(p.read_text().split("\n")) if is_code(line) and of_line(line)]
    while True:
        path, number = rng.choice(lines)
        line = path.read_text().split("\n")[number]
        kind, after = rng.choice(of_line(line))
        yield Mutant(path.relative_to(TREE), number + 1, kind, line, after)


def run(command, seconds):
    try:
        return subprocess.run(command, cwd=TREE, capture_output=True, text=True, timeout=seconds, start_new_session=True).returncode
    except subprocess.TimeoutExpired:
        subprocess.run(["pkill", "-9", "-f", str(TREE)], check=False)
        return 124


def build():
    return run(["ninja", "-C", "build/dev"], 900)


def objects(path):
    return [hashlib.sha256(o.read_bytes()).digest() for o in sorted((TREE / "build/dev").rglob(f"{path.name}.o"))]


def tests(pattern, exclude):
    command = ["ctest", "--test-dir", "build/dev", "-j", str(os.cpu_count()), "--stop-on-failure", "--timeout", "120", "-R", pattern]
    return run([*command, *(["-E", exclude] if exclude else [])], 1800)


def killed(folder):
    """The round that noticed it; 0: none."""
    pattern = "^(" + "|".join(ABOVE[folder]) + ")"
    if tests(pattern, SLOW) != 0:
        return 1
    if tests(SECOND, "posix_power|posix_histories|soak") != 0:
        return 2
    return 0


def try_one(mutant):
    """None: it is no mutant; else the round that killed it."""
    path = TREE / mutant.path
    whole = path.read_text()
    was = objects(mutant.path)
    lines = whole.split("\n")
    lines[mutant.line - 1] = mutant.after
    path.write_text("\n".join(lines))
    try:
        if build() != 0 or objects(mutant.path) == was:
            return None
        return killed(mutant.path.parts[1])
    finally:
        path.write_text(whole)
        build()


def prepare():
    """The committed tree, built; the tests pass before anything is changed."""
    if not TREE.exists():
        TREE.mkdir(parents=True)
        archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=TOP, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", str(TREE)], stdin=archive.stdout, check=True)
        (TREE / "build").mkdir(exist_ok=True)
        shutil.copytree(TOP / "build/blake3", TREE / "build/blake3", dirs_exist_ok=True)
        # Line numbers in messages of assertions would tell every mutant apart; warnings would forbid some.
        options = ["-DCMAKE_C_FLAGS=-Wno-error -g0 -O1", "-DCMAKE_BUILD_TYPE=None"]
        subprocess.run(["cmake", "--preset", "dev", *options], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    if build() != 0:
        raise SystemExit("the tree does not build")


def alone():
    """Start again in a name space of its own, in which only the copy and an empty /tmp are writable."""
    if os.geteuid() != 0 or not shutil.which("unshare") or os.environ.get("TENURE_MUTANTS") == "alone":
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    script = ('mount --make-rprivate / && mount --bind "$0" "$0" && mount -o remount,bind,ro / && '
              'mount -t tmpfs tmpfs /tmp && exec "$@"')  # fmt: skip
    os.environ["TENURE_MUTANTS"] = "alone"
    os.execvp("unshare", ["unshare", "-m", "sh", "-c", script, str(PLACE), sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop when so many have passed")
    parser.add_argument("--folders", default=",".join(ABOVE))
    args = parser.parse_args()
    prepare()
    alone()
    rng, results, began = random.Random(args.seed), [], time.monotonic()
    seen, log = set(), open(PLACE / "results.ndjson", "a")
    for mutant in draw(rng, args.folders.split(",")):
        if len(results) >= args.count or time.monotonic() - began > args.minutes * 60:
            break
        if (mutant.path, mutant.line, mutant.after) in seen:
            continue
        seen.add((mutant.path, mutant.line, mutant.after))
        round_ = try_one(mutant)
        if round_ is None:
            continue
        results.append(round_)
        print(f"{len(results):4} {['SURVIVED', 'killed', 'killed later'][round_]}  {mutant.text()}", flush=True)
        log.write(json.dumps({"round": round_, "mutant": mutant.text()}) + "\n")
        log.flush()
    dead = sum(r > 0 for r in results)
    print(f"{dead} of {len(results)} mutants killed ({100 * dead / max(len(results), 1):.1f} %)")


if __name__ == "__main__":
    main()
