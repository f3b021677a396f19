"""tenure.safetensors beside safetensors 0.8 itself: same results, bytes, error classes and texts."""

import os
import random
import re

import numpy as np
import pytest
from conftest import CASES

import tenure.safetensors as ours
import tenure.safetensors.numpy as our_numpy

theirs = pytest.importorskip("safetensors", reason="safetensors is not installed")
their_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
if not theirs.__version__.startswith("0.8."):
    pytest.skip("safetensors 0.8 is not installed", allow_module_level=True)


def outcome(call, *arguments, **keywords):
    """What a call gives: its value, or the name and text of its exception."""
    try:
        return "value", call(*arguments, **keywords)
    except BaseException as error:
        return type(error).__name__, str(error)


def without_chance(text):
    """Leave out what differs by design, and which of two tensors in the same place the original names."""
    text = re.sub(r"(invalid JSON in header: ).*", r"\1...", text, flags=re.S)
    return re.sub("(invalid offset for tensor) `[ab]`", r"\1 `?`", text)


@pytest.mark.parametrize("case", sorted(os.listdir(CASES)))
def test_headers_get_the_same_verdict_in_the_same_words(case):
    path = str(CASES / case)
    data = (CASES / case).read_bytes()

    def opened(module):
        with module.safe_open(path, framework="np") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  (it cannot be iterated)
            shapes = {name: (one.get_dtype(), one.get_shape()) for name, one in slices.items()}
            return file.metadata(), file.keys(), file.offset_keys(), shapes

    def taken_apart(module):
        return sorted((name, info["dtype"], info["shape"], info["data"]) for name, info in module.deserialize(data))

    for reading in (opened, taken_apart):
        kind, expected = outcome(reading, theirs)
        our_kind, found = outcome(reading, ours)
        if kind == "value" and our_kind != "value" and reading is opened and b"dup" in case.encode():
            continue  # differences.py: duplicate_names
        assert our_kind == kind, found
        if kind == "value":
            assert found == expected
        else:
            assert without_chance(found) == without_chance(expected)


def test_numbers_that_python_reads_otherwise_are_refused_alike():
    for number in ("-0", "1.0", "1e0", "01", "true", "NaN", "18446744073709551616"):
        header = f'{{"a":{{"dtype":"U8","shape":[{number}],"data_offsets":[0,0]}}}}'.encode()
        data = len(header).to_bytes(8, "little") + header
        kind, expected = outcome(theirs.deserialize, data)
        our_kind, found = outcome(ours.deserialize, data)
        assert (our_kind, without_chance(found)) == (kind, without_chance(expected)), number


WORDS = ["float32", "float16", "int8", "uint8", "int64", "bool", "complex64", "float64", "uint16", "uint32"]


def random_arrays(rng):
    arrays = {}
    for i in range(rng.randrange(6)):
        name = rng.choice(["a", "b.c", "ü", "x" * 40, 'q"uote\\', "\u2028", "tab\t", "\x7f", "\x01"]) + str(i)
        shape = tuple(rng.choice([0, 1, 2, 3, 7]) for _ in range(rng.randrange(4)))
        raw = np.frombuffer(rng.randbytes(max(int(np.prod(shape)), 1) * 16), np.uint8)
        dtype = np.dtype(rng.choice(WORDS))
        arrays[name] = np.array((raw % 2).astype(dtype)[: int(np.prod(shape))].reshape(shape))
    return arrays


def test_saved_bytes_are_the_same(tmp_path):
    rng = random.Random(11)
    for _ in range(300):
        arrays = random_arrays(rng)
        metadata = rng.choice([None, {}, {"k\n": "v\u00e9\x02"}])
        if not arrays and metadata == {}:
            continue  # differences.py: nothing_with_empty_metadata
        expected = their_numpy.save(arrays, metadata)
        assert our_numpy.save(arrays, metadata) == expected
        our_numpy.save_file(arrays, tmp_path / "o.safetensors", metadata)
        assert (tmp_path / "o.safetensors").read_bytes() == expected
        loaded = our_numpy.load_file(tmp_path / "o.safetensors")
        full = [name for name in loaded if arrays[name].size]  # of empty ones the original's order is chance
        assert full == [name for name in their_numpy.load_file(tmp_path / "o.safetensors") if arrays[name].size]
        for name, array in our_numpy.load(expected).items():
            np.testing.assert_array_equal(array, arrays[name])
            np.testing.assert_array_equal(loaded[name], arrays[name])


SHAPE = (5, 4, 3)


