"""safe_open, its slices, and the handle over an open file."""

from __future__ import annotations

import os
import stat

from .. import _tenure
from ..errors import TenureError
from . import _fallback, _make, _texts
from ._errors import SafetensorError
from ._serialize import quoted
from ._slice import read_index, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, Self

    from .._tenure import Lease

_CANNOT_OPEN = {"not_found", "permission", "too_many_files", "bad_path", "busy", "placeholder"}


class _Open:
    """What safe_open and _safe_open_handle have in common."""

    __slots__ = ("_device", "_framework", "_handle", "_make", "_native", "_path", "_stamp")

    def _begin(self, path: str, framework: Any, device: Any, backend: Any) -> None:
        framework = _make.read_framework(framework)
        device = _make.read_device(device)
        if not isinstance(backend, str):
            raise TypeError(f"argument 'backend': '{type(backend).__name__}' object is not an instance of 'str'")
        if backend not in ("mmap", "pread"):
            raise SafetensorError(f'backend {quoted(backend)} is invalid (expected one of: "mmap", "pread")')
        handle, stamp = _open(path)
        if device != "cpu" and framework not in ("pytorch", "paddle"):
            raise SafetensorError(f"Device {device} is not supported for framework {framework}")
        self._make: Callable[[Lease], Any] = _make.maker(framework, device)
        self._native: bool = framework == "pytorch" and backend == "mmap"  # sliced by torch's rules
        self._device, self._framework = device, framework
        self._path, self._stamp = path, stamp
        self._handle: _tenure.Checkpoint | None = handle

    def _closed(self) -> NoReturn:
        raise SafetensorError("File is closed")

    def metadata(self) -> dict[str, str] | None:
        """Give what the file says of itself; None where it has no metadata."""
        if self._handle is None:
            self._closed()
        return self._handle.metadata() or _empty_metadata(self._path, self._handle.header_bytes)

    def keys(self) -> list[str]:
        """Give the names, sorted."""
        if self._handle is None:
            self._closed()
        return sorted(self._handle.names())

    def offset_keys(self) -> list[str]:
        """Give the names in the order of the file."""
        if self._handle is None:
            self._closed()
        return self._handle.names()

    def get_tensor(self, name: str) -> Any:
        """Read a tensor.

        Parameters
        ----------
        name : str

        Returns
        -------
        tensor
            Of the framework that the file was opened for; memory of its own.

        Raises
        ------
        SafetensorError
            When there is none of this name, or it could not be read.
        MemoryError
            When it does not fit.
        """
        handle = self._handle
        if handle is None:
            self._closed()
        try:
            lease = handle.lease(name)
        except KeyError:
            raise SafetensorError(f"File does not contain tensor {name}") from None
        except TenureError as error:
            return self._otherwise(handle, name, error)
        return self._make(lease)

    def _otherwise(self, handle: _tenure.Checkpoint, name: str, error: TenureError) -> Any:
        """Map a tensor for which there was no memory; say of all else that it could not be read."""
        if isinstance(error, MemoryError):
            try:
                mapped = _fallback.map_instead(handle, name, self._stamp, error)
            except MemoryError:
                raise
            except TenureError as changed:
                error = changed
            else:
                return _make.map_maker(self._framework, self._device)(mapped)
        raise SafetensorError(f"Could not read tensor {name} from file: {error}") from error

    def get_tensors(self) -> dict[str, Any]:
        """Read all tensors, in the order of the file."""
        handle = self._handle
        if handle is None:
            self._closed()
        names = handle.names()
        if self._device != "cpu":  # one at a time lies in both memories
            return {name: self.get_tensor(name) for name in names}
        try:
            leases = handle.lease_many(names)
        except MemoryError as error:  # a part read and a part mapped would fill the memory that the map does not need
            if not isinstance(error, TenureError):
                raise
            return {name: self._otherwise(handle, name, error) for name in names}
        except TenureError:  # one at a time says which
            return {name: self.get_tensor(name) for name in names}
        make = self._make
        return {name: make(lease) for name, lease in zip(names, leases, strict=True)}

    def get_slice(self, name: str) -> PySafeSlice:
        """Give a tensor to be sliced; nothing is read yet."""
        if self._handle is None:
            self._closed()
        try:
            info = self._handle.info(name)
        except KeyError:
            raise SafetensorError(f"File does not contain tensor {name}") from None
        return PySafeSlice(self, self._handle, name, info)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._handle = None

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class safe_open(_Open):
    """Open a safetensors file and give its tensors as they are asked for.

    Parameters
    ----------
    filename : str or os.PathLike
    framework : str
        ``"pt"``, ``"np"``, ``"tf"``, ``"flax"``, ``"mlx"``, ``"paddle"`` or their longer names.
    device : str or int
        Where torch's and paddle's tensors shall lie.
    backend : {"mmap", "pread"}
        Tenure reads either in its own way; by ``"mmap"`` torch is sliced by torch's rules, by ``"pread"`` by those of
        safetensors.

    Raises
    ------
    FileNotFoundError
        When it cannot be opened, for whatever reason.
    SafetensorError
        When it is no safetensors file.
    """

    __slots__ = ()

    def __init__(
        self, filename: str | os.PathLike[str], framework: str, device: Any = "cpu", *, backend: str = "mmap"
    ) -> None:
        path = os.fspath(filename)
        if not isinstance(path, str):
            raise TypeError(f"argument 'filename': '{type(path).__name__}' object is not an instance of 'str'")
        self._begin(path, framework, device, backend)


