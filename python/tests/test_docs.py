"""The examples of docs/python.md run as they stand there, one after the other."""

import re

import numpy as np
import pytest
from conftest import TOP

import tenure

DOCS = TOP / "docs/python.md"


def examples():
    return re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), re.S | re.M)


def test_the_examples_of_the_guide_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
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
            exec(compile(example, str(DOCS), "exec"), names)
            ran += 1
    finally:
        tenure.uninstall()
    assert ran >= 10
    np.testing.assert_array_equal(names["rows"], weight[:2, ::2])
    np.testing.assert_array_equal(tenure.open("copy.safetensors")["linear.bias"].to_numpy(), [2, 2, 2])
    assert "100%" in capsys.readouterr().out


def _has(name):
    try:
        pytest.importorskip(name)
    except pytest.skip.Exception:
        return False
    return True
