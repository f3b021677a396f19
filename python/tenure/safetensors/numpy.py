"""safetensors.numpy, served by Tenure."""

from __future__ import annotations

import sys

import numpy as np

from . import TensorSpec, deserialize, safe_open, serialize, serialize_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

_TYPES: dict[str, Any] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "U64": np.uint64,
    "I32": np.int32,
    "U32": np.uint32,
    "I16": np.int16,
    "U16": np.uint16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": bool,
    "C64": np.complex64,
}


def save(tensor_dict: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """Make the bytes of a safetensors file of arrays.

    Parameters
    ----------
    tensor_dict : dict of str to numpy.ndarray
        Any shapes; those that are not contiguous are copied.
    metadata : dict of str to str, optional

    Returns
    -------
    bytes
    """
    keep: list[Any] = []
    return serialize(_flatten(tensor_dict, keep), metadata=metadata)


def save_file(
    tensor_dict: dict[str, Any], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file of arrays, whole or not at all."""
    keep: list[Any] = []
    serialize_file(_flatten(tensor_dict, keep), filename, metadata=metadata)


def load(data: bytes) -> dict[str, Any]:
    """Take the bytes of a safetensors file apart into arrays."""
    return _view2np(deserialize(data))


def load_file(filename: str | os.PathLike[str], *, backend: str = "mmap") -> dict[str, Any]:
    """Read a safetensors file into arrays.

    Returns
    -------
    dict of str to numpy.ndarray
        In the order of the file; writable.
    """
    with safe_open(filename, framework="np", backend=backend) as file:
        return file.get_tensors()


def _getdtype(dtype_str: str) -> Any:
    return _TYPES[dtype_str]


def _view2np(safeview: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    return {
        name: np.frombuffer(info["data"], dtype=_getdtype(info["dtype"])).reshape(info["shape"])
        for name, info in safeview
    }


def _is_little_endian(tensor: Any) -> bool:
    order = tensor.dtype.byteorder
    if order not in "=|<>":
        raise ValueError(f"Unexpected byte order {order}")
    return order in "|<" or (order == "=" and sys.byteorder == "little")


def _flatten(tensor_dict: dict[str, Any], keep_alive_buffer: list[Any]) -> dict[str, TensorSpec]:
    """Describe arrays for writing; what had to be copied is kept in the list."""
    flattened = {}
    for name, value in tensor_dict.items():
        tensor = value if _is_little_endian(value) else value.byteswap(inplace=False)
        if not tensor.flags.c_contiguous:
            tensor = np.ascontiguousarray(tensor)
        keep_alive_buffer.append(tensor)
        flattened[name] = TensorSpec(
            dtype=tensor.dtype.name, shape=value.shape, data_ptr=tensor.ctypes.data, data_len=tensor.nbytes
        )
    return flattened
