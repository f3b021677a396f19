"""Weight files for tests: true headers over sparse data.

A file made here has a real, complete safetensors header; its data is a hole that the file system answers with zeros.
A 40 GB checkpoint costs the disk its header, so a test may have hundreds. Standard library only.
"""

import gzip
import itertools
import json
import math
import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

Tensor = tuple[str, str, Sequence[int]]
"""Name, element type as safetensors spells it, shape."""

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus"

DTYPE_BITS = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip
"""Bits of one element: safetensors 0.8, `Dtype::bitsize`."""


def tensor_bytes(dtype: str, shape: Sequence[int]) -> int:
    """Bytes of one tensor in the file."""
    bits = math.prod(shape) * DTYPE_BITS[dtype]
    if bits % 8:
        raise ValueError(f"{dtype} {list(shape)} does not end on a byte")
    return bits // 8


def header_bytes(tensors: Iterable[Tensor], metadata: dict[str, str] | None = None) -> tuple[bytes, int]:
    """Give the header (length field and padding included) and the size of the data it describes."""
    entries: dict[str, object] = {}
    if metadata is not None:
        entries["__metadata__"] = metadata
    at = 0
    for name, dtype, shape in tensors:
        end = at + tensor_bytes(dtype, shape)
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, at


def write_safetensors(
    path: str | bytes | os.PathLike[str],
    tensors: Iterable[Tensor],
    metadata: dict[str, str] | None = None,
    short_by: int = 0,
    extra: int = 0,
) -> int:
    """Write a sparse file and return its size.

    `short_by` leaves that many bytes of the data away, `extra` puts that many zeros behind it.
    """
    header, data_size = header_bytes(tensors, metadata)
    size = len(header) + data_size - short_by + extra
    if size < len(header):
        raise ValueError("short_by would cut the header")
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(size)
    return size


def lora_modules(context_width: int = 768) -> Iterable[tuple[str, int, int]]:
    """Name, inputs and outputs of the 264 modules kohya's scripts train in Stable Diffusion 1.x.

    The U-Net's 16 attention blocks with 12 modules each, then the text encoder's 12 layers with 6. Source: the module
    tree of diffusers' UNet2DConditionModel and of CLIPTextModel with the configs of SD 1.5.
    """
    blocks = [(f"down_blocks_{i}_attentions_{j}", width) for i, width in enumerate((320, 640, 1280)) for j in range(2)]
    blocks.append(("mid_block_attentions_0", 1280))
    blocks += [(f"up_blocks_{i}_attentions_{j}", width) for i, width in ((1, 1280), (2, 640), (3, 320)) for j in range(3)]
    for name, width in blocks:
        inner = f"lora_unet_{name}_transformer_blocks_0"
        yield f"lora_unet_{name}_proj_in", width, width
        for part in (1, 2):
            reads = context_width if part == 2 else width
            yield f"{inner}_attn{part}_to_q", width, width
            yield f"{inner}_attn{part}_to_k", reads, width
            yield f"{inner}_attn{part}_to_v", reads, width
            yield f"{inner}_attn{part}_to_out_0", width, width
        yield f"{inner}_ff_net_0_proj", width, 8 * width
        yield f"{inner}_ff_net_2", 4 * width, width
        yield f"lora_unet_{name}_proj_out", width, width
    for layer in range(12):
        inner = f"lora_te_text_model_encoder_layers_{layer}"
        for projection in ("q", "k", "v", "out"):
            yield f"{inner}_self_attn_{projection}_proj", 768, 768
        yield f"{inner}_mlp_fc1", 768, 3072
        yield f"{inner}_mlp_fc2", 3072, 768


def lora_header(n_modules: int = 264, rank: int = 8, dtype: str = "F16", context_width: int = 768) -> list[Tensor]:
    """Tensors of a LoRA for Stable Diffusion 1.x in kohya's spelling: alpha, down and up of the first `n_modules`.

    All 264 give the 792 tensors of a usual file. A `context_width` of 1024 makes what is read as SD 2.
    """
    tensors: list[Tensor] = []
    for name, inputs, outputs in itertools.islice(lora_modules(context_width), n_modules):
        tensors.append((f"{name}.alpha", dtype, ()))
        kernel = (1, 1) if name.endswith(("_proj_in", "_proj_out")) else ()  # convolutions in SD 1.x
        tensors.append((f"{name}.lora_down.weight", dtype, (rank, inputs, *kernel)))
        tensors.append((f"{name}.lora_up.weight", dtype, (outputs, rank, *kernel)))
    return tensors


def corpus_rows(name: str = "headers.ndjson.gz") -> Iterable[dict[str, object]]:
    """Every header of a corpus file: `id`, labels and `tensors`."""
    with gzip.open(CORPUS / name, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def corpus_tensors(row: dict[str, object], dtype: str = "BF16") -> list[Tensor]:
    """The tensors of a corpus row. Rows name (name, shape) or (name, dtype, shape)."""
    tensors: list[Tensor] = []
    for entry in row["tensors"]:  # type: ignore[attr-defined]
        if len(entry) == 2:
            tensors.append((entry[0], dtype, entry[1]))
        elif isinstance(entry[1], str):
            tensors.append((entry[0], entry[1], entry[2]))
        else:
            tensors.append((entry[0], entry[2], entry[1]))
    return tensors


def from_corpus(
    id: str,
    path: str | bytes | os.PathLike[str],
    dtype: str = "BF16",
    metadata: dict[str, str] | None = None,
    short_by: int = 0,
    name: str = "headers.ndjson.gz",
) -> int:
    """Write the corpus header `id` (or its md5) as a full-size sparse file and return its size."""
    for row in corpus_rows(name):
        if id in (row.get("id"), row.get("md5")):
            return write_safetensors(path, corpus_tensors(row, dtype), metadata, short_by)
    raise KeyError(id)
