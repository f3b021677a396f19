"""Folders of models for tests: small on the disk, of every kind that an import meets.

Headers are real (names and shapes of released models), data is a hole. Standard library only.
"""

import json
import os
import struct
from pathlib import Path

import command  # noqa: F401  (puts tests/support on the path)
import tenure_files

MODULES = [module[0] for module in tenure_files.lora_modules()]


def write_lora(path, modules=24, rank=4, **more):
    """A LoRA for Stable Diffusion 1.x, by default with 72 tensors."""
    return tenure_files.write_safetensors(path, tenure_files.lora_header(modules, rank), **more)


def write_set(folder, shards=3):
    """A sharded set: shards, and the index that names them."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = tenure_files.lora_header(12 * shards, 4)
    total, weight_map = 0, {}
    for i in range(shards):
        name = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        own = tensors[i::shards]
        size = tenure_files.write_safetensors(folder / name, own)
        header, data = tenure_files.header_bytes(own)
        total += size - len(header)
        weight_map.update({tensor[0]: name for tensor in own})
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def write_pipeline(folder):
    """A pipeline in diffusers' layout: an index of components, each with its config and weights."""
    classes = {
        "unet": ["diffusers", "UNet2DConditionModel"],
        "vae": ["diffusers", "AutoencoderKL"],
        "scheduler": ["diffusers", "DDIMScheduler"],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model_index.json").write_text(json.dumps({"_class_name": "StableDiffusionPipeline", **classes}))
    for component in ("unet", "vae"):
        (folder / component).mkdir(exist_ok=True)
        (folder / component / "config.json").write_text(json.dumps({"_class_name": classes[component][1]}))
        tensors = [(f"{component}.block.{i}.weight", "F16", (64, 64)) for i in range(20)]
        tenure_files.write_safetensors(folder / component / "diffusion_pytorch_model.safetensors", tensors)
    (folder / "scheduler").mkdir(exist_ok=True)
    (folder / "scheduler" / "scheduler_config.json").write_text("{}")


DAMAGED = 6
"""How many files write_damaged makes."""


def write_damaged(folder):
    folder.mkdir(parents=True, exist_ok=True)
    write_lora(folder / "short.safetensors", short_by=1000)
    write_lora(folder / "long.safetensors", extra=7)
    (folder / "empty.safetensors").write_bytes(b"")
    (folder / "page.safetensors").write_bytes(b"<!DOCTYPE html><html><body>404</body></html>" * 20)
    (folder / "cut.safetensors").write_bytes(struct.pack("<Q", 4000) + b'{"a":{"dtype":"F16"')
    (folder / "bad_json.safetensors").write_bytes(struct.pack("<Q", 16) + b"{not json at all")


def write_bystanders(folder):
    """What lies beside models and is none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "preview.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (folder / "readme.txt").write_text("read me")
    (folder / "settings.json").write_text("{}")


def small_tree(root, loras=36):
    """About 60 models: LoRAs, whole checkpoints, a set, a pipeline, damaged files, odd names, bystanders."""
    root = Path(root)
    (root / "loras").mkdir(parents=True)
    for i in range(loras):
        write_lora(root / "loras" / f"style {i:03d}.safetensors", 12 + i % 12, 4, metadata={"ss_tag": str(i)})
    (root / "Ünïcode ☃").mkdir()
    write_lora(root / "Ünïcode ☃" / "löra 模型.SAFETENSORS", 10)
    write_set(root / "set")
    write_pipeline(root / "pipeline")
    write_damaged(root / "damaged")
    write_bystanders(root / "loras")
    for i, ident in enumerate(("te/sd15_ckpt", "native/vae_sd_kl_f8", "te/clip_l_hf")):
        try:
            tenure_files.from_corpus(ident, root / f"checkpoint {i}.safetensors", "F16")
        except (FileNotFoundError, KeyError):
            write_lora(root / f"checkpoint {i}.safetensors", 200)
    os.link(root / "loras" / "style 000.safetensors", root / "same file, other name.safetensors")
    os.symlink(root / "loras" / "style 001.safetensors", root / "link.safetensors")
    os.symlink(root, root / "loras" / "loop")
    (root / "old.ckpt").write_bytes(b"\x80\x02}q\x00." + bytes(64))
    (root / "quantised.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + bytes(64))
