"""Where `tenure.safetensors` answers otherwise than safetensors 0.8, and why.

Each row has a test of its name in python/tests/test_differences.py that shows both answers.
"""

from __future__ import annotations


class Difference:
    """One point where the answers differ.

    Attributes
    ----------
    name : str
        By which a test refers to it.
    original, tenure : str
        What each does.
    why : str
        The reason.
    """

    __slots__ = ("name", "original", "tenure", "why")

    def __init__(self, name: str, original: str, tenure: str, why: str) -> None:
        self.name, self.original, self.tenure, self.why = name, original, tenure, why


DIFFERENCES = (
    Difference(
        "tensors_are_apart",
        "torch tensors of one handle share a writable private map of the file: what is written into one shows in the "
        "next get_tensor of it",
        "every tensor has memory of its own",
        "a map of the whole file costs commit on Windows, and dies with the file that is cut",
    ),
    Difference(
        "negative_bounds",
        "numpy and pread: OverflowError for x[-2:] and x[:-1]",
        "NumPy's answer",
        "nobody wants the error",
    ),
    Difference(
        "backward_range",
        "numpy and pread: SystemError or a panic for x[2:1], and for some slices the process is aborted",
        "an empty tensor, as NumPy gives",
        "the error is an accident",
    ),
    Difference(
        "empty_dimension",
        "numpy and pread: every slice of a dimension of size 0 is out of bounds",
        "an empty tensor, as NumPy gives",
        "an empty tensor has slices too",
    ),
    Difference(
        "f4_with_torch",
        "a slice of F4, and with pread a whole tensor, fails with RuntimeError: its shape counts elements where torch "
        "has pairs",
        "the tensor",
        "it is an oversight",
    ),
    Difference(
        "duplicate_names",
        "a name that stands twice in the header, of a tensor or in its metadata, is accepted: the last one wins",
        "safe_open raises SafetensorError; deserialize as the original",
        "the format forbids it, and two programs would read two different models",
    ),
    Difference(
        "json_details",
        "after `invalid JSON in header: ` the words of serde_json",
        "words of our own after the same beginning",
        "nobody can depend on them; class and beginning are the same",
    ),
    Difference(
        "deserialize_order",
        "deserialize lists tensors in an order that differs from run to run",
        "in the order of the file",
        "so that two runs give the same",
    ),
    Difference(
        "noncontiguous_numpy",
        "numpy.save writes the wrong elements of an array that is not contiguous, silently",
        "the right ones",
        "the file would hold another model",
    ),
    Difference(
        "load_more_dtypes",
        "torch.load(bytes) fails with KeyError for F8_E8M0 and F4",
        "they are loaded, as load_file does",
        "it is an oversight",
    ),
    Difference(
        "saved_mode",
        "a saved file can be read by its owner alone (mode 600)",
        "the permissions that the umask gives new files",
        "files are made like that by every other program",
    ),
    Difference(
        "nothing_with_empty_metadata",
        "no tensors and metadata={} make a file whose header is not JSON, which it refuses itself",
        "a file that can be read",
        "it is a fault",
    ),
    Difference(
        "metadata_order",
        "metadata of more than one pair is written in an order that differs from run to run",
        "sorted by key",
        "so that the same model has the same hash",
    ),
)
