"""Running the `tenure` command in tests: where it is, what it says, how a run that skips everything ends.

Standard library only. TENURE names the command; without it build/dev/tenure is taken.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
TENURE = os.environ.get("TENURE", str(TOP / "build" / "dev" / "tenure"))
SANITIZED = bool(os.environ.get("TENURE_SANITIZED"))
SOAK = os.environ.get("TENURE_SOAK") == "1"
SKIPPED = 77  # the exit code of a program of tests that skipped all of them

sys.path.insert(0, str(TOP / "tests" / "support"))


def environment(extra=None):
    """The environment of a run: nothing of the person who runs the tests leaks in."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TENURE_") and name not in ("XDG_DATA_HOME", "NO_COLOR")
    }
    kept.update(extra or {})
    return kept


def arguments(verb, *rest, library=None):
    library_option = ["--library", str(library)] if library else []
    return [TENURE, verb, *library_option, *(os.fspath(a) for a in rest)]


def tenure(verb, *rest, library=None, env=None, timeout=120, **more):
    """Run one command to its end; output as bytes."""
    return subprocess.run(
        arguments(verb, *rest, library=library),
        capture_output=True,
        stdin=subprocess.DEVNULL if "input" not in more else None,
        env=environment(env),
        timeout=timeout,
        **more,
    )


def objects(run):
    """The JSON objects of a run's stdout. Every line must be one, with "v":1."""
    found = [json.loads(line) for line in run.stdout.splitlines()]
    for one in found:
        if one.get("v") != 1:
            raise AssertionError(f"an object without v: {one}")
    return found


def records(library):
    run = tenure("list", "--json", library=library)
    if run.returncode:
        raise AssertionError(f"list ended with {run.returncode}: {run.stderr.decode(errors='replace')}")
    return objects(run)


def jobs(library):
    run = tenure("jobs", "--json", library=library)
    if run.returncode:
        raise AssertionError(f"jobs ended with {run.returncode}: {run.stderr.decode(errors='replace')}")
    return objects(run)


def key(record):
    """What a record says, without what differs from one run to the next."""
    return json.dumps({k: v for k, v in record.items() if k not in ("id", "added")}, sort_keys=True)


def samples(library):
    """The sample digest of every model by its path, read past the command."""
    with sqlite3.connect(f"file:{library}?mode=ro", uri=True) as db:
        return sorted(
            (bytes(path), sample and bytes(sample)) for path, sample in db.execute("SELECT path, sample FROM models")
        )


def integrity(library):
    """What SQLite itself finds wrong with a library file, looked at in place; [] when all is well."""
    db = sqlite3.connect(str(library))
    try:
        wrong = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        return wrong + [str(row) for row in db.execute("PRAGMA foreign_key_check")]
    finally:
        db.close()


def fast_folder():
    """A place for many small files where a flush costs nothing, or None for the usual one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Case(unittest.TestCase):
    """A test with a folder of its own and a library in it that is not there yet."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="tenure-end-", dir=fast_folder(), ignore_cleanup_errors=True)
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.models = self.place / "models"
        self.library = self.place / "library.db"

    def import_(self, *paths, **more):
        return tenure("import", "--hash", "none", *(paths or (self.models,)), library=self.library, **more)

    def check(self, run, *codes):
        said = run.stderr.decode(errors="replace") + run.stdout.decode(errors="replace")
        self.assertIn(run.returncode, codes, said[-2000:])
        return run


def main():
    """Run a file of tests; the exit code is 77 when every one of them was skipped."""
    ended = unittest.main(exit=False, verbosity=2).result
    run = max(ended.testsRun, len(ended.skipped))  # a class that is skipped whole may count as not run
    if not ended.wasSuccessful() or not run:
        sys.exit(1)
    sys.exit(SKIPPED if len(ended.skipped) == run else 0)
