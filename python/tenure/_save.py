"""Writing safetensors files."""

from __future__ import annotations

from . import _tenure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._checkpoint import Path


def save(tensors: Mapping[str, Any], path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors into a safetensors file, whole or not at all.

    The file appears under its name when it is complete and on the disk; who has an older one of that name open keeps
    reading the older one.

    Parameters
    ----------
    tensors : mapping of str to tensor
        NumPy arrays, torch tensors, and what `tenure.open` gives. They need not be contiguous, and may share memory.
    path : str, bytes or os.PathLike
        Where it shall be.
    metadata : mapping of str to str, optional
        Texts for the header.

    Raises
    ------
    TypeError, ValueError
        When something is no tensor, or a name or type cannot be written.
    OSError
        What the system says of the disk or folder.
    """
    from ._frameworks import outline_of, source_of

    outlines = [(name, *outline_of(name, value)) for name, value in tensors.items()]
    writer = _tenure.Writer(path, outlines, None if metadata is None else dict(metadata))
    for place, name in enumerate(tensors):
        source, keep = source_of(tensors[name])
        writer.put(place, source)
        del source, keep  # one tensor at a time is read
    writer.finish()
