"""What stands in the place of functions of InvokeAI's model manager. Each calls InvokeAI's own wherever it can."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

from ..._digest import digests
from ..._probe import probe
from ...safetensors import SafetensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._classes import Candidates

MANAGER = "invokeai.backend.model_manager"
BAR_BYTES = 256 << 20  # files from this size on show how far hashing is


def classifier(original: Callable[..., Any], candidates: Candidates) -> Callable[..., Any]:
    """Make the function in the place of ModelConfigFactory.from_model_on_disk.

    It lets InvokeAI's own run, on the classes that Tenure's evidence leaves. A damaged file is refused with the place
    of the damage, where the original would record it as unknown, and so is one that memory did not suffice for.
    """
    utils = sys.modules[f"{MANAGER}.configs.identification_utils"]
    factory = sys.modules[f"{MANAGER}.configs.factory"]

    @functools.wraps(original)
    def from_model_on_disk(
        mod: Any,
        override_fields: dict[str, Any] | None = None,
        hash_algo: Any = "blake3_single",
        allow_unknown: bool = True,
    ) -> Any:
        path = Path(getattr(mod, "path", mod))
        answer = probe(path) if path.is_file() else None
        chosen = None if answer is None else candidates.choose(answer, override_fields)
        if answer is not None and answer["state"] == "damaged" and not _opens(path):
            why = utils.InvalidMatchError(damage(answer))
            return factory.ModelClassificationResult(config=None, details={"Tenure": why})
        if chosen is None:
            result = original(mod, override_fields, hash_algo, allow_unknown)
        else:
            with candidates.only(chosen):
                result = original(mod, override_fields, hash_algo, allow_unknown)
        if answer is not None and not chosen and chosen is not None:
            result.details["Tenure"] = utils.NotAMatchError(f"no class for what Tenure sees in it: {summary(answer)}")
        return _settled(result)

    return from_model_on_disk


def _opens(path: Path) -> bool:
    """Whether InvokeAI could read a file that Tenure finds damaged, such as one shard whose sisters are missing."""
    from ._unread import load_file

    try:
        load_file(path)
    except (OSError, SafetensorError):
        return path.suffix != ".safetensors"
    return True


def summary(answer: dict[str, Any]) -> str:
    """Say in a line what a file is."""
    says = "; ".join(e["says"] for e in answer["evidence"] if e["weight"] > 0)
    named = " ".join(str(answer[key]) for key in ("type", "base", "variant") if answer.get(key))
    return f"{named} ({says})" if says else named


def damage(answer: dict[str, Any]) -> str:
    """Say in a line what is wrong with a file, with numbers."""
    error = answer["error"] or {}
    told = [str(error.get("message") or "it is damaged")]
    told += [
        f"{word} {error[word]}" for word in ("tensor", "offset", "expected", "found") if error.get(word) is not None
    ]
    return ", ".join(told)


def _settled(result: Any) -> Any:
    """Keep of each refusal its words alone: a traceback would hold the file, and everything that was read of it."""
    out_of_memory = None
    for refusal in result.details.values():
        if isinstance(refusal, BaseException):
            forget(refusal)
            if isinstance(refusal, MemoryError):
                out_of_memory = refusal
    matched = result.config is not None and type(result.config).__name__ != "Unknown_Config"
    if out_of_memory is not None and not matched:
        raise out_of_memory
    return result


def forget(error: BaseException) -> None:
    """Let go of what an exception holds beside its words."""
    error.__traceback__ = error.__cause__ = error.__context__ = None


def job_error(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function in the place of ModelInstallJob.set_error: a failed job keeps its words, not the file."""

    @functools.wraps(original)
    def set_error(self: Any, e: Exception) -> None:
        original(self, e)
        forget(e)

    return set_error


def restorer_check(original: Any) -> Any:
    """Make the function in the place of Spandrel_Checkpoint_Config._validate_spandrel_loads_model.

    The original has spandrel load every file whole. Spandrel knows its architectures by names and shapes, so it is
    shown the unread state dict: only what is a restorer is read.
    """
    utils = sys.modules[f"{MANAGER}.configs.identification_utils"]
    module = sys.modules[f"{MANAGER}.configs.spandrel"]

    @functools.wraps(original)
    def _validate_spandrel_loads_model(cls: Any, mod: Any) -> None:
        if mod.path.suffix != ".safetensors":
            original(cls, mod)
            return
        answer = probe(mod.path)
        if answer["state"] == "identified" and answer["type"] != "restorer":
            raise utils.NotAMatchError(f"it is no restorer: {summary(answer)}")
        try:
            module.SpandrelImageToImageModel.load_from_state_dict(mod.load_state_dict())
        except MemoryError:
            raise
        except Exception as error:
            raise utils.NotAMatchError(f"no restorer that spandrel knows: {error}") from None

    return _validate_spandrel_loads_model


def file_hash(original: Any, algorithm: str = "blake3") -> Callable[[Any], str]:
    """Make a function that hashes one file; on all cores, with a bar for a big one, while other threads run."""

    @functools.wraps(original)
    def hash_file(file_path: str | os.PathLike[str]) -> str:
        big = os.stat(file_path).st_size >= BAR_BYTES
        return digests(file_path, algorithm, progress=True if big else None)[algorithm]

    return hash_file


def hash_maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function in the place of ModelHash._get_hashlib."""

    @functools.wraps(original)
    def _get_hashlib(algorithm: str) -> Any:
        made = original(algorithm)
        return file_hash(made, algorithm) if algorithm == "sha256" else made

    return _get_hashlib
