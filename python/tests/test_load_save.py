"""tenure.load, tenure.save, tenure.aio and LazyStateDict."""

import asyncio
import copy
import gc
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


def test_what_cannot_be_saved_leaves_the_old_file(path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="wrong"):
        tenure.save({"good": np.zeros(3), "wrong": "text"}, path)
    with pytest.raises(TypeError):
        tenure.save({"a": np.zeros(3)}, path, metadata={"a": 1})
    with pytest.raises(ValueError):
        tenure.save({"__metadata__": np.zeros(3)}, path)
    assert path.read_bytes() == before
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


def test_a_module_takes_a_lazy_dict(torch, tmp_path):
    model = torch.nn.Linear(3, 2)
    tenure.save(model.state_dict(), tmp_path / "m.safetensors")
    other = torch.nn.Linear(3, 2)
    other.load_state_dict(tenure.LazyStateDict(tmp_path / "m.safetensors"))
    assert torch.equal(model.weight, other.weight)


def test_a_bar_needs_no_tqdm(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert len(tenure.load(path, framework="numpy", progress=True)) == 10
