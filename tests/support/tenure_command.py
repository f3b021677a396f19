"""Run the `tenure` command as people and scripts do. The binary's path stands in $TENURE. Standard library only."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TENURE = os.environ.get("TENURE", "tenure")
TIMEOUT_S = 120


@dataclass
class Ended:
    """How a run ended and what it said."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        return self.stderr.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def objects(self) -> list[dict[str, Any]]:
        """Every line of stdout as JSON; a line that is no object with "v":1 first, or has a key twice, fails."""
        return [json_line(line) for line in self.stdout.split(b"\n")[:-1]]


def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a key stands twice: {[key for key, _ in pairs]}")
    return found


def json_line(line: bytes) -> dict[str, Any]:
    if not line.startswith(b'{"v":1'):
        raise ValueError(f"not an object that begins with v: {line[:80]!r}")
    value = json.loads(line.decode("utf-8", "strict"), object_pairs_hook=no_duplicates)
    assert isinstance(value, dict)
    return value


class CommandTest(unittest.TestCase):
    """A test with a folder of its own, and a library in it that no other test sees."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tenure-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.library = self.folder / "data" / "library.db"
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TENURE_")}
        kept.pop("NO_COLOR", None)
        self.environment = kept | {"TENURE_LIBRARY": str(self.library)}

    def tenure(self, *words: str | bytes | Path, input: bytes = b"", **environment: str) -> Ended:
        ran = subprocess.run(
            [TENURE, *words], input=input, capture_output=True, timeout=TIMEOUT_S, cwd=self.folder,
            env=self.environment | environment,
        )  # fmt: skip
        if ran.returncode < 0:
            self.fail(f"tenure died of signal {-ran.returncode}: {ran.stderr.decode(errors='replace')}")
        return Ended(ran.returncode, ran.stdout, ran.stderr)

    def start(self, *words: str | bytes | Path, **more: Any) -> "subprocess.Popen[bytes]":
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        return subprocess.Popen([TENURE, *words], cwd=self.folder, env=self.environment, **(options | more))


def main() -> None:
    if not shutil.which(TENURE):
        sys.exit(f"the command is not there: {TENURE} (set TENURE to its path)")
    unittest.main()
