"""transformers, diffusers, accelerate and spandrel with Tenure underneath: same weights, results and files.

The models are made and run by peer_models.py, each time in a process of its own.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tenure

LIBRARIES = ("torch", "transformers", "diffusers", "accelerate", "spandrel", "safetensors")
for library in LIBRARIES:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed", allow_module_level=True)

PROGRAM = Path(__file__).with_name("peer_models.py")


def run(*arguments):
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """What was seen without Tenure, and with it installed before and after the libraries were imported."""
    place = tmp_path_factory.mktemp("models")
    run("make", place / "models")
    found = {}
    for when in ("never", "before", "after"):
        found[when] = json.loads(run("load", place / "models", place / when, when).splitlines()[-1])
    return place, found


@pytest.mark.parametrize("when", ["before", "after"])
def test_models_have_the_same_weights_and_give_the_same(sides, when):
    _, found = sides
    expected, ours = found["never"]["digests"], found[when]["digests"]
    assert ours.keys() == expected.keys()
    assert len(ours) == 20
    for name, one in ours.items():
        assert one["weights"] == expected[name]["weights"], name
        assert one["moved"] == expected[name]["moved"], name
        assert one["as loaded"] == one["moved"], f"{name}: its memory is less aligned than torch's own"


@pytest.mark.parametrize("when", ["before", "after"])
def test_models_are_saved_as_the_same_files(sides, when):
    place, _ = sides
    expected, ours = (
        {path.relative_to(place / side): path.read_bytes() for path in (place / side).rglob("*") if path.is_file()}
        for side in ("never", when)
    )
    assert sorted(ours) == sorted(expected)
    assert sum(path.suffix == ".safetensors" for path in ours) > 40
    assert [path for path, data in ours.items() if data != expected[path]] == []
    assert all(tenure.probe(place / when / path)["error"] is None for path in ours if path.suffix == ".safetensors")


@pytest.mark.parametrize("when", ["before", "after"])
def test_names_that_the_libraries_bound_are_replaced(sides, when):
    _, found = sides
    theirs = found["never"]["bound"]["safetensors"]
    assert {name.partition(".")[0] for name in theirs} == {"transformers", "diffusers", "accelerate", "spandrel"}
    assert found[when]["bound"] == {"safetensors": [], "tenure": theirs}


@pytest.mark.parametrize("when", ["before", "after"])
def test_every_file_went_through_tenure(sides, when):
    place, found = sides
    files = list((place / when).rglob("*.safetensors"))
    assert found[when]["calls"]["saved"] == len(files)
    assert found[when]["calls"]["opened"] >= len(files)
