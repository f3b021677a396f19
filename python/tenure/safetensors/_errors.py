"""The one exception class of safetensors."""

from __future__ import annotations


class SafetensorError(Exception):
    """What safetensors raises; its `__cause__` is the `tenure.TenureError` with the numbers, where there is one."""
