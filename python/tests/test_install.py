"""tenure.install() and `python -m tenure run`: in the place of safetensors, also where names are bound already."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tenure

pytest.importorskip("safetensors", reason="safetensors is not installed")


@pytest.fixture
def model(tmp_path):
    tenure.save({"a": np.arange(3)}, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


APP = """
from safetensors import safe_open, SafetensorError
from safetensors.numpy import load_file as load
def read(path):
    with safe_open(path, framework="np") as f:
        return f.get_tensor("a"), load(path)["a"], safe_open.__module__, load.__module__, SafetensorError.__module__
"""
OURS = "tenure.safetensors._open tenure.safetensors.numpy tenure.safetensors._errors"


@pytest.mark.parametrize("before", [True, False])
def test_names_are_replaced_bound_before_or_after(before, model, tmp_path, python):
    (tmp_path / "app.py").write_text(APP)
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import tenure
{"import app" if before else ""}
assert tenure.install() and tenure.install()
import app, safetensors
one, two, *modules = app.read(sys.argv[1])
assert list(one) == list(two) == [0, 1, 2]
print(*modules)
print(safetensors.__version__, safetensors.serialize.__module__)
tenure.uninstall()
print(app.read(sys.argv[1])[3], app.safe_open is safetensors.safe_open, "tenure" not in app.safe_open.__module__)
"""
    lines = python(program, model).splitlines()
    assert lines[0] == OURS
    assert lines[1] == "0.8.0 tenure.safetensors._serialize"
    assert lines[2] == "safetensors.numpy True True"
    logged = [line for line in lines if "in the place of safetensors 0.8" in line]
    assert len(logged) == 1
    assert "TENURE_DISABLE=1" in logged[0]


def test_errors_are_caught_under_their_bound_names(tmp_path, python):
    (tmp_path / "bad.safetensors").write_bytes(b"xx")
    program = """
import sys
from safetensors import safe_open, SafetensorError
import tenure
tenure.install()
try:
    safe_open(sys.argv[1], "np")
except SafetensorError as error:
    print(error)
"""
    assert "header too small" in python(program, tmp_path / "bad.safetensors")


def test_disabled_and_unknown_versions_are_left_alone(python):
    program = "import tenure; print(tenure.install()); import safetensors; print(safetensors.safe_open.__module__)"
    assert python(program, TENURE_DISABLE="1").splitlines() == ["False", "builtins"]
    program = "import safetensors; safetensors.__version__ = '9.9'; " + program
    said = python(program)
    assert said.startswith("False\nbuiltins")
    assert "9.9 is not known" in said


def test_without_safetensors_tenure_stands_in(model, python):
    program = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "safetensors":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import importlib.util
importlib.util.find_spec = lambda name: None
import tenure
assert tenure.install()
from safetensors import safe_open
with safe_open(sys.argv[1], "np") as f:
    print(f.keys())
tenure.uninstall()
print("safetensors" in sys.modules)
"""
    assert python(program, model).splitlines()[:2] == ["['a']", "False"]


def test_importing_torch_is_left_to_the_program(python):
    program = "import sys, tenure; tenure.install(); print('torch' in sys.modules, 'numpy' in sys.modules)"
    assert python(program).startswith("False False")


def test_threads_may_import_and_read_meanwhile(model, python):
    program = """
import sys, threading, importlib
import safetensors, safetensors.numpy, tenure
stop, wrong = threading.Event(), []
def read():
    while not stop.is_set():
        try:
            with safetensors.safe_open(sys.argv[1], "np") as f:
                assert list(f.get_tensor("a")) == [0, 1, 2]
            assert list(safetensors.numpy.load_file(sys.argv[1])["a"]) == [0, 1, 2]
        except BaseException as error:
            wrong.append(repr(error))
            return
threads = [threading.Thread(target=read) for _ in range(4)]
[t.start() for t in threads]
for _ in range(50):
    tenure.install()
    tenure.uninstall()
stop.set()
[t.join() for t in threads]
print(wrong)
"""
    assert python(program, model).splitlines()[0] == "[]"


def run(*command, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tenure", *map(str, command)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_run_serves_scripts_modules_and_what_they_start(model, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        APP
        + "import subprocess, sys\n"
        + "print(*read(sys.argv[1])[2:])\n"
        + "sys.stdout.flush()\n"
        + "subprocess.run([sys.executable, '-c', 'import safetensors; print(safetensors.safe_open.__module__)'])\n"
        + "sys.exit(7)\n"
    )
    done = run("run", "--", script, model)
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines() == [OURS, "tenure.safetensors._open"]
    assert done.stderr.count("in the place of safetensors") == 2
    done = run("run", "--", "-c", "import safetensors; print(safetensors.safe_open.__module__)")
    assert done.stdout.strip() == "tenure.safetensors._open"
    done = run("run", "--", script, model, TENURE_DISABLE="1")
    assert "tenure" not in done.stdout


def test_run_runs_the_sitecustomize_it_hides(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('mine ran')")
    done = run(
        "run",
        "--",
        "-c",
        "print('then this')",
        PYTHONPATH=str(tmp_path) + os.pathsep + os.environ.get("PYTHONPATH", ""),
    )
    assert done.stdout.splitlines() == ["mine ran", "mine ran", "then this"]  # for the first Python, and for the second


def test_wrong_usage_says_how():
    assert run("run").returncode == 2
    assert run().returncode == 2
    assert "usage" in run("--help").stdout
    assert run("run", "--", "no-such-program-here").returncode == 127
    assert run("version").stdout.strip() == tenure.__version__


def test_probe_prints_json(model):
    import json

    assert json.loads(run("probe", model).stdout)["container"] == "safetensors"
