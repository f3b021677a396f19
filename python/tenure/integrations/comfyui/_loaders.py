"""What stands in the place of ComfyUI's loader functions.

`load_torch_file` reads safetensors by Tenure: at once, into memory of its own, refused with numbers before it is read
when there is no room for it, and with the file, the tensor and the byte when something is wrong. All other files go to
the original, as does everything while ComfyUI streams files by itself. The functions that make models out of files call
the original; where that does not know the model, its error says what Tenure sees in the file.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys

from ...errors import FormatError, TenureError
from .why import explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The first parameters by which a function is known, and what these functions are asked for.
PARAMETERS = {
    "load_torch_file": ("ckpt", "safe_load", "device", "return_metadata"),
    "load_checkpoint_guess_config": ("ckpt_path",),
    "load_diffusion_model": ("unet_path",),
    "load_clip": ("ckpt_paths",),
}
UNKNOWN = "could not detect model type"  # the words of ComfyUI's error, in small letters


class DamagedModel(FormatError, ValueError):
    """A model file that cannot be loaded; a ValueError, as ComfyUI raises for damaged files."""


def is_known(name: str, function: Any) -> bool:
    """Whether a function of ComfyUI begins with the parameters that Tenure knows."""
    try:
        found = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return found[: len(PARAMETERS[name])] == PARAMETERS[name]


def torch_file_loader(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function in the place of comfy.utils.load_torch_file."""

    @functools.wraps(original)
    def load_torch_file(
        ckpt: str,
        safe_load: bool = False,
        device: Any = None,
        return_metadata: bool = False,
        *more: Any,
        **options: Any,
    ) -> Any:
        if more or options or not _is_ours(ckpt):
            return original(ckpt, safe_load, device, return_metadata, *more, **options)
        tensors, metadata = _read(ckpt, "cpu" if device is None else str(device))
        return (tensors, metadata) if return_metadata else tensors

    return load_torch_file


def _is_ours(path: Any) -> bool:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path).lower().endswith((".safetensors", ".sft")):
        return False
    return not getattr(sys.modules.get("comfy.memory_management"), "aimdo_enabled", False)


def _read(path: str, device: str) -> tuple[dict[str, Any], dict[str, str] | None]:
    """Read a safetensors file, in the order that ComfyUI gives it: by name."""
    from ...safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device=device) as file:
            tensors = file.get_tensors()
            return {name: tensors[name] for name in file.keys()}, file.metadata()  # noqa: SIM118  (it is no dict)
    except SafetensorError as error:
        raise _damage(path, error) from None


def _damage(path: str, error: Exception) -> DamagedModel:
    """Say what is wrong with a file, with Tenure's numbers where it has some."""
    from ..._checkpoint import open

    fields: Any = error
    message = str(error)
    try:
        with open(path, alone=True) as checkpoint:
            for finding in checkpoint.findings:
                if finding.severity == "error":
                    fields, message = finding, finding.message
                    break
    except TenureError as refusal:
        fields, message = refusal, str(refusal.args[0])
    damage = DamagedModel(f"{path}: {message}\n{explain(path)}")
    for name in ("status", "file", "tensor", "offset", "expected", "found"):
        setattr(damage, name, getattr(fields, name, getattr(damage, name)))
    damage.file = damage.file or path
    return damage


def model_maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function in the place of one that makes a model out of one file or several."""

    @functools.wraps(original)
    def load(first: Any, *more: Any, **options: Any) -> Any:
        try:
            return original(first, *more, **options)
        except RuntimeError as error:
            if UNKNOWN not in str(error).lower():
                raise
            said = str(error)
        paths = [first] if isinstance(first, (str, os.PathLike)) else list(first)
        raise RuntimeError("\n".join([said, *map(explain, paths)]))  # without the frames that hold the state dict

    parameter = PARAMETERS[original.__name__][0]

    @functools.wraps(original)
    def by_name(*arguments: Any, **options: Any) -> Any:
        if not arguments and parameter in options:
            arguments = (options.pop(parameter),)
        return load(*arguments, **options)

    return by_name


LOADERS: tuple[tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
    ("comfy.utils", "load_torch_file", torch_file_loader),
    ("comfy.sd", "load_checkpoint_guess_config", model_maker),
    ("comfy.sd", "load_diffusion_model", model_maker),
    ("comfy.sd", "load_clip", model_maker),
)
