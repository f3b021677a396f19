"""One import of a small folder under valgrind: no invalid access, no jump on unset bytes, nothing lost.

Without suppressions. Standard library only. TENURE names the command; it must not be built with a sanitizer.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import trees
from command import arguments, environment

VALGRIND = [
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite,possible",
    "--show-leak-kinds=definite,possible",
    "--track-fds=no",
    "--child-silent-after-fork=yes",
]


def main():
    if not shutil.which("valgrind"):
        print("there is no valgrind here")
        return 1
    with tempfile.TemporaryDirectory(prefix="tenure-valgrind-") as place:
        models, library = Path(place) / "models", Path(place) / "library.db"
        trees.small_tree(models, loras=8)
        for what in ("a first import", "one that finds nothing to do"):
            run = subprocess.run(
                [*VALGRIND, *arguments("import", "--hash", "none", models, library=library)],
                capture_output=True,
                text=True,
                env=environment(),
                timeout=900,
            )
            if run.returncode != 1:  # the folder holds damaged files, so 1 is right
                print(f"{what} ended with {run.returncode}:\n{run.stderr[-6000:]}\n{run.stdout[-1000:]}")
                return 1
            if "== " in run.stderr:
                print(f"valgrind speaks in {what}:\n{run.stderr[-6000:]}")
                return 1
            print(f"{what}: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
