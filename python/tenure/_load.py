"""Reading all or much of a file at once."""

from __future__ import annotations

import contextlib
import os

from ._budget import check, read_size
from ._checkpoint import Checkpoint, Tensor, open
from ._frameworks import word_of
from ._tenure import BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ._budget import Size
    from ._checkpoint import Path, Progress

BATCH_BYTES = 1 << 30  # what is held twice at most while tensors go to another device


def load(
    path: Path,
    *,
    names: Iterable[str] | None = None,
    dtype: Any = None,
    device: Any = "cpu",
    framework: str = "torch",
    budget: Size | None = None,
    progress: Progress | bool | None = None,
) -> dict[str, Any]:
    """Read the tensors of a file.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        As for `tenure.open`.
    names : iterable of str, optional
        Some of its tensors; all by default.
    dtype : str or dtype, optional
        Turn floating-point tensors into this type, such as ``"F16"`` or ``torch.float16``. Integers and booleans stay.
    device : str or torch.device
        Where torch tensors shall lie.
    framework : {"torch", "numpy", "lease"}
        What the tensors shall be.
    budget : int or str, optional
        What this call may hold in memory at once, in bytes or like ``"2G"``: the tensors that it gives, and what it
        needs meanwhile. The process's budget (``TENURE_MEMORY``) holds as well.
    progress : callable or bool, optional
        Called as ``progress(done, total)`` in bytes; an exception in it ends the reading. True shows a bar where tqdm
        is installed.

    Returns
    -------
    dict of str to tensor
        In the order of the file.

    Raises
    ------
    MemoryRefused
        Before anything is read, when it does not fit the budget: `found` bytes would be held, `expected` may be.
    FormatError, FileChanged, OSError
        As for `tenure.open`.
    ValueError
        When `budget` is no size or `framework` is not known.
    """
    allowed = read_size(budget)
    with open(path) as checkpoint:
        plan = _Plan(checkpoint, names, framework, dtype, device)
        plan.fit(allowed)
        with telling(progress, plan.bytes) as tell:
            return plan.read(tell)


class _Plan:
    """What a load reads, already of the type that is wanted, and how much of it is held twice on its way elsewhere."""

    def __init__(
        self, checkpoint: Checkpoint, names: Iterable[str] | None, framework: str, dtype: Any, device: Any
    ) -> None:
        self.checkpoint = checkpoint
        self.names = list(checkpoint) if names is None else list(dict.fromkeys(names))
        self.make = _maker(framework, None, device)
        self.dtype = dtype
        self.away = framework == "torch" and str(device) != "cpu"
        self.batch = BATCH_BYTES
        self.bytes = sum(checkpoint[name].nbytes for name in self.names)

    def fit(self, budget: int | None) -> None:
        """Refuse what would hold too much, and choose how much is read at once where there is a choice."""
        cost = self.checkpoint.cost(self.names, dtype=self.dtype)
        beside = cost.memory_bytes - cost.bytes  # what leases take beside their elements
        least = beside + (cost.largest_bytes if self.away else cost.bytes)
        may = check(least, budget, os.fsdecode(self.checkpoint.path))
        if may is not None:
            self.batch = min(BATCH_BYTES, max(may - beside, cost.largest_bytes))

    def read(self, progress: Progress | None) -> dict[str, Any]:
        """Read in one go what stays; what goes to another device piece by piece, so that it is not held twice."""
        if not self.away:
            leases = self.checkpoint.lease_many(self.names, progress=progress, dtype=self.dtype)
            return {name: self.make(leases.pop(name)) for name in self.names}
        result: dict[str, Any] = {}
        done = 0
        for batch in self._batches():
            listener = None if progress is None else _shifted(progress, done, self.bytes)
            leases = self.checkpoint.lease_many(batch, progress=listener, dtype=self.dtype)
            for name in batch:
                done += self.checkpoint[name].nbytes
                result[name] = self.make(leases.pop(name))
        return result

    def _made(self, tensor: Tensor) -> int:
        """Bytes that a tensor takes as it is wanted."""
        if self.dtype is None or not is_float(tensor.dtype):
            return tensor.nbytes
        return tensor.size * BITS[word_of(self.dtype)] // 8

    def _batches(self) -> list[list[str]]:
        batches: list[list[str]] = [[]]
        size = 0
        for name in self.names:
            nbytes = self._made(self.checkpoint[name])
            if batches[-1] and size + nbytes > self.batch:
                batches.append([])
                size = 0
            batches[-1].append(name)
            size += nbytes
        return batches


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)


def is_float(word: str) -> bool:
    """Whether a `dtype` turns tensors of this element type."""
    return word.startswith(("F", "BF"))


def _maker(framework: str, dtype: Any, device: Any) -> Callable[[Any], Any]:
    """Give what makes a tensor of a lease; `dtype` is what it turns floats into that are not of that type yet."""
    from . import _frameworks

    def target(lease: Any) -> Any:
        return dtype if dtype is not None and is_float(lease.dtype) else None

    if framework == "torch":
        return lambda lease: _frameworks.to_torch(lease, target(lease), device)
    if framework == "numpy":
        return lambda lease: _frameworks.to_numpy(lease, target(lease))
    if framework == "lease":
        return lambda lease: lease
    raise ValueError(f"framework is 'torch', 'numpy' or 'lease', not {framework!r}")


@contextlib.contextmanager
def telling(progress: Progress | bool | None, total: int = 0) -> Iterator[Progress | None]:
    """Give the callback that a caller's `progress` stands for; True is a bar while the block runs."""
    if progress is not True:
        yield progress or None
        return
    bar = _Bar(total)
    try:
        yield bar.show
    finally:
        bar.close()


class _Bar:
    """A tqdm bar where tqdm is installed, else nothing."""

    def __init__(self, total: int) -> None:
        try:
            from tqdm import tqdm
        except ImportError:
            self._bar: Any = None
        else:
            self._bar = tqdm(total=total, unit="B", unit_scale=True)
        self._done = 0

    def show(self, done: int, total: int) -> None:
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._done)
            self._done = done

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
