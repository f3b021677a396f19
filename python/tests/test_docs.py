"""The examples of docs/python.md run as they stand there, one after the other."""

import re
import sys

import numpy as np
import pytest
from conftest import TOP

import tenure

DOCS = TOP / "docs/python.md"


def examples():
    return re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), re.S | re.M)


def test_the_examples_of_the_guide_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOP / "python/tests/stand_ins/comfyui"))
    weight = np.arange(12, dtype=np.float16).reshape(3, 4)
    tenure.save({"linear.weight": weight, "linear.bias": np.ones(3, np.float16)}, "model.safetensors")
    names: dict = {}
    ran = 0
    try:
        for example in examples():
            if "to_torch" in example and not _has("torch"):
                continue
            if "install()" in example and not _has("safetensors"):
                continue
            if "import comfy" in example and not _has("safetensors"):
                continue
            exec(compile(example, str(DOCS), "exec"), names)
            ran += 1
    finally:
        tenure.uninstall()
        for module in [name for name in sys.modules if name.partition(".")[0] in ("comfy", "comfyui_version")]:
            del sys.modules[module]
    assert ran >= 14  # two more with torch
    np.testing.assert_array_equal(names["rows"], weight[:2, ::2])
    np.testing.assert_array_equal(tenure.open("copy.safetensors")["linear.bias"].to_numpy(), [2, 2, 2])
    np.testing.assert_array_equal(names["state_dict"]["linear.weight"], weight)
    assert tenure.open("half.safetensors")["linear.weight"].dtype == "BF16"
    said = capsys.readouterr().out
    assert "100%" in said
    assert "it has: linear.weight [3, 4] F16" in said


def _has(name):
    try:
        pytest.importorskip(name)
    except pytest.skip.Exception:
        return False
    return True
