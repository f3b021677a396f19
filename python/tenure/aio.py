"""The same calls for asyncio: each runs in a thread while the loop goes on. A cancelled task stops a reading soon."""

from __future__ import annotations

import asyncio
import threading

from . import _checkpoint, _load, _probe, _save

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._checkpoint import Checkpoint, Path, Tensor
    from ._tenure import Lease

__all__ = ["convert", "lease", "load", "open", "probe", "read", "save", "to_numpy", "to_torch"]


class _Stopped(Exception):
    """Raised inside a reading whose task was cancelled."""


async def open(path: Path, *, alone: bool = False) -> Checkpoint:
    """Open weights, as `tenure.open` does."""
    return await asyncio.to_thread(_checkpoint.open, path, alone=alone)


async def probe(path: Path, *, why: bool = False, key_hash: bool = False) -> dict[str, Any]:
    """Say what a file is, as `tenure.probe` does."""
    return await asyncio.to_thread(_probe.probe, path, why=why, key_hash=key_hash)


async def _stoppable(call: Callable[..., Any], progress: Any, *arguments: Any, **options: Any) -> Any:
    """Make a call in a thread that is told to stop when its task is cancelled."""
    stop = threading.Event()

    def tell(done: int, of: int) -> None:
        if stop.is_set():
            raise _Stopped
        if listener is not None:
            listener(done, of)

    with _load.telling(progress) as listener:
        try:
            return await asyncio.to_thread(call, *arguments, progress=tell, **options)
        except asyncio.CancelledError:
            stop.set()
            raise


async def load(path: Path, *, progress: Any = None, **options: Any) -> dict[str, Any]:
    """Read the tensors of a file, as `tenure.load` does.

    `progress` is called in the thread that reads.
    """
    loaded: dict[str, Any] = await _stoppable(_load.load, progress, path, **options)
    return loaded


async def convert(source: Path | Checkpoint, path: Path, dtype: Any, *, progress: Any = None, **options: Any) -> None:
    """Write a file of another element type, as `tenure.convert` does."""
    await _stoppable(_save.convert, progress, source, path, dtype, **options)


async def lease(tensor: Tensor, *, view: bool = False, progress: Any = None) -> Lease:
    """Read a tensor or a slice, as ``tensor.lease()`` does."""
    leased: Lease = await _stoppable(tensor.lease, progress, view=view)
    return leased


async def read(tensor: Tensor) -> bytes:
    """Read a tensor or a slice as bytes, as ``tensor.read()`` does."""
    return bytes(await lease(tensor))


async def to_numpy(tensor: Tensor, *, dtype: Any = None) -> Any:
    """Read a tensor or a slice, as ``tensor.to_numpy()`` does."""
    return await asyncio.to_thread(tensor.to_numpy, dtype=dtype)


async def to_torch(tensor: Tensor, *, dtype: Any = None, device: Any = "cpu") -> Any:
    """Read a tensor or a slice, as ``tensor.to_torch()`` does."""
    return await asyncio.to_thread(tensor.to_torch, dtype=dtype, device=device)


async def save(tensors: Mapping[str, Any], path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors into a safetensors file, as `tenure.save` does."""
    await asyncio.to_thread(_save.save, tensors, path, metadata=metadata)
