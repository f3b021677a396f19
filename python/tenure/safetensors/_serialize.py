"""serialize, serialize_file, deserialize and TensorSpec, as safetensors 0.8 has them."""

from __future__ import annotations

import os
from operator import index as as_index

from .. import _tenure
from .._frameworks import WORDS
from ..errors import TenureError
from . import _texts
from ._errors import SafetensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

# The order in which a file's tensors are sorted, from the last to the first.
_ORDER = {word: place for place, word in enumerate(_texts.DTYPES)}
_SUPPORTED = (
    "bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, "
    "float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2, complex64"
)


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def quoted(text: str) -> str:
    """Put a text between double quotes, as Rust shows it."""
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text) + '"'


class TensorSpec:
    """A tensor to be written: its type, shape, and where its bytes lie.

    Parameters
    ----------
    dtype : str
        Such as ``"float32"``.
    shape : sequence of int
        Of ``float4_e2m1fn_x2`` as torch counts; the last dimension is doubled.
    data_ptr : int
        Address of its bytes, which must stay there until it was written.
    data_len : int
        How many they are.

    Raises
    ------
    SafetensorError
        For an unknown dtype.
    """

    __slots__ = ("_data_len", "_data_ptr", "_dtype", "_shape")
    _data_len: int
    _data_ptr: int
    _dtype: str
    _shape: tuple[int, ...]

    def __init__(self, *, dtype: str, shape: Sequence[int], data_ptr: int, data_len: int) -> None:
        if not isinstance(dtype, str):
            raise TypeError(f"argument 'dtype': '{type(dtype).__name__}' object cannot be converted to 'str'")
        sizes = [_unsigned(n) for n in shape]
        address, size = _unsigned(data_ptr), _unsigned(data_len)
        word = WORDS.get(dtype)
        if word is None or word == "C128":
            raise SafetensorError(f"Unknown dtype {quoted(dtype)}. Supported dtypes: {_SUPPORTED}")
        if word == "F4" and sizes:
            sizes[-1] = _doubled(sizes[-1])
        for name, value in (
            ("_dtype", word),
            ("_shape", tuple(sizes)),
            ("_data_ptr", address),
            ("_data_len", size),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'TensorSpec' objects is not writable")

    @property
    def dtype(self) -> str:
        """Element type as in the header, such as ``"F32"``."""
        return self._dtype

    @property
    def shape(self) -> list[int]:
        """Shape as in the header."""
        return list(self._shape)

    @property
    def data_ptr(self) -> int:
        """Address of its bytes."""
        return self._data_ptr

    @property
    def data_len(self) -> int:
        """How many bytes."""
        return self._data_len

    def __repr__(self) -> str:
        return (
            f"TensorSpec(dtype='{self._dtype}', shape={self.shape}, data_ptr={self._data_ptr}, "
            f"data_len={self._data_len})"
        )


def _unsigned(value: Any) -> int:
    number = as_index(value)
    if number < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if number > _texts.U64:
        raise OverflowError("int too big to convert")
    return number


def _doubled(n: int) -> int:
    if 2 * n > _texts.U64:
        raise SafetensorError(f"F4 last-dim {n} doubled to logical shape overflows usize")
    return 2 * n


def _check_arguments(tensor_dict: Any, metadata: Any) -> None:
    if not isinstance(tensor_dict, dict):
        raise TypeError(f"argument 'tensor_dict': '{type(tensor_dict).__name__}' object is not an instance of 'dict'")
    for name, spec in tensor_dict.items():
        if not isinstance(name, str) or not isinstance(spec, TensorSpec):
            wrong = name if not isinstance(name, str) else spec
            raise TypeError(f"argument 'tensor_dict': '{type(wrong).__name__}' object is not what it should be")
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        raise TypeError(f"argument 'metadata': '{type(metadata).__name__}' object is not an instance of 'dict'")
    for text in (item for pair in metadata.items() for item in pair):
        if not isinstance(text, str):
            shown = "'None'" if text is None else f"'{type(text).__name__}' object"
            raise TypeError(f"argument 'metadata': {shown} is not an instance of 'str'")


def _laid_out(tensor_dict: dict[str, TensorSpec]) -> dict[str, _texts.Info]:
    """Put tensors into the order of the file: widest type first, then by name."""
    order = sorted(tensor_dict, key=lambda name: (-_ORDER[tensor_dict[name].dtype], name.encode()))
    infos: dict[str, _texts.Info] = {}
    at = 0
    for name in order:
        spec = tensor_dict[name]
        infos[name] = _texts.Info(spec.dtype, spec.shape, at, at + spec.data_len)
        at += spec.data_len
    _texts.check_layout(infos)
    return infos


def serialize(tensor_dict: dict[str, TensorSpec], metadata: dict[str, str] | None = None) -> bytes:
    """Make the bytes of a safetensors file.

    Raises
    ------
    SafetensorError
        When shape, type and size of a tensor do not agree.
    """
    _check_arguments(tensor_dict, metadata)
    try:
        infos = _laid_out(tensor_dict)
        header = _texts.write_header(infos, metadata)
    except _texts.Invalid as error:
        raise SafetensorError(f"Error while serializing: {error}") from None
    pieces = [(tensor_dict[name].data_ptr, tensor_dict[name].data_len) for name in infos]
    return _tenure.join(header, pieces)


def serialize_file(
    tensor_dict: dict[str, TensorSpec], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file, whole or not at all.

    Raises
    ------
    SafetensorError
        As `serialize`, and for what the system says of the disk.
    """
    _check_arguments(tensor_dict, metadata)
    path = os.fspath(filename)
    if not isinstance(path, str):
        raise TypeError(f"argument 'filename': expected str, not {type(path).__name__}")
    try:
        infos = _laid_out(tensor_dict)
    except _texts.Invalid as error:
        raise SafetensorError(f"Error while serializing: {error}") from None
    try:
        writer = _tenure.Writer(path, [(name, info.dtype, tuple(info.shape)) for name, info in infos.items()], metadata)
        for place, name in enumerate(infos):
            writer.put(place, (tensor_dict[name].data_ptr, tensor_dict[name].data_len))
        writer.finish()
    except MemoryError:
        raise
    except TenureError as error:
        raise SafetensorError(f"Error while serializing: {_said(error)}") from error


def _said(error: TenureError) -> str:
    number = getattr(error, "errno", None)
    if number is not None:
        return f"I/O error: {os.strerror(number)} (os error {number})"
    return "header too large" if error.status == "limit" else str(error)


def deserialize(bytes: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Take the bytes of a safetensors file apart.

    Returns
    -------
    list of (name, {"shape": list of int, "dtype": str, "data": bytearray})
        In the order of the file.

    Raises
    ------
    SafetensorError
        When they are no safetensors file.
    """
    if not isinstance(bytes, builtin_bytes):
        raise TypeError(f"argument 'bytes': '{type(bytes).__name__}' object is not an instance of 'bytes'")
    view = memoryview(bytes)
    try:
        header = _texts.read_header(view, len(view))
    except _texts.Invalid as error:
        raise SafetensorError(f"Error while deserializing: {error}") from None
    start = 8 + header.size
    return [
        (
            name,
            {
                "shape": list(info.shape),
                "dtype": info.dtype,
                "data": bytearray(view[start + info.begin : start + info.end]),
            },
        )
        for name, info in header.tensors.items()
    ]


builtin_bytes = bytes
