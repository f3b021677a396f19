#!/usr/bin/env python3
"""Small models of transformers, diffusers, accelerate and spandrel, made, saved and loaded; with Tenure or without.

Usage: peer_models.py make FOLDER               make the models and save them, whole and in shards
       peer_models.py load FOLDER OUT WHEN      load them, run each once, save them again into OUT

WHEN is `never`, `before` or `after` the libraries are imported: when Tenure takes the place of safetensors. Nothing is
fetched: every configuration stands here. What was seen is printed as JSON: digests of each model's weights and of what
it gives, names of the libraries that are bound to safetensors, and how often Tenure opened and saved.

MKL rounds otherwise by where in a cache line a weight begins. safetensors maps files, so that with it a model saved
whole and the same model saved in shards may give results that differ in the last bit; so each model is run as it was
loaded, and again with its weights moved into memory of torch's own, where equal weights give equal results.
"""

import copy
import hashlib
import importlib
import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
LIBRARIES = ("transformers", "diffusers", "accelerate", "spandrel", "huggingface_hub")
SHARD = "20KB"


def transformer_models():
    """Each with the input that it is run on; GPT-2 and T5 share memory between names, as large ones do."""
    import torch
    import transformers as t

    words = {"input_ids": torch.arange(2, 12).view(1, -1)}
    pixels = {"pixel_values": torch.linspace(-1, 1, 3 * 16 * 16).view(1, 3, 16, 16)}
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    t5 = {"vocab_size": 40, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    return {
        "bert": (t.BertModel, t.BertConfig(vocab_size=40, max_position_embeddings=16, **small), words),
        "clip": (t.CLIPTextModel, t.CLIPTextConfig(vocab_size=40, max_position_embeddings=16, **small), words),
        "gpt2": (t.GPT2LMHeadModel, t.GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2), words),
        "llama": (t.LlamaForCausalLM, t.LlamaConfig(vocab_size=40, max_position_embeddings=16, **small), words),
        "t5": (t.T5EncoderModel, t.T5Config(**t5), words),
        "vit": (t.ViTModel, t.ViTConfig(image_size=16, patch_size=8, **small), pixels),
    }


def diffuser_models():
    import diffusers as d
    import torch

    blocks = {"block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1}
    down, up = ("DownBlock2D", "CrossAttnDownBlock2D"), ("CrossAttnUpBlock2D", "UpBlock2D")
    unet = {
        **blocks, "sample_size": 8, "down_block_types": down, "up_block_types": up, "cross_attention_dim": 16,
        "attention_head_dim": 4,
    }  # fmt: skip
    vae = {
        **blocks, "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2,
    }  # fmt: skip
    latent = torch.linspace(-1, 1, 4 * 8 * 8).view(1, 4, 8, 8)
    step = {"sample": latent, "timestep": 3, "encoder_hidden_states": torch.linspace(0, 1, 80).view(1, 5, 16)}
    image = {"sample": torch.linspace(-1, 1, 3 * 16 * 16).view(1, 3, 16, 16)}
    return {
        "unet": (d.UNet2DConditionModel, unet, step),
        "vae": (d.AutoencoderKL, vae, image),
    }


def esrgan():
    """The smallest that spandrel knows, and its input."""
    import torch
    from spandrel.architectures.ESRGAN import ESRGAN

    return ESRGAN(num_filters=8, num_blocks=1, scale=2), torch.linspace(0, 1, 3 * 8 * 8).view(1, 3, 8, 8)


def make(folder):
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(1)
    for name, (kind, config, _) in transformer_models().items():
        model = kind(config).eval()
        model.save_pretrained(folder / name)
        model.save_pretrained(folder / f"{name} sharded", max_shard_size=SHARD)
    model.half().save_pretrained(folder / "vit half")
    for name, (kind, config, _) in diffuser_models().items():
        model = kind(**config).eval()
        model.save_pretrained(folder / name)
        model.save_pretrained(folder / f"{name} sharded", max_shard_size=SHARD)
    save_file(esrgan()[0].state_dict(), folder / "esrgan.safetensors")


def bytes_of(tensor):
    return tensor.detach().contiguous().numpy().tobytes()


def seen(model, run):
    """Digests of the weights, and of the first tensor that the model gives: as it was loaded, and moved."""
    weights = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        weights.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode() + bytes_of(tensor))
    found = {"weights": weights.hexdigest()}
    for word, one in (("as loaded", model), ("moved", copy.deepcopy(model))):
        output = run(one.eval())
        found[word] = hashlib.sha256(bytes_of(output if hasattr(output, "dtype") else output[0])).hexdigest()
    return found


