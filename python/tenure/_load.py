"""Reading all or much of a file at once."""

from __future__ import annotations

from ._checkpoint import Checkpoint, open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ._checkpoint import Path, Progress

BATCH_BYTES = 1 << 30  # what is held twice at most while types change or tensors go to another device


def load(
    path: Path,
    *,
    names: Iterable[str] | None = None,
    dtype: Any = None,
    device: Any = "cpu",
    framework: str = "torch",
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
        Before anything is read, when it does not fit the budget.
    FormatError, FileChanged, OSError
        As for `tenure.open`.
    """
    with open(path) as checkpoint:
        wanted = list(checkpoint) if names is None else list(names)
        make = _maker(framework, dtype, device)
        if progress is True:
            bar = _Bar(checkpoint.cost(wanted).bytes)
            try:
                return _load(checkpoint, wanted, make, bar.show, dtype is not None or device != "cpu")
            finally:
                bar.close()
        return _load(checkpoint, wanted, make, progress or None, dtype is not None or device != "cpu")


def _load(
    checkpoint: Checkpoint, names: list[str], make: Callable[[Any], Any], progress: Progress | None, changes: bool
) -> dict[str, Any]:
    """Read in one go what stays as it is; piece by piece what will need room a second time."""
    if not changes:
        return {name: make(lease) for name, lease in checkpoint.lease_many(names, progress=progress).items()}
    cost = checkpoint.cost(names)
    result: dict[str, Any] = {}
    done = 0
    for batch in _batches(checkpoint, names):
        listener = None if progress is None else _shifted(progress, done, cost.bytes)
        leases = checkpoint.lease_many(batch, progress=listener)
        for name in batch:
            lease = leases.pop(name)
            done += lease.nbytes
            result[name] = make(lease)
    return result


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)


def _batches(checkpoint: Checkpoint, names: list[str]) -> list[list[str]]:
    batches: list[list[str]] = [[]]
    size = 0
    for name in names:
        nbytes = checkpoint[name].nbytes
        if batches[-1] and size + nbytes > BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(name)
        size += nbytes
    return batches


def _maker(framework: str, dtype: Any, device: Any) -> Callable[[Any], Any]:
    from . import _frameworks

    def target(lease: Any) -> Any:
        return dtype if dtype is not None and lease.dtype.startswith(("F", "BF")) else None

    if framework == "torch":
        return lambda lease: _frameworks.to_torch(lease, target(lease), device)
    if framework == "numpy":
        return lambda lease: _frameworks.to_numpy(lease, target(lease))
    if framework == "lease":
        if dtype is not None:
            raise ValueError("a lease holds the elements as they are in the file: ask for torch or numpy")
        return lambda lease: lease
    raise ValueError(f"framework is 'torch', 'numpy' or 'lease', not {framework!r}")


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
            self._bar.update(done - self._done)
            self._done = done

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
