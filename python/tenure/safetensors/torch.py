"""safetensors.torch, served by Tenure; also the private names that other packages import from it."""

from __future__ import annotations

from collections import defaultdict

import torch

from . import TensorSpec, deserialize, safe_open, serialize, serialize_file
from ._make import torch_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Any

    Tensor = Any


def _named(*names: str) -> dict[Any, int]:
    """Sizes by dtype, of those that this torch has."""
    return {getattr(torch, name): getattr(torch, name).itemsize for name in names if hasattr(torch, name)}


_SIZE: dict[Any, int] = _named(
    "int64", "float32", "int32", "bfloat16", "float16", "int16", "uint8", "int8", "bool", "float64", "complex64",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2",
    "uint64", "uint32", "uint16",
)  # fmt: skip

_TYPES: dict[str, Any] = {
    word: getattr(torch, name)
    for word, name in {
        "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
        "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool", "C64": "complex64", "U64": "uint64",
        "U32": "uint32", "U16": "uint16", "F8_E4M3": "float8_e4m3fn", "F8_E4M3FNUZ": "float8_e4m3fnuz",
        "F8_E5M2": "float8_e5m2", "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu",
        "F4": "float4_e2m1fn_x2",
    }.items()
    if hasattr(torch, name)
}  # fmt: skip


# ---- which tensors share memory ----


def storage_ptr(tensor: Tensor) -> int:
    """Give the address of the memory behind a tensor; 0 where it has none."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except Exception:
        try:
            return int(tensor.storage().data_ptr())
        except NotImplementedError:
            return 0


def storage_size(tensor: Tensor) -> int:
    """Give the size in bytes of the memory behind a tensor."""
    try:
        return int(tensor.untyped_storage().nbytes())
    except AttributeError:
        return int(tensor.nelement() * _SIZE[tensor.dtype])


def _end_ptr(tensor: Tensor) -> int:
    """Give the address behind a tensor's last element."""
    if not tensor.nelement():
        return int(tensor.data_ptr())
    return int(tensor.view(-1)[-1].data_ptr() + _SIZE[tensor.dtype])


def _is_complete(tensor: Tensor) -> bool:
    """Whether it is all of the memory behind it."""
    return bool(
        tensor.data_ptr() == storage_ptr(tensor) and tensor.nelement() * _SIZE[tensor.dtype] == storage_size(tensor)
    )


def _find_shared_tensors(state_dict: dict[str, Tensor]) -> list[set[str]]:
    """Group the names of tensors by the memory behind them; those that lie apart in it count as apart."""
    groups: dict[tuple[Any, int, int], set[str]] = defaultdict(set)
    for name, tensor in state_dict.items():
        if tensor.device.type == "meta":
            continue
        address, size = storage_ptr(tensor), storage_size(tensor)
        if address != 0 and size != 0:
            groups[tensor.device, address, size].add(name)
    return _filter_shared_not_shared(sorted(groups.values()), state_dict)


def _filter_shared_not_shared(tensors: list[set[str]], state_dict: dict[str, Tensor]) -> list[set[str]]:
    """Take apart the groups whose tensors do not overlap."""
    result: list[set[str]] = []
    for names in tensors:
        if len(names) < 2:
            result.append(names)
            continue
        last_stop = None
        for start, stop, name in sorted((state_dict[n].data_ptr(), _end_ptr(state_dict[n]), n) for n in names):
            if last_stop is None or start >= last_stop:
                result.append({name})
            else:
                result[-1].add(name)
            last_stop = stop
    return result


def _remove_duplicate_names(
    state_dict: dict[str, Tensor],
    *,
    preferred_names: Iterable[str] | None = None,
    discard_names: Iterable[str] | None = None,
) -> dict[str, list[str]]:
    """Choose of each group that shares memory the name that is kept; give the others by it."""
    preferred, discarded = set(preferred_names or ()), set(discard_names or ())
    to_remove: dict[str, list[str]] = defaultdict(list)
    for shared in _find_shared_tensors(state_dict):
        complete = {name for name in shared if _is_complete(state_dict[name])}
        if not complete:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep"
                f" for saving amongst: {shared}. None is covering the entire storage.Refusing to save/load the model"
                " since you could be storing much more memory than needed. Please refer to"
                " https://huggingface.co/docs/safetensors/torch_shared_tensors for more information. Or open an"
                " issue."
            )
        keep = min(complete & preferred or complete - discarded or complete)
        others = sorted(shared - {keep})
        if others:
            to_remove[keep].extend(others)
    return to_remove


# ---- writing ----


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Make the bytes of a safetensors file of tensors.

    Parameters
    ----------
    tensors : dict of str to torch.Tensor
        Contiguous and dense, no two sharing memory.
    metadata : dict of str to str, optional

    Returns
    -------
    bytes

    Raises
    ------
    ValueError, RuntimeError
        For tensors that are not so.
    """
    keep: list[Any] = []
    return serialize(_flatten_as_ptr(tensors, keep), metadata=metadata)


def save_file(
    tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file of tensors, whole or not at all; otherwise as `save`."""
    keep: list[Any] = []
    serialize_file(_flatten_as_ptr(tensors, keep), filename, metadata=metadata)


