"""Kill imports with SIGKILL, hundreds of times, and show that a library loses and doubles nothing.

Each round starts from nothing, or from a finished library whose folder has changed since, and kills the import one to
four times: at a random instant, or at one of the points that the library names (tn_os_point in its sources), each of
those at least 20 times for 500 kills. After each kill SQLite must find the file whole. Then the import runs to its
end, and

1. the records equal those of an import that nobody disturbed: paths, states, answers, sample digests;
2. no job is left open, and nothing is set aside as crashed;
3. one more import finds nothing to do.

Two rounds run side by side. A round that fails keeps its folder and says how it got there. Standard library only.
TENURE_SOAK=1 makes ten times as many kills, TENURE_SANITIZED=1 makes 60.
"""

import argparse
import collections
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import trees
from command import (
    SANITIZED,
    SOAK,
    TOP,
    arguments,
    environment,
    fast_folder,
    integrity,
    jobs,
    key,
    objects,
    records,
    samples,
    tenure,
)

CLOSED = ("done", "cancelled")


def points():
    """Every name that the library's sources give a point that an import passes. Those of acts, of hash jobs and of roots
    have kill tests of their own."""
    names = set()
    for source in (TOP / "src").rglob("*.c"):
        names.update(re.findall(r'\btn_os_point\("([^"]+)"\)', source.read_text()))
    return sorted(name for name in names if name.split(".")[0] in ("import", "library"))


class Tree:
    """A folder of models that can be as it was (0) or as it became (1).

    Between the two lie files that were replaced, overwritten in place, moved, removed and added, one that was carried to
    another place as a new file, two that traded their names, and a set with another shard.
    """

    def __init__(self, place):
        self.root = place / "models"
        self.away = place / "away"
        trees.small_tree(self.root, loras=80)
        self.away.mkdir()
        self.state = 0
        self.moves = []
        for i, modules in ((2, 20), (3, 21), (4, 22)):
            new = self.away / f"new {i}"
            trees.write_lora(new, modules, 8)
            self.moves.append((self.root / "loras" / f"style {i:03d}.safetensors", new))
        shard = self.root / "set" / "model-00002-of-00003.safetensors"
        shutil.copyfile(shard, self.away / "shard")
        os.truncate(self.away / "shard", shard.stat().st_size - 100)
        self.moves.append((shard, self.away / "shard"))
        self.gone = [self.root / "loras" / f"style {i:03d}.safetensors" for i in (5, 6)]
        self.fresh = [self.root / "loras" / f"fresh {i}.safetensors" for i in range(3)]
        for path in self.fresh:
            trees.write_lora(self.away / path.name, 15)
        self.moved = (self.root / "loras" / "style 007.safetensors", self.root / "Ünïcode ☃" / "moved.safetensors")
        self.carried = (self.root / "loras" / "style 009.safetensors", self.root / "Ünïcode ☃" / "carried.safetensors")
        shutil.copyfile(self.carried[0], self.away / "carried")
        self.swapped = [self.root / "loras" / f"style {i:03d}.safetensors" for i in (10, 11)]
        self.overwritten = self.root / "loras" / "style 008.safetensors"
        self.overwrite(0)

    def overwrite(self, state):
        """Other bytes in the same file; each state has its own time, so that going back changes nothing."""
        trees.write_lora(self.overwritten, 10 + state, 8)
        os.utime(self.overwritten, ns=(10**18, 10**18 + 10**9 * (state + 1)))

    def become(self, state):
        """Files are renamed, never copied: what did not change keeps its identity and its times."""
        if state == self.state:
            return
        for here, other in self.moves:
            spare = self.away / "spare"
            os.rename(here, spare)
            os.rename(other, here)
            os.rename(spare, other)
        for path in self.gone:
            inside, outside = path, self.away / path.name
            os.rename(*((inside, outside) if state else (outside, inside)))
        for path in self.fresh:
            inside, outside = path, self.away / path.name
            os.rename(*((outside, inside) if state else (inside, outside)))
        os.rename(*(self.moved if state else reversed(self.moved)))
        here, there = self.carried if state else reversed(self.carried)
        os.rename(here, self.away / "spare")
        os.rename(self.away / "carried", there)
        os.rename(self.away / "spare", self.away / "carried")
        os.rename(self.swapped[0], self.away / "spare")
        os.rename(self.swapped[1], self.swapped[0])
        os.rename(self.away / "spare", self.swapped[1])
        self.overwrite(state)
        self.state = state