def random_index(rng):
    items = []
    for n in SHAPE[: rng.randrange(5)]:
        choice = rng.randrange(8)
        if choice < 3:
            items.append(rng.randrange(-n - 1, n + 2))
        elif choice < 7:
            start, stop = sorted((rng.randrange(n + 2), rng.randrange(n + 2)))
            items.append(slice(rng.choice([None, start]), rng.choice([None, stop]), rng.choice([None, 1, 2, 3, 0, -1])))
        else:
            items.append(rng.choice([None, "x", 1.5, True, 1 << 40, np.int64(1), ...]))
    if rng.random() < 0.1:
        return rng.choice([[], [0, 1], (), ..., None, 2, slice(1, 3)])
    if rng.random() < 0.3:
        items.insert(rng.randrange(len(items) + 1), ...)
    return tuple(items)


@pytest.mark.parametrize("framework", ["np", "pt"])
@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_slices_are_the_same_or_refused_in_the_same_words(framework, backend, tmp_path):
    if framework == "pt":
        pytest.importorskip("torch", reason="torch is not installed")
    path = tmp_path / "s.safetensors"
    their_numpy.save_file({"x": np.arange(60, dtype=np.float32).reshape(SHAPE)}, path)
    with (
        theirs.safe_open(path, framework, backend=backend) as their_file,
        ours.safe_open(path, framework, backend=backend) as our_file,
    ):
        their_slice, our_slice = their_file.get_slice("x"), our_file.get_slice("x")
        rng = random.Random(5)
        for _ in range(1500):
            index = random_index(rng)
            kind, expected = outcome(their_slice.__getitem__, index)
            our_kind, found = outcome(our_slice.__getitem__, index)
            assert our_kind == kind, (index, expected, found)
            if kind == "value":
                assert tuple(found.shape) == tuple(expected.shape), index
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), err_msg=str(index))
            elif kind != "TypeError":
                assert found == expected, index


@pytest.mark.parametrize(
    "arguments",
    [
        {"framework": "cobol"},
        {"framework": 3},
        {"framework": "np", "device": "cuda:0"},
        {"framework": "np", "device": "cuda"},
        {"framework": "np", "device": "tpu"},
        {"framework": "np", "device": "cuda:x"},
        {"framework": "np", "device": "cuda:"},
        {"framework": "np", "device": "cuda:1:2"},
        {"framework": "np", "device": "mps:1"},
        {"framework": "np", "device": 4},
        {"framework": "np", "device": -4},
        {"framework": "np", "device": 1.5},
        {"framework": "np", "device": None},
        {"framework": "np", "backend": 'no"ne'},
        {"framework": "np", "backend": 3},
        {},
        {"framework": "np", "nonsense": 3},
    ],
)
def test_wrong_arguments_are_refused_alike(arguments, path):
    def opened(module):
        with module.safe_open(path, **arguments) as file:
            return file.keys()

    kind, expected = outcome(opened, theirs)
    our_kind, found = outcome(opened, ours)
    assert our_kind == kind
    if kind not in ("TypeError", "value"):
        assert found == expected


def test_other_failures_are_the_same(path, tmp_path):
    (tmp_path / "folder").mkdir()
    secret = tmp_path / "secret.safetensors"
    secret.write_bytes(path.read_bytes())
    for name in ("nothing", "folder"):
        expected = outcome(theirs.safe_open, tmp_path / name, "np")
        assert outcome(ours.safe_open, tmp_path / name, "np") == expected
    assert outcome(ours.safe_open, os.fsencode(path), "np")[0] == outcome(theirs.safe_open, os.fsencode(path), "np")[0]
    for module in (theirs, ours):
        with module.safe_open(path, "np") as file:
            kept = file.get_slice("matrix")
            for method in ("get_tensor", "get_slice"):
                assert outcome(getattr(file, method), "no") == ("SafetensorError", "File does not contain tensor no")
        for method, arguments in (("keys", ()), ("metadata", ()), ("get_tensor", ("x",)), ("get_tensors", ())):
            assert outcome(getattr(file, method), *arguments) == ("SafetensorError", "File is closed")
        assert kept[0].shape == (5,)
        assert kept.get_dtype() == "F32"


def test_specs_and_raw_writing(tmp_path):
    array = np.arange(4, dtype=np.float32)
    good = {"dtype": "float32", "shape": [4], "data_ptr": array.ctypes.data, "data_len": 16}
    for change in (
        {}, {"dtype": "nonsense"}, {"dtype": 'q"'}, {"shape": [-1]}, {"shape": [1.5]}, {"data_len": -1},
        {"data_len": 8}, {"dtype": "float4_e2m1fn_x2", "shape": [2, 8], "data_len": 16},
        {"shape": [1 << 63, 4]}, {"dtype": 5},
    ):  # fmt: skip
        keywords = {**good, **change}
        expected = outcome(lambda m, k=keywords: m.serialize({"a": m.TensorSpec(**k)}), theirs)
        found = outcome(lambda m, k=keywords: m.serialize({"a": m.TensorSpec(**k)}), ours)
        assert found[0] == expected[0], change
        if found[0] != "TypeError":
            assert found[1] == expected[1]
    for call in (lambda m: repr(m.TensorSpec(**good)), lambda m: m.TensorSpec(**good).shape, lambda m: m.serialize({})):
        assert call(ours) == call(theirs)
    for wrong in ({"a": {}}, {1: 2}, [], None):
        assert outcome(ours.serialize, wrong)[0] == outcome(theirs.serialize, wrong)[0] == "TypeError"
    assert outcome(ours.serialize, {}, {"a": 1})[0] == outcome(theirs.serialize, {}, {"a": 1})[0] == "TypeError"
    nowhere = tmp_path / "no" / "x"
    kind, text = outcome(ours.serialize_file, {"a": ours.TensorSpec(**good)}, nowhere)
    their_kind, their_text = outcome(theirs.serialize_file, {"a": theirs.TensorSpec(**good)}, nowhere)
    assert kind == their_kind == "SafetensorError"
    assert their_text.startswith(text)


