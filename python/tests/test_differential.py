"""A quick part of differential.py; `make peers` runs 100,000 cases. In a process of its own: the original may abort."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("seed", [1, 2])
def test_random_cases_are_the_same_or_a_named_difference(seed):
    if importlib.util.find_spec("safetensors") is None:
        pytest.skip("safetensors is not installed")
    command = [sys.executable, Path(__file__).with_name("differential.py"), "--count", "2000", "--seed", f"{seed}00000"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "\n0 differences without a name" in done.stdout