class Loop:
    """One thread's rounds. `plan` is what to kill at: names of points, and None for a random instant."""

    def __init__(self, place, plan, seed):
        self.place, self.plan, self.random = place, collections.deque(plan), random.Random(seed)
        self.kills = collections.Counter()
        self.missed = collections.Counter()
        self.rounds = 0
        self.failure = None
        self.tree = Tree(place)
        self.library = place / "library.db"
        self.history = []

    def command(self):
        return arguments("import", "--hash", "none", "--quiet", self.tree.root, library=self.library)

    def finish(self):
        """An import that nobody disturbs."""
        run = subprocess.run(self.command(), capture_output=True, env=environment(), timeout=300)
        if run.returncode not in (0, 1):
            raise AssertionError(f"the import ended with {run.returncode}: {run.stderr.decode(errors='replace')}")
        return run

    def remove(self):
        for path in self.place.glob("library.db*"):
            path.unlink()

    def state_of(self):
        return sorted(key(r) for r in records(self.library)), samples(self.library)

    def time_of_one(self):
        """How long an import into a new library takes. Leaves the library."""
        self.remove()
        began = time.monotonic()
        self.finish()
        return time.monotonic() - began

    def prepare(self):
        """What undisturbed imports give: of the folder as it was, and then as it became."""
        self.seconds = min(self.time_of_one() for _ in range(3))
        self.finished = self.place / "finished.db"
        self.expected = [self.state_of()]
        with sqlite3.connect(self.library) as db:  # each record is told from all others by what was said of it
            db.execute("INSERT INTO tags SELECT id, 't' || id FROM models")
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        shutil.copyfile(self.library, self.finished)
        self.tree.become(1)
        self.finish()
        self.expected.append(self.state_of())
        if self.expected[0] == self.expected[1]:
            raise AssertionError("the changed folder gave the same records")

    def start(self, changed):
        self.remove()
        self.history = ["from a finished library" if changed else "from nothing"]
        if changed:
            shutil.copyfile(self.finished, self.library)
        self.tree.become(1 if changed else 0)

    def kill(self, point):
        """One import and its death. False when it came to its end before."""
        env = {}
        pass_number = 1
        if point:
            pass_number = self.random.choice((1, 1, 1, 2, 3, 7)) if self.missed[point] < 8 else 1
            env["TENURE_TEST_KILL"] = f"{point}:{pass_number}"
        child = subprocess.Popen(
            self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(env)
        )
        if not point:
            time.sleep(self.random.random() * self.seconds * 0.95)
            child.kill()
        child.wait(300)
        self.history.append(f"{point}:{pass_number}" if point else "random")
        if child.returncode == -signal.SIGKILL:
            self.kills[point or "random"] += 1
            return True
        if child.returncode not in (0, 1):
            raise AssertionError(f"the import ended with {child.returncode}")
        self.missed[point or "random"] += 1
        return False

    def look(self):
        """Let SQLite look at a copy, so that the next import finds everything as the kill left it."""
        copy = self.place / "copy.db"
        for suffix in ("", "-wal", "-journal"):
            target = Path(str(copy) + suffix)
            target.unlink(missing_ok=True)
            if Path(str(self.library) + suffix).exists():
                shutil.copyfile(str(self.library) + suffix, target)
        Path(str(copy) + "-shm").unlink(missing_ok=True)
        if copy.exists():
            wrong = integrity(copy)
            if wrong:
                raise AssertionError(f"SQLite finds: {wrong}")

    def check(self, changed):
        self.finish()
        found, expected = self.state_of(), self.expected[1 if changed else 0]
        if found != expected:
            lost = [r[:300] for r in set(expected[0]) - set(found[0])]
            more = [r[:300] for r in set(found[0]) - set(expected[0])]
            raise AssertionError(
                f"{len(expected[0])} records expected, {len(found[0])} found;\nlost: {lost}\nmore: {more}\n"
                f"samples equal: {found[1] == expected[1]}"
            )
        left = [job for job in jobs(self.library) if job["kind"] == "import" and job["state"] not in CLOSED]
        if left:
            raise AssertionError(f"jobs left open: {left}")
        wrong = integrity(self.library)
        if wrong:
            raise AssertionError(f"SQLite finds: {wrong}")
        self.check_nothing_changed()

    def check_nothing_changed(self):
        run = tenure("import", "--hash", "none", "--json", self.tree.root, library=self.library)
        said = [line["summary"] for line in objects(run) if "summary" in line]
        if len(said) != 1 or any(said[0][word] for word in ("fresh", "changed", "vanished", "relinked", "resumed")):
            raise AssertionError(f"one more import should find nothing to do and says {said}")

    def round(self):
        changed = self.random.random() < 0.4
        self.start(changed)
        for _ in range(self.random.randint(1, 4)):
            if not self.plan:
                break
            point = self.plan.popleft()
            if not self.kill(point):
                self.plan.append(point)
                if self.missed[point] > 200 + 20 * self.kills[point]:
                    raise AssertionError(
                        f"{point}: passed by {self.missed[point]} times, died there {self.kills[point]} times"
                    )
                break
            self.look()
        self.check(changed)
        self.rounds += 1

    def run(self):
        try:
            self.prepare()
            while self.plan:
                self.round()
        except Exception as error:  # noqa: BLE001  (reported by the main thread, with the way that led there)
            self.failure = f"{type(error).__name__}: {error}\nafter: {self.history}\nfolder: {self.place}"


def share_out(kills, names, loops):
    """Who kills where: each point 20 times for 500 kills (in proportion for more), the rest at random instants."""
    plan = [name for name in names for _ in range(max(20 * kills // 500, 1))]
    plan += [None] * max(kills - len(plan), kills // 4)
    random.Random(7).shuffle(plan)
    return [plan[i::loops] for i in range(loops)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--loops", type=int, default=2)
    args = parser.parse_args()
    kills = 60 if SANITIZED else args.kills * 10 if SOAK else args.kills
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    names = points()
    began = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="tenure-kill-", dir=fast_folder()))
    loops = []
    for i, plan in enumerate(share_out(kills, names, args.loops)):
        (place / str(i)).mkdir()
        loops.append(Loop(place / str(i), plan, seed + i))
    threads = [threading.Thread(target=loop.run) for loop in loops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done, missed = (
        sum((loop.kills for loop in loops), collections.Counter()),
        sum((loop.missed for loop in loops), collections.Counter()),
    )
    print(
        f"{sum(done.values())} kills in {sum(loop.rounds for loop in loops)} rounds, seed {seed}, "
        f"{time.monotonic() - began:.0f} s"
    )
    for name in [*names, "random"]:
        print(
            f"  {name:28s} {done[name]:5d} {'#' * min(done[name], 60)}"
            + (f"  (passed by {missed[name]})" if missed[name] else "")
        )
    failures = [loop.failure for loop in loops if loop.failure]
    for failure in failures:
        print(f"FAILED: {failure}")
    if not names:
        failures.append("no points")
        print("FAILED: the sources name no points")
    if not failures:
        shutil.rmtree(place, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
