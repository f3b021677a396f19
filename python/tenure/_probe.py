"""What a file is, and where the memory stands."""

from __future__ import annotations

from . import _tenure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._checkpoint import Path


def probe(path: Path, *, why: bool = False, key_hash: bool = False) -> dict[str, Any]:
    """Say what a file is, from its header alone.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        A file or folder. One that is damaged or no model is answered too: see ``state`` and ``error``.
    why : bool
        Add to ``evidence`` what spoke against other answers.
    key_hash : bool
        Add DiffSynth's hash of the names and shapes.

    Returns
    -------
    dict
        ``state``, ``type``, ``base``, ``variant``, ``candidates``, ``evidence`` and the other fields that
        ``tenure probe --json`` prints.
    """
    import json

    answer: dict[str, Any] = json.loads(_tenure.probe(path, why, key_hash))
    return answer


def memory() -> dict[str, int | None]:
    """Say where the memory budget stands, in bytes.

    Returns
    -------
    dict
        ``used``, ``high_water``, ``kept`` (for the next leases), ``limit`` (None when there is none), ``refused`` (how
        many charges), ``read`` (bytes read from files).
    """
    return _tenure.memory()
