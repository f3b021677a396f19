"""What programs do to a library: each in a process of its own, which must end well."""

import numpy as np
import pytest

import tenure


@pytest.fixture
def model(tmp_path):
    tenure.save({f"t{i}": np.full(300_000, i, np.float32) for i in range(20)}, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def test_forked_children_read_what_they_had_and_more(model, python):
    program = """
import os, sys, numpy as np, tenure
weights = tenure.open(sys.argv[1])
array, lease, tensor = weights["t3"].to_numpy(), weights["t4"].lease(), weights["t5"]
view = weights["t6"].lease(view=True)
pid = os.fork()
if pid == 0:
    assert array[0] == 3 and np.frombuffer(lease, np.float32)[-1] == 4 and np.frombuffer(view, np.float32)[0] == 6
    assert tensor.to_numpy()[0] == 5
    assert weights["t7"].to_numpy()[7] == 7 and len(tenure.load(sys.argv[1], framework="numpy")) == 20
    del array, lease, tensor, weights, view
    sys.exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
assert weights["t7"].to_numpy()[0] == 7 and array[1] == 3
print("well")
"""
    assert python(program, model) == "well\n"


def test_a_forked_child_notices_another_file(model, python):
    program = """
import os, sys, numpy as np, tenure
weights = tenure.open(sys.argv[1])
pid = os.fork()
if pid == 0:
    tenure.save({"t7": np.zeros(1)}, sys.argv[1])
    try:
        weights["t7"].lease()
    except tenure.FileChanged as error:
        os._exit(5)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert python(program, model) == "5\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(model, tmp_path, method, python):
    (tmp_path / "work.py").write_text(
        "import tenure.safetensors.numpy as n\ndef read(path):\n    return float(n.load_file(path)['t9'].sum())\n"
    )
    program = f"""
import sys, multiprocessing
sys.path.insert(0, {str(tmp_path)!r})
import work
if __name__ == "__main__":
    work.read(sys.argv[1])
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        print(pool.map(work.read, [sys.argv[1]] * 4))
"""
    assert python(program, model) == "[2700000.0, 2700000.0, 2700000.0, 2700000.0]\n"


def test_the_interpreter_ends_with_live_tensors(model, python):
    program = """
import sys, numpy as np, tenure, threading, time
weights = tenure.open(sys.argv[1])
tensors = tenure.load(sys.argv[1], framework="numpy")
sys.kept = [tensors, weights, weights["t1"].lease(view=True), np.from_dlpack(weights["t2"].lease())]
sys.kept.append(weights["t1"].lease().__dlpack__())
def forever():
    while True:
        weights["t3"].to_numpy()
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
print("well")
"""
    for _ in range(3):
        assert python(program, model) == "well\n"


def test_the_interpreter_ends_with_live_torch_tensors(torch, model, python):
    program = """
import sys, torch, tenure
sys.kept = tenure.load(sys.argv[1]), torch.from_dlpack(tenure.open(sys.argv[1])["t2"].lease())
keep = tenure.LazyStateDict(sys.argv[1])
keep2 = dict(keep)
print("well")
"""
    assert python(program, model) == "well\n"


def test_rubbish_is_collected_in_every_order(model):
    import gc
    import itertools

    for order in itertools.permutations(range(4)):
        weights = tenure.open(model)
        lease = weights["t1"].lease()
        things = [weights, lease, np.asarray(memoryview(lease)), memoryview(lease)]
        del weights, lease
        for at in order:
            things[at] = None
            gc.collect(0)
        assert things == [None] * 4


def test_threads_share_a_checkpoint(model):
    from concurrent.futures import ThreadPoolExecutor

    weights = tenure.open(model)

    def read(i):
        return float(weights[f"t{i % 20}"].to_numpy()[i])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(400))) == [float(i % 20) for i in range(400)]


def test_objects_cannot_be_made_or_changed_by_hand():
    with pytest.raises(TypeError):
        tenure.Lease()
    with pytest.raises(TypeError):
        tenure._tenure.Checkpoint()
    with pytest.raises(TypeError):
        tenure.Lease.name = 3
    for call in (tenure._tenure.open, tenure._tenure.convert, tenure._tenure.Writer, tenure._tenure.join):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        tenure._tenure.Writer("x", [("a", "F32")], None)
    with pytest.raises(ValueError):
        tenure._tenure.convert(b"1234", "F32", bytearray(3), "F16")


def test_a_second_interpreter_is_refused_not_broken(python):
    program = """
try:
    import _xxsubinterpreters as sub
except ImportError:
    print("refused")
else:
    import tenure
    other = sub.create()
    try:
        sub.run_string(other, "import tenure")
    except Exception as error:
        print("refused")
"""
    assert "refused" in python(program)


def test_a_thousand_opens_leave_nothing(model, python):
    program = """
import sys, os, gc, tenure, tenure.safetensors as s
def work(n):
    for _ in range(n):
        with tenure.open(sys.argv[1]) as weights:
            weights["t1"][:4].read()
        with s.safe_open(sys.argv[1], "np") as file:
            file.get_slice("t2")[:4]
        try:
            s.safe_open(sys.argv[0] + "nothing", "np")
        except FileNotFoundError:
            pass
def rss():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
work(200)
before, files = rss(), len(os.listdir("/proc/self/fd"))
work(3000)
grown = 0 if "TENURE_SANITIZED" in os.environ else rss() - before
print(len(os.listdir("/proc/self/fd")) == files, grown < 2 << 20, tenure.memory()["used"] < 1 << 20)
"""
    assert python(program, model) == "True True True\n"
