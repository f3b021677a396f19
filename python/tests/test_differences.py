"""Each row of tenure.safetensors.differences, shown: what the original does, and what Tenure does."""

import ast
import os
from pathlib import Path

import numpy as np
import pytest

import tenure.safetensors as ours
import tenure.safetensors.numpy as our_numpy
from tenure.safetensors.differences import DIFFERENCES

theirs = pytest.importorskip("safetensors", reason="safetensors is not installed")
their_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")


def test_every_difference_has_its_test_and_every_test_its_row():
    functions = {node.name for node in ast.parse(Path(__file__).read_text()).body if isinstance(node, ast.FunctionDef)}
    shown = {name.removeprefix("test_difference_") for name in functions if name.startswith("test_difference_")}
    assert shown == {row.name for row in DIFFERENCES}
    assert all(row.original and row.tenure and row.why for row in DIFFERENCES)


@pytest.fixture
def slices(tmp_path):
    path = tmp_path / "s.safetensors"
    array = np.arange(12, dtype=np.int32).reshape(4, 3)
    their_numpy.save_file({"x": array, "empty": array[:0]}, path)
    return array, lambda module, name="x": module.safe_open(path, "np").get_slice(name)


def file_of(tmp_path, header, data=b""):
    path = tmp_path / "made.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


def test_difference_tensors_are_apart(torch, tmp_path):
    path = tmp_path / "a.safetensors"
    their_numpy.save_file({"a": np.zeros(3)}, path)
    for module, seen in ((theirs, 1.0), (ours, 0.0)):
        with module.safe_open(path, "pt") as file:
            file.get_tensor("a").fill_(1)
            assert file.get_tensor("a")[0] == seen


def test_difference_negative_bounds(slices):
    array, of = slices
    with pytest.raises(OverflowError):
        of(theirs)[-2:]
    np.testing.assert_array_equal(of(ours)[-2:], array[-2:])
    np.testing.assert_array_equal(of(ours)[:-1, 1:-1], array[:-1, 1:-1])


def test_difference_backward_range(slices):
    _, of = slices
    with pytest.raises(SystemError):
        of(theirs)[2:1]
    assert of(ours)[2:1].shape == (0, 3)


def test_difference_empty_dimension(slices):
    _, of = slices
    with pytest.raises(theirs.SafetensorError, match="out of bounds"):
        of(theirs, "empty")[:]
    assert of(ours, "empty")[:].shape == (0, 3)


def test_difference_f4_with_torch(torch, tmp_path):
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this torch has no float4_e2m1fn_x2")
    path = file_of(tmp_path, b'{"x":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}', b"abcd")
    with pytest.raises(RuntimeError, match="is invalid for input of size"):
        theirs.safe_open(path, "pt", backend="pread").get_tensor("x")
    for backend in ("mmap", "pread"):
        with pytest.raises(RuntimeError, match="is invalid for input of size"):
            theirs.safe_open(path, "pt", backend=backend).get_slice("x")[1:]
        file = ours.safe_open(path, "pt", backend=backend)
        assert bytes(file.get_tensor("x").view(torch.uint8).numpy()) == b"abcd"
        found = file.get_slice("x")[1:]
        assert found.dtype == torch.float4_e2m1fn_x2
        assert found.shape == (1, 2)
        assert bytes(found.view(torch.uint8).numpy()) == b"cd"


def test_difference_duplicate_names(tmp_path):
    entry = b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    path = file_of(tmp_path, b"{" + entry + b"," + entry + b"}", b"x")
    assert theirs.safe_open(path, "np").keys() == ["a"]
    with pytest.raises(ours.SafetensorError, match="Error while deserializing header"):
        ours.safe_open(path, "np")


def test_difference_json_details(tmp_path):
    path = file_of(tmp_path, b"{nonsense")
    texts = []
    for module in (theirs, ours):
        with pytest.raises(module.SafetensorError) as error:
            module.safe_open(path, "np")
        texts.append(str(error.value).split(": ", 2))
    assert texts[0][:2] == texts[1][:2] == ["Error while deserializing header", "invalid JSON in header"]
    assert texts[0][2] != texts[1][2]


def test_difference_deserialize_order():
    arrays = {f"t{i:03}": np.zeros(1) for i in range(100)}
    data = our_numpy.save(arrays)
    assert [name for name, _ in ours.deserialize(data)] == sorted(arrays)
    assert [name for name, _ in theirs.deserialize(data)] != sorted(arrays)


def test_difference_noncontiguous_numpy():
    array = np.arange(6, dtype=np.int32).reshape(2, 3).T
    assert not np.array_equal(their_numpy.load(their_numpy.save({"a": array}))["a"], array)
    np.testing.assert_array_equal(our_numpy.load(our_numpy.save({"a": array}))["a"], array)


def test_difference_load_more_dtypes(torch):
    import safetensors.torch as their_torch

    import tenure.safetensors.torch as our_torch

    if not hasattr(torch, "float8_e8m0fnu"):
        pytest.skip("this torch has no float8_e8m0fnu")
    data = our_torch.save({"a": torch.zeros(4, dtype=torch.float8_e8m0fnu)})
    with pytest.raises(KeyError):
        their_torch.load(data)
    assert our_torch.load(data)["a"].dtype == torch.float8_e8m0fnu


def test_difference_saved_mode(tmp_path):
    mask = os.umask(0o022)
    try:
        their_numpy.save_file({"a": np.zeros(1)}, tmp_path / "t")
        our_numpy.save_file({"a": np.zeros(1)}, tmp_path / "o")
    finally:
        os.umask(mask)
    assert (tmp_path / "t").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "o").stat().st_mode & 0o777 == 0o644


def test_difference_nothing_with_empty_metadata(tmp_path):
    with pytest.raises(theirs.SafetensorError):
        their_numpy.load(their_numpy.save({}, {}))
    data = our_numpy.save({}, {})
    assert our_numpy.load(data) == their_numpy.load(data) == {}
    our_numpy.save_file({}, tmp_path / "o", {})
    assert (tmp_path / "o").read_bytes() == data


def test_difference_metadata_order():
    metadata = {f"k{i:02}": "" for i in range(40)}
    shuffled = dict(reversed(metadata.items()))
    assert our_numpy.save({}, shuffled) == our_numpy.save({}, metadata)
    header = our_numpy.save({}, shuffled)[8:].decode()
    assert header.index('"k00"') < header.index('"k20"') < header.index('"k39"')
    assert their_numpy.save({}, metadata) != our_numpy.save({}, metadata)