def with_pretrained(folder, out, models):
    digests = {}
    for name, (kind, _, inputs) in models.items():
        for variant in (name, f"{name} sharded"):
            model = kind.from_pretrained(folder / variant, local_files_only=True)
            digests[variant] = seen(model, lambda one, inputs=inputs: one(**inputs, return_dict=False))
            shards = {"max_shard_size": SHARD} if variant != name else {}
            model.save_pretrained(out / variant, **shards)
    return digests


def with_accelerate(folder, out):
    """A whole file and a sharded one into a model that lies nowhere yet."""
    import accelerate

    kind, config, inputs = transformer_models()["bert"]
    digests = {}
    for variant in ("bert", "bert sharded"):
        with accelerate.init_empty_weights():
            model = kind(config)
        model = accelerate.load_checkpoint_and_dispatch(model, str(folder / variant), device_map={"": "cpu"})
        digests[f"accelerate {variant}"] = seen(model, lambda one: one(**inputs, return_dict=False))
    accelerate.Accelerator(cpu=True).save_model(model, str(out / "accelerate"), max_shard_size=SHARD)
    return digests


def with_spandrel(folder, out):
    from safetensors.torch import save_file
    from spandrel import ModelLoader

    model = ModelLoader(device="cpu").load_from_file(folder / "esrgan.safetensors")
    save_file(model.model.state_dict(), out / "esrgan.safetensors")
    return {f"spandrel {model.architecture.id}": seen(model.model, lambda one: one(esrgan()[1]))}


def with_transformers_half(folder, out):
    import transformers

    model = transformers.ViTModel.from_pretrained(folder / "vit half", dtype="auto", local_files_only=True)
    model.save_pretrained(out / "vit half")
    return {"vit half": seen(model, lambda one: one.embeddings.cls_token)}


MODULES = (
    "accelerate.checkpointing", "accelerate.utils.modeling", "diffusers.loaders.ip_adapter",
    "diffusers.models.modeling_utils", "spandrel", "transformers.modeling_utils",
)  # fmt: skip


def bound_names():
    """Names of the libraries' modules that are safetensors' own, and those that are Tenure's."""
    found = {"safetensors": [], "tenure": []}
    for module_name, module in sorted(sys.modules.items()):
        if module is None or not module_name.startswith(LIBRARIES):
            continue
        for name, value in sorted(vars(module).items()):
            of = _whose(value)
            if of:
                found[of].append(f"{module_name}.{name}")
    return found


def _whose(value):
    import safetensors

    if not callable(value):
        return None
    made_by = str(getattr(value, "__module__", ""))
    if made_by.startswith("tenure.safetensors"):
        return "tenure"
    rust = [getattr(safetensors._safetensors_rust, name, None) for name in ("safe_open", "serialize", "deserialize")]
    return "safetensors" if made_by.startswith("safetensors") or any(value is one for one in rust) else None


def count_calls():
    """Count the opens and writes that go through Tenure."""
    import tenure.safetensors._open
    import tenure.safetensors.torch as ours

    calls = {"opened": 0, "saved": 0}
    begin, flatten = tenure.safetensors._open._Open._begin, ours._flatten_as_ptr

    def opened(*arguments):
        calls["opened"] += 1
        return begin(*arguments)

    def saved(*arguments):
        calls["saved"] += 1
        return flatten(*arguments)

    tenure.safetensors._open._Open._begin, ours._flatten_as_ptr = opened, saved
    return calls


def load(folder, out, when):
    if when == "before":
        import tenure

        assert tenure.install()
    for name in MODULES:
        importlib.import_module(name)
    if when == "after":
        import tenure

        assert tenure.install()
    calls = {} if when == "never" else count_calls()
    import torch

    torch.set_num_threads(1)
    digests = with_pretrained(folder, out, {**transformer_models(), **diffuser_models()})
    for way in (with_accelerate, with_spandrel, with_transformers_half):
        digests |= way(folder, out)
    print(json.dumps({"digests": digests, "bound": bound_names(), "calls": calls}))


def main():
    action, folder = sys.argv[1], Path(sys.argv[2])
    if action == "make":
        make(folder)
    else:
        Path(sys.argv[3]).mkdir()
        load(folder, Path(sys.argv[3]), sys.argv[4])


if __name__ == "__main__":
    main()