def test_types_that_numpy_lacks_fail_alike(tmp_path, python):
    program = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
for word, size in (("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1), ("F6_E2M3", None), ("F4", None)):
    header = '{"a":{"dtype":"%s","shape":[4],"data_offsets":[0,%d]}}' % (word, {None: 3 if "6" in word else 2}.get(size, 4 * (size or 0)))
    data = len(header).to_bytes(8, "little") + header.encode() + bytes(8)
    path = sys.argv[2] + word
    open(path, "wb").write(data[: 8 + len(header) + ({None: 3 if "6" in word else 2}.get(size, 4 * (size or 0)))])
    try:
        with module.safe_open(path, "np") as file:
            print(word, file.get_tensor("a"))
    except Exception as error:
        print(word, type(error).__name__, error)
"""  # noqa: E501
    expected = python(program, "safetensors", tmp_path / "t")
    assert python(program, "tenure.safetensors", tmp_path / "t") == expected


def test_torch_module(torch, tmp_path):
    import safetensors.torch as their_torch

    import tenure.safetensors.torch as our_torch

    words = ["float32", "bfloat16", "float16", "float64", "int64", "uint8", "bool", "complex64", "float8_e4m3fn",
             "float8_e5m2", "uint16", "float8_e8m0fnu", "float4_e2m1fn_x2"]  # fmt: skip
    tensors = {}
    for at, word in enumerate(word for word in words if hasattr(torch, word)):
        dtype = getattr(torch, word)
        raw = (torch.arange(96, dtype=torch.uint8) % 2) * (1 if word == "bool" else at + 1)
        tensors[word] = raw.view(dtype).reshape(2, -1) if word != "bool" else raw.to(dtype)
    expected = their_torch.save(tensors, {"format": "pt"})
    assert our_torch.save(tensors, {"format": "pt"}) == expected
    path = tmp_path / "t.safetensors"
    our_torch.save_file(tensors, path, {"format": "pt"})
    assert path.read_bytes() == expected
    for loaded in (our_torch.load_file(path), our_torch.load_file(path, backend="pread"), our_torch.load(expected)):
        assert set(loaded) == set(tensors)
        for name, tensor in tensors.items():
            assert loaded[name].dtype == tensor.dtype
            assert loaded[name].shape == tensor.shape
            assert bytes(loaded[name].view(torch.uint8).numpy()) == bytes(tensor.view(torch.uint8).numpy())
    wrong = [
        [1],
        {"a": 3},
        {"a": torch.zeros(4, 4).T, "b": torch.zeros(2)},
        {"a": torch.zeros(4).to_sparse()},
        (lambda t: {"a": t, "b": t})(torch.zeros(4)),
    ]
    for value in wrong:
        kind, text = outcome(our_torch.save, value)
        their_kind, their_text = outcome(their_torch.save, value)
        assert kind == their_kind
        assert sorted(text) == sorted(their_text)  # a set in it is shown in any order


def test_torch_models(torch, tmp_path):
    import safetensors.torch as their_torch

    import tenure.safetensors.torch as our_torch

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 3)
            self.b = self.a
            self.c = torch.nn.Linear(3, 2)

    model = Tied()
    their_torch.save_model(model, tmp_path / "t.safetensors")
    our_torch.save_model(model, tmp_path / "o.safetensors")
    mine, its = ours.safe_open(tmp_path / "o.safetensors", "np"), theirs.safe_open(tmp_path / "t.safetensors", "np")
    assert mine.metadata() == its.metadata()
    assert mine.keys() == its.keys()
    other = Tied()
    assert our_torch.load_model(other, tmp_path / "t.safetensors") == their_torch.load_model(
        Tied(), tmp_path / "o.safetensors"
    )
    assert torch.equal(other.a.weight, model.a.weight)
    small = torch.nn.Linear(3, 2)
    assert outcome(our_torch.load_model, small, tmp_path / "o.safetensors") == outcome(
        their_torch.load_model, small, tmp_path / "o.safetensors"
    )
