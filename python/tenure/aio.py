"""The same calls for asyncio: each runs in a thread while the loop goes on. A cancelled task stops a reading soon."""

from __future__ import annotations

import asyncio
import threading

from . import _checkpoint, _load, _probe, _save

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._checkpoint import Checkpoint, Path

__all__ = ["load", "open", "probe", "save"]


class _Stopped(Exception):
    """Raised inside a reading whose task was cancelled."""


async def open(path: Path, *, alone: bool = False) -> Checkpoint:
    """Open weights, as `tenure.open` does."""
    return await asyncio.to_thread(_checkpoint.open, path, alone=alone)


async def probe(path: Path, *, why: bool = False, key_hash: bool = False) -> dict[str, Any]:
    """Say what a file is, as `tenure.probe` does."""
    return await asyncio.to_thread(_probe.probe, path, why=why, key_hash=key_hash)


async def load(path: Path, **options: Any) -> dict[str, Any]:
    """Read the tensors of a file, as `tenure.load` does.

    `progress` is called in the thread that reads.
    """
    stop = threading.Event()
    told = options.pop("progress", None)

    def progress(done: int, total: int) -> None:
        if stop.is_set():
            raise _Stopped
        if callable(told):
            told(done, total)

    try:
        return await asyncio.to_thread(_load.load, path, progress=progress, **options)
    except asyncio.CancelledError:
        stop.set()
        raise


async def save(tensors: Mapping[str, Any], path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors into a safetensors file, as `tenure.save` does."""
    await asyncio.to_thread(_save.save, tensors, path, metadata=metadata)