class _safe_open_handle(_Open):
    """The same for a file that is open already, which is opened again by its name."""

    __slots__ = ()

    def __init__(self, f: Any, framework: str, device: Any = "cpu", *, backend: str = "mmap") -> None:
        _ = f.fileno
        path = os.fspath(f.name)
        if not isinstance(path, str):
            raise TypeError(f"'{type(path).__name__}' object is not an instance of 'str'")
        self._begin(path, framework, device, backend)


class PySafeSlice:
    """A tensor to be sliced; it stays usable when its file was closed."""

    __slots__ = ("_handle", "_info", "_name", "_of")

    def __init__(
        self, of: _Open, handle: _tenure.Checkpoint, name: str, info: tuple[str, tuple[int, ...], int]
    ) -> None:
        self._of, self._handle, self._name, self._info = of, handle, name, info

    def get_shape(self) -> list[int]:
        """Give the shape of the whole tensor."""
        return list(self._info[1])

    def get_dtype(self) -> str:
        """Give its element type, such as ``"F32"``."""
        return self._info[0]

    def __getitem__(self, index: Any) -> Any:
        """Read a slice: only its bytes, wherever the index is made of integers and slices."""
        of, handle, name = self._of, self._handle, self._name
        if of._native:
            _make.torch_dtype(self._info[0])  # refuses F6 before the index is looked at
            if self._info[0] == "F4" or not _is_plain(index, self._info[1]):
                return self._by_torch(index)
        else:
            index = read_index(index, self._info[1], _tenure.BITS[self._info[0]])
        try:
            lease = handle.lease(name, _parts(index))
        except TenureError as error:
            if isinstance(error, MemoryError):
                return of._otherwise(handle, name, error)[index]
            if error.status == "unsupported":
                raise refusal(_parts(index), self._info[1], _texts.MISALIGNED) from error
            raise SafetensorError(f"Could not read tensor bytes for slicing: {error}") from error
        return of._make(lease)

    def _by_torch(self, index: Any) -> Any:
        """Let torch index the tensor; what it refuses, it refuses before anything is read."""
        import torch

        if _is_basic(index):
            torch.empty(self._info[1], dtype=torch.uint8, device="meta")[index]
        try:
            whole = self._of._make(self._handle.lease(self._name))
        except TenureError as error:
            whole = self._of._otherwise(self._handle, self._name, error)
        return whole[index]


def _parts(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _is_basic(index: Any) -> bool:
    return all(item is None or item is Ellipsis or type(item) in (int, slice) for item in _parts(index))


def _is_plain(index: Any, shape: tuple[int, ...]) -> bool:
    """Whether torch and Tenure understand an index alike, and neither refuses it."""
    parts = _parts(index)
    named = sum(1 for item in parts if item is not None and item is not Ellipsis)
    if named > len(shape) or sum(1 for item in parts if item is Ellipsis) > 1:
        return False
    at = 0
    for item in parts:
        if item is Ellipsis:
            at += len(shape) - named
        elif item is not None:
            if not _is_plain_item(item, shape[at]):
                return False
            at += 1
    return True


def _is_plain_item(item: Any, dim: int) -> bool:
    if type(item) is int:
        return -dim <= item < dim
    if type(item) is not slice or not (item.step is None or (type(item.step) is int and item.step > 0)):
        return False
    return all(end is None or type(end) is int for end in (item.start, item.stop))


# ---- opening ----


def _open(path: str) -> tuple[_tenure.Checkpoint, _fallback.Stamp]:
    """Open a file as itself and keep it open, or refuse it in the words of safetensors."""
    stamp = _fallback.stamp_of(path)  # before it is opened: another file of the name would be noticed
    try:
        handle = _tenure.open(path, True)
        if handle.container == "safetensors" and not _is_damaged(handle):
            handle.keep_files()
            return handle, stamp
    except MemoryError:
        raise
    except TenureError as error:
        if error.status in _CANNOT_OPEN:
            raise FileNotFoundError(f"No such file or directory: {path}") from error
        _refuse(path, error)
    _refuse(path, None)


def _is_damaged(handle: _tenure.Checkpoint) -> bool:
    return any(finding[0] == "error" for finding in handle.findings())


def _refuse(path: str, error: TenureError | None) -> NoReturn:
    """Say what safetensors says of a file that Tenure does not take."""
    text = str(error) if error is not None else "it is no safetensors file"
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            now = os.fstat(file.fileno())
            if not stat.S_ISREG(now.st_mode):
                raise IsADirectoryError
            total = now.st_size
            start = file.read(8)
            size = int.from_bytes(start, "little")
            if size <= _texts.MAX_HEADER:
                start += file.read(size)
        _texts.read_header(start, total)
    except IsADirectoryError:
        raise OSError("No such device (os error 19)") from error
    except OSError as failure:
        raise FileNotFoundError(f"No such file or directory: {path}") from failure
    except _texts.Invalid as invalid:
        text = str(invalid)
    raise SafetensorError(f"Error while deserializing header: {text}") from error


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes into is opened too."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _empty_metadata(path: str, header_bytes: int) -> dict[str, str] | None:
    """Tell metadata that is there and empty from none."""
    try:
        with open(path, "rb") as file:
            header = file.read(header_bytes)
        if b"__metadata__" not in header and b"\\u" not in header:
            return None
        return _texts._parse(header[8:])[0]
    except (OSError, _texts.Invalid):
        return None
