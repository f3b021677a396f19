"""No memory, no budget, no descriptors: each case is a process of its own, which must end well."""

import os
import sys

import numpy as np
import pytest
from abuse import WAYS

import tenure

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="written for Linux")


@pytest.fixture(params=WAYS)
def way(request):
    if request.param.startswith("pt"):
        pytest.importorskip("torch")
    return request.param


@pytest.fixture
def model(tmp_path):
    """Four tensors of 4 MiB, each of ones."""
    tenure.save({f"t{i}": np.ones(1 << 20, np.float32) for i in range(4)}, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


@pytest.mark.parametrize("limit", ["AS", "DATA"])
def test_memory_that_the_system_does_not_give(model, way, limit, abuse):
    """From nothing to plenty in small steps, so that every allocation is the one that fails for some step."""
    program = f"""
import resource
load(), Opened().part("t1", slice(0, 3))  # what is imported at first need
limit, word = resource.RLIMIT_{limit}, "{"VmSize" if limit == "AS" else "VmData"}"
refusals, loads = 0, 0
for step in range(0, 48 << 20, 512 << 10):
    resource.setrlimit(limit, (memory(word) + step, resource.RLIM_INFINITY))
    try:
        for call in (Opened, load, lambda: Opened().get("t1"), lambda: Opened().part("t2", slice(5, 9)),
                     lambda: tenure.probe(path), lambda: tenure.open(path)["t1"].to_numpy(dtype="F64")):
            how = refused(call)
            refusals += how is not None
            loads += how is None and call is load
    finally:
        resource.setrlimit(limit, (resource.RLIM_INFINITY,) * 2)
time.sleep(0.2)  # what was measured of the system is believed for a tenth of a second
print(refusals > 0, loads > 0, total(Opened().get("t3")))
"""
    if "TENURE_SANITIZED" in os.environ:
        pytest.skip("a sanitizer needs its memory")
    assert abuse(program, model, way) == f"True True {float(1 << 20)}\n"


def test_a_budget_of_one_byte(model, way, abuse):
    program = """
calls = Opened, load, lambda: tenure.probe(path), lambda: tenure.save({"a": np.zeros(3)}, path + "2")
print(*map(refused, calls), os.listdir(os.path.dirname(path)))
"""
    said = abuse(program, model, way, TENURE_MEMORY="1")
    assert said == "MemoryRefused MemoryRefused MemoryRefused MemoryRefused ['m.safetensors']\n"


def test_a_call_with_a_budget_of_one_byte(model, abuse):
    program = """
print(refused(lambda: tenure.load(path, framework="numpy", budget=1)), tenure.memory()["read"] < 8192)
print(len(tenure.load(path, framework="numpy", names=[], budget=1)))
"""
    assert abuse(program, model) == "MemoryRefused True\n0\n"


def test_descriptors_are_used_up(model, way, abuse):
    program = """
import resource
file = Opened()
held = file.get("t0")
load(), tenure.save, tenure.probe  # imported at first need
resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors() + 2, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
blocked = []
try:
    while True:
        blocked.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
how = refused(Opened), refused(load), refused(tenure.save, {"a": np.zeros(3)}, path + "2")
refused(file.get, "t1"), tenure.probe(path)
for descriptor in blocked:
    os.close(descriptor)
print(None not in how, total(held), total(file.get("t1")), refused(load))
"""
    assert abuse(program, model, way) == f"True {float(1 << 20)} {float(1 << 20)} None\n"


def test_a_full_disk_leaves_nothing_half_written(tmp_path, abuse):
    program = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tenure.save({"old": np.zeros(3)}, path)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
from tenure.safetensors.numpy import save_file
for call in (lambda: tenure.save({"a": np.zeros(1 << 20)}, path), lambda: save_file({"a": np.zeros(1 << 20)}, path)):
    print(refused(call) is not None, list(tenure.open(path)), os.listdir(os.path.dirname(path)))
"""
    line = "True ['old'] ['m.safetensors']\n"
    assert abuse(program, tmp_path / "m.safetensors") == line * 2
