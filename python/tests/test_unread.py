"""Tensors that are read when their elements are asked for, beside those that the real safetensors gives."""

import copy
import gc
import os
import sys

import numpy as np
import pytest

import tenure

torch = pytest.importorskip("torch", reason="torch is not installed")
peer = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")

from tenure.integrations.invokeai import _unread  # noqa: E402  (needs torch)

SIDE = 512  # elements of a side of each matrix, 1 MiB


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.safetensors"
    rng = np.random.default_rng(3)
    tensors = {name: rng.standard_normal((SIDE, SIDE)).astype(np.float32) for name in ("weight", "other", "third")}
    tensors |= {"bias": np.arange(SIDE, dtype=np.float32), "half": np.ones((3, 4), np.float16)}
    tensors |= {"count": np.array(7), "flags": np.array([True, False]), "empty": np.zeros((0, 4), np.float32)}
    tenure.save(tensors, path, metadata={"title": "x"})
    return path


def read_bytes():
    return tenure.memory()["read"]


def test_what_the_header_says_is_what_safetensors_says_and_reads_nothing(path):
    expected = peer.load_file(path)
    before = read_bytes()
    found = _unread.load_file(path)
    opened = read_bytes()
    assert type(found) is dict
    assert set(found) == set(expected)
    for name, tensor in found.items():
        real = expected[name]
        assert isinstance(tensor, torch.Tensor)
        assert (tensor.shape, tensor.dtype, tensor.device) == (real.shape, real.dtype, real.device)
        assert (tensor.ndim, tensor.numel(), tensor.size(), tensor.dim()) == (
            real.ndim,
            real.numel(),
            real.size(),
            real.dim(),
        )
        assert (tensor.stride(), tensor.element_size(), tensor.is_floating_point(), tensor.nbytes) == (
            real.stride(),
            real.element_size(),
            real.is_floating_point(),
            real.nbytes,
        )
        assert name in repr(tensor)
    assert read_bytes() == opened
    assert opened - before < 64 << 10  # the header


def test_a_computation_reads_the_tensors_it_needs_and_gives_what_safetensors_gives(path):
    expected, found = peer.load_file(path), _unread.load_file(path)
    before = read_bytes()
    for compute in (
        lambda d: d["weight"] @ d["bias"],
        lambda d: d["weight"].float().mean(),
        lambda d: torch.cat([d["bias"], d["weight"][0]]),
        lambda d: d["weight"].T[3, 5].item(),
        lambda d: d["bias"].numpy().sum(),
        lambda d: d["count"].item() + 1,
        lambda d: torch.stack((d["flags"], d["flags"])),
        lambda d: list(d["half"]),
        lambda d: bool(d["flags"][0]),
        lambda d: d["bias"] + 1 == d["bias"],
        lambda d: d["empty"].sum(),
    ):
        result, should = compute(found), compute(expected)
        assert type(result) is type(should)
        if isinstance(result, list):
            result, should = torch.stack(result), torch.stack(should)
        if isinstance(result, torch.Tensor):
            assert result.dtype == should.dtype
            assert torch.equal(result, should)
        else:
            assert result == should
    assert read_bytes() - before < 6 * SIDE * SIDE * 4 + (64 << 10)
    assert read_bytes() - before >= SIDE * SIDE * 4


def test_what_nobody_holds_is_given_up_and_read_again(path):
    tensor = _unread.load_file(path)["weight"]
    used = tenure.memory()["used"]
    assert tensor.sum().item() == tensor.sum().item()
    gc.collect()
    assert tenure.memory()["used"] <= used + (64 << 10)
    held = tensor.read()
    assert tensor.read() is held
    assert tensor.detach().read() is held


def test_what_is_written_stays(path):
    original = peer.load_file(path)["bias"]
    tensor = _unread.load_file(path)["bias"]
    tensor.mul_(2)
    assert torch.equal(tensor + 0, original * 2)
    tensor[0] = 99
    assert tensor[0].item() == 99
    tensor += 1
    assert tensor[1].item() == 3
    assert torch.equal(peer.load_file(path)["bias"], original)


def test_modules_take_them(path):
    expected = peer.load_file(path)
    module = torch.nn.Linear(SIDE, SIDE)
    names = ("weight", "bias")
    unread = _unread.load_file(path)
    module.load_state_dict({name: unread[name] for name in names})
    assert torch.equal(module.weight, expected["weight"])
    other = torch.nn.Linear(SIDE, SIDE, device="meta")
    other.load_state_dict({name: unread[name] for name in names}, assign=True)
    assert torch.equal(other(torch.ones(SIDE)), module(torch.ones(SIDE)))
    assert torch.equal(copy.deepcopy(unread["bias"]), expected["bias"])
    assert torch.equal(torch.nn.Parameter(unread["bias"]), expected["bias"])


def test_a_damaged_file_is_refused_with_safetensors_words(path):
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(Exception, match="incomplete metadata, file not fully covered") as real:
        peer.load_file(path)
    with pytest.raises(Exception, match="incomplete metadata") as ours:
        _unread.load_file(path)
    assert (type(ours.value).__name__, str(ours.value)) == (type(real.value).__name__, str(real.value))


def test_dropping_them_closes_the_file(path):
    if sys.platform != "linux":
        pytest.skip("descriptors are listed on Linux")
    before = len(os.listdir("/proc/self/fd"))
    found = _unread.load_file(path)
    found["weight"].sum()
    gc.disable()  # by counting references alone
    try:
        del found
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()
