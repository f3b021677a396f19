"""Being told of a module's import, whether it was imported already or will be, and names that are set and set back."""

from __future__ import annotations

import importlib.abc
import logging
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

lock = threading.RLock()


def log(message: str) -> None:
    """Say what was done, once for each thing that is done."""
    logging.getLogger("tenure").warning(message)


class Watch(importlib.abc.MetaPathFinder):
    """Calls `tell` with what stands for a module when that was imported; an error there never breaks the import."""

    def __init__(self, modules: dict[str, str], tell: Callable[[str], None]) -> None:
        self.modules, self._tell = modules, tell

    def begin(self) -> None:
        """Tell of those that are there, and watch for the others."""
        sys.meta_path.insert(0, self)
        for name in dict.fromkeys(what for module, what in self.modules.items() if module in sys.modules):
            self.tell(name)

    def end(self) -> None:
        """Watch no more."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        self.modules = {}

    def tell(self, name: str) -> None:
        """Tell of an application; what goes wrong is logged, and the application goes on without Tenure."""
        try:
            self._tell(name)
        except Exception as error:
            log(f"Tenure leaves {name} as it is: {error}")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.modules:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, self)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """Loads a module as it is loaded otherwise, and then tells."""

    def __init__(self, loader: Any, watch: Watch) -> None:
        self._loader, self._watch = loader, watch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        name = self._watch.modules.get(module.__name__)
        if name is not None:
            self._watch.tell(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class Replacements:
    """Functions that stand in the place of others, under every name that is bound to them."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, Any]] = []  # the original and ours

    def __len__(self) -> int:
        return len(self._done)

    def has(self, function: Any) -> bool:
        """Whether it is one of ours."""
        return any(function is ours for _, ours in self._done)

    def put(self, original: Any, ours: Any) -> None:
        """Set ours wherever the original is bound in a module."""
        self._done.append((original, ours))
        _rebind(original, ours)

    def undo(self) -> None:
        """Set the originals back, also where ours was bound meanwhile."""
        while self._done:
            original, ours = self._done.pop()
            _rebind(ours, original)


def _rebind(old: Any, new: Any) -> None:
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("tenure"):
            continue
        try:
            names = list(vars(module).items())
        except (RuntimeError, TypeError):  # another thread is importing it, or it is no module
            continue
        for name, value in names:
            if value is old:
                setattr(module, name, new)
