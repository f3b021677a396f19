"""tenure.load, tenure.save, tenure.aio and LazyStateDict."""

import asyncio
import copy
import gc
import json
import os
import pickle
import sys

import numpy as np
import pytest

import tenure


def test_load_gives_all_in_the_order_of_the_file(path, arrays):
    loaded = tenure.load(path, framework="numpy")
    assert list(loaded) == list(tenure.open(path))
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
    assert list(tenure.load(path, names=["half", "matrix"], framework="numpy")) == ["half", "matrix"]
    leases = tenure.load(path, framework="lease")
    assert isinstance(leases["half"], tenure.Lease)


def test_dtype_turns_floats_and_leaves_integers(path, arrays):
    loaded = tenure.load(path, framework="numpy", dtype="F16")
    np.testing.assert_array_equal(loaded["matrix"], arrays["matrix"].astype(np.float16))
    assert loaded["long"].dtype == np.int64
    assert loaded["flag"].dtype == bool
    with pytest.raises(ValueError, match="framework"):
        tenure.load(path, framework="pandas")


def test_progress_is_told_and_its_exception_ends_the_reading(tmp_path):
    tenure.save({f"t{i}": np.zeros(4 << 20, np.uint8) for i in range(8)}, tmp_path / "a.safetensors")
    told = []
    tenure.load(tmp_path / "a.safetensors", framework="numpy", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (32 << 20, 32 << 20)
    assert told == sorted(told)

    def stop(done, total):
        raise ZeroDivisionError("enough")

    before = tenure.memory()["used"]
    with pytest.raises(ZeroDivisionError, match="enough"):
        tenure.load(tmp_path / "a.safetensors", framework="numpy", progress=stop)
    with pytest.raises(ZeroDivisionError):
        tenure.open(tmp_path / "a.safetensors")["t0"].lease(progress=stop)
    gc.collect()
    assert tenure.memory()["used"] <= before
    tenure.load(tmp_path / "a.safetensors", framework="numpy", progress=True)


def test_torch_tensors(torch, path, arrays):
    loaded = tenure.load(path)
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name].numpy(), array)
    half = tenure.load(path, dtype=torch.bfloat16)
    assert half["matrix"].dtype == torch.bfloat16
    assert torch.equal(half["matrix"], torch.from_numpy(arrays["matrix"]).to(torch.bfloat16))
    assert tenure.open(path)["matrix"][2:4].to_torch(device="meta").shape == (2, 5)
    loaded["matrix"].add_(1)
    np.testing.assert_array_equal(tenure.open(path)["matrix"].to_torch().numpy(), arrays["matrix"])
    from_dlpack = torch.from_dlpack(tenure.open(path)["matrix"].lease())
    np.testing.assert_array_equal(from_dlpack.numpy(), arrays["matrix"])


def test_saving_what_was_opened_gives_the_same_bytes(path, tmp_path):
    weights = tenure.open(path)
    tenure.save(weights, tmp_path / "again.safetensors", metadata=weights.metadata)
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
    tenure.save(weights, path, metadata=weights.metadata)  # over itself
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_saving_writes_what_safetensors_writes(path, arrays, tmp_path):
    original = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    original.save_file(arrays, tmp_path / "s.safetensors", metadata={"title": "a test"})
    tenure.save(arrays, tmp_path / "t.safetensors", metadata={"title": "a test"})
    assert (tmp_path / "s.safetensors").read_bytes() == (tmp_path / "t.safetensors").read_bytes()


def test_arrays_of_any_layout_are_saved_as_their_values(tmp_path):
    array = np.arange(12, dtype=">i4").reshape(3, 4).T[::-1]
    tenure.save({"a": array}, tmp_path / "a.safetensors")
    np.testing.assert_array_equal(tenure.open(tmp_path / "a.safetensors")["a"].to_numpy(), array)


class Broken:
    """An array that can be asked for once, and not when it shall be written."""

    asked = 0

    def __array__(self, dtype=None, copy=None):
        self.asked += 1
        return np.zeros(3) if self.asked == 1 else 1 / 0


