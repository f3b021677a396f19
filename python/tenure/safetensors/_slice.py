"""Slices as safetensors' own slicer takes them: checked and refused in its words, read by Tenure.

Torch opened in the default way is sliced by torch's rules instead (`_open.PySafeSlice`).
"""

from __future__ import annotations

from operator import index as as_index

from ._errors import SafetensorError
from ._texts import MISALIGNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

I32_MAX = (1 << 31) - 1


def read_index(index: Any, shape: tuple[int, ...], bits: int) -> tuple[int | slice, ...]:
    """Turn an index into integers and slices within the shape of a tensor whose elements have so many bits.

    Raises
    ------
    SafetensorError
        With the text that safetensors has for it.
    """
    items = _items(index)
    rest = max(len(shape) - sum(1 for item in items if item is not Ellipsis), 0)
    if sum(1 for item in items if item is Ellipsis) > 1:
        raise SafetensorError("Only one ellipsis (...) is allowed in slice index")
    found: list[int | slice] = []
    for item in items:
        if item is Ellipsis:
            found.extend([slice(None, None, 1)] * rest)
        else:
            found.append(_item(item, len(found), shape))
    _check(found, shape, bits)
    return tuple(found)


def _items(index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return list(index)
    if isinstance(index, list):
        if index:
            raise SafetensorError("Non empty lists are not implemented")
        return [slice(0, 0)]
    return [index]


def _item(item: Any, at: int, shape: tuple[int, ...]) -> int | slice:
    dim = shape[at] if at < len(shape) else 0
    if isinstance(item, slice):
        return _slice(item, dim)
    try:
        number = as_index(item)
    except TypeError:
        number = I32_MAX + 1
    if not -I32_MAX - 1 <= number <= I32_MAX:
        raise SafetensorError(f"Unsupported slice index at position {at}: expected slice, int, or ellipsis")
    if number < 0 and number + dim < 0:
        raise SafetensorError(f"Invalid index {number} for dimension {at} of size {dim}")
    return number + dim if number < 0 else number


def _slice(item: slice, dim: int) -> slice:
    step = 1 if item.step is None else as_index(item.step)
    if step <= 0:
        raise SafetensorError(f"Slice step must be a positive integer, got {step}")
    start, stop = (None if end is None else _bound(as_index(end), dim) for end in (item.start, item.stop))
    return slice(start, stop, step)


def _bound(number: int, dim: int) -> int:
    return max(number + dim, 0) if number < 0 else number


def _check(items: list[int | slice], shape: tuple[int, ...], bits: int) -> None:
    if len(items) > len(shape):
        _refuse(items, shape, "more slicing indexes than dimensions in tensor")
    span = bits  # of one step in a dimension
    for n in shape[len(items) :]:
        span *= n
    narrow = False  # whether a dimension further in is not taken whole, but not for nothing
    for at in reversed(range(len(items))):
        steps, dim = _steps(items[at], shape[at]), shape[at]
        beyond = steps.start >= dim or steps.stop > dim
        if beyond and (dim or not isinstance(items[at], slice)):
            wrong = steps.start if steps.start >= dim else steps.stop - 1
            _refuse(items, shape, f"index {wrong} out of bounds for tensor dimension #{at} of size {dim}")
        ends: list[int] = []
        if narrow:
            ends = list(steps)
        elif (steps.start, steps.stop, steps.step) != (0, dim, 1):
            ends = [steps.start, steps.stop] if steps.step == 1 else [n + end for n in steps for end in (0, 1)]
        narrow = bool(ends)
        if any(end * span % 8 != 0 for end in ends):
            _refuse(items, shape, MISALIGNED)
        span *= dim


def _steps(item: int | slice, dim: int) -> range:
    """Give the places of a dimension that an item takes."""
    if not isinstance(item, slice):
        return range(item, item + 1)
    start = item.start or 0
    return range(start, max(start, dim if item.stop is None else item.stop), item.step)


def _refuse(items: list[int | slice], shape: tuple[int, ...], why: str) -> NoReturn:
    raise refusal(items, shape, why)


def refusal(items: Sequence[int | slice], shape: tuple[int, ...], why: str) -> SafetensorError:
    """Make the error of a slice that is refused, as safetensors shows it."""
    shown = ", ".join(_shown(item) for item in items)
    return SafetensorError(f"Error during slicing [{shown}] with shape {list(shape)}: {why}")


def _shown(item: int | slice) -> str:
    if not isinstance(item, slice):
        return str(item)
    start, stop = ("" if end is None else str(end) for end in (item.start, item.stop))
    return f"{start}:{stop}" if item.step == 1 else f"{start}:{stop}:{item.step}"
