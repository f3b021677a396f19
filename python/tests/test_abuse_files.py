"""What happens to files while they are read: cut, replaced, deleted, cut off from their disk. Each case is a process of
its own, which must end well; in the original, 21 of such processes ended by SIGBUS."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from abuse import WAYS
from conftest import TOP

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


def test_a_file_that_was_cut_is_refused_and_what_was_read_stays(model, way, abuse):
    program = """
file = Opened()
held, part = file.get("t1"), file.part("t1", slice(2, 9))
os.truncate(path, 1 << 20)
print(refused(file.get, "t2") is not None, refused(file.part, "t3", slice(0, 4)) is not None, refused(load) is not None)
print(total(held), total(part))
"""
    assert abuse(program, model, way) == f"True True True\n{float(1 << 20)} 7.0\n"


def test_a_file_that_is_cut_while_it_is_loaded(tmp_path, way, abuse):
    size = 512 << 20
    header = f'{{"a":{{"dtype":"U8","shape":[{size}],"data_offsets":[0,{size}]}}}}'.encode()
    program = f"""
with open(path, "wb") as file:
    file.write({len(header).to_bytes(8, "little")!r} + {header!r})
    file.truncate({8 + len(header) + size})
def cut():
    time.sleep(0.01)
    os.truncate(path, 4096)
thread = threading.Thread(target=cut)
thread.start()
try:
    loaded = load()
    print("read", total(loaded["a"]))
except REFUSALS:
    print("refused")
thread.join()
"""
    assert abuse(program, tmp_path / "big.safetensors", way) in ("refused\n", "read 0.0\n")


def test_a_file_that_is_overwritten_is_refused_and_never_a_mixture(model, way, abuse):
    program = """
file = Opened()
held = file.get("t1")
with open(path, "r+b") as changed:
    changed.seek(-8 << 20, 2)
    changed.write(b"\\xff" * (8 << 20))
print(total(held), refused(file.get, "t3") is not None)
"""
    assert abuse(program, model, way) == f"{float(1 << 20)} True\n"


def test_a_file_that_is_replaced_or_deleted(model, way, abuse):
    """The drop-in reads on what it opened, as the original does; otherwise it is that or a refusal."""
    shutil.copy(model, str(model) + ".other")
    program = """
for act in (lambda: os.replace(path + ".other", path), lambda: os.unlink(path)):
    file = Opened()
    held = file.get("t0")
    act()
    how = refused(file.get, "t2")
    print(total(held), how is None or way in ("own", "lazy", "pt-own") and how in ("FileChanged", "FileNotFoundError"))
"""
    assert abuse(program, model, way) == f"{float(1 << 20)} True\n" * 2


def test_a_file_is_saved_over_itself_while_it_is_held(model, way, abuse):
    program = """
file = Opened()
held = {name: file.get(name) for name in ("t0", "t1")}
tenure.save({"t0": np.zeros(3)}, path)
tenure.save(tenure.open(path), path)
print(total(held["t0"]) + total(held["t1"]), len(tenure.open(path)))
"""
    assert abuse(program, model, way) == f"{float(2 << 20)} 1\n"


def test_four_bytes_of_40_gib_under_a_small_limit(tmp_path, way, abuse):
    size = 40 << 30
    header = f'{{"a":{{"dtype":"U8","shape":[{size}],"data_offsets":[0,{size}]}}}}'.encode()
    with open(tmp_path / "sparse.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)
    program = """
import resource
limit = 512 << 20 if not way.startswith("pt") else memory("VmData") + (512 << 20)  # torch alone holds more
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
file = Opened()
print(file.part("a", slice(-4, None) if way != "pt-pread" else slice(8, 12)).tolist(), refused(file.get, "a"))
"""
    assert abuse(program, tmp_path / "sparse.safetensors", way) == "[0, 0, 0, 0] MemoryRefused\n"


# ---- a disk that goes ----


@pytest.fixture(scope="module")
def netfs(tmp_path_factory):
    """The file system of tests/support that behaves like one behind a network."""
    program = os.environ.get("TENURE_NETFS")
    if program is None:
        program = tmp_path_factory.mktemp("netfs") / "netfs"
        source = TOP / "tests/support/netfs_posix.c"
        if shutil.which("cc") is None or shutil.which("pkg-config") is None:
            pytest.skip("there is no C compiler to build netfs with")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True)
        if flags.returncode:
            pytest.skip("there is no FUSE here")
        command = ["cc", "-D_GNU_SOURCE", str(source), "-o", str(program), *flags.stdout.split()]
        subprocess.run(command, check=True)
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("there is no FUSE here")
    return str(program)


@pytest.fixture
def mounted(netfs, tmp_path):
    """A folder behind such a file system, with a model in it."""
    backing, net = tmp_path / "backing", tmp_path / "net"
    backing.mkdir()
    net.mkdir()
    tenure.save({f"t{i}": np.ones(1 << 20, np.float32) for i in range(4)}, backing / "m.safetensors")
    server = subprocess.Popen([netfs, backing, net, "0"], stderr=subprocess.PIPE)
    try:
        for _ in range(500):
            if os.path.ismount(net):
                break
            if server.poll() is not None:
                pytest.skip(f"nothing can be mounted here: {server.stderr.read().decode(errors='replace')}")
            time.sleep(0.01)
        yield net / "m.safetensors"
    finally:
        server.kill()
        server.wait(10)
        server.stderr.close()
        subprocess.run(["umount", "-l", str(net)], capture_output=True)


def test_a_disk_that_reads_no_more(mounted, way, abuse):
    program = """
file = Opened()
held = file.get("t1")
wire = os.path.join(os.path.dirname(path), "..", "backing", ".netfs-eio")
open(wire, "w").close()
how = refused(file.get, "t2"), refused(file.part, "t3", slice(0, 4))
print(total(held), None not in how, refused(load) is not None, refused(Opened) is not None)
os.unlink(wire)
print(total(file.get("t2")), refused(load))
"""
    expected = f"{float(1 << 20)} True True True\n{float(1 << 20)} None\n"
    assert abuse(program, mounted, way) == expected


def test_a_disk_that_is_taken_away(mounted, way, abuse):
    program = """
import subprocess
file = Opened()
held = file.get("t1")
subprocess.run(["umount", "-l", os.path.dirname(path)], check=True)
print(total(held), refused(Opened) is not None, refused(load) is not None)
refused(file.get, "t2")
"""
    assert abuse(program, mounted, way) == f"{float(1 << 20)} True True\n"


def test_a_server_that_dies(mounted, way, abuse):
    program = """
import signal
file = Opened()
held = file.get("t1")
for entry in os.listdir("/proc"):
    if entry.isdigit():
        try:
            command = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\\0")
        except OSError:
            continue
        if len(command) > 2 and command[2] == os.fsencode(os.path.dirname(path)):
            os.kill(int(entry), signal.SIGKILL)
time.sleep(0.2)
print(total(held), refused(file.get, "t2") is not None, refused(Opened) is not None)
"""
    assert abuse(program, mounted, way) == f"{float(1 << 20)} True True\n"


def test_folders_pipes_and_devices_are_refused(tmp_path, way, abuse):
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "empty.safetensors").touch()
    (tmp_path / "folder.safetensors").mkdir()
    program = """
import abuse
for name in ("pipe", "empty", "folder", "nothing"):
    abuse.path = os.path.join(base, name + ".safetensors")
    print(refused(Opened) is not None)
abuse.path = "/dev/null"
print(refused(Opened) is not None)
"""
    said = abuse(f"base = {str(tmp_path)!r}\n" + program, Path("/dev/zero"), way)
    assert said == "True\n" * 5
