"""Who a file is: its hashes, taken in one pass on all cores, without the interpreter's lock."""

from __future__ import annotations

import os

from . import _tenure
from ._load import telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._checkpoint import Path, Progress

# As bits of include/tenure/digest.h.
WORDS = ("blake3", "sha256", "crc32", "autov1", "autov2", "autov3", "key_hash", "content")


def digests(
    path: Path, which: str | Iterable[str] = "blake3", *, progress: Progress | bool | None = None
) -> dict[str, str]:
    """Take digests of one file, all of them in one pass over its bytes.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        A file; never the set it is a part of.
    which : str or iterable of str
        Of ``"blake3"``, ``"sha256"``, ``"crc32"``, ``"autov1"``, ``"autov2"``, ``"autov3"``, ``"key_hash"``
        (DiffSynth's, of the names and shapes) and ``"content"`` (the tensors' names, types, shapes and bytes, whatever
        their order).
    progress : callable or bool, optional
        Called as ``progress(done, total)`` in bytes; an exception in it ends the work. True shows a bar where tqdm is
        installed.

    Returns
    -------
    dict of str to str
        Lower-case hexadecimal digits, ``"content"`` with ``c1:`` before them. Those that are made of a file's tensors
        are missing where it has none that can be read.

    Raises
    ------
    FileChanged
        When the file was written to, replaced or removed meanwhile.
    OSError
        When it cannot be read.
    ValueError
        When a word is not known, or there is none.
    """
    words = [which] if isinstance(which, str) else list(which)
    unknown = [word for word in words if word not in WORDS]
    if unknown or not words:
        raise ValueError(f"digests are {', '.join(WORDS)}, not {', '.join(map(repr, unknown)) or 'none'}")
    size = os.stat(path).st_size
    with telling(progress, size) as tell:
        return _tenure.digests(path, sum(1 << WORDS.index(word) for word in set(words)), size, tell)
