"""Places for the applications that Tenure knows to work under; each has install() and uninstall().

`tenure.install` installs those whose application is there, at once or when it is imported; `tenure.uninstall` sets
everything back.
"""

from __future__ import annotations

import sys
from importlib import import_module

from ._watch import Watch, lock

# By the name of the module here: the application's modules after whose import there is something to install.
APPLICATIONS: dict[str, tuple[str, ...]] = {
    "comfyui": ("comfy.utils", "comfy.sd"),
    "invokeai": (
        "invokeai.backend.model_manager.configs.factory",
        "invokeai.app.services.model_install.model_install_common",
    ),
}

_watch: Watch | None = None


def install() -> None:
    """Install every integration whose application is imported, and the others when theirs is."""
    global _watch
    with lock:
        if _watch is None:
            _watch = Watch({module: name for name, modules in APPLICATIONS.items() for module in modules}, _install)
            _watch.begin()


def uninstall() -> None:
    """Set back what every integration changed."""
    global _watch
    with lock:
        if _watch is not None:
            _watch.end()
            _watch = None
        for name in APPLICATIONS:
            module = sys.modules.get(f"{__name__}.{name}")
            if module is not None:
                module.uninstall()


def _install(name: str) -> None:
    import_module(f"{__name__}.{name}").install()
