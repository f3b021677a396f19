"""In words: what a model file is, what says so, and why nothing better is known."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGAINST = 3  # how many of the answers that were ruled out are told
GROUPS = 8  # how many groups of tensors are named

STATES = {
    "identified": "It is known.",
    "ambiguous": "It may be several things; nothing in the file decides between them.",
    "unknown": "Nothing that Tenure knows looks like it.",
    "damaged": "It is damaged: download it again.",
    "dangerous": "It asks for code to be run when it is loaded. Tenure does not run it, and neither should you.",
    "unsupported": "It is a kind of file that Tenure does not read.",
    "unreadable": "It cannot be read.",
}

# Where ComfyUI looks for what a file turned out to be, by Tenure's types.
FOLDERS = {
    "main": "checkpoints (with everything in it) or diffusion_models (the model alone)",
    "lora": "loras",
    "vae": "vae",
    "text_encoder": "text_encoders",
    "vision_encoder": "clip_vision",
    "controlnet": "controlnet",
    "embedding": "embeddings",
    "restorer": "upscale_models",
}


def explain(path: str | os.PathLike[str]) -> str:
    """Say what a file is and why, from its header alone.

    Parameters
    ----------
    path : str or os.PathLike
        A file or folder; one that is damaged or missing is answered too.

    Returns
    -------
    str
        Some lines of text.
    """
    from ..._probe import probe

    answer = probe(path, why=True)
    lines = [f"{os.path.basename(os.fspath(path))}: {STATES.get(answer['state'], answer['state'])}"]
    lines += _identity(answer) + _contents(answer)
    lines += [f"  error: {_error(answer['error'])}"] if answer["error"] else []
    lines += [f"  warning: {_error(warning)}" for warning in answer["warnings"]]
    lines += _candidates(answer)
    lines += [f"  for {e['rule']}: {e['says']}" for e in answer["evidence"] if e["weight"] > 0]
    if answer["state"] in ("unknown", "ambiguous"):
        lines += _names(path) + _against(answer["evidence"])
    return "\n".join(lines)


def _identity(answer: dict[str, Any]) -> list[str]:
    named = [answer[key] for key in ("type", "base", "variant", "quantization") if answer.get(key)]
    lines = [f"  what it is: {', '.join(map(str, named))}"] if named else []
    if answer["type"] in FOLDERS and answer["state"] == "identified":
        lines.append(f"  ComfyUI looks for it in: {FOLDERS[answer['type']]}")
    return lines


def _contents(answer: dict[str, Any]) -> list[str]:
    if not answer["tensors"]:
        return [f"  container: {answer['container']}"] if answer["container"] else []
    types = ", ".join(f"{count} {word}" for word, count in (answer["dtypes"] or {}).items())
    return [f"  {answer['container']}, tensors: {answer['tensors']} ({types}), parameters: {answer['parameters']:,}"]


def _error(error: dict[str, Any]) -> str:
    told = [str(error.get("message") or error.get("status"))]
    told += [
        f"{word} {error[word]}" for word in ("tensor", "offset", "expected", "found") if error.get(word) is not None
    ]
    return ", ".join(told)


def _candidates(answer: dict[str, Any]) -> list[str]:
    lines = []
    for candidate in answer["candidates"]:
        named = [candidate[key] for key in ("type", "base", "variant") if candidate.get(key)]
        lines.append(f"  it may be: {', '.join(map(str, named))}")
    return lines


def _names(path: str | os.PathLike[str]) -> list[str]:
    """Name its tensors by how their names begin: what to look for, or to ask others about."""
    from ..._checkpoint import open
    from ...errors import TenureError

    groups: dict[str, list[str]] = {}
    try:
        with open(path) as weights:
            for name in weights:
                groups.setdefault(".".join(name.split(".")[:2]), []).append(name)
            lines = []
            for start, names in list(groups.items())[:GROUPS]:
                first = weights[names[0]]
                more = f", and {len(names) - 1} more of {start}" if len(names) > 1 else ""
                lines.append(f"  it has: {first.name} {list(first.shape)} {first.dtype}{more}")
    except TenureError:
        return []
    return [*lines, f"  and tensors of {len(groups) - GROUPS} more beginnings"] if len(groups) > GROUPS else lines


def _against(evidence: list[dict[str, Any]]) -> list[str]:
    """Tell the first of what spoke against other answers."""
    against = [e for e in evidence if e["weight"] < 0]
    lines = [f"  against {e['rule']}: {e['says']}" for e in against[:AGAINST]]
    return [*lines, f"  and {len(against) - AGAINST} more that it is not"] if len(against) > AGAINST else lines
