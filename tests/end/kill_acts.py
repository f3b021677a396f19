"""Kill every verb that changes files or what is known of them, and show that nothing is lost, doubled or half done.

Imports have a loop of their own (kill_loop.py). Here the verbs are copying, moving on one disk and to another, the trash,
deleting, undo, hash jobs, scans, relocating a root, the migration of an older library, and restoring an export
(changing_verbs.py). First each is run once without a kill: that is the end which every other run must come to. Then it is
killed by SIGKILL, at each of the points that the library names (tn_os_point in its sources) and at random instants. After
a kill

1. SQLite finds the file whole, and no file's bytes are nowhere;
2. the same command, given again, comes to the end of the undisturbed run: the same files with the same bytes, the same
   records with their tags, nothing left beside them;
3. where there is an undo, it leads back to the beginning.

`--kills` is how many there are at least: one at each point on the way of each verb, in a soak (TENURE_SOAK=1) 20 at each
point and five times as many altogether, the rest at random instants. A failing round keeps its folder. Standard library
only.
"""

import argparse
import collections
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from changing_verbs import World, compare, other_disk, verbs
from command import SANITIZED, SOAK, TOP, arguments, environment, fast_folder

EACH = 20  # kills at each named point, in a soak

ELSEWHERE = ("import.", "library.created")


def points():
    """Every point that the sources name, but those of an import alone (kill_loop.py)."""
    names = set()
    for source in (TOP / "src").rglob("*.c"):
        names.update(re.findall(r'\btn_os_point\("([^"]+)"\)', source.read_text()))
    return sorted(name for name in names if not name.startswith(ELSEWHERE))


class Loop:
    def __init__(self, world, seed):
        self.world, self.random = world, random.Random(seed)
        self.kills, self.history = collections.Counter(), ""

    def start(self, verb):
        """The state before it, whose records nobody asks for where there is no way back."""
        verb.before()
        return self.world.state() if verb.undo else (self.world.files(), None)

    def undisturbed(self, verb):
        """The end that the verb comes to, and how long it takes."""
        self.history = f"{verb.name}, undisturbed"
        self.start(verb)
        began = time.monotonic()
        self.world.must(*verb.words)
        verb.seconds = time.monotonic() - began
        verb.end = self.world.state()

    def die(self, verb, point):
        """False when the verb came to its end."""
        env = {**self.world.environment, **({"TENURE_TEST_KILL": point} if point else {})}
        command = arguments(verb.words[0], *verb.words[1:], library=self.world.library)
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(env))
        if not point:
            time.sleep(self.random.random() * verb.seconds)
            child.kill()
        child.wait(120)
        return child.returncode == -signal.SIGKILL

    def round(self, verb, point):
        """`point` is NAME:N, to die when it is passed the Nth time, or None. False: the verb did not come by."""
        self.history = f"{verb.name}, killed at {point or 'random'}"
        before = self.start(verb)
        if not self.die(verb, point):
            return False
        self.world.look([] if verb.deletes else before[0].values())
        again = self.world.run(*verb.words)
        if again.returncode not in (0, 1, 2, 3):  # it may have come to its end: nothing is left to undo, or to move
            raise AssertionError(f"once more it ended with {again.returncode}: {again.stderr.decode(errors='replace')}")
        compare("the end", self.world.state(), verb.end)
        if verb.undo:
            self.world.take_back()
            compare("after undo", self.world.state(), before)
        self.kills[point.split(":")[0] if point else "random"] += 1
        return True

    def run(self, names, kills):
        """Returns the points that too few were killed at."""
        todo = verbs(self.world)
        ways = {name: [] for name in names}
        for verb in todo:
            self.undisturbed(verb)
            for name in names:
                if self.round(verb, f"{name}:1"):
                    ways[name].append(verb)
        for name, here in ways.items():
            for i in range(EACH - len(here) if SOAK and here else 0):
                if not self.round(here[i % len(here)], f"{name}:{self.random.choice((1, 1, 2))}"):
                    self.round(here[i % len(here)], f"{name}:1")
        while sum(self.kills.values()) < kills:
            self.round(self.random.choice(todo), None)
        return [name for name in names if self.kills[name] < (EACH if SOAK else 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    kills = 40 if SANITIZED else args.kills * 5 if SOAK else args.kills
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    began = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="tenure-kill-", dir=fast_folder()))
    (place / "world").mkdir()
    disk = other_disk(place)
    loop, names = Loop(World(place / "world", disk, place), seed), points()
    failure = None
    try:
        never = loop.run(names, kills)
        if never and disk:
            failure = f"too few kills at {never}"
    except Exception as error:  # noqa: BLE001  (said with the way that led there)
        failure = f"{type(error).__name__}: {error}\nafter: {loop.history}\nfolders: {loop.world.folders()}"
    print(f"{sum(loop.kills.values())} kills, seed {seed}, {time.monotonic() - began:.0f} s" + ("" if disk else ", one disk only"))
    for name in [*names, "random"]:
        print(f"  {name:28s} {loop.kills[name]:5d} {'#' * min(loop.kills[name], 60)}")
    if failure:
        print(f"FAILED: {failure}")
        return 1
    for folder in (place, *loop.world.folders()):
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
