"""Tenure and the real safetensors 0.8.0 give the same verdict on 10,000 mutated headers and every crafted one.

A file is accepted by the real library when `safe_open` opens it and `deserialize` reads it; by Tenure when `probe`
calls it neither damaged nor anything worse. Where both accept, names, types, shapes and metadata must be equal. Where
Tenure refuses alone, the file must name a key twice: the point where docs/formats/safetensors.md says that Tenure is
stricter.

Run it with a Python that has safetensors 0.8.0 and numpy; TENURE names the command. `--seed N` and `--count N` repeat a
run; a file that makes a difference is kept and named.
"""

import argparse
import collections
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from command import SANITIZED, TOP, fast_folder, objects, tenure
from header_mutations import has_duplicate_key, mutated_file
from safetensors import deserialize, safe_open

CASES = TOP / "tests/data/format/header-cases"
REFUSED = ("damaged", "dangerous", "unreadable", "unsupported")
BATCH = 500


def real_reading(path, data):
    """(names, types and shapes; metadata) by the real library, or the text of its refusal."""
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata()
            names = sorted(file.keys())
        tensors = {name: (info["dtype"], list(info["shape"])) for name, info in deserialize(data)}
    except Exception as error:  # noqa: BLE001  (whatever it raises is a refusal)
        return None, f"{type(error).__name__}: {error}"
    if names != sorted(tensors):
        raise AssertionError(f"{path}: safe_open and deserialize disagree about the names")
    return (tensors, metadata or {}), None


def ours(paths):
    """probe's object for each path, in batches."""
    answers = {}
    for at in range(0, len(paths), BATCH):
        run = tenure("probe", "--json", "-", input="\0".join(paths[at : at + BATCH]).encode(), timeout=300)
        if run.returncode not in (0, 1):
            raise AssertionError(f"probe ended with {run.returncode}: {run.stderr[-2000:]}")
        answers.update((answer["path"], answer) for answer in objects(run))
    return answers


def our_readings(paths):
    """inspect's object for each path, in batches."""
    found = {}
    for at in range(0, len(paths), BATCH):
        run = tenure("inspect", "--json", "-", input="\0".join(paths[at : at + BATCH]).encode(), timeout=300)
        if run.returncode not in (0, 1):
            raise AssertionError(f"inspect ended with {run.returncode}: {run.stderr[-2000:]}")
        found.update((one["path"], one) for one in objects(run))
    return found


# ---- the comparison ----


class Comparison:
    def __init__(self):
        self.counts = collections.Counter()
        self.stricter = collections.Counter()
        self.differences = []

    def differ(self, path, what):
        self.differences.append((path, what))

    def verdicts(self, paths):
        """Compare verdicts; returns what the real library read of the files that both accept."""
        answers, both = ours(paths), {}
        for path in paths:
            data = Path(path).read_bytes()
            reading, refusal = real_reading(path, data)
            answer = answers.get(path)
            if answer is None:
                self.differ(path, "probe says nothing about it")
            elif reading is None:
                self.refused_there(path, answer, refusal)
            elif answer["state"] in REFUSED:
                self.refused_here(path, data, answer)
            else:
                self.counts["accepted by both"] += 1
                both[path] = reading
        return both

    def refused_there(self, path, answer, refusal):
        if answer["state"] in REFUSED:
            self.counts["refused by both"] += 1
        else:
            self.differ(path, f"the real library refuses it ({refusal}), probe says {answer['state']}")

    def refused_here(self, path, data, answer):
        """The one stricter point: a name that stands twice. An entry that the real library passes over because a later
        one has its name is checked here too, so that the refusal may be for what else is wrong with it."""
        error = answer["error"] or {"status": None, "message": None}
        if has_duplicate_key(data):
            self.stricter["duplicate" if error["status"] == "duplicate" else "fault in a duplicate"] += 1
        else:
            self.differ(path, f"the real library accepts it, probe says {answer['state']}: {error}")

    def contents(self, both):
        readings = our_readings(list(both))
        for path, (tensors, metadata) in both.items():
            one = readings.get(path)
            if one is None:
                self.differ(path, "inspect says nothing about it")
                continue
            here = {t["name"]: (t["dtype"], t["shape"]) for t in one["tensors"]}
            if here != tensors or len(one["tensors"]) != len(tensors):
                self.differ(path, f"tensors here {here}, there {tensors}")
            if one["metadata"] != metadata:
                self.differ(path, f"metadata here {one['metadata']}, there {metadata}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000 if SANITIZED else 10000)
    parser.add_argument("--seed", type=int, default=20260601)
    args = parser.parse_args()
    rng, comparison = random.Random(args.seed), Comparison()
    cases = sorted(str(p) for p in CASES.glob("*.safetensors"))
    comparison.contents(comparison.verdicts(cases))
    print(f"{len(cases)} crafted headers: {dict(comparison.counts)}, stricter {dict(comparison.stricter)}")
    place = tempfile.mkdtemp(prefix="tenure-differential-", dir=fast_folder())
    paths = []
    for i in range(args.count):
        paths.append(os.path.join(place, f"{i:05d}.safetensors"))
        Path(paths[-1]).write_bytes(mutated_file(rng))
    before = collections.Counter(comparison.counts)
    comparison.contents(comparison.verdicts(paths))
    done = comparison.counts - before
    print(f"{args.count} mutated headers, seed {args.seed}: {dict(done)}, stricter in all {dict(comparison.stricter)}")
    for path, what in comparison.differences[:20]:
        print(f"DIFFERENT {path}: {what}")
    print(f"{len(comparison.differences)} differences")
    if comparison.differences:
        return 1
    shutil.rmtree(place)
    if len(cases) < 80 or min(done["accepted by both"], done["refused by both"]) < args.count // 5:
        print("FAILED: too few cases of one kind to mean anything")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
