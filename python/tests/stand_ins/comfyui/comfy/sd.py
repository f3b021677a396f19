"""Stands in for comfy.sd: functions that make a model out of files, and the error of a model that is not known."""

import comfy.utils
from comfy.utils import load_torch_file


def load_checkpoint_guess_config(
    ckpt_path, output_vae=True, output_clip=True, output_clipvision=False, embedding_directory=None, output_model=True,
    model_options={}, te_model_options={},  # noqa: B006
):  # fmt: skip
    tensors, _metadata = comfy.utils.load_torch_file(ckpt_path, return_metadata=True)
    if "known" not in tensors:
        raise RuntimeError(f"ERROR: Could not detect model type of: {ckpt_path}")
    return tensors["known"], None, None, None


def load_diffusion_model(unet_path, model_options={}):  # noqa: B006
    tensors = load_torch_file(unet_path)
    if "known" not in tensors:
        raise RuntimeError(f"ERROR: Could not detect model type of: {unet_path}")
    return tensors["known"]


def load_clip(ckpt_paths, embedding_directory=None, clip_type=0, model_options={}):  # noqa: B006
    return [comfy.utils.load_torch_file(path, safe_load=True) for path in ckpt_paths]
