"""Which of InvokeAI's config classes may claim a file, by what Tenure knows of it."""

from __future__ import annotations

import contextlib
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Types that both know by the same word, with a base that says which model it is.
_WITH_BASE = {"main", "vae", "lora", "control_lora", "controlnet", "t2i_adapter", "ip_adapter"}
_FORCED = ("type", "base", "format", "variant")


class Candidates(set[type]):
    """InvokeAI's set of config classes, of which a thread may see a part for a while."""

    def __init__(self, classes: set[type]) -> None:
        super().__init__(classes)
        self._seen = threading.local()

    def __iter__(self) -> Iterator[type]:
        seen: list[type] | None = getattr(self._seen, "classes", None)
        return set.__iter__(self) if seen is None else iter(seen)

    @contextlib.contextmanager
    def only(self, classes: list[type]) -> Iterator[None]:
        """Let this thread see these alone."""
        before = getattr(self._seen, "classes", None)
        self._seen.classes = classes
        try:
            yield
        finally:
            self._seen.classes = before

    def choose(self, answer: dict[str, Any], overrides: dict[str, Any] | None) -> list[type] | None:
        """Find those that may claim a file.

        Parameters
        ----------
        answer : dict
            Of `tenure.probe`.
        overrides : dict, optional
            What the caller says of the file. Whoever names its type, base, format or variant is not contradicted.

        Returns
        -------
        list of type, optional
            In the order of their names. Empty when InvokeAI has no class for what the file is; None when Tenure does
            not say, and each shall look for itself.
        """
        if answer["state"] != "identified" or any((overrides or {}).get(key) for key in _FORCED):
            return None
        words = _words(answer)
        if words is None:
            return None
        return sorted((c for c in set.__iter__(self) if _has(c, *words)), key=lambda c: c.__name__)


def _words(answer: dict[str, Any]) -> tuple[str, str] | None:
    """Give InvokeAI's type and base; None where Tenure has no word for them."""
    named = (answer["names"] or {}).get("invokeai")
    if named:
        type_, base = named.split("/")[:2]
        return type_, base
    return (answer["type"], answer["base"]) if answer["type"] in _WITH_BASE and answer["base"] else None


def _has(config_class: Any, type_: str, base: str) -> bool:
    fields = config_class.model_fields
    return all(
        name in fields and getattr(fields[name].default, "value", None) == word
        for name, word in (("type", type_), ("base", base))
    )
