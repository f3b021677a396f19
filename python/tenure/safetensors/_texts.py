"""The checks of the safetensors format in the order and words of safetensors 0.8, for buffers and for refusals.

Tenure's own reader opens files. This one reads headers that are in memory already, and says of a file that was refused
what safetensors would have said: programs compare these texts.
"""

from __future__ import annotations

import json

from .._tenure import BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_HEADER = 100_000_000
U64 = (1 << 64) - 1
MAX_DEPTH = 128  # of lists and objects in one another
DTYPES = tuple(word for word in BITS if word != "C128")

INVALID_INFO = "invalid shape, data type, or offset for tensor"
OVERFLOW = "overflow computing buffer size from shape and/or element type"
INCOMPLETE = "incomplete metadata, file not fully covered"
MISALIGNED = (
    "The slice is slicing for subbytes dtypes, and the slice does not end up at a byte boundary, this is invalid."
)


class Invalid(Exception):
    """A header that is refused; its text is the one of safetensors."""


class Info:
    """What a header says of a tensor."""

    __slots__ = ("begin", "dtype", "end", "shape")

    def __init__(self, dtype: str, shape: list[int], begin: int, end: int) -> None:
        self.dtype, self.shape, self.begin, self.end = dtype, shape, begin, end


class Header:
    """A header that passed every check; `tensors` are in the order of their bytes."""

    __slots__ = ("metadata", "size", "tensors")

    def __init__(self, size: int, metadata: dict[str, str] | None, tensors: dict[str, Info]) -> None:
        self.size, self.metadata, self.tensors = size, metadata, tensors


def read_header(start: bytes | memoryview, total: int) -> Header:
    """Check a header.

    Parameters
    ----------
    start : bytes
        The file's first bytes, at least to the end of its header where it has one.
    total : int
        Size of the whole file.

    Raises
    ------
    Invalid
    """
    if total < 8:
        raise Invalid("header too small")
    size = int.from_bytes(start[:8], "little")
    if size > MAX_HEADER:
        raise Invalid("header too large")
    if 8 + size > total:
        raise Invalid("invalid header length")
    metadata, tensors = _parse(bytes(start[8 : 8 + size]))
    end = check_layout(tensors)
    if 8 + size + end != total:
        raise Invalid(INCOMPLETE)
    return Header(size, metadata, tensors)


def check_layout(tensors: dict[str, Info]) -> int:
    """Check that tensors in the order of their bytes follow one another and have their sizes; give the last end."""
    at = 0
    for name, info in tensors.items():
        if info.begin != at or info.end < info.begin:
            raise Invalid(f"invalid offset for tensor `{name}`")
        at = info.end
        elements = 1
        for n in info.shape:
            elements *= n
            if elements > U64:
                raise Invalid(OVERFLOW)
        bits = elements * BITS[info.dtype]
        if bits > U64:
            raise Invalid(OVERFLOW)
        if bits % 8 != 0:
            raise Invalid(MISALIGNED)
        if info.end - info.begin != bits // 8:
            raise Invalid(INVALID_INFO)
    return at


def _parse(header: bytes) -> tuple[dict[str, str] | None, dict[str, Info]]:
    try:
        text = header.decode()
    except UnicodeDecodeError as error:
        length = "" if error.reason == "unexpected end of data" else f" sequence of {error.end - error.start} bytes"
        start = "incomplete utf-8 byte sequence" if not length else f"invalid utf-8{length}"
        raise Invalid(f"invalid UTF-8 in header: {start} from index {error.start}") from None
    try:
        integer = _integer if "-0" in text else None
        root = json.loads(text, object_pairs_hook=_Object, parse_constant=_no_constant, parse_int=integer)
    except json.JSONDecodeError as error:
        raise Invalid(f"invalid JSON in header: {error.msg} at line {error.lineno} column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        _bad_json(str(error))
    if not isinstance(root, _Object):
        _bad_json("the header is not an object")
    return _read_root(root)


class _Object:
    """A JSON object with its pairs as they stand."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        for key, value in pairs:
            _check_text(key)
            if isinstance(value, str):
                _check_text(value)
        self.pairs = pairs


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        _bad_json("lone surrogate in a text")


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _integer(word: str) -> int:
    if word == "-0":  # a float to safetensors
        raise ValueError("-0 is no integer")
    return int(word)


def _bad_json(what: str) -> NoReturn:
    raise Invalid(f"invalid JSON in header: {what}") from None


def _read_root(root: _Object) -> tuple[dict[str, str] | None, dict[str, Info]]:
    metadata: dict[str, str] | None = None
    seen = False
    tensors: dict[str, Info] = {}
    for name, value in root.pairs:
        if name != "__metadata__":
            tensors[name] = _read_info(name, value)
            continue
        if seen:
            _bad_json("duplicate field `__metadata__`")
        seen = True
        metadata = None if value is None else _read_metadata(value)
    return metadata, dict(sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)))


def _read_metadata(value: Any) -> dict[str, str]:
    if not isinstance(value, _Object) or not all(isinstance(text, str) for _, text in value.pairs):
        _bad_json("`__metadata__` is a map of texts")
    return dict(value.pairs)


def _fields(name: str, value: Any) -> list[Any]:
    if isinstance(value, list) and len(value) == 3:
        return value
    if not isinstance(value, _Object):
        _bad_json(f"the entry of {name!r} is not an object")
    fields: dict[str, Any] = {}
    for key, field in value.pairs:
        if key in fields and key in {"dtype", "shape", "data_offsets"}:
            _bad_json(f"duplicate field `{key}`")
        fields[key] = field
        if isinstance(field, (list, _Object)) and _depth(field) > MAX_DEPTH - 3:
            _bad_json("recursion limit exceeded")
    for key in ("dtype", "shape", "data_offsets"):
        if key not in fields:
            _bad_json(f"missing field `{key}`")
    return [fields["dtype"], fields["shape"], fields["data_offsets"]]


def _depth(value: Any) -> int:
    """Count how deep lists and objects stand in one another."""
    level, depth = [value], 0
    while level:
        depth += 1
        inner: list[Any] = []
        for one in level:
            inner.extend(one if isinstance(one, list) else (item for _, item in one.pairs))
        level = [one for one in inner if isinstance(one, (list, _Object))]
    return depth


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n <= U64 for n in value)


def _read_info(name: str, value: Any) -> Info:
    dtype, shape, offsets = _fields(name, value)
    if dtype not in DTYPES:
        _bad_json(f"unknown variant `{dtype}`, expected one of {', '.join(f'`{word}`' for word in DTYPES)}")
    if not _numbers(shape) or not _numbers(offsets) or len(offsets) != 2:
        _bad_json(f"shape or offsets of {name!r} are not what they must be")
    return Info(dtype, shape, offsets[0], offsets[1])


def write_header(tensors: dict[str, Info], metadata: dict[str, str] | None) -> bytes:
    """Make the length field and header of a file whose tensors are in the order of their bytes.

    Raises
    ------
    Invalid
        When it would be over 100,000,000 bytes.
    """
    root: dict[str, Any] = {}
    if metadata is not None:
        root["__metadata__"] = dict(sorted(metadata.items(), key=lambda pair: pair[0].encode()))
    for name, info in tensors.items():
        root[name] = {"dtype": info.dtype, "shape": info.shape, "data_offsets": [info.begin, info.end]}
    text = json.dumps(root, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise Invalid("header too large")
    return len(text).to_bytes(8, "little") + text
