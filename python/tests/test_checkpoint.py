"""tenure.open: a mapping of names to tensors, read when they are wanted, valid as long as they are held."""

import gc
import os
import pickle
import random

import numpy as np
import pytest

import tenure


def test_a_file_is_a_mapping_in_the_order_of_its_bytes(path, arrays):
    with tenure.open(path) as weights:
        assert len(weights) == len(arrays)
        assert set(weights) == set(arrays)
        # widest type first, then by name: how safetensors 0.8 sorts (its tensor.rs `prepare`)
        assert list(weights)[:2] == ["long", "double"]
        assert "matrix" in weights
        assert "nothing" not in weights
        assert 7 not in weights
        assert weights.get("nothing") is None
        assert weights.metadata == {"title": "a test", "b": "ü"}
        assert weights.container == "safetensors"
        assert weights.nbytes == os.path.getsize(path)
        assert weights.parts == [str(path)]
        assert weights.findings == []


def test_shapes_and_types_are_known_before_a_byte_is_read(path, arrays):
    with tenure.open(path) as weights:
        before = tenure.memory()["read"]
        for name, array in arrays.items():
            tensor = weights[name]
            assert tensor.shape == array.shape
            assert tensor.nbytes == array.nbytes
            assert (tensor.ndim, tensor.size) == (array.ndim, array.size)
        assert {weights[name].dtype for name in weights} == {
            "F32", "F16", "F64", "U8", "I64", "BOOL", "C64", "I8", "I16",
        }  # fmt: skip
        assert tenure.memory()["read"] == before


def test_values_come_back_as_they_were_saved(path, arrays):
    with tenure.open(path) as weights:
        for name, array in arrays.items():
            got = weights[name].to_numpy()
            assert got.dtype == array.dtype
            assert got.shape == array.shape
            np.testing.assert_array_equal(got, array)
            assert weights[name].read() == array.tobytes()
            assert bytes(weights[name].lease()) == array.tobytes()


def test_slices_are_those_of_numpy_and_read_their_bytes_only(tmp_path):
    array = np.arange(6 * 7 * 8, dtype=np.int32).reshape(6, 7, 8)
    tenure.save({"x": array}, tmp_path / "x.safetensors")
    tensor = tenure.open(tmp_path / "x.safetensors")["x"]
    rng = random.Random(3)
    for _ in range(400):
        index = tuple(random_item(rng, n) for n in array.shape[: rng.randrange(4)])
        if rng.random() < 0.3:
            index = (*index[: len(index) // 2], ..., *index[len(index) // 2 :])
        if rng.random() < 0.2:
            index = (None, *index)
        expected = array[index]
        got = tensor[index]
        assert got.shape == expected.shape, index
        np.testing.assert_array_equal(got.to_numpy(), expected, err_msg=str(index))


def random_item(rng, n):
    if rng.random() < 0.3:
        return rng.randrange(-n, n)
    ends = [None, *range(-n - 2, n + 3)]
    return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, 3, -1, -2]))


def test_a_slice_of_a_huge_tensor_costs_what_it_holds(tmp_path):
    size = 40 << 30
    path = tmp_path / "huge.safetensors"
    header = b'{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (size, size)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)
    with tenure.open(path) as weights:
        before = tenure.memory()["read"]
        assert weights["a"][-4:].read() == b"\0\0\0\0"
        assert tenure.memory()["read"] - before < 1 << 20
        assert not weights.cost().fits
        with pytest.raises(tenure.MemoryRefused) as refusal:
            weights["a"].lease()
        assert isinstance(refusal.value, MemoryError)
        assert refusal.value.status == "over_budget"


def test_wrong_slices_are_refused_before_reading(path):
    tensor = tenure.open(path)["matrix"]
    with pytest.raises(IndexError):
        tensor[10]
    with pytest.raises(IndexError):
        tensor[0, 0, 0]
    with pytest.raises(IndexError):
        tensor[..., ...]
    with pytest.raises(TypeError):
        tensor[[0, 1]]
    with pytest.raises(TypeError):
        tensor[True]
    with pytest.raises(TypeError):
        tensor[1:][1:]
    with pytest.raises(ValueError, match="step"):
        tensor[::0]


