"""What a call may hold at once: sizes as people write them, and refusals with numbers before anything is read."""

from __future__ import annotations

from . import _tenure
from .errors import MemoryRefused, from_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    Size = int | str

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def read_size(size: Size | None) -> int | None:
    """Read a size as TENURE_MEMORY is read: bytes, or a text such as ``"512M"`` or ``"2GiB"``.

    Raises
    ------
    ValueError
        When it is no size. 0 is one, and refuses everything but empty tensors.
    """
    if size is None:
        return None
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    if isinstance(size, str):
        text = size.strip()
        digits = text.rstrip("KMGTkmgtiB")
        unit = text[len(digits) :]
        letter = unit.removesuffix("iB") if unit.endswith("iB") else unit.removesuffix("B")
        if digits.isascii() and digits.isdigit() and letter.upper() in _UNITS and unit != "iB":
            return int(digits) << _UNITS[letter.upper()]
    raise ValueError(f"{size!r} is no size: write it in bytes or like '512M' or '2GiB'")


class Room(bytearray):
    """Memory for elements that were turned into another type; it counts against the budget while it lives."""

    _alive: ClassVar[dict[int, int]] = {}  # sizes by id: one step to enter and one to leave, from any thread

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._alive[id(self)] = size

    def __del__(self) -> None:
        self._alive.pop(id(self), None)

    @classmethod
    def held(cls) -> int:
        """Sum up the bytes of all that live."""
        return sum(list(cls._alive.values()))


def left() -> int | None:
    """Find how many bytes of the process's budget are left; None without one."""
    now = _tenure.memory()
    limit, used = now["limit"], now["used"]
    return None if limit is None or used is None else max(limit - used - Room.held(), 0)


def refuse(message: str, file: str, tensor: str, wanted: int, may: int) -> MemoryRefused:
    """Make the refusal of a call that would hold too much."""
    error = from_status("MemoryRefused", "over_budget", message, file, tensor, None, may, wanted)
    assert isinstance(error, MemoryRefused)
    return error


def check(wanted: int, budget: int | None, file: str) -> int | None:
    """Refuse what would hold more than the call's budget or what is left of the process's; what may be held, if known.

    Raises
    ------
    MemoryRefused
        With what may be held in `expected` and what it would be in `found`.
    """
    rest = left()
    limits = [size for size in (budget, rest) if size is not None]
    may = min(limits) if limits else None
    if may is not None and wanted > may:
        whose = "the budget of this call" if budget is not None and may == budget else "the memory budget"
        message = f"this takes {wanted} bytes at once, and {may} are left of {whose}; nothing was read"
        raise refuse(message, file, "", wanted, may)
    return may
