"""Tenure: model weights that are known, verified and read, and that never take the process down.

>>> import tenure
>>> with tenure.open("model.safetensors") as weights:  # doctest: +SKIP
...     first = weights["conv_in.weight"].to_torch()

Neither torch nor NumPy is imported before something is asked for in their terms.
"""

from __future__ import annotations

import os as _os

from . import _tenure
from ._checkpoint import Checkpoint, Cost, Finding, Tensor, open
from ._tenure import Lease
from .errors import Cancelled, FileChanged, FormatError, LibraryError, MemoryRefused, TenureError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import aio, errors, safetensors
    from ._digest import digests
    from ._install import install, uninstall
    from ._lazy import LazyStateDict
    from ._load import load
    from ._probe import memory, probe
    from ._save import convert, save

__version__ = _tenure.version

__all__ = [
    "Cancelled",
    "Checkpoint",
    "Cost",
    "FileChanged",
    "Finding",
    "FormatError",
    "LazyStateDict",
    "Lease",
    "LibraryError",
    "MemoryRefused",
    "Tensor",
    "TenureError",
    "__version__",
    "aio",
    "convert",
    "digests",
    "errors",
    "install",
    "load",
    "memory",
    "open",
    "probe",
    "safetensors",
    "save",
    "uninstall",
]

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_tenure.after_fork_in_child)

# Where each name comes from that is imported when it is first used.
_LATER = {
    "LazyStateDict": "_lazy",
    "convert": "_save",
    "digests": "_digest",
    "install": "_install",
    "load": "_load",
    "memory": "_probe",
    "probe": "_probe",
    "save": "_save",
    "uninstall": "_install",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LATER:
        found: object = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    elif name in {"aio", "safetensors", "integrations"}:
        found = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
