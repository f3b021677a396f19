"""Tenure in the place of safetensors, under programs that cannot be changed.

The modules of safetensors stay what they are; the names in them that Tenure serves are set to its own, and so is every
other module's name that is bound to one of them already. Modules of safetensors that are imported later are set when
they are. `uninstall` sets everything back.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import logging
import os
import sys
import threading

from . import integrations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

KNOWN = ("0.8.",)  # versions whose interface this is
MODULES = ("safetensors", "safetensors.numpy", "safetensors.torch")
_NOT_SERVED = {"__version__"}

_lock = threading.RLock()
_changed: list[tuple[ModuleType, str, Any]] = []  # module, name, what it was bound to
_ours: dict[int, Any] = {}  # by the id of the original object
_finder: _Finder | None = None
_stands_in: list[str] = []  # names in sys.modules that are ours because safetensors is not there


def install() -> bool:
    """Put Tenure in the place of safetensors in this process.

    Works before and after safetensors and its users were imported. Once more does nothing. One log line says what was
    done. Nothing is done with ``TENURE_DISABLE=1``, nor for a version of safetensors that is not known.

    Returns
    -------
    bool
        Whether Tenure is in place now.
    """
    global _finder
    with _lock:
        if _finder is not None or _stands_in:
            return True
        if os.environ.get("TENURE_DISABLE") == "1":
            return False
        version = _version()
        if version is not None and not version.startswith(KNOWN):
            _log(f"safetensors {version} is not known to this Tenure, and is left as it is")
            return False
        if version is None:
            _stand_in()
        else:
            _finder = _Finder()
            sys.meta_path.insert(0, _finder)
            importlib.import_module("safetensors")
            for name in MODULES:
                if name in sys.modules:
                    _replace(name)
            _sweep()
        from . import __version__

        of = f"safetensors {version}" if version else "safetensors, which is not there"
        _log(f"Tenure {__version__} is in the place of {of} (tenure.uninstall() or TENURE_DISABLE=1 undo it)")
    integrations.install()
    return True


def uninstall() -> None:
    """Set everything back as it was before `install`. What was made by Tenure stays usable."""
    global _finder
    integrations.uninstall()
    with _lock:
        if _finder is not None:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _finder]
            _finder = None
        _sweep_back()
        for module, name, value in reversed(_changed):
            setattr(module, name, value)
        _changed.clear()
        _ours.clear()
        for name in _stands_in:
            sys.modules.pop(name, None)
        _stands_in.clear()


def is_installed() -> bool:
    """Whether Tenure is in the place of safetensors."""
    return _finder is not None or bool(_stands_in)


def _log(message: str) -> None:
    logging.getLogger("tenure").warning(message)


def _version() -> str | None:
    """Find the version of safetensors that is installed, without importing its frameworks."""
    if importlib.util.find_spec("safetensors") is None:
        return None
    return str(getattr(importlib.import_module("safetensors"), "__version__", "unknown"))


def _stand_in() -> None:
    """Be safetensors where there is none."""
    for name in MODULES:
        if name == "safetensors":
            sys.modules[name] = importlib.import_module("tenure.safetensors")
            _stands_in.append(name)
    for name in ("numpy", "torch"):
        if name in sys.modules:
            sys.modules[f"safetensors.{name}"] = importlib.import_module(f"tenure.safetensors.{name}")
            _stands_in.append(f"safetensors.{name}")


def _replace(name: str) -> None:
    """Set the names of one module of safetensors to ours."""
    module = sys.modules[name]
    ours = importlib.import_module(f"tenure.{name}")
    for key, value in list(vars(module).items()):
        mine = vars(ours).get(key)
        if key in _NOT_SERVED or mine is None or not callable(value) or value is mine or not _is_of(value):
            continue
        _changed.append((module, key, value))
        _ours[id(value)] = mine
        setattr(module, key, mine)


def _is_of(value: Any) -> bool:
    """Whether something was made by safetensors, and not merely imported there."""
    return str(getattr(value, "__module__", None) or "safetensors").startswith(("safetensors", "builtins"))


def _sweep() -> None:
    """Set names of other modules that are bound to what was replaced."""
    for module in list(sys.modules.values()):
        if module is None or getattr(module, "__name__", "").startswith("tenure"):
            continue
        for key, value in _names_of(module):
            mine = _ours.get(id(value))
            if mine is not None and not any(m is module and k == key for m, k, _ in _changed):
                _changed.append((module, key, value))
                setattr(module, key, mine)


def _sweep_back() -> None:
    """Set names that were bound to ours meanwhile."""
    originals = {id(_ours[id(value)]): value for _, _, value in _changed if id(value) in _ours}
    known = {(id(module), key) for module, key, _ in _changed}
    for module in list(sys.modules.values()):
        if module is None or getattr(module, "__name__", "").startswith("tenure"):
            continue
        for key, value in _names_of(module):
            if id(value) in originals and (id(module), key) not in known:
                setattr(module, key, originals[id(value)])


def _names_of(module: ModuleType) -> list[tuple[str, Any]]:
    try:
        return list(vars(module).items())
    except (RuntimeError, TypeError):  # another thread is importing it, or it is no module
        return []


class _Finder(importlib.abc.MetaPathFinder):
    """Sets a module of safetensors when it is imported later."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in MODULES:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """Loads a module as it is loaded otherwise, and then sets its names."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        with _lock:
            if _finder is not None:
                _replace(module.__name__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)
