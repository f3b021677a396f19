#!/usr/bin/env python3
"""Install this checkout into build/python-venv as `pip install .` does, and test it: ruff, mypy --strict, pytest.

The last line is pytest's count. Torch is used where the machine's Python has it (Debian's python3-torch), and never
fetched. `tools/test.py` runs this as its stage `python`.
"""

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
VENV = TOP / "build/python-venv"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
PACKAGES = ["numpy", "safetensors==0.8.0", "pytest", "ruff", "mypy", "typing_extensions"]


def run(*command):
    subprocess.run([str(part) for part in command], cwd=TOP, check=True)


def has_torch():
    return subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0


def main():
    if not PYTHON.exists():
        run(sys.executable, "-m", "venv", *(["--system-site-packages"] if has_torch() else []), VENV)
        run(PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES)
    run("sh", "tools/fetch-blake3")
    run(PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--force-reinstall", "--no-deps", ".")
    run(PYTHON, "-m", "ruff", "check", "python")
    run(PYTHON, "-m", "ruff", "format", "--check", "python")
    run(PYTHON, "-m", "mypy")
    pytest = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", "python/tests", *sys.argv[1:]]
    return subprocess.run([str(part) for part in pytest], cwd=TOP).returncode


if __name__ == "__main__":
    sys.exit(main())