def test_what_cannot_be_saved_leaves_the_old_file(path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="wrong"):
        tenure.save({"good": np.zeros(3), "wrong": "text"}, path)
    with pytest.raises(TypeError):
        tenure.save({"a": np.zeros(3)}, path, metadata={"a": 1})
    with pytest.raises(ValueError):
        tenure.save({"__metadata__": np.zeros(3)}, path)
    with pytest.raises(ZeroDivisionError) as kept:
        tenure.save({"a": np.zeros(3), "b": Broken()}, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name], kept
    with pytest.raises(OSError):
        tenure.save({"a": np.zeros(3)}, tmp_path / "nothing" / "a.safetensors")


def test_saving_an_opened_file_holds_one_tensor_at_a_time(tmp_path, python):
    tenure.save({f"t{i}": np.full(1 << 20, i, np.uint8) for i in range(16)}, tmp_path / "a.safetensors")
    program = """
import sys, tenure
tenure.save(tenure.open(sys.argv[1]), sys.argv[2])
print(tenure.memory()["high_water"] < 6 << 20)
"""
    assert python(program, tmp_path / "a.safetensors", tmp_path / "b.safetensors", TENURE_MEMORY="8M") == "True\n"
    assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()


def test_an_unfinished_file_leaves_nothing(tmp_path):
    writer = tenure._tenure.Writer(tmp_path / "a", [("x", "U8", (4,))], None)
    writer.put(0, b"12")
    with pytest.raises(ValueError, match="x"):
        writer.finish()
    with pytest.raises(ValueError):
        writer.put(0, b"345")
    with pytest.raises(ValueError):
        writer.put(1, b"")
    with pytest.raises(ValueError):
        writer.put(-1, b"")
    del writer
    assert list(tmp_path.iterdir()) == []
    writer = tenure._tenure.Writer(tmp_path / "a", [("x", "U8", (4,))], None)
    writer.put(0, b"1234")
    writer.finish()
    with pytest.raises(ValueError, match="finished"):
        writer.finish()


def test_async_calls(path, arrays, tmp_path):
    async def work():
        weights = await tenure.aio.open(path)
        loaded = await tenure.aio.load(path, framework="numpy")
        answer = await tenure.aio.probe(path)
        await tenure.aio.save(loaded, tmp_path / "b.safetensors")
        await tenure.aio.convert(path, tmp_path / "c.safetensors", "F64", progress=True)
        matrix = weights["matrix"]
        lease = await tenure.aio.lease(matrix[2:4])
        assert bytes(lease) == await tenure.aio.read(matrix[2:4]) == arrays["matrix"][2:4].tobytes()
        half = await tenure.aio.to_numpy(matrix, dtype="F64")
        turned = (await tenure.aio.load(tmp_path / "c.safetensors", framework="numpy", progress=True))["matrix"]
        assert (turned == half).all()
        assert turned.dtype == np.float64
        return len(weights), loaded["matrix"], answer["state"]

    count, matrix, state = asyncio.run(work())
    assert (count, state) == (10, "unknown")
    np.testing.assert_array_equal(matrix, arrays["matrix"])


def test_a_cancelled_task_stops_the_reading(tmp_path):
    tenure.save({f"t{i}": np.zeros(4 << 20, np.uint8) for i in range(16)}, tmp_path / "a.safetensors")

    async def work():
        started = asyncio.Event()
        loop = asyncio.get_running_loop()
        reading = asyncio.create_task(
            tenure.aio.load(
                tmp_path / "a.safetensors",
                framework="numpy",
                progress=lambda done, total: loop.call_soon_threadsafe(started.set),
            )
        )
        await started.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(work())


# ---- a budget for one call ----


