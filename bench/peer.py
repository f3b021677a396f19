"""The Python package safetensors' side of bench/run.py: each round prints its nanoseconds on a line.

peer.py open FILE ROUNDS     safe_open and its names
peer.py list FOLDER ROUNDS   safe_open of every file; name, type and shape of every tensor
"""

import sys
import time
from pathlib import Path

from safetensors import safe_open


def open_one(path):
    with safe_open(path, framework="np") as file:
        return len(file.keys())


def list_one(path):
    with safe_open(path, framework="np") as file:
        found = []
        for name in file.keys():
            part = file.get_slice(name)
            found.append((name, part.get_dtype(), part.get_shape()))
        return len(found)


def main():
    mode, path, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    paths = [path] if mode == "open" else sorted(str(p) for p in Path(path).iterdir())
    one = open_one if mode == "open" else list_one
    for round_ in range(rounds + 1):
        began = time.perf_counter_ns()
        for each in paths:
            one(each)
        if round_:  # the first fills the page cache
            print(time.perf_counter_ns() - began)


if __name__ == "__main__":
    main()
