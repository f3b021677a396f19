"""Stands in for comfy.utils: the loader's name and parameters, and how it treats the two kinds of files."""

import safetensors


def load_torch_file(ckpt, safe_load=False, device=None, return_metadata=False):
    metadata = None
    if ckpt.lower().endswith((".safetensors", ".sft")):
        with safetensors.safe_open(ckpt, framework="pt", device="cpu" if device is None else device.type) as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata()
    else:
        import torch

        tensors = torch.load(ckpt, map_location=device, weights_only=True)
    return (tensors, metadata) if return_metadata else tensors


class ProgressBar:
    def __init__(self, total):
        self.total, self.current = total, 0

    def update_absolute(self, value, total=None, preview=None):
        self.total = self.total if total is None else total
        self.current = value
