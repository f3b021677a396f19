"""Opening weights: a mapping of names to tensors that are read when they are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from . import _tenure
from ._frameworks import word_of
from ._tenure import BITS, Lease

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any

    Path = str | bytes | os.PathLike[Any]
    Progress = Callable[[int, int], object]


class Cost:
    """What reading would take, known beforehand.

    Attributes
    ----------
    tensors : int
        How many tensors.
    bytes : int
        Size of their elements.
    memory_bytes : int
        What would be charged to the memory budget.
    largest_bytes : int
        Size of the largest tensor.
    left_bytes : int or None
        What is left of the budget at this moment.
    fits : bool
        Whether `memory_bytes` is at most `left_bytes`.
    by_way, by_dtype : dict of str to int
        Bytes by the way of reading (``"read"``, ``"threads"``, ``"direct"``, ``"view"``) and by element type.
    """

    __slots__ = ("by_dtype", "by_way", "bytes", "fits", "largest_bytes", "left_bytes", "memory_bytes", "tensors")

    def __init__(self, numbers: dict[str, Any]) -> None:
        self.tensors: int = numbers["tensors"]
        self.bytes: int = numbers["bytes"]
        self.memory_bytes: int = numbers["memory_bytes"]
        self.largest_bytes: int = numbers["largest_bytes"]
        self.left_bytes: int | None = numbers["left_bytes"]
        self.fits: bool = numbers["fits"]
        self.by_way: dict[str, int] = numbers["by_way"]
        self.by_dtype: dict[str, int] = numbers["by_dtype"]

    def __repr__(self) -> str:
        return f"<tenure.Cost {self.tensors} tensors, {self.memory_bytes} bytes of memory, fits={self.fits}>"


class Finding:
    """Something that was found about a file; it opened all the same.

    Attributes
    ----------
    severity : str
        ``"note"``, ``"warning"`` or ``"error"``: with an error its tensors are not read.
    status, message, file, tensor : str
        As in `TenureError`.
    offset, expected, found : int or None
        As in `TenureError`.
    """

    __slots__ = ("expected", "file", "found", "message", "offset", "severity", "status", "tensor")

    def __init__(self, fields: tuple[str, str, str, str, str, int | None, int | None, int | None]) -> None:
        (self.severity, self.status, self.message, self.file, self.tensor, self.offset, self.expected, self.found) = (
            fields
        )

    def __repr__(self) -> str:
        return f"<tenure.Finding {self.severity} {self.status}: {self.message}>"


class Tensor:
    """A tensor of a checkpoint, or a slice of one, that is read when it is asked for.

    It has its shape and type before a byte of it is read, and stays usable after its checkpoint was closed.

    Attributes
    ----------
    name : str
        Its name.
    dtype : str
        Element type as in a safetensors header, such as ``"BF16"``.
    shape : tuple of int
        Sizes of its dimensions, in elements.
    nbytes : int
        Size of its elements in bytes.
    """

    __slots__ = ("_handle", "_index", "dtype", "name", "nbytes", "shape")

    def __init__(self, handle: _tenure.Checkpoint, name: str, info: tuple[str, tuple[int, ...], int]) -> None:
        self._handle = handle
        self._index: tuple[Any, ...] | None = None
        self.name = name
        self.dtype, self.shape, self.nbytes = info

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<tenure.Tensor {self.name!r} {self.dtype} {self.shape}>"

    def __getitem__(self, index: Any) -> Tensor:
        """Take a slice, as NumPy's basic indexing does; only its bytes will be read.

        Parameters
        ----------
        index : int, slice, Ellipsis, None, or tuple of these

        Returns
        -------
        Tensor
            Of the shape that ``numpy.empty(self.shape)[index]`` has.

        Raises
        ------
        IndexError
            When an index is out of range, or there are more of them than dimensions.
        TypeError
            For lists, masks and arrays, and when this is a slice already.
        """
        if self._index is not None:
            raise TypeError("this is a slice already: take the slice of the whole tensor at once")
        part = Tensor(self._handle, self.name, (self.dtype, self.shape, self.nbytes))
        part._index = index if isinstance(index, tuple) else (index,)
        part.shape = _shape_of(self.shape, part._index)
        part.nbytes = (part.size * BITS[self.dtype] + 7) // 8
        return part

    def slice(self, *index: Any) -> Tensor:
        """Take a slice: ``t.slice(0, slice(2, 4))`` is ``t[0, 2:4]``."""
        return self[index]

    def lease(self, *, view: bool = False, progress: Progress | None = None) -> Lease:
        """Read it into memory of its own.

        Parameters
        ----------
        view : bool
            Give a read-only window on the file instead, where that can be. It costs neither memory nor reading, but
            who cuts the file meanwhile ends this process, and so does who writes into it through torch, which takes no
            note of what is read-only: see docs/python.md.
        progress : callable, optional
            Called as ``progress(done, total)`` in bytes, now and then. An exception in it ends the reading.

        Returns
        -------
        Lease
            With the buffer protocol and DLPack; valid as long as anything refers to it.

        Raises
        ------
        MemoryRefused
            Before anything is read, when it does not fit the budget.
        FileChanged, FormatError, OSError
            When the file is not the one any more that was opened, is short, or cannot be read.
        """
        return self._handle.lease(self.name, self._index, _tenure.VIEW if view else 0, progress)

    def read(self) -> bytes:
        """Read its elements as bytes, little-endian and in C order."""
        return bytes(self.lease())

    def to_numpy(self, *, dtype: Any = None) -> Any:
        """Read it as a NumPy array.

        Parameters
        ----------
        dtype : str or numpy.dtype, optional
            Another element type, such as ``"F32"`` or ``numpy.float32``.

        Returns
        -------
        numpy.ndarray
            Writable and the caller's own. BF16 and F8 need the package ml_dtypes, or a `dtype` that NumPy has.

        Raises
        ------
        TypeError
            When NumPy has no such element type.
        """
        from ._frameworks import to_numpy

        return to_numpy(self.lease(), dtype)

    def to_torch(self, *, dtype: Any = None, device: Any = "cpu") -> Any:
        """Read it as a torch tensor.

        Parameters
        ----------
        dtype : str or torch.dtype, optional
            Another element type, such as ``"F16"`` or ``torch.float16``. It is turned on the CPU.
        device : str or torch.device
            Where it shall lie.

        Returns
        -------
        torch.Tensor
            Writable and the caller's own.
        """
        from ._frameworks import to_torch

        return to_torch(self.lease(), dtype, device)

    def cost(self) -> Cost:
        """Say what reading the whole tensor would take."""
        return Cost(self._handle.cost([self.name]))


class Checkpoint(Mapping[str, Tensor]):
    """A mapping of names to tensors, in the order of their bytes. Made by `tenure.open`.

    Leaving its ``with`` closes it; tensors and leases taken from it stay as they are.
    """

    def __init__(self, handle: _tenure.Checkpoint, path: Path) -> None:
        self._open: _tenure.Checkpoint | None = handle
        self._names: list[str] | None = None
        self.path = path

    @property
    def _handle(self) -> _tenure.Checkpoint:
        if self._open is None:
            raise ValueError("this checkpoint is closed")
        return self._open

    def close(self) -> None:
        """Let the file go. Once more does nothing."""
        self._open = None

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getitem__(self, name: str) -> Tensor:
        handle = self._handle
        return Tensor(handle, name, handle.info(name))

    def __contains__(self, name: object) -> bool:
        return self._handle.has(name)

    def __len__(self) -> int:
        return len(self._handle)

    def __iter__(self) -> Iterator[str]:
        handle = self._handle
        if self._names is None:
            self._names = handle.names()
        return iter(self._names)

    def __repr__(self) -> str:
        if self._open is None:
            return f"<tenure.Checkpoint {self.path!r}, closed>"
        return f"<tenure.Checkpoint {self.path!r}: {self.container}, {len(self)} tensors>"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("an open checkpoint is not pickled: send its path and open it there")

    @property
    def container(self) -> str:
        """What kind of file it is, told by its content, such as ``"safetensors"``."""
        return self._handle.container

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says of itself."""
        return self._handle.metadata()

    @property
    def parts(self) -> list[str]:
        """Paths of its files."""
        return self._handle.parts()

    @property
    def nbytes(self) -> int:
        """Size of all its files in bytes."""
        return self._handle.size_bytes

    @property
    def findings(self) -> list[Finding]:
        """What was found wrong or odd about it, worst first."""
        return [Finding(fields) for fields in self._handle.findings()]

    def cost(self, names: Iterable[str] | None = None, *, dtype: Any = None) -> Cost:
        """Say what reading would take, before anything is read.

        Parameters
        ----------
        names : iterable of str, optional
            Some of its tensors; all by default.
        dtype : str or dtype, optional
            As for `lease_many`.
        """
        wanted = list(self) if names is None else list(names)
        return Cost(self._handle.cost(wanted, 0, None if dtype is None else word_of(dtype)))

    def lease_many(
        self, names: Iterable[str] | None = None, *, progress: Progress | None = None, dtype: Any = None
    ) -> dict[str, Lease]:
        """Read several tensors at once, in the order of the file: all of them or none.

        Parameters
        ----------
        names : iterable of str, optional
            All by default.
        progress : callable, optional
            Called as ``progress(done, total)`` in bytes, as they are in the file.
        dtype : str or dtype, optional
            What floating-point tensors become while they are read, without a second copy. Integers, booleans and
            complex numbers stay.

        Returns
        -------
        dict of str to Lease

        Raises
        ------
        FormatError
            Also when a tensor's type cannot become `dtype` (F4 and F6).
        """
        wanted = list(self) if names is None else list(names)
        word = None if dtype is None else word_of(dtype)
        return dict(zip(wanted, self._handle.lease_many(wanted, 0, progress, word), strict=True))