def save_model(
    model: Any,
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write a module's tensors; of those that share memory one, and the others' names into the metadata."""
    state_dict = model.state_dict()
    for kept, others in _remove_duplicate_names(state_dict).items():
        metadata = {} if metadata is None else metadata
        for name in others:
            metadata.setdefault(name, kept)
            del state_dict[name]
    if force_contiguous:
        state_dict = {name: tensor.contiguous() for name, tensor in state_dict.items()}
    try:
        save_file(state_dict, filename, metadata=metadata)
    except ValueError as error:
        hint = " Or use save_model(..., force_contiguous=True), read the docs for potential caveats."
        raise ValueError(str(error) + hint) from error


def _evaluate_tensors_for_save(tensors: dict[str, Tensor]) -> None:
    """Refuse what cannot be written."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    sparse = [name for name, tensor in tensors.items() if tensor.layout != torch.strided]
    if sparse:
        raise ValueError(
            f"You are trying to save a sparse tensors: `{sparse}` which this library does not support."
            " You can make it a dense tensor before saving with `.to_dense()` but be aware this might"
            " make a much larger file than needed."
        )
    failing = [names for names in _find_shared_tensors(tensors) if len(names) > 1]
    if failing:
        raise RuntimeError(
            f"""
            Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {failing}.
            A potential way to correctly save your model is to use `save_model`.
            More information at https://huggingface.co/docs/safetensors/torch_shared_tensors
            """  # noqa: E501
        )


def _flatten_as_ptr(tensors: dict[str, Tensor], keep_alive_buffer: list[Any]) -> dict[str, TensorSpec]:
    """Describe tensors for writing; what had to be copied from a device is kept in the list."""
    _evaluate_tensors_for_save(tensors)
    flattened = {}
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you"
                " are trying to save tensors which are reference of each other in which case it's recommended to save"
                " only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to"
                " pack it before saving."
            )
        here = tensor if tensor.device.type == "cpu" else tensor.to("cpu")
        keep_alive_buffer.append(here)
        size, address = here.nelement() * _SIZE[here.dtype], here.data_ptr()
        flattened[name] = TensorSpec(
            dtype=str(tensor.dtype).rpartition(".")[2],
            shape=tensor.shape,
            data_ptr=address,
            data_len=size if address else 0,
        )
    return flattened


# ---- reading ----


def load_file(
    filename: str | os.PathLike[str], device: str | int = "cpu", *, backend: str = "mmap"
) -> dict[str, Tensor]:
    """Read a safetensors file into tensors.

    Returns
    -------
    dict of str to torch.Tensor
        In the order of the file; writable, each with memory of its own.
    """
    with safe_open(filename, framework="pt", device=device, backend=backend) as file:
        return file.get_tensors()


def load(data: bytes) -> dict[str, Tensor]:
    """Take the bytes of a safetensors file apart into tensors."""
    return _view2torch(deserialize(data))


def load_model(
    model: Any,
    filename: str | os.PathLike[str],
    strict: bool = True,
    device: str | int = "cpu",
    *,
    backend: str = "mmap",
) -> tuple[list[str], list[str]]:
    """Read a file into a module.

    Parameters
    ----------
    model : torch.nn.Module
    filename : str or os.PathLike
    strict : bool
        Refuse names that are missing or too many.

    Returns
    -------
    missing, unexpected
        Names of the module that the file lacks, and of the file that the module lacks.

    Raises
    ------
    RuntimeError
        With `strict`, when there are such names.
    """
    state_dict = load_file(filename, device=device, backend=backend)
    to_remove = _remove_duplicate_names(model.state_dict(), preferred_names=state_dict.keys())
    found_missing, unexpected = model.load_state_dict(state_dict, strict=False)
    missing = set(found_missing)
    for others in to_remove.values():
        for name in others:
            if name in missing:
                missing.remove(name)
            else:
                unexpected.append(name)
    if strict and (missing or unexpected):
        raise RuntimeError(_wrong_names(model, sorted(missing), sorted(unexpected)))
    return missing, unexpected  # type: ignore[return-value]  # a set, as the original gives it


def _wrong_names(model: Any, missing: list[str], unexpected: list[str]) -> str:
    text = f"Error(s) in loading state_dict for {model.__class__.__name__}:"
    for word, names in (("Missing", missing), ("Unexpected", unexpected)):
        if names:
            quoted = ", ".join(f'"{name}"' for name in names)
            text += f"\n    {word} key(s) in state_dict: {quoted}"
    return text


def _getdtype(dtype_str: str) -> Any:
    return _TYPES[dtype_str]


def _view2torch(safeview: list[tuple[str, dict[str, Any]]]) -> dict[str, Tensor]:
    result = {}
    for name, info in safeview:
        dtype, shape = _getdtype(info["dtype"]), torch_shape(info["dtype"], tuple(info["shape"]))
        if len(info["data"]) == 0:
            result[name] = torch.empty(shape, dtype=dtype)
        else:
            result[name] = torch.frombuffer(info["data"], dtype=dtype).reshape(shape)
    return result
