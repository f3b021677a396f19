"""The node "Why is this model unknown?": what a model file is, with the evidence, as text."""

from __future__ import annotations

import os
import sys

from .why import explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Folders of ComfyUI that hold no weights.
_NO_MODELS = {"configs", "custom_nodes", "classifiers"}


def model_files() -> list[str]:
    """List the files in ComfyUI's model folders, as ``"loras/detail.safetensors"``."""
    folder_paths = sys.modules.get("folder_paths")
    found: set[str] = set()
    for folder in getattr(folder_paths, "folder_names_and_paths", {}):
        if folder not in _NO_MODELS:
            found.update(f"{folder}/{name}" for name in folder_paths.get_filename_list(folder))  # type: ignore[union-attr]
    return sorted(found)


def path_of(model: str) -> str:
    """Find the path of such a name; a path stays one.

    Raises
    ------
    FileNotFoundError
        When ComfyUI has no such file.
    """
    folder_paths = sys.modules.get("folder_paths")
    folder, _, name = model.partition("/")
    path = None
    if folder in getattr(folder_paths, "folder_names_and_paths", {}):
        path = folder_paths.get_full_path(folder, name)  # type: ignore[union-attr]
    if path is None and os.path.isabs(model):
        path = model
    if path is None:
        raise FileNotFoundError(f"there is no model {model}")
    return str(path)


class WhyUnknown:
    """A node with one model to be chosen and one text to be read."""

    CATEGORY = "Tenure"
    DESCRIPTION = "Says what a model file is and what in it says so, from its header alone. No weights are loaded."
    FUNCTION = "explain"
    OUTPUT_NODE = True
    RETURN_NAMES = ("why",)
    RETURN_TYPES = ("STRING",)

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:
        """Say what the node takes, as ComfyUI asks."""
        return {"required": {"model": (model_files(),)}}

    @classmethod
    def IS_CHANGED(cls, model: str) -> Any:
        """Ask again when the file is another one."""
        try:
            now = os.stat(path_of(model))
        except OSError:
            return float("nan")  # always
        return now.st_mtime_ns, now.st_size

    def explain(self, model: str) -> dict[str, Any]:
        """Answer, shown on the node and given to the next."""
        text = explain(path_of(model))
        return {"ui": {"text": [text]}, "result": (text,)}


NODE_CLASS_MAPPINGS = {"TenureWhyUnknown": WhyUnknown}
NODE_DISPLAY_NAME_MAPPINGS = {"TenureWhyUnknown": "Why is this model unknown?"}
