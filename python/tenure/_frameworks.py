"""Leases as NumPy arrays and torch tensors, and back. Each framework is imported when it is first asked for."""

from __future__ import annotations

import sys

from . import _tenure
from ._tenure import BITS, Lease

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Element types by the names that NumPy, ml_dtypes and torch give them.
NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "C128": "complex128",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F4": "float4_e2m1fn_x2",
}
WORDS = {name: word for word, name in NAMES.items()}

_numpy_dtypes: dict[str, Any] = {}
_torch_dtypes: dict[str, Any] = {}


def word_of(dtype: Any) -> str:
    """Name an element type as a safetensors header does.

    Parameters
    ----------
    dtype : str, numpy.dtype, type or torch.dtype
        ``"BF16"``, ``"bfloat16"``, ``numpy.float32``, ``torch.float16``.
    """
    if isinstance(dtype, str) and dtype in BITS:
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    name = str(dtype) if name is None else str(name)
    word = WORDS.get(name.removeprefix("torch.").rstrip("_"))
    if word is None:
        raise ValueError(f"there is no element type {dtype!r}")
    return word


def numpy_dtype(word: str) -> Any:
    """Find NumPy's dtype of an element type; TypeError where it has none."""
    found = _numpy_dtypes.get(word)
    if found is None:
        import numpy

        try:
            found = numpy.dtype(NAMES.get(word, word))
        except TypeError:
            found = _from_ml_dtypes(word)
        _numpy_dtypes[word] = found
    return found


def _from_ml_dtypes(word: str) -> Any:
    import numpy

    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"NumPy has no {word}: install ml_dtypes, or ask for another dtype") from None
    name = NAMES.get(word, "")
    if not hasattr(ml_dtypes, name):
        raise TypeError(f"neither NumPy nor ml_dtypes has {word}")
    return numpy.dtype(getattr(ml_dtypes, name))


def torch_dtype(word: str) -> Any:
    """Find torch's dtype of an element type; TypeError where it has none."""
    found = _torch_dtypes.get(word)
    if found is None:
        import torch

        found = getattr(torch, NAMES.get(word, ""), None)
        if found is None:
            raise TypeError(f"torch {torch.__version__} has no {word}")
        _torch_dtypes[word] = found
    return found


def converted(lease: Lease, word: str) -> bytearray:
    """Turn the elements of a lease into another type, in memory of their own.

    Parameters
    ----------
    lease : Lease
    word : str
        Its new type, as in a header.

    Raises
    ------
    MemoryRefused
        When the result does not fit what is left of the budget.
    FormatError
        When the one type does not become the other.
    """
    from ._budget import Room, left, refuse

    wanted = lease.nbytes * 8 // BITS[lease.dtype] * BITS[word] // 8
    rest = left()
    if rest is not None and wanted > rest:
        message = f"{wanted} bytes for {lease.name} as {word} do not fit the memory budget"
        raise refuse(message, "", lease.name, wanted, rest)
    target = Room(wanted)
    _tenure.convert(lease, lease.dtype, target, word)
    return target


def _check_order() -> None:
    if sys.byteorder != "little":
        raise NotImplementedError("Tenure gives tensors to frameworks on little-endian machines only")


def to_numpy(lease: Lease, dtype: Any = None) -> Any:
    """Make a NumPy array of a lease, without a copy unless the type changes."""
    import numpy

    _check_order()
    word = lease.dtype if dtype is None else word_of(dtype)
    source: Any = lease if word == lease.dtype else converted(lease, word)
    return numpy.ndarray(lease.shape, numpy_dtype(word), source)


def torch_shape(lease: Lease) -> tuple[int, ...]:
    """Find the shape that torch gives it: two F4 make one element of a byte."""
    if lease.dtype != "F4" or not lease.shape:
        return lease.shape
    if lease.shape[-1] % 2 != 0:
        raise ValueError(f"torch holds F4 in pairs, and the last dimension of {lease.shape} is odd")
    return (*lease.shape[:-1], lease.shape[-1] // 2)


def to_torch(lease: Lease, dtype: Any = None, device: Any = "cpu") -> Any:
    """Make a torch tensor of a lease, without a copy unless the type changes or it lies elsewhere."""
    import torch

    _check_order()
    word = lease.dtype if dtype is None else word_of(dtype)
    source: Any = lease if word == lease.dtype else converted(lease, word)
    shape = torch_shape(lease)
    if lease.nbytes == 0:
        tensor = torch.empty(shape, dtype=torch_dtype(word))
    else:
        tensor = torch.frombuffer(source, dtype=torch_dtype(word)).view(shape)
    return tensor if device == "cpu" else tensor.to(device)


def _torch_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def outline_of(name: str, value: Any) -> tuple[str, tuple[int, ...]]:
    """Say what a tensor of any framework will be in a file: element type and shape. Nothing is read.

    Raises
    ------
    TypeError
        When it is no tensor.
    """
    from ._checkpoint import Tensor

    if isinstance(value, (Tensor, Lease)):
        return value.dtype, value.shape
    if _torch_tensor(value):
        word, shape = word_of(value.dtype), tuple(value.shape)
        return word, (*shape[:-1], shape[-1] * 2) if word == "F4" and shape else shape
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        import numpy

        array = numpy.asarray(value)
        return word_of(array.dtype), array.shape
    raise TypeError(f"{name}: a tensor is expected, not {type(value).__name__}")


def source_of(value: Any) -> tuple[Any, Any]:
    """Give the bytes of a tensor of any framework: a buffer or ``(address, bytes)``, and what must live meanwhile."""
    from ._checkpoint import Tensor

    if isinstance(value, Tensor):
        value = value.lease()
    if isinstance(value, Lease):
        return value, value
    if _torch_tensor(value):
        tensor = value.detach().cpu().contiguous()
        return (tensor.data_ptr(), tensor.numel() * tensor.element_size()), tensor
    import numpy

    array = numpy.ascontiguousarray(value)
    if array.dtype.byteorder == ">":
        array = array.byteswap().view(array.dtype.newbyteorder("<"))
    return (array.ctypes.data, array.nbytes), array
