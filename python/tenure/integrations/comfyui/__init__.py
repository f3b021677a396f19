"""Tenure inside ComfyUI: model files are read by it, what cannot be loaded says why, and a node says what a file is.

ComfyUI is in no package registry. What this module knows of it are the names and first parameters of the functions
below, and the tests hold it against modules that carry these names. A function that does not look like that any more is
left as it is, with a word in the log.
"""

from __future__ import annotations

import importlib
import sys

from .._watch import Replacements, lock, log
from ._loaders import LOADERS, is_known
from .nodes import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS
from .why import explain

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS", "explain", "install", "uninstall"]

_replacements = Replacements()
_left: set[str] = set()  # functions that were found to be unknown, said once


def install() -> bool:
    """Put Tenure under ComfyUI's loaders, those that are imported by now; called again after more were.

    Returns
    -------
    bool
        Whether any of them is Tenure's now. Never with ``TENURE_DISABLE=1``, nor under a safetensors that Tenure does
        not know.
    """
    from ..._install import install as install_safetensors

    if not install_safetensors():
        return False
    with lock:
        named = [name for module, name, make in LOADERS if _replace(module, name, make)]
        if named:
            from ... import __version__

            log(
                f"Tenure {__version__} is in the place of {', '.join(named)} of ComfyUI {_version()} "
                "(tenure.uninstall() or TENURE_DISABLE=1 undo it)"
            )
        return len(_replacements) > 0


def uninstall() -> None:
    """Set ComfyUI's own functions back."""
    with lock:
        _replacements.undo()
        _left.clear()


def _replace(module: str, name: str, make: object) -> bool:
    """Set one function; False where there is nothing to do."""
    original = getattr(sys.modules.get(module), name, None)
    if original is None or _replacements.has(original) or f"{module}.{name}" in _left:
        return False
    if not is_known(name, original):
        _left.add(f"{module}.{name}")
        log(f"{module}.{name} of ComfyUI {_version()} is not known to this Tenure, and is left as it is")
        return False
    _replacements.put(original, make(original))  # type: ignore[operator]
    return True


def _version() -> str:
    try:
        return str(importlib.import_module("comfyui_version").__version__)
    except (ImportError, AttributeError):
        return "of an unknown version"
