"""Tenure inside InvokeAI's model manager: what is imported is identified from its header, and never fills memory.

InvokeAI 6.14 maps each file that it identifies twice with private writable maps, keeps them alive through the
tracebacks of the config classes that refused, and takes a map that failed for "no match". Under Tenure

- a state dict that is looked at for its identity is unread: a dict of tensors of which the header answers, and whose
  elements are read one tensor at a time where a rule asks for them;
- where Tenure knows what a file is, the config class is chosen by InvokeAI's words for it, and that class still checks
  the file by its own rules; where InvokeAI has no class for it, none may claim it;
- spandrel sees names and shapes, and reads what is a restorer;
- refusals and failed jobs keep their words, not their tracebacks;
- files are hashed on all cores, with a progress bar, without the interpreter's lock.

Folders, GGUF and pickled files are identified by InvokeAI's own rules, as before.
"""

from __future__ import annotations

import inspect
import sys
from importlib import metadata

from .._watch import lock, log
from ._classes import Candidates

__all__ = ["install", "uninstall"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KNOWN = ("6.14.",)  # versions whose functions these are
MANAGER = "invokeai.backend.model_manager"

_changed: list[tuple[Any, str, Any]] = []  # owner, name, what stood there
_left: set[str] = set()  # said once


def install() -> bool:
    """Put Tenure under InvokeAI's model manager, what of it is imported by now; called again after more was.

    Returns
    -------
    bool
        Whether any of it is Tenure's now. Never with ``TENURE_DISABLE=1``, nor in a version that is not known, nor
        under a safetensors that Tenure does not know.
    """
    from ..._install import install as install_safetensors

    if not install_safetensors():
        return False
    with lock:
        version = _version()
        if not version.startswith(KNOWN):
            _leave(f"InvokeAI {version}")
            return False
        named = [name for name in _put_all() if name]
        if named:
            from ... import __version__

            log(
                f"Tenure {__version__} is in the place of {', '.join(named)} of InvokeAI {version} "
                "(tenure.uninstall() or TENURE_DISABLE=1 undo it)"
            )
        return bool(_changed)


def uninstall() -> None:
    """Set InvokeAI's own functions back."""
    with lock:
        while _changed:
            owner, name, value = _changed.pop()
            ours = vars(owner)[name]
            if isinstance(ours, Candidates):
                value.update(set.__iter__(ours))  # classes that came meanwhile
            setattr(owner, name, value)
        _left.clear()


def _version() -> str:
    try:
        return metadata.version("invokeai")
    except metadata.PackageNotFoundError:
        return "of an unknown version"


def _leave(what: str) -> None:
    if what not in _left:
        _left.add(what)
        log(f"{what} is not known to this Tenure, and is left as it is")


def _functions() -> list[tuple[str, str, str, list[str], Any]]:
    """Name what is replaced: module, class, function, its parameters, and what makes ours of it."""
    from . import _seams

    hashes = "invokeai.backend.model_hash.model_hash"
    jobs = "invokeai.app.services.model_install.model_install_common"
    spandrel = f"{MANAGER}.configs.spandrel"
    check = "_validate_spandrel_loads_model"
    return [
        (spandrel, "Spandrel_Checkpoint_Config", check, ["cls", "mod"], _seams.restorer_check),
        (hashes, "ModelHash", "_blake3", ["file_path"], _seams.file_hash),
        (hashes, "ModelHash", "_blake3_single", ["file_path"], _seams.file_hash),
        (hashes, "ModelHash", "_get_hashlib", ["algorithm"], _seams.hash_maker),
        (jobs, "ModelInstallJob", "set_error", ["self", "e"], _seams.job_error),
    ]


def _put_all() -> list[str]:
    """Set everything that is there and was not set yet; its names."""
    return [_put_reader(), _put_classifier(), *(_put(*function) for function in _functions())]


def _put_reader() -> str:
    """Set the name by which ModelOnDisk.load_state_dict, and nothing else there, reaches safetensors."""
    module = sys.modules.get(f"{MANAGER}.model_on_disk")
    if module is None or _is_set(module, "safetensors"):
        return ""
    names = getattr(getattr(module.ModelOnDisk.load_state_dict, "__code__", None), "co_names", ())
    if not {"safetensors", "load_file"} <= set(names):
        _leave("ModelOnDisk.load_state_dict of this InvokeAI")
        return ""
    from . import _unread

    _set(module, "safetensors", _Reader(module.safetensors, _unread.load_file))
    return "ModelOnDisk.load_state_dict"


class _Reader:
    """Looks like the module safetensors, with a load_file of ours."""

    def __init__(self, module: Any, load_file: Any) -> None:
        self._module, self._load_file = module, load_file

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return _Reader(found, self._load_file) if name == "torch" else found

    @property
    def load_file(self) -> Any:
        return self._load_file


def _put_classifier() -> str:
    base = sys.modules.get(f"{MANAGER}.configs.base")
    classes = getattr(getattr(base, "Config_Base", None), "CONFIG_CLASSES", None)
    if type(classes) is not set:
        return ""
    from . import _seams

    candidates = Candidates(classes)
    named = _put(
        f"{MANAGER}.configs.factory",
        "ModelConfigFactory",
        "from_model_on_disk",
        ["mod", "override_fields", "hash_algo", "allow_unknown"],
        lambda original: _seams.classifier(original, candidates),
    )
    if named:
        _set(base.Config_Base, "CONFIG_CLASSES", candidates)  # type: ignore[union-attr]
    return named


def _put(module: str, owner: str, name: str, parameters: list[str], make: Any) -> str:
    """Set one function of a class where it is there and looks as it should; its name, or nothing."""
    found = getattr(sys.modules.get(module), owner, None)
    if found is None or _is_set(found, name):
        return ""
    original = vars(found).get(name)
    function = getattr(original, "__func__", original)
    if not inspect.isfunction(function) or list(inspect.signature(function).parameters) != parameters:
        _leave(f"{owner}.{name} of this InvokeAI")
        return ""
    kind = type(original) if isinstance(original, (staticmethod, classmethod)) else None
    _set(found, name, make(function) if kind is None else kind(make(function)))
    return f"{owner}.{name}"


def _is_set(owner: Any, name: str) -> bool:
    return any(o is owner and n == name for o, n, _ in _changed)


def _set(owner: Any, name: str, value: Any) -> None:
    _changed.append((owner, name, vars(owner)[name]))
    setattr(owner, name, value)
