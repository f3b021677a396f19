"""Under the drop-in, what works with the original works with Tenure: over the budget, tensors are mapped privately
on Linux, and where the system refuses that too, the program gets a MemoryError with numbers."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import tenure

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mapped on Linux alone")


@pytest.fixture
def model(tmp_path):
    tensors = {"a": np.arange(1 << 20, dtype=np.float32), "b": np.ones(1 << 20, np.float32), "e": np.zeros((0, 2))}
    tenure.save(tensors, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


PROGRAM = """
import sys, warnings
import tenure.safetensors as s
from tenure.safetensors.numpy import load_file
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as said:
    try:
        tensors = load_file(sys.argv[1])
        print(tensors["a"][5], int(tensors["b"].sum()), tensors["a"].flags.writeable, tensors["e"].shape)
        tensors["a"][5] = 9
        file = s.safe_open(sys.argv[1], "np")
        print(file.get_slice("a")[5:7], file.get_tensor("a")[5], len(said))
    except MemoryError as error:
        print("refused", error.status, error.expected, error.found, len(said))
"""


def test_it_maps_and_says_so_once(model, python):
    said = python(PROGRAM, model, TENURE_MEMORY="2M")
    assert said == "5.0 1048576 True (0, 2)\n[5. 6.] 5.0 1\n"  # what is written stays out of the file


def test_strict_refuses_with_numbers_and_reads_nothing(model, python):
    program = PROGRAM + "\nimport tenure\nprint(tenure.memory()['read'] < 8192)"
    words = python(program, model, TENURE_MEMORY="2M", TENURE_STRICT="1").split()
    assert words[:2] == ["refused", "over_budget"]
    assert int(words[2]) <= 2 << 20
    assert 8 << 20 <= int(words[3]) < 9 << 20
    assert words[4:] == ["0", "True"]


def test_torch_tensors_are_mapped_too(torch, model, python):
    program = """
import sys, warnings, torch
import tenure.safetensors as s
from tenure.safetensors.torch import load_file
warnings.simplefilter("ignore")
tensors = load_file(sys.argv[1])
tensors["a"].mul_(2)
print(tensors["a"][5].item(), tensors["b"].sum().item(), tuple(tensors["e"].shape))
with s.safe_open(sys.argv[1], "pt") as file:
    print(file.get_slice("a")[5:7].tolist(), file.get_slice("a")[[3, 1]].tolist(), file.get_tensor("a")[5].item())
print(s.safe_open(sys.argv[1], "pt", backend="pread").get_slice("b")[2:4].tolist())
"""
    said = python(program, model, TENURE_MEMORY="2M")
    assert said == "10.0 1048576.0 (0, 2)\n[5.0, 6.0] [3.0, 1.0] 5.0\n[1.0, 1.0]\n"


def test_other_frameworks_get_their_own_tensors(monkeypatch):
    import types

    from tenure.safetensors import _fallback, _make

    monkeypatch.setitem(sys.modules, "mlx", types.ModuleType("mlx"))
    stand_in = types.ModuleType("mlx.core")
    stand_in.array = lambda values: ("mlx", values)
    monkeypatch.setitem(sys.modules, "mlx.core", stand_in)
    mapped = _fallback.Mapped("F32", (2,), memoryview(bytearray(np.array([1, 2], np.float32).tobytes())))
    kind, values = _make.map_maker("mlx", "cpu")(mapped)
    assert kind == "mlx"
    np.testing.assert_array_equal(values, [1, 2])


@pytest.mark.parametrize("change", ["replaced", "deleted", "changed"])
def test_the_file_that_was_opened_is_mapped_and_no_other(model, python, change):
    program = """
import os, sys, warnings
import tenure.safetensors as s
warnings.simplefilter("ignore")
file = s.safe_open(sys.argv[1], "np")
if sys.argv[2] == "replaced":
    os.replace(sys.argv[1] + ".other", sys.argv[1])
elif sys.argv[2] == "deleted":
    os.unlink(sys.argv[1])
else:
    with open(sys.argv[1], "r+b") as changed:
        changed.truncate(4096)
try:
    print(file.get_tensor("b")[:2])
except s.SafetensorError as error:
    print("changed" in str(error))
"""
    other = model.with_suffix(".safetensors.other")
    shutil.copy(model, other)
    with open(other, "r+b") as file:
        file.seek(-4, 2)
        file.write(b"1234")
    said = python(program, model, change, TENURE_MEMORY="2M")
    assert said == ("True\n" if change == "changed" else "[1. 1.]\n")


LIMITED = """
import os, re, resource, sys, warnings
framework = sys.argv[2]
import numpy
if framework == "pt":
    import torch
import tenure, tenure.safetensors as s
warnings.simplefilter("ignore")
held = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (held + (512 << 20),) * 2)
file = s.safe_open(sys.argv[1], framework)
try:
    file.get_tensor("big")
except MemoryError as error:
    print(type(error).__name__, error.found >= 40 << 30, error.expected < 512 << 20)
print(file.get_tensor("small").tolist(), file.get_slice("big")[0:4].tolist())
with tenure.open(sys.argv[1]) as weights:
    print(weights["big"][0:4].read(), weights["big"].cost().fits)
"""


@pytest.mark.parametrize("framework", ["np", "pt"])
def test_under_a_limit_40_gib_are_refused_with_numbers(tmp_path, framework, python):
    """The original dies at the slice (pread), or cannot open the file (mmap)."""
    if framework == "pt":
        pytest.importorskip("torch")
    path = tmp_path / "sparse.safetensors"
    big = 40 << 30
    header = (
        '{"small":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
        f'"big":{{"dtype":"U8","shape":[{big}],"data_offsets":[8,{big + 8}]}}}}'
    ).encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 8 + big)
    for _ in range(3):
        said = python(LIMITED, path, framework)
        assert said == "MemoryRefused True True\n[0.0, 0.0] [0, 0, 0, 0]\nb'\\x00\\x00\\x00\\x00' False\n"


def test_a_tensor_that_its_budget_never_holds_is_mapped(tmp_path, python):
    """The system gives such a map where it does not count strictly."""
    if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2":
        pytest.skip("this system counts memory strictly")
    path = tmp_path / "sparse.safetensors"
    size = 2 << 30
    header = f'{{"big":{{"dtype":"U8","shape":[{size}],"data_offsets":[0,{size}]}}}}'.encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)
    program = """
import sys, warnings, tenure.safetensors as s
warnings.simplefilter("ignore")
tensor = s.safe_open(sys.argv[1], "np").get_tensor("big")
print(tensor.nbytes, int(tensor[-1]))
"""
    assert python(program, path, TENURE_MEMORY="64M") == f"{size} 0\n"
