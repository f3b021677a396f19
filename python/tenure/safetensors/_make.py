"""Leases as the tensors of the framework that a file was opened for."""

from __future__ import annotations

from importlib import import_module

from .._frameworks import NAMES
from ._errors import SafetensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._tenure import Lease
    from ._fallback import Mapped

FRAMEWORKS = {
    "pt": "pytorch",
    "torch": "pytorch",
    "pytorch": "pytorch",
    "np": "numpy",
    "numpy": "numpy",
    "tf": "tensorflow",
    "tensorflow": "tensorflow",
    "jax": "flax",
    "flax": "flax",
    "mlx": "mlx",
    "paddle": "paddle",
}
_DEVICES = ("cuda", "musa", "npu", "xpu", "xla", "mlu", "hpu")


def read_framework(framework: Any) -> str:
    """Find the framework of a word."""
    if not isinstance(framework, str):
        raise TypeError(f"argument 'framework': '{type(framework).__name__}' object is not an instance of 'str'")
    if framework not in FRAMEWORKS:
        raise SafetensorError(f"framework {framework} is invalid")
    return FRAMEWORKS[framework]


def read_device(device: Any) -> str | int:
    """Find the device of a word or number, as torch names it."""
    if device is None:
        return "cpu"
    if isinstance(device, str):
        return _read_device_word(device)
    if isinstance(device, int) and device >= 0:
        return int(device)
    raise SafetensorError(f"device {device!r} is invalid")


def _read_device_word(device: str) -> str:
    kind, colon, number = device.partition(":")
    if device in ("cpu", "mps"):
        return device
    if kind not in (*_DEVICES, "mps") or ":" in number:
        raise SafetensorError(f"device {device} is invalid")
    if not colon:
        return f"{device}:0"
    if not (number.isascii() and number.removeprefix("+").isdigit()):
        raise ValueError("invalid digit found in string" if number else "cannot parse integer from empty string")
    if kind != "mps":
        return f"{kind}:{int(number)}"
    if int(number) != 0:
        raise SafetensorError(f"device {device} is invalid: only mps or mps:0 is supported")
    return "mps"


def numpy_dtype(word: str) -> Any:
    """Find NumPy's dtype as safetensors does: by name, where NumPy or a loaded ml_dtypes knows it."""
    import numpy

    if word == "BF16":
        return numpy.dtype("bfloat16")
    if word in ("F6_E2M3", "F6_E3M2"):
        raise SafetensorError(f"Dtype not understood: {word}")
    return numpy.dtype(bool if word == "BOOL" else getattr(numpy, NAMES[word]))


def torch_dtype(word: str) -> Any:
    """Find torch's dtype."""
    import torch

    if word in ("F6_E2M3", "F6_E3M2"):
        raise SafetensorError(f"Dtype not understood: {word}")
    return getattr(torch, NAMES[word])


class _Found(dict[str, "Any"]):
    """Dtypes that were found already."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, word: str) -> Any:
        found = self[word] = self.find(word)
        return found


_numpy_dtypes = _Found(numpy_dtype)
_torch_dtypes = _Found(torch_dtype)


def numpy_maker() -> Callable[[Lease], Any]:
    """Make the function that turns a lease into an array."""
    from numpy import ndarray

    def make(lease: Lease) -> Any:
        return ndarray(lease.shape, _numpy_dtypes[lease.dtype], lease)

    return make


def torch_shape(word: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Find torch's shape: two F4 make one of its elements."""
    if word != "F4":
        return shape
    if not shape or shape[-1] % 2 != 0:
        raise SafetensorError(f"f4_x2 dtype requires that the last dim be divisible by 2 in torch: got {list(shape)}")
    return (*shape[:-1], shape[-1] // 2)


def torch_maker(device: str | int) -> Callable[[Lease], Any]:
    """Make the function that turns a lease into a torch tensor."""
    from torch import empty, frombuffer

    def make(lease: Lease) -> Any:
        word = lease.dtype
        if not lease.nbytes:
            return empty(torch_shape(word, lease.shape), dtype=_torch_dtypes[word])
        tensor = frombuffer(lease, dtype=_torch_dtypes[word])
        shape = lease.shape
        return tensor if len(shape) == 1 and word != "F4" else tensor.view(torch_shape(word, shape))

    if device == "cpu":
        return make
    return lambda lease: make(lease).to(device)


def other_maker(framework: str, device: str | int) -> Callable[[Lease], Any]:
    """Make the function for the frameworks that take NumPy arrays over."""
    if framework in ("tensorflow", "flax", "paddle"):
        try:
            import_module(framework)  # it may bring NumPy the types that it lacks
        except ImportError:
            pass
    return _converting(framework, device, numpy_maker())


def _converting(framework: str, device: str | int, array: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let a framework take over the arrays that a maker makes."""
    if framework == "tensorflow":
        convert = import_module("tensorflow").convert_to_tensor
    elif framework == "flax":
        convert = import_module("jax.numpy").array
    elif framework == "mlx":
        convert = import_module("mlx.core").array
    else:
        return _paddle_maker(array, device)
    return lambda lease: convert(array(lease))


def _paddle_maker(array: Callable[[Lease], Any], device: str | int) -> Callable[[Lease], Any]:
    to_tensor = import_module("paddle").to_tensor
    place = device.replace("cuda", "gpu") if isinstance(device, str) else device
    return lambda lease: to_tensor(array(lease), place=place)


def maker(framework: str, device: str | int) -> Callable[[Lease], Any]:
    """Make the function that turns a lease into a tensor of the framework; imports it."""
    if framework == "numpy":
        return numpy_maker()
    return torch_maker(device) if framework == "pytorch" else other_maker(framework, device)


def _map_array(mapped: Mapped) -> Any:
    from numpy import ndarray

    return ndarray(mapped.shape, _numpy_dtypes[mapped.dtype], mapped.buffer)


def map_maker(framework: str, device: str | int) -> Callable[[Mapped], Any]:
    """Make the function that turns a private map into a tensor of the framework."""
    if framework != "pytorch":
        return _map_array if framework == "numpy" else _converting(framework, device, _map_array)

    def make(mapped: Mapped) -> Any:
        import torch

        shape, dtype = torch_shape(mapped.dtype, mapped.shape), _torch_dtypes[mapped.dtype]
        if not mapped.nbytes:
            return torch.empty(shape, dtype=dtype)
        tensor = torch.frombuffer(mapped.buffer, dtype=dtype).view(shape)
        return tensor if device == "cpu" else tensor.to(device)

    return make
