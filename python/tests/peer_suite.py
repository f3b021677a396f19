#!/usr/bin/env python3
"""Run the Python tests of safetensors 0.8.0 twice: with safetensors itself, and with Tenure under its name.

Usage: peer_suite.py [SDIST]. Without the sdist it is fetched by pip. Wants a Python with torch, numpy, pytest, fsspec,
safetensors 0.8.0 and tenure. Exits with 1 when a test that passes with safetensors does not pass with Tenure.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PLUGIN = """
import sys
import tenure.safetensors, tenure.safetensors.numpy, tenure.safetensors.torch
sys.modules["safetensors"] = tenure.safetensors
sys.modules["safetensors.numpy"] = tenure.safetensors.numpy
sys.modules["safetensors.torch"] = tenure.safetensors.torch
"""
# They import frameworks at their top.
IGNORED = ["tests/test_flax_comparison.py", "tests/test_tf_comparison.py"]


def fetch(folder):
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "safetensors", "-d", folder]
    subprocess.run([*command, "safetensors==0.8.0"], check=True)
    return next(Path(folder).glob("safetensors-0.8.0*"))


def outcomes(folder, plugin):
    """Each test's outcome by its name."""
    environment = dict(os.environ)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "tests"]
    if plugin:
        (folder / "tenure_as_safetensors.py").write_text(PLUGIN)
        environment["PYTHONPATH"] = str(folder) + os.pathsep + environment.get("PYTHONPATH", "")
        command += ["-p", "tenure_as_safetensors"]
    command += [f"--ignore={name}" for name in IGNORED]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    print(f"{'tenure' if plugin else 'safetensors':12}", done.stdout.strip().splitlines()[-1], flush=True)
    return {name: word for word, name in re.findall(r"^(PASSED|FAILED|ERROR) (\S+)", done.stdout, re.M)}


def main():
    with tempfile.TemporaryDirectory() as place:
        sdist = Path(sys.argv[1]) if len(sys.argv) > 1 else fetch(place)
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        folder = Path(place) / "safetensors-0.8.0/bindings/python"
        theirs, ours = outcomes(folder, False), outcomes(folder, True)
    lost = [name for name, word in theirs.items() if word == "PASSED" and ours.get(name) != "PASSED"]
    for name in lost:
        print("passes with safetensors and not with Tenure:", name)
    return 1 if lost or not theirs else 0


if __name__ == "__main__":
    sys.exit(main())
