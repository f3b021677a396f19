# ruff: noqa: F401
"""What the programs of the abuse tests begin with: each way in which a tensor comes out of a file, under a name.

Run inside a process of its own (`python -c "from abuse import *; ..." PATH WAY`), so that a death is seen as one.
"""

import os
import re
import sys
import threading
import time
import warnings

import numpy as np

import tenure
import tenure.safetensors as drop_in

warnings.simplefilter("ignore")
path, way = (*sys.argv[1:3], "own")[:2]
REFUSALS = (tenure.TenureError, drop_in.SafetensorError, OSError, MemoryError)
WAYS = ["own", "lazy", "np-mmap", "np-pread", "pt-mmap", "pt-pread", "pt-own"]
if way.startswith("pt"):
    import torch


class Opened:
    """A file opened in the way that the test asks for."""

    def __init__(self):
        framework, _, backend = way.partition("-")
        self.sliced = None
        if way == "lazy":
            file = tenure.LazyStateDict(path, framework="numpy")
            self.get, self.part = file.__getitem__, lambda name, index: file.tensor(name)[index].to_numpy()
        elif way in ("own", "pt-own"):
            file = tenure.open(path)
            make = "to_torch" if way == "pt-own" else "to_numpy"
            self.get = lambda name: getattr(file[name], make)()
            self.part = lambda name, index: getattr(file[name][index], make)()
        else:
            file = drop_in.safe_open(path, framework, backend=backend)
            self.get, self.part = file.get_tensor, lambda name, index: file.get_slice(name)[index]
        self.file = file


def load():
    """Read the whole file in the way that the test asks for."""
    framework, _, backend = way.partition("-")
    if way == "lazy":
        return dict(tenure.LazyStateDict(path, framework="numpy"))
    if way in ("own", "pt-own"):
        return tenure.load(path, framework="torch" if way == "pt-own" else "numpy")
    from importlib import import_module

    module = import_module("tenure.safetensors." + {"np": "numpy", "pt": "torch"}[framework])
    return module.load_file(path, backend=backend)


def total(tensor):
    """Touch every element."""
    return float(tensor.sum())


def refused(call, *arguments):
    """Say how a call was refused: the class, or None when it was not."""
    try:
        call(*arguments)
    except REFUSALS as error:
        return type(error).__name__
    return None


def memory(word):
    """A number of this process as the system tells it, in bytes."""
    with open("/proc/self/status") as status:
        return int(re.search(rf"{word}:\s+(\d+)", status.read())[1]) << 10


def rss():
    """Resident bytes now."""
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def descriptors():
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


__all__ = [name for name in dir() if not name.startswith("_")]
