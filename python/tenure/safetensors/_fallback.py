"""What does not fit the memory budget, where the original would have loaded it: a private map by Python's own mmap.

Only under the drop-in and only on Linux. It is said once, with a warning; TENURE_STRICT=1 refuses instead. Where the
system refuses the map too, the refusal of the budget with its numbers is what the program gets. What is mapped is the
file that was opened, also when another one has its name by now.
"""

from __future__ import annotations

import mmap
import os
import sys
import warnings

from .. import _tenure
from ..errors import MemoryRefused, TenureError, from_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int, int]

_warned = False


class Mapped:
    """Stands in for a lease: the attributes that the makers ask for, over a private map."""

    def __init__(self, dtype: str, shape: tuple[int, ...], buffer: memoryview) -> None:
        self.dtype, self.shape, self.buffer = dtype, shape, buffer
        self.nbytes = len(buffer)


def stamp_of(file: str | int) -> Stamp:
    """Tell a file from others, and from itself after a change. What cannot be looked at is like no other."""
    try:
        now = os.stat(file)
    except (OSError, ValueError):
        return 0, 0, -1, 0
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns


def is_allowed() -> bool:
    """Whether anything is mapped here at all."""
    return sys.platform.startswith("linux") and os.environ.get("TENURE_STRICT") != "1"


def map_instead(handle: _tenure.Checkpoint, name: str, stamp: Stamp, refusal: TenureError) -> Mapped:
    """Map a tensor privately.

    Parameters
    ----------
    handle : Checkpoint
        Whose file is kept open.
    name : str
    stamp : tuple of int
        Of that file when it was opened.
    refusal : TenureError
        What was said when it should be read, and what is raised where nothing is mapped.

    Raises
    ------
    MemoryRefused
        Where that is not done or the system refuses it too.
    FileChanged
        When the file is not what it was when it was opened.
    """
    place = handle.place(name)
    if place is None or not is_allowed():
        raise refusal
    path, offset, size = place
    dtype, shape, _ = handle.info(name)
    if size == 0:
        return Mapped(dtype, shape, memoryview(bytearray()))
    start = offset - offset % mmap.ALLOCATIONGRANULARITY
    try:
        with _Opened(path, stamp) as descriptor:
            whole = mmap.mmap(descriptor, offset - start + size, access=mmap.ACCESS_COPY, offset=start)
    except (OSError, ValueError):
        raise refusal from None
    _warn(refusal)
    return Mapped(dtype, shape, memoryview(whole)[offset - start :])


class _Opened:
    """The file of a stamp: one of the process's descriptors, else opened by its name."""

    def __init__(self, path: str, stamp: Stamp) -> None:
        self.path, self.stamp = path, stamp
        self.own = -1

    def __enter__(self) -> int:
        descriptor = self._find()
        if descriptor < 0:
            descriptor = self.own = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        if stamp_of(descriptor) != self.stamp:
            self.__exit__()
            raise from_status("FileChanged", "changed", "the file changed", self.path, "", None, None, None)
        return descriptor

    def __exit__(self, *exception: object) -> None:
        if self.own >= 0:
            os.close(self.own)
            self.own = -1

    def _find(self) -> int:
        for entry in os.listdir("/proc/self/fd"):
            if stamp_of(int(entry))[:2] == self.stamp[:2]:
                return int(entry)
        return -1


def _warn(refusal: TenureError) -> None:
    global _warned
    if not _warned:
        _warned = True
        said = str(refusal) if isinstance(refusal, MemoryRefused) else f"{refusal}."
        warnings.warn(
            f"{said} It is mapped instead, as safetensors would; who cuts the file now ends this process. "
            "TENURE_STRICT=1 refuses instead, TENURE_MEMORY sets the budget.",
            ResourceWarning,
            stacklevel=6,
        )
