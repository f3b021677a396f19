"""Torch tensors that know their shape and type, and are read from their file when their elements are asked for.

What InvokeAI asks of a model to know what it is are names and shapes, now and then an element. A state dict of these
tensors answers that from the header, as a plain dict of real `torch.Tensor` objects. Invariants:

1. Shape, type, strides, device and the like never read, nor does detach.
2. Everything else reads the one tensor that it concerns, and computes with an ordinary tensor; results are ordinary
   tensors.
3. What was read is given up when nobody holds it any more, unless it was written to or its address was asked for: then
   this tensor holds it.
4. They take no part in autograd.
"""

from __future__ import annotations

import weakref

import torch

from ..._frameworks import torch_dtype
from ...safetensors import safe_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

_T = torch.Tensor
_FROM_HEADER = {
    *(
        getattr(_T, name).__get__
        for name in ("shape", "dtype", "device", "ndim", "layout", "is_sparse", "is_quantized")
    ),
    *(getattr(_T, name).__get__ for name in ("is_meta", "is_cuda", "requires_grad", "itemsize", "nbytes", "grad")),
    *(getattr(_T, name) for name in ("size", "dim", "ndimension", "numel", "nelement", "element_size", "stride")),
    *(
        getattr(_T, name)
        for name in ("is_floating_point", "is_complex", "is_contiguous", "storage_offset", "__len__", "requires_grad_")
    ),
}
_ADDRESSES = {"data_ptr", "untyped_storage", "storage", "_typed_storage"}


class UnreadTensor(torch.Tensor):  # type: ignore[misc]
    """One tensor of a file.

    Parameters
    ----------
    file : safe_open
        Stays open while this lives.
    name : str
    like : UnreadTensor, optional
        Of the same file and name: what one of them holds, the other has.
    """

    @staticmethod
    def __new__(cls, file: Any, name: str, like: UnreadTensor | None = None) -> UnreadTensor:
        piece = file.get_slice(name)
        word, shape = piece.get_dtype(), list(piece.get_shape())
        if word == "F4" and shape:  # torch counts pairs
            shape[-1] //= 2
        made: UnreadTensor = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch_dtype(word), device="cpu")
        return made

    def __init__(self, file: Any, name: str, like: UnreadTensor | None = None) -> None:
        self._source: _Source = _Source(file, name) if like is None else like._source

    def read(self, *, hold: bool = False) -> Any:
        """Give the ordinary tensor, read now unless somebody holds it."""
        return self._source.read(hold)

    def __repr__(self, **_: Any) -> str:
        return f"<unread tensor {self._source.name} {list(self.shape)} {self.dtype}>"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _FROM_HEADER:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        if func is _T.detach:
            return args[0]._again()
        return _compute(func, args, kwargs, _leaves_a_mark(func))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.detach.default:
            return args[0]._again()
        return _compute(func, args, kwargs, func._schema.is_mutable)

    def _again(self) -> UnreadTensor:
        return UnreadTensor(self._source.file, self._source.name, self)


class _Source:
    """Where a tensor is read from, and what is known to be read of it."""

    __slots__ = ("alive", "file", "held", "name")

    def __init__(self, file: Any, name: str) -> None:
        self.file, self.name = file, name
        self.held: Any = None
        self.alive: weakref.ref[Any] | None = None

    def read(self, hold: bool) -> Any:
        found = self.held
        if found is None and self.alive is not None:
            found = self.alive()
        if found is None:
            found = self.file.get_tensor(self.name)
            self.alive = weakref.ref(found)
        if hold:
            self.held = found
        return found


def _leaves_a_mark(func: Any) -> bool:
    name = getattr(func, "__name__", "")
    is_in_place = name.endswith("_") and not name.endswith("__")
    return is_in_place or name in _ADDRESSES or name.startswith("__i") or name in ("__setitem__", "__set__")


def _compute(func: Any, args: Any, kwargs: Any, hold: bool) -> Any:
    """Call with ordinary tensors in the place of unread ones."""

    def read(value: Any) -> Any:
        if isinstance(value, UnreadTensor):
            return value.read(hold=hold)
        if type(value) in (list, tuple):
            return type(value)(map(read, value))
        return value

    return func(*map(read, args), **{key: read(value) for key, value in (kwargs or {}).items()})


def load_file(filename: str | os.PathLike[str], device: str | int = "cpu", **options: Any) -> dict[str, Any]:
    """Give a file's tensors as safetensors.torch.load_file does, each read when it is touched.

    Returns
    -------
    dict of str to torch.Tensor
        In the order of the file.

    Raises
    ------
    SafetensorError, OSError
        As the original, for a file that is damaged or missing.
    """
    file = safe_open(filename, framework="pt", device=device, **options)
    return {name: UnreadTensor(file, name) for name in file.offset_keys()}
