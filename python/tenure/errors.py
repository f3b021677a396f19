"""What can go wrong, as exceptions with numbers.

Every failure of Tenure is a `TenureError`, and also the built-in exception that other programs expect: a
`MemoryRefused` is a `MemoryError`, a missing file a `FileNotFoundError`. The names that built-ins have too stand in
this module only.
"""

from __future__ import annotations

import builtins

__all__ = ["Cancelled", "FileChanged", "FormatError", "LibraryError", "MemoryRefused", "TenureError"]


class TenureError(Exception):
    """Something that Tenure could not do.

    Attributes
    ----------
    status : str
        The word of what happened, such as ``"truncated"``. It never changes its meaning.
    file : str
        Path of the file concerned, or ``""``.
    tensor : str
        Name of the tensor concerned, or ``""``.
    offset, expected, found : int or None
        The byte where it shows; what should have been there, and what was there (bytes or counts).
    """

    status: str = "internal"
    file: str = ""
    tensor: str = ""
    offset: int | None = None
    expected: int | None = None
    found: int | None = None

    def __str__(self) -> str:
        """Say the sentence, with the file and tensor it is about."""
        text = str(self.args[0]) if self.args else self.status
        about = [part for part in (self.file, self.tensor) if part and part not in text]
        return ": ".join([*about, text])

    def __reduce__(self) -> tuple[object, ...]:
        """Let it travel between processes with its numbers."""
        return type(self), self.args, self.__dict__


class FormatError(TenureError):
    """The bytes of a file are not what its format asks for; `status` says in which way."""


class FileChanged(TenureError):
    """The file is not the one any more that was opened."""


class Cancelled(TenureError):
    """The work was asked to stop; nothing is lost."""


class LibraryError(TenureError):
    """The library of models cannot be used."""


class MemoryRefused(TenureError, builtins.MemoryError):
    """What was asked for does not fit the memory budget: `expected` is the most it may be, `found` what it would be."""


class MemoryError(TenureError, builtins.MemoryError):
    """The system gave no memory."""


class ValueError(TenureError, builtins.ValueError):
    """The call was given something it cannot use."""


class RuntimeError(TenureError, builtins.RuntimeError):
    """A fault of Tenure itself, or a call in a process that may not make it."""


class NotImplementedError(TenureError, builtins.NotImplementedError):
    """The system has no such feature."""


class OSError(TenureError, builtins.OSError):
    """The system could not do something with a file."""


class FileNotFoundError(TenureError, builtins.FileNotFoundError):
    """There is no such file."""


class FileExistsError(TenureError, builtins.FileExistsError):
    """There is a file of that name already."""


class PermissionError(TenureError, builtins.PermissionError):
    """The system does not allow it."""


def from_status(
    name: str,
    status: str,
    message: str,
    file: str,
    tensor: str,
    offset: int | None,
    expected: int | None,
    found: int | None,
) -> TenureError:
    """Make the exception of a status, as the extension raises it."""
    error_class = globals().get(name, TenureError)
    error: TenureError = error_class(message)
    error.status, error.file, error.tensor = status, file, tensor
    error.offset, error.expected, error.found = offset, expected, found
    if isinstance(error, builtins.OSError):
        _fill_errno(error, status, file)
    return error


def _fill_errno(error: builtins.OSError, status: str, file: str) -> None:
    """Give an OSError the number and file name that programs look for."""
    import errno

    numbers = {
        "not_found": errno.ENOENT,
        "exists": errno.EEXIST,
        "permission": errno.EACCES,
        "read_only": errno.EROFS,
        "no_space": errno.ENOSPC,
        "too_many_files": errno.EMFILE,
        "not_a_file": errno.ENODEV,
        "busy": errno.EBUSY,
    }
    error.errno = numbers.get(status, errno.EIO)
    if file:
        error.filename = file
