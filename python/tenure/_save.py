"""Writing safetensors files, also from other files with another element type."""

from __future__ import annotations

from . import _tenure
from ._budget import Room
from ._checkpoint import Checkpoint, Tensor, open
from ._frameworks import word_of
from ._load import is_float, telling
from ._tenure import BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ._checkpoint import Path, Progress

PIECE_BYTES = 64 << 20  # what a conversion reads at once


def save(tensors: Mapping[str, Any], path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors into a safetensors file, whole or not at all.

    The file appears under its name when it is complete and on the disk; who has an older one of that name open keeps
    reading the older one.

    Parameters
    ----------
    tensors : mapping of str to tensor
        NumPy arrays, torch tensors, and what `tenure.open` gives. They need not be contiguous, and may share memory.
    path : str, bytes or os.PathLike
        Where it shall be.
    metadata : mapping of str to str, optional
        Texts for the header.

    Raises
    ------
    TypeError, ValueError
        When something is no tensor, or a name or type cannot be written.
    OSError
        What the system says of the disk or folder.
    """
    from ._frameworks import outline_of, source_of

    outlines = [(name, *outline_of(name, value)) for name, value in tensors.items()]
    writer = _tenure.Writer(path, outlines, None if metadata is None else dict(metadata))
    try:
        for place, name in enumerate(tensors):
            source, keep = source_of(tensors[name])
            writer.put(place, source)
            del source, keep  # one tensor at a time is read
        writer.finish()
    except BaseException:
        del writer  # its file goes now, and not when the traceback does
        raise


def convert(
    source: Path | Checkpoint,
    path: Path,
    dtype: Any,
    *,
    names: Iterable[str] | None = None,
    metadata: Mapping[str, str] | None = None,
    progress: Progress | bool | None = None,
) -> None:
    """Write a safetensors file of another's tensors, turned into another element type on the way.

    It reads 64 MiB at a time, so that a file of any size is converted in little memory. The file appears under its name
    when it is complete, also in the place of its own source.

    Parameters
    ----------
    source : str, bytes, os.PathLike or Checkpoint
        What `tenure.open` opens: a file of any format that is read, a set of shards (they become one file), a folder.
    path : str, bytes or os.PathLike
        Where it shall be.
    dtype : str or dtype
        What floating-point tensors become, such as ``"F16"`` or ``torch.bfloat16``. Integers and booleans stay.
    names : iterable of str, optional
        Some of the tensors; all by default. Those that are not named are left out.
    metadata : mapping of str to str, optional
        Texts for the header; those of the source by default.
    progress : callable or bool, optional
        As for `tenure.load`, in bytes of the source.

    Raises
    ------
    FormatError
        When one type does not become the other (`status` is ``"unsupported"``).
    MemoryRefused, FileChanged, OSError
        As for `tenure.load` and `tenure.save`. No file is left then, and an older one of that name stays.
    """
    word = word_of(dtype)
    checkpoint = source if isinstance(source, Checkpoint) else open(source)
    tensors = [checkpoint[name] for name in (checkpoint if names is None else dict.fromkeys(names))]
    words = [word if is_float(tensor.dtype) else tensor.dtype for tensor in tensors]
    outlines = [(tensor.name, to, tensor.shape) for tensor, to in zip(tensors, words, strict=True)]
    total = sum(tensor.nbytes for tensor in tensors)
    texts = checkpoint.metadata if metadata is None else dict(metadata)
    writer = _tenure.Writer(path, outlines, texts or None)
    try:
        with telling(progress, total) as tell:
            done = 0
            for place, (tensor, to) in enumerate(zip(tensors, words, strict=True)):
                for piece in _pieces(tensor):
                    writer.put(place, _turned(piece, to))
                    done += piece.nbytes
                    if tell is not None:
                        tell(done, total)
        writer.finish()
    except BaseException:
        del writer  # its file goes now, and not when the traceback does
        raise


def _turned(piece: Tensor, word: str) -> Any:
    """Read a piece as elements of another type."""
    lease = piece.lease()
    if word == piece.dtype:
        return lease
    target = Room((piece.size * BITS[word] + 7) // 8)
    _tenure.convert(lease, piece.dtype, target, word)
    return target


def _pieces(tensor: Tensor) -> Iterator[Tensor]:
    """Cut a tensor into pieces that lie one after the other in the file; those of a half byte stay whole."""
    if tensor.nbytes <= PIECE_BYTES or BITS[tensor.dtype] < 8:
        yield tensor
        return
    for index in _indices(tensor.shape, BITS[tensor.dtype] // 8):
        yield tensor[index]


def _indices(shape: tuple[int, ...], item: int) -> Iterator[tuple[Any, ...]]:
    """Give indices in C order of at most PIECE_BYTES each."""
    row = item
    for n in shape[1:]:
        row *= n
    if row > PIECE_BYTES:
        for at in range(shape[0]):
            for rest in _indices(shape[1:], item):
                yield (at, *rest)
        return
    step = max(PIECE_BYTES // row, 1)
    for start in range(0, shape[0], step):
        yield (slice(start, start + step),)
