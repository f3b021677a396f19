"""A state dict whose tensors are read when they are touched."""

from __future__ import annotations

import weakref
from collections.abc import ItemsView, Iterator, ValuesView

from ._checkpoint import Checkpoint, Tensor, open
from ._frameworks import word_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._checkpoint import Path


class LazyStateDict(dict[str, "Any"]):
    """A ``dict`` of a file's tensors that reads each when it is touched.

    It is a real dict to its users: it has order, can be changed, popped from, copied and passed on. A tensor is read at
    its first touch and given up when nobody holds it any more; touched again, it is read again, as it stands in the
    file: what is changed in place must be held, or put back by ``state_dict[name] = tensor``. What is put into it by
    hand is kept as it is.

    Parameters
    ----------
    source : str, bytes, os.PathLike or Checkpoint
        What to read from.
    framework : {"torch", "numpy", "lease"}
        What the tensors shall be.
    dtype, device
        As for `tenure.load`.

    Raises
    ------
    MemoryRefused, FileChanged, OSError
        When a tensor is touched that cannot be read.
    """

    def __init__(
        self,
        source: Path | Checkpoint | LazyStateDict,
        *,
        framework: str = "torch",
        dtype: Any = None,
        device: Any = "cpu",
    ) -> None:
        from ._load import _maker

        super().__init__()
        if isinstance(source, LazyStateDict):
            self._make: Callable[[Any], Any] = source._make
            self._terms: tuple[str, ...] = source._terms
            for name, value in dict.items(source):
                dict.__setitem__(self, name, value)
            return
        self._make = _maker(framework, dtype, device)
        self._terms = (framework, "" if dtype is None else word_of(dtype), str(device))
        checkpoint = source if isinstance(source, Checkpoint) else open(source)
        for name in checkpoint:
            dict.__setitem__(self, name, _Unread(checkpoint[name]))

    def tensor(self, name: str) -> Tensor:
        """Give the unread tensor of a name, with its shape and type.

        Raises
        ------
        KeyError
            When there is none, or another value was put in its place.
        """
        value = dict.__getitem__(self, name)
        if not isinstance(value, _Unread):
            raise KeyError(name)
        return value.tensor

    def __getitem__(self, name: str) -> Any:
        value = dict.__getitem__(self, name)
        return value.read(self._make) if isinstance(value, _Unread) else value

    def __iter__(self) -> Iterator[str]:  # dict(lazy) and {**lazy} ask for the values one by one because of this
        return dict.__iter__(self)

    def get(self, name: str, default: Any = None) -> Any:
        """Give the tensor of a name, or the default."""
        return self[name] if name in self else default  # noqa: SIM401  (dict.get would not read it)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Give pairs of name and tensor; each tensor is read when its turn comes."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """Give the tensors; each is read when its turn comes."""
        return _Values(self)

    def pop(self, name: str, *default: Any) -> Any:
        """Take a tensor out."""
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last tensor out."""
        if not self:
            raise KeyError("popitem(): dictionary is empty")
        name = next(reversed(self))
        return name, self.pop(name)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Give the tensor of a name; put the default there if there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def copy(self) -> LazyStateDict:
        """Make another one of the same tensors, as unread as they are; those that are held are the same objects."""
        return LazyStateDict(self)

    __copy__ = copy

    @classmethod
    def fromkeys(cls, names: Any, value: Any = None) -> dict[str, Any]:  # type: ignore[override]
        """Make a plain dict, as there is no file to read from."""
        return dict.fromkeys(names, value)

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        return NotImplemented if not isinstance(other, dict) else {**other, **self}

    def update(self, *sources: Any, **values: Any) -> None:
        """Put in what other mappings hold; unread tensors that would be made in the same way stay unread."""
        for source in sources:
            if isinstance(source, LazyStateDict) and source._terms == self._terms:
                for name, value in dict.items(source):
                    self[name] = value
            else:
                pairs = source.items() if hasattr(source, "items") else source
                for name, value in pairs:
                    self[name] = value
        for name, value in values.items():
            self[name] = value

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __repr__(self) -> str:
        return f"<tenure.LazyStateDict of {len(self)} tensors>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a LazyStateDict is not pickled, it would read every tensor: use dict(...) of it, or its path")

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        from copy import deepcopy

        return {name: deepcopy(value, memo) for name, value in self.items()}


class _Unread:
    """Stands in the dict, and in its copies, where a tensor will be."""

    __slots__ = ("alive", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.alive: weakref.ref[Any] | None = None

    def read(self, make: Callable[[Any], Any]) -> Any:
        """Give the tensor that somebody holds, or read it."""
        found = None if self.alive is None else self.alive()
        if found is None:
            found = make(self.tensor.lease())
            try:
                self.alive = weakref.ref(found)
            except TypeError:  # leases have no weak references; each touch reads
                pass
        return found


class _Items(ItemsView[str, "Any"]):
    def __iter__(self) -> Iterator[tuple[str, Any]]:
        mapping: Any = self._mapping  # type: ignore[attr-defined]
        for name in dict.__iter__(mapping):
            yield name, mapping[name]

    def __reversed__(self) -> Iterator[tuple[str, Any]]:
        mapping: Any = self._mapping  # type: ignore[attr-defined]
        for name in dict.__reversed__(mapping):
            yield name, mapping[name]


class _Values(ValuesView["Any"]):
    def __iter__(self) -> Iterator[Any]:
        mapping: Any = self._mapping  # type: ignore[attr-defined]
        for name in dict.__iter__(mapping):
            yield mapping[name]

    def __reversed__(self) -> Iterator[Any]:
        mapping: Any = self._mapping  # type: ignore[attr-defined]
        for name in dict.__reversed__(mapping):
            yield mapping[name]