def open(path: Path, *, alone: bool = False) -> Checkpoint:
    """Open weights, reading their header alone.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        A weight file, an index of shards, one shard of a set (opens the set), or a folder of a model.
    alone : bool
        Open a shard as itself.

    Returns
    -------
    Checkpoint
        A mapping of names to `Tensor`.

    Raises
    ------
    FormatError
        When its header cannot be trusted; `offset`, `expected` and `found` say where and why.
    FileNotFoundError, PermissionError, OSError
        What the system says.
    """
    return Checkpoint(_tenure.open(path, alone), path)


def _shape_of(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[int, ...]:
    """Find the shape of a slice, and refuse what is out of range."""
    named = sum(1 for item in index if item is not None and item is not Ellipsis)
    if named > len(shape) or sum(1 for item in index if item is Ellipsis) > 1:
        raise IndexError(f"too many indices for a tensor of {len(shape)} dimensions")
    result: list[int] = []
    at = 0
    for item in index:
        if item is None:
            result.append(1)
        elif item is Ellipsis:
            rest = len(shape) - named
            result.extend(shape[at : at + rest])
            at += rest
        elif isinstance(item, slice):
            result.append(len(range(*item.indices(shape[at]))))
            at += 1
        elif hasattr(item, "__index__") and not isinstance(item, bool):
            if not -shape[at] <= item.__index__() < shape[at]:
                raise IndexError(f"index {item} is out of range for dimension {at} of size {shape[at]}")
            at += 1
        else:
            raise TypeError("a tensor is sliced with integers, slices, ... and None")
    return tuple(result) + shape[at:]