def test_what_was_handed_out_outlives_everything(path, arrays):
    weights = tenure.open(path)
    tensor = weights["matrix"]
    lease = tensor.lease()
    array = np.asarray(memoryview(lease))
    weights.close()
    weights.close()
    with pytest.raises(ValueError, match="closed"):
        weights["matrix"]
    np.testing.assert_array_equal(tensor.to_numpy(), arrays["matrix"])
    del weights, tensor, lease
    gc.collect()
    os.remove(path)
    np.testing.assert_array_equal(array, arrays["matrix"])


def test_arrays_are_the_callers_own(path, arrays):
    tensor = tenure.open(path)["matrix"]
    one, other = tensor.to_numpy(), tensor.to_numpy()
    one[:] = 0
    np.testing.assert_array_equal(other, arrays["matrix"])
    np.testing.assert_array_equal(tensor.to_numpy(), arrays["matrix"])


def test_a_view_is_read_only(path, arrays):
    lease = tenure.open(path)["matrix"].lease(view=True)
    assert lease.way == "view"
    assert lease.readonly
    array = np.frombuffer(lease, np.float32)
    assert not array.flags.writeable
    with pytest.raises((BufferError, TypeError)):
        memoryview(lease)[0] = 0
    target = bytearray(lease.nbytes)
    lease.copy_to(target)
    assert bytes(target) == arrays["matrix"].tobytes()
    with pytest.raises(ValueError):
        lease.copy_to(bytearray(1))


def test_a_view_of_a_slice_has_strides(path, arrays):
    lease = tenure.open(path)["matrix"][::2, 1:3].lease(view=True)
    np.testing.assert_array_equal(np.asarray(memoryview(lease)), arrays["matrix"][::2, 1:3])
    with pytest.raises(BufferError):
        np.frombuffer(lease, np.float32)


def test_buffers_say_type_and_shape(path, arrays):
    weights = tenure.open(path)
    for name in ("matrix", "half", "double", "bytes", "long", "flag", "ünï.wéight", "scalar", "empty"):
        view = memoryview(weights[name].lease())
        assert view.shape == arrays[name].shape
        assert np.dtype(view.format) == arrays[name].dtype
        assert view.contiguous or arrays[name].size == 0
        assert not view.readonly


def test_dlpack(path, arrays):
    lease = tenure.open(path)["half"].lease()
    assert lease.__dlpack_device__() == (1, 0)
    array = np.from_dlpack(lease)
    del lease
    gc.collect()
    np.testing.assert_array_equal(array, arrays["half"])
    lease = tenure.open(path)["half"].lease()
    for _ in range(1000):  # capsules that nobody takes give their hold back
        lease.__dlpack__()
        lease.__dlpack__(max_version=(1, 0))
    view = tenure.open(path)["half"].lease(view=True)
    with pytest.raises(BufferError):
        view.__dlpack__()
    assert view.__dlpack__(max_version=(1, 0)) is not None
    with pytest.raises(BufferError):
        lease.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        lease.__dlpack__(copy=True)


def test_bfloat16_without_a_numpy_type_can_be_had_as_another(tmp_path):
    # 1.0, -2.0, infinity in bfloat16: the upper halves of 0x3f800000, 0xc0000000, 0x7f800000
    raw = np.array([0x3F80, 0xC000, 0x7F80], np.uint16)
    header = b'{"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}'
    path = tmp_path / "b.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + raw.tobytes())
    tensor = tenure.open(path)["a"]
    assert memoryview(tensor.lease()).format == "B"
    np.testing.assert_array_equal(tensor.to_numpy(dtype="F32"), [1.0, -2.0, np.inf])
    np.testing.assert_array_equal(tensor.to_numpy(dtype=np.float64), [1.0, -2.0, np.inf])
    with pytest.raises(ValueError, match="element type"):
        tensor.to_numpy(dtype="F31")


