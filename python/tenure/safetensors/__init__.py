"""The interface of safetensors 0.8, served by Tenure.

`from tenure import safetensors` in place of `import safetensors`; or `tenure.install()`, which puts it under programs
that cannot be changed. Results, written bytes, error classes and texts are those of safetensors; where they are not,
`tenure.safetensors.differences` says so and why.
"""

from ._errors import SafetensorError
from ._open import _safe_open_handle, safe_open
from ._serialize import TensorSpec, deserialize, serialize, serialize_file

__version__ = "0.8.0"  # of the interface

__all__ = [
    "SafetensorError",
    "TensorSpec",
    "__version__",
    "_safe_open_handle",
    "deserialize",
    "safe_open",
    "serialize",
    "serialize_file",
]
