"""What does not fit the memory budget, where the original would have loaded it: a private map by Python's own mmap.

Only under the drop-in and only on Linux. It is said once, with a warning; TENURE_STRICT=1 refuses instead. Where the
system refuses the map too, the refusal of the budget with its numbers is what the program gets.
"""

from __future__ import annotations

import mmap
import os
import sys
import warnings

from .. import _tenure
from ..errors import MemoryRefused

_warned = False


class Mapped:
    """Stands in for a lease: the attributes that the makers ask for, over a private map."""

    def __init__(self, dtype: str, shape: tuple[int, ...], buffer: memoryview) -> None:
        self.dtype, self.shape, self.buffer = dtype, shape, buffer
        self.nbytes = len(buffer)


def map_instead(handle: _tenure.Checkpoint, name: str, refusal: MemoryRefused) -> Mapped:
    """Map a tensor privately.

    Raises
    ------
    MemoryRefused
        Where that is not done or the system refuses it too.
    """
    place = handle.place(name)
    if place is None or not sys.platform.startswith("linux") or os.environ.get("TENURE_STRICT") == "1":
        raise refusal
    path, offset, size = place
    start = offset - offset % mmap.ALLOCATIONGRANULARITY
    dtype, shape, _ = handle.info(name)
    try:
        with open(path, "rb") as file:
            whole = mmap.mmap(file.fileno(), offset - start + size, access=mmap.ACCESS_COPY, offset=start)
    except (OSError, ValueError):
        raise refusal from None
    _warn(refusal)
    return Mapped(dtype, shape, memoryview(whole)[offset - start :])


def _warn(refusal: MemoryRefused) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{refusal} It is mapped instead, as safetensors would; who cuts the file now ends this process. "
            "TENURE_STRICT=1 refuses instead, TENURE_MEMORY sets the budget.",
            ResourceWarning,
            stacklevel=5,
        )