def test_cost_is_known_beforehand(path, arrays):
    weights = tenure.open(path)
    cost = weights.cost()
    assert cost.tensors == len(arrays)
    assert cost.bytes == sum(array.nbytes for array in arrays.values())
    assert cost.fits
    assert sum(cost.by_dtype.values()) == cost.bytes
    assert weights["matrix"].cost().bytes == 200
    assert weights.cost(["matrix", "half"]).tensors == 2
    with pytest.raises(KeyError):
        weights.cost(["nothing"])


def test_missing_files_and_tensors_are_builtin_errors_with_numbers(tmp_path, path):
    with pytest.raises(FileNotFoundError) as error:
        tenure.open(tmp_path / "nothing")
    assert isinstance(error.value, tenure.TenureError)
    assert error.value.status == "not_found"
    assert error.value.errno == 2
    assert error.value.filename == str(tmp_path / "nothing")
    with pytest.raises(KeyError):
        tenure.open(path)["nothing"]
    with pytest.raises(TypeError):
        tenure.open(7)


def test_errors_travel_between_processes(tmp_path):
    (tmp_path / "bad.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{not json......}")
    with pytest.raises(tenure.FormatError) as error:
        tenure.open(tmp_path / "bad.safetensors")
    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is tenure.FormatError
    assert (again.status, again.offset, again.file) == ("bad_json", error.value.offset, error.value.file)
    assert str(again) == str(error.value)


def test_a_short_file_opens_and_is_not_read(path, arrays):
    size = os.path.getsize(path)
    os.truncate(path, size - 1)
    weights = tenure.open(path)
    finding = weights.findings[0]
    assert (finding.severity, finding.status, finding.expected, finding.found) == ("error", "truncated", size, size - 1)
    with pytest.raises(tenure.FormatError):
        weights["matrix"].lease()


def test_a_file_that_changes_is_an_error_not_wrong_bytes(path):
    weights = tenure.open(path)
    os.truncate(path, 200)
    with pytest.raises(tenure.TenureError) as error:
        weights["matrix"].to_numpy()
    assert error.value.status in ("changed", "truncated")
    assert error.value.file == str(path)


def test_a_checkpoint_is_not_pickled(path):
    with pytest.raises(TypeError, match="path"):
        pickle.dumps(tenure.open(path))


def test_a_budget_refuses_with_numbers_before_reading(python, tmp_path):
    tenure.save({"a": np.zeros(4 << 20, np.uint8)}, tmp_path / "a.safetensors")
    program = """
import sys, tenure
weights = tenure.open(sys.argv[1])
assert not weights.cost().fits
try:
    weights["a"].lease()
except tenure.MemoryRefused as error:
    print(error.status, error.expected is not None, error.tensor)
print(tenure.memory()["limit"], tenure.memory()["refused"] > 0)
"""
    said = python(program, tmp_path / "a.safetensors", TENURE_MEMORY="2M")
    assert said == "over_budget True a\n2097152 True\n"
    assert "is no size" in python("import tenure; tenure.memory()", code=1, TENURE_MEMORY="much")


def test_importing_brings_neither_numpy_nor_torch(python, path):
    program = """
import sys, tenure
weights = tenure.open(sys.argv[1])
weights["matrix"].read(), tenure.probe(sys.argv[1])
print([m for m in ("numpy", "torch", "safetensors", "typing_extensions") if m in sys.modules])
"""
    assert python(program, path) == "[]\n"


def test_probe_says_what_a_file_is(path, tmp_path):
    answer = tenure.probe(path)
    assert (answer["container"], answer["state"], answer["tensors"]) == ("safetensors", "unknown", 10)
    (tmp_path / "a.ckpt").write_bytes(b"")
    assert tenure.probe(tmp_path / "a.ckpt")["state"] == "damaged"
    assert tenure.probe(tmp_path / "nothing")["state"] == "unreadable"


def test_public_names_are_there_and_documented():
    for name in tenure.__all__:
        assert getattr(tenure, name).__doc__, name
    assert tenure.__version__ == (tenure._tenure.version)
    with pytest.raises(AttributeError):
        _ = tenure.nothing