@pytest.mark.parametrize(
    ("size", "number"),
    [
        (0, 0),
        (7, 7),
        ("7", 7),
        ("7B", 7),
        ("2K", 2048),
        ("2kB", 2048),
        ("3MiB", 3 << 20),
        ("2G", 2 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes_are_read_as_people_write_them(size, number):
    from tenure._budget import read_size

    assert read_size(size) == number


@pytest.mark.parametrize("size", ["", "much", "G", "-1", "1.5G", "2Gi", "iB", "2iB", "1 G B", -1, True, 1.5, b"2G"])
def test_what_is_no_size_is_said(size, path):
    with pytest.raises(ValueError, match="is no size"):
        tenure.load(path, framework="numpy", budget=size)


@pytest.fixture
def wide(tmp_path):
    """Eight tensors of 4 MiB."""
    tenure.save({f"t{i}": np.full(1 << 20, i, np.float32) for i in range(8)}, tmp_path / "wide.safetensors")
    return tmp_path / "wide.safetensors"


def test_a_load_over_its_budget_is_refused_before_anything_is_read(wide):
    before = tenure.memory()["read"]
    with pytest.raises(tenure.MemoryRefused, match="nothing was read") as refused:
        tenure.load(wide, framework="numpy", budget="31M")
    header = wide.stat().st_size - (32 << 20)
    assert tenure.memory()["read"] - before <= header + 4096
    assert isinstance(refused.value, MemoryError)
    assert 32 << 20 <= refused.value.found < 33 << 20
    assert refused.value.expected == 31 << 20
    assert refused.value.file == str(wide)
    assert len(tenure.load(wide, framework="numpy", budget="33M")) == 8
    assert len(tenure.load(wide, framework="numpy", budget="5M", names=["t3"])) == 1


@pytest.mark.parametrize(("dtype", "held"), [("F16", 16 << 20), ("F64", 64 << 20), ("F32", 32 << 20)])
def test_turned_tensors_are_counted_as_what_they_become(wide, dtype, held):
    passing = 0 if dtype == "F32" else 4 << 20  # one lease at a time is held twice
    with pytest.raises(tenure.MemoryRefused) as refused:
        tenure.load(wide, framework="numpy", dtype=dtype, budget=held + passing - 1)
    assert held + passing <= refused.value.found < held + passing + (1 << 20)
    loaded = tenure.load(wide, framework="numpy", dtype=dtype, budget=refused.value.found)
    assert [float(array[-1]) for array in loaded.values()] == [float(i) for i in range(8)]


def test_a_turning_load_holds_no_more_than_its_budget(tmp_path, python):
    """512 MiB that become 256; beside the budget there are memory kept for the next leases and the libraries' own."""
    size = 16 << 20
    spans = {f"t{i}": [i * size, (i + 1) * size] for i in range(32)}
    entries = {name: {"dtype": "F32", "shape": [size // 4], "data_offsets": span} for name, span in spans.items()}
    header = json.dumps(entries).encode()
    with open(tmp_path / "a.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 32 * size)
    program = """
import re, sys, tenure, numpy
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
before = peak()
loaded = tenure.load(sys.argv[1], framework="numpy", dtype="F16", budget="288M")
print(sum(a.nbytes for a in loaded.values()), peak() - before <= 340 << 20)
"""
    said = python(program, tmp_path / "a.safetensors")
    if "TENURE_SANITIZED" not in os.environ:
        assert said == f"{256 << 20} True\n"


def test_turned_tensors_fill_the_budget_of_the_process(wide, python):
    program = """
import sys, tenure
kept = tenure.load(sys.argv[1], framework="numpy", dtype="F16")
try:
    tenure.load(sys.argv[1], framework="numpy", dtype="F16")
except tenure.MemoryRefused as refusal:
    print(refusal.expected < 20 << 20)
del kept
print(len(tenure.load(sys.argv[1], framework="numpy", dtype="F16")))
"""
    assert python(program, wide, TENURE_MEMORY="34M") == "True\n8\n"


def test_what_threads_turned_is_counted_until_it_is_gone(wide):
    from concurrent.futures import ThreadPoolExecutor

    from tenure import _tenure

    def counted():
        return _tenure.memory()["used"]

    gc.collect()
    before = counted()
    with ThreadPoolExecutor(8) as pool:
        kept = list(
            pool.map(lambda i: tenure.load(wide, framework="numpy", dtype="F16", names=[f"t{i % 8}"]), range(64))
        )
    assert 64 * (2 << 20) <= counted() - before <= (64 * 2 + 4 * 32) << 20  # memory is taken in regions of 32 MiB
    del kept
    gc.collect()
    assert counted() - before < 64 << 10  # what is noted of memory that is kept


def test_another_device_needs_room_for_one_tensor(torch, wide):
    loaded = tenure.load(wide, device="meta", budget="5M")
    assert loaded["t7"].shape == (1 << 20,)
    assert len(tenure.load(wide, device=torch.device("meta"), dtype="F64", budget="13M")) == 8
    with pytest.raises(tenure.MemoryRefused):
        tenure.load(wide, device="meta", budget="3M")
    with pytest.raises(tenure.MemoryRefused):
        tenure.load(wide, device=torch.device("cpu"), budget="5M")


# ---- another element type on the way from file to file ----


def test_convert_turns_floats_and_keeps_the_rest(path, arrays, tmp_path):
    tenure.convert(path, tmp_path / "half.safetensors", "F16")
    half = tenure.open(tmp_path / "half.safetensors")
    assert half.metadata == tenure.open(path).metadata
    assert set(half) == set(arrays)
    for name, array in arrays.items():
        wanted = array.astype(np.float16) if array.dtype.kind == "f" else array
        assert half[name].to_numpy().dtype == wanted.dtype
        np.testing.assert_array_equal(half[name].to_numpy(), wanted)


def test_convert_takes_some_and_its_own_place(path, arrays):
    told = []
    with tenure.open(path) as weights:
        tenure.convert(
            weights, path, np.float64, names=["half", "long"], metadata={}, progress=lambda *n: told.append(n)
        )
    again = tenure.open(path)
    assert (set(again), again.metadata) == ({"half", "long"}, {})
    np.testing.assert_array_equal(again["half"].to_numpy(), arrays["half"].astype(np.float64))
    assert told[-1] == (136, 136)


def test_convert_reads_big_tensors_in_pieces(tmp_path, monkeypatch):
    from tenure import _save

    monkeypatch.setattr(_save, "PIECE_BYTES", 100)
    array = np.random.default_rng(3).standard_normal((3, 1, 7, 11)).astype(np.float32)
    tenure.save({"a": array, "s": np.float32(2), "e": np.zeros((0, 9), np.float32)}, tmp_path / "a.safetensors")
    tenure.convert(tmp_path / "a.safetensors", tmp_path / "b.safetensors", "BF16")
    tenure.convert(tmp_path / "b.safetensors", tmp_path / "c.safetensors", "F32")
    rounded = tenure.open(tmp_path / "a.safetensors")["a"].to_numpy(dtype="F32")
    bits = rounded.view(np.uint32)  # to the nearest, ties to even
    wanted = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)
    converted = tenure.load(tmp_path / "c.safetensors", framework="numpy")
    np.testing.assert_array_equal(converted["a"], wanted)
    assert (converted["s"], converted["e"].shape) == (2, (0, 9))


def test_convert_needs_little_memory(tmp_path, python):
    tenure.save({"a": np.ones((64, 1 << 20), np.float32)}, tmp_path / "a.safetensors")
    program = """
import sys, tenure
tenure.convert(sys.argv[1], sys.argv[2], "F16")
print(tenure.memory()["high_water"] < 110 << 20, tenure.open(sys.argv[2])["a"][63, -1].to_numpy())
"""
    said = python(program, tmp_path / "a.safetensors", tmp_path / "b.safetensors", TENURE_MEMORY="128M")
    assert said == "True 1.0\n"


def test_a_conversion_that_ends_early_leaves_the_old_file(path, tmp_path):
    before = path.read_bytes()

    def stop(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tenure.convert(path, path, "F16", progress=stop)
    with pytest.raises(ValueError, match="element type"):
        tenure.convert(path, path, "F17")
    with pytest.raises(tenure.TenureError) as refused:
        tenure.convert(path, path, "C64", names=["matrix"])
    assert refused.value.status == "unsupported"
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


# ---- errors ----


def test_errors_are_one_tree_and_travel_with_their_numbers():
    import builtins

    names = [name for name in vars(tenure.errors) if isinstance(getattr(tenure.errors, name), type)]
    assert len(names) >= 14
    for name in names:
        error = tenure.errors.from_status(name, "busy", "a word", "file", "tensor", 1, 2, 3)
        assert isinstance(error, tenure.TenureError)
        assert isinstance(error, getattr(builtins, name, Exception))
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error) == "file: tensor: a word"
        assert (again.offset, again.expected, again.found, again.status) == (1, 2, 3, "busy")
    assert issubclass(tenure.MemoryRefused, MemoryError)


# ---- the lazy state dict ----


def test_a_lazy_dict_is_a_dict(path, arrays):
    lazy = tenure.LazyStateDict(path, framework="numpy")
    assert isinstance(lazy, dict)
    assert list(lazy) == list(lazy.keys()) == list(tenure.open(path))
    assert len(lazy) == 10
    assert "matrix" in lazy
    for name, value in lazy.items():
        np.testing.assert_array_equal(value, arrays[name])
    for value, name in zip(lazy.values(), lazy, strict=True):
        np.testing.assert_array_equal(value, arrays[name])
    for plain in (dict(lazy), {**lazy}, dict(lazy.items()), lazy | {}, {} | lazy):
        assert list(plain) == list(lazy)
        np.testing.assert_array_equal(plain["half"], arrays["half"])


def test_nothing_is_read_before_it_is_touched(path):
    lazy = tenure.LazyStateDict(path, framework="numpy")
    before = tenure.memory()["read"]
    assert lazy.tensor("matrix").shape == (10, 5)
    assert lazy.copy().keys() == lazy.keys()
    assert lazy.get("nothing") is None
    assert tenure.memory()["read"] == before
    lazy["matrix"]
    assert tenure.memory()["read"] > before


def test_a_tensor_is_given_up_when_nobody_holds_it(path):
    lazy = tenure.LazyStateDict(path, framework="numpy")
    held = lazy["matrix"]
    assert lazy["matrix"] is held
    used = tenure.memory()["used"]
    del held
    gc.collect()
    assert tenure.memory()["used"] < used


def test_a_lazy_dict_can_be_changed(path, arrays):
    lazy = tenure.LazyStateDict(path, framework="numpy")
    np.testing.assert_array_equal(lazy.pop("half"), arrays["half"])
    assert "half" not in lazy
    assert lazy.pop("half", 5) == 5
    with pytest.raises(KeyError):
        lazy.pop("half")
    lazy["mine"] = 3
    lazy.update({"other": 4}, more=5)
    assert (lazy["mine"], lazy["other"], lazy["more"]) == (3, 4, 5)
    assert lazy.setdefault("mine", 9) == 3
    assert lazy.setdefault("new", 9) == 9
    assert lazy.popitem() == ("new", 9)
    copied = copy.copy(lazy)
    del lazy["matrix"]
    np.testing.assert_array_equal(copied["matrix"], arrays["matrix"])
    with pytest.raises(KeyError):
        lazy.tensor("mine")
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(lazy)
    deep = copy.deepcopy(copied)
    assert type(deep) is dict


def test_copies_share_what_is_held(path, arrays):
    lazy = tenure.LazyStateDict(path, framework="numpy")
    copied = lazy.copy()
    other = tenure.LazyStateDict(path, framework="numpy")
    other.clear()
    before = tenure.memory()["read"]
    other.update(lazy)
    assert tenure.memory()["read"] == before
    held = lazy["matrix"]
    assert copied["matrix"] is held
    held += 1
    assert copied["matrix"][0, 0] == arrays["matrix"][0, 0] + 1
    del held
    gc.collect()
    np.testing.assert_array_equal(lazy["matrix"], arrays["matrix"])
    np.testing.assert_array_equal(other["matrix"], arrays["matrix"])


def test_a_lazy_dict_goes_where_dicts_go(path, arrays):
    lazy = tenure.LazyStateDict(path, framework="numpy")
    names = list(arrays)
    assert list(reversed(lazy)) == [name for name, _ in reversed(lazy.items())] == list(lazy)[::-1]
    assert len(list(reversed(lazy.values()))) == 10
    assert type(lazy.fromkeys(["a"], 1)) is dict

    def keywords(**tensors):
        return tensors

    plain = lazy.copy()
    del plain["ünï.wéight"]
    for mapping in (keywords(**plain), dict(plain, more=1), {} | plain, {**plain}):
        np.testing.assert_array_equal(mapping["half"], arrays["half"])
    everything: dict = {}
    everything.update(lazy)
    assert sorted(everything) == sorted(names)
    assert all(isinstance(value, (np.ndarray, np.generic)) for value in everything.values())
    changed = tenure.LazyStateDict(path, framework="numpy")
    for name in changed:
        changed[name] = changed[name].astype(np.complex128)
    assert {value.dtype.name for value in changed.values()} == {"complex128"}
    walk = iter(changed)
    changed.pop(next(walk))
    with pytest.raises(RuntimeError, match="changed size"):
        next(walk)


def test_a_module_takes_a_lazy_dict(torch, tmp_path):
    model = torch.nn.Linear(3, 2)
    tenure.save(model.state_dict(), tmp_path / "m.safetensors")
    other = torch.nn.Linear(3, 2)
    other.load_state_dict(tenure.LazyStateDict(tmp_path / "m.safetensors"))
    assert torch.equal(model.weight, other.weight)


def test_a_bar_needs_no_tqdm(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert len(tenure.load(path, framework="numpy", progress=True)) == 10
