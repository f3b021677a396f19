"""What the tests share. They run against the installed package: NumPy is needed, safetensors 0.8 for the comparisons,
torch where a test asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tenure

TOP = Path(__file__).resolve().parent.parent.parent
CASES = TOP / "tests/data/format/header-cases"


@pytest.fixture
def arrays():
    """Tensors of many types and shapes, with values that tell elements apart."""
    rng = np.random.default_rng(7)
    return {
        "matrix": rng.standard_normal((10, 5)).astype(np.float32),
        "half": rng.standard_normal((3, 4, 5)).astype(np.float16),
        "double": np.arange(6, dtype=np.float64).reshape(2, 3),
        "bytes": np.arange(7, dtype=np.uint8),
        "long": np.array([-(2**63), 2**63 - 1]),
        "flag": np.array([True, False, True]),
        "complex": np.array([1 + 2j, 3 - 4j], dtype=np.complex64),
        "scalar": np.array(3.5, np.float32),
        "empty": np.zeros((0, 3), np.int8),
        "ünï.wéight": np.arange(4, dtype=np.int16),
    }


@pytest.fixture
def path(tmp_path, arrays):
    """A file of them."""
    path = tmp_path / "model.safetensors"
    tenure.save(arrays, path, metadata={"title": "a test", "b": "ü"})
    return path


@pytest.fixture
def torch():
    """Torch, where it is."""
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def python():
    """Run a program in a process of its own; its output, and it must end well."""

    def run(program, *arguments, code=0, timeout=120, **environment):
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == code, f"ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return run


@pytest.fixture
def abuse(python):
    """Run a program that begins with all of abuse.py, in a process of its own."""
    here = str(Path(__file__).resolve().parent)

    def run(program, *arguments, **options):
        return python(
            f"import sys\nsys.path.insert(0, {here!r})\nfrom abuse import *\n{program}", *arguments, **options
        )

    return run
