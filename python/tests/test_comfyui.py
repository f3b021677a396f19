"""The integration of ComfyUI.

ComfyUI is in no package registry, so these tests hold Tenure against stand-ins (stand_ins/comfyui): modules of our own
that carry the names and parameters of ComfyUI's loader functions. They show that the integration finds, replaces and
sets back functions of these names, and what it makes of files; they cannot show what a release does with tensors.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tenure

pytest.importorskip("safetensors", reason="safetensors is not installed")
HERE = Path(__file__).resolve().parent
APPLICATION = HERE / "stand_ins/comfyui"
CUSTOM_NODE = Path(tenure.__file__).parent / "integrations/comfyui/custom_nodes/tenure_models/__init__.py"


@pytest.fixture
def models(tmp_path):
    """A folder of models: one that the application knows, one that nobody knows, a LoRA, and one that is cut."""
    sys.path.insert(0, str(HERE.parent.parent / "tests/support"))
    import tenure_files

    for name in ("checkpoints", "loras", "configs"):
        (tmp_path / name).mkdir()
    (tmp_path / "configs/v1.yaml").touch()
    tensors = {"known": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(4, np.float16)}
    tenure.save(tensors, tmp_path / "checkpoints/known.safetensors", metadata={"title": "x"})
    tenure.save({"mystery.weight": np.zeros((3, 4), np.float32)}, tmp_path / "checkpoints/mystery.safetensors")
    whole = (tmp_path / "checkpoints/known.safetensors").read_bytes()
    (tmp_path / "checkpoints/cut.safetensors").write_bytes(whole[:-7])
    lora = [
        (f"{module}.{part}", "F16", shape)
        for module, inputs, outputs in tenure_files.lora_modules()
        for part, shape in (("lora_down.weight", (4, inputs)), ("lora_up.weight", (outputs, 4)), ("alpha", ()))
    ]
    tenure_files.write_safetensors(tmp_path / "loras/style.safetensors", lora)
    return tmp_path


@pytest.fixture
def comfy(models, python):
    """Run a program inside the stand-in of ComfyUI, in the folder of models."""

    def run(program, **environment):
        begin = f"import os, sys\nsys.path.insert(0, {str(APPLICATION)!r})\nos.chdir({str(models)!r})\n"
        return python(begin + program, MODELS=str(models), **environment)

    return run


LOAD_NODE = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("tenure_models", {str(CUSTOM_NODE)!r})
node = importlib.util.module_from_spec(spec)
spec.loader.exec_module(node)
"""


@pytest.mark.parametrize(
    "how",
    [
        "import folder_paths, comfy.sd\n" + LOAD_NODE,  # as ComfyUI does it
        LOAD_NODE + "import comfy.sd\n",
        "import tenure\ntenure.install()\nimport comfy.sd\n",
        "import comfy.sd, tenure\ntenure.install()\ntenure.install()\n",
        "import comfy.utils, tenure\ntenure.install()\nimport comfy.sd\n",
    ],
)
def test_loaders_are_replaced_before_and_after_and_set_back(comfy, how):
    program = how + (
        "import tenure, comfy.utils\n"
        "names = [comfy.utils.load_torch_file, comfy.sd.load_torch_file, comfy.sd.load_checkpoint_guess_config,\n"
        "         comfy.sd.load_diffusion_model, comfy.sd.load_clip]\n"
        "print([hasattr(name, '__wrapped__') for name in names])\n"
        "print(names[0].__name__, names[0] is names[1])\n"
        "tenure.uninstall()\n"
        "print(hasattr(comfy.utils.load_torch_file, '__wrapped__'), hasattr(comfy.sd.load_clip, '__wrapped__'))\n"
        "print(comfy.sd.load_torch_file is comfy.utils.load_torch_file)\n"
    )
    lines = comfy(program).splitlines()
    assert lines[:4] == [str([True] * 5), "load_torch_file True", "False False", "True"]
    logged = [line for line in lines if "of ComfyUI 0.0-stand-in" in line and "TENURE_DISABLE=1" in line]
    assert 1 <= len(logged) <= 2
    for name in ("comfy.utils.load_torch_file", "load_checkpoint_guess_config", "load_diffusion_model", "load_clip"):
        assert sum(line.count(name.rpartition(".")[2]) for line in logged) == 1


def test_disabled_it_does_nothing_and_the_node_is_there(comfy):
    program = (
        LOAD_NODE + "import comfy.sd\nprint(hasattr(comfy.sd.load_clip, '__wrapped__'), list(node.NODE_CLASS_MAPPINGS))"
    )
    assert comfy(program, TENURE_DISABLE="1") == "False ['TenureWhyUnknown']\n"


def test_an_unknown_function_is_left_alone_with_a_word(comfy):
    program = """
import comfy.utils
def load_torch_file(path, how):
    return "theirs"
comfy.utils.load_torch_file = load_torch_file
import tenure, comfy.sd
tenure.install()
print(comfy.utils.load_torch_file(1, 2), hasattr(comfy.sd.load_clip, "__wrapped__"))
"""
    said = comfy(program)
    assert said.startswith("theirs True\n")
    assert said.count("comfy.utils.load_torch_file of ComfyUI 0.0-stand-in is not known") == 1


def test_an_import_is_never_broken(comfy):
    program = """
import tenure, tenure.integrations.comfyui as c
def fail():
    raise ZeroDivisionError("oh")
c.install = fail
tenure.install()
import comfy.sd
print(comfy.sd.load_clip.__name__)
"""
    said = comfy(program)
    assert said.startswith("load_clip\n")
    assert "leaves comfyui as it is: oh" in said


def test_files_are_loaded_as_by_the_original(torch, comfy):
    program = """
import torch, comfy.utils, comfy.sd
path = "checkpoints/known.safetensors"
torch.save({"a": torch.ones(2)}, "checkpoints/old.ckpt")
before = comfy.utils.load_torch_file(path, return_metadata=True)
import tenure
tenure.install()
after = comfy.utils.load_torch_file(path, return_metadata=True)
assert list(before[0]) == list(after[0]) and before[1] == after[1] == {"title": "x"}
assert all(torch.equal(before[0][name], after[0][name]) for name in before[0])
assert list(comfy.utils.load_torch_file(ckpt=path, safe_load=True, device=torch.device("cpu"))) == ["b", "known"]
assert comfy.utils.load_torch_file("checkpoints/old.ckpt")["a"].sum() == 2
assert comfy.sd.load_checkpoint_guess_config(path, output_vae=False)[0].shape == (2, 3)
assert comfy.sd.load_checkpoint_guess_config(ckpt_path=path)[0].shape == (2, 3)
assert len(comfy.sd.load_clip([path, path])) == 2 and len(comfy.sd.load_clip(ckpt_paths=[path])) == 1
after[0]["b"].mul_(3)
assert comfy.utils.load_torch_file(path)["b"].sum() == 4
print(tenure.memory()["read"] > 0)
"""
    assert comfy(program).splitlines()[0] == "True"


def test_a_stream_of_its_own_is_left_to_the_application(torch, comfy):
    program = """
import sys, types, comfy.utils, tenure
tenure.install()
tenure.uninstall()
theirs = comfy.utils.load_torch_file
calls = []
def load_torch_file(ckpt, safe_load=False, device=None, return_metadata=False):
    calls.append(ckpt)
    return theirs(ckpt, safe_load, device, return_metadata)
comfy.utils.load_torch_file = load_torch_file
tenure.install()
path = "checkpoints/known.safetensors"
comfy.utils.load_torch_file(path)
memory = sys.modules["comfy.memory_management"] = types.ModuleType("comfy.memory_management")
memory.aimdo_enabled = True
comfy.utils.load_torch_file(path)
print(calls)
"""
    assert comfy(program).splitlines()[0] == "['checkpoints/known.safetensors']"


def test_an_unknown_model_says_what_it_is(torch, comfy):
    program = """
import gc, comfy.sd, tenure
tenure.install()
for load, path in ((comfy.sd.load_checkpoint_guess_config, "loras/style.safetensors"),
                   (comfy.sd.load_diffusion_model, "checkpoints/mystery.safetensors")):
    before = tenure.memory()["used"]
    try:
        load(path)
    except RuntimeError as error:
        kept = error
        print(error)
    gc.collect()
    print(tenure.memory()["used"] - before < 4096)  # the error does not hold the tensors
"""
    said = comfy(program)
    assert "Could not detect model type of: loras/style.safetensors\nstyle.safetensors: It is known." in said
    assert "what it is: lora, sd-1" in said
    assert "ComfyUI looks for it in: loras" in said
    assert "mystery.safetensors: Nothing that Tenure knows looks like it." in said
    assert said.count("\nTrue\n") == 2


def test_a_damaged_file_says_where(torch, comfy):
    program = """
import comfy.utils, tenure
tenure.install()
try:
    comfy.utils.load_torch_file("checkpoints/cut.safetensors")
except ValueError as error:
    print(isinstance(error, tenure.FormatError), error.status, error.expected - error.found, error.file)
    print(error)
try:
    comfy.utils.load_torch_file("checkpoints/nothing.safetensors")
except FileNotFoundError as error:
    print("not there")
"""
    said = comfy(program)
    assert said.startswith("True truncated 7 checkpoints/cut.safetensors\n")
    assert "It is damaged: download it again." in said
    assert "not there" in said


def test_over_budget_it_is_mapped_or_refused_with_numbers(torch, models, comfy):
    tenure.save({"a": np.ones(1 << 20, np.float32)}, models / "checkpoints/big.safetensors")
    program = """
import comfy.utils, tenure
tenure.install()
try:
    print(comfy.utils.load_torch_file("checkpoints/big.safetensors")["a"].sum().item())
except MemoryError as error:
    print(type(error).__name__, error.found >= 4 << 20)
"""
    if sys.platform.startswith("linux"):
        assert comfy(program, TENURE_MEMORY="2M").startswith("1048576.0\n")
    assert comfy(program, TENURE_MEMORY="2M", TENURE_STRICT="1").startswith("MemoryRefused True\n")


def test_the_node_lists_files_and_answers_with_evidence(comfy):
    program = (
        "import folder_paths\n"
        + LOAD_NODE
        + """
kind = node.NODE_CLASS_MAPPINGS["TenureWhyUnknown"]
print(node.NODE_DISPLAY_NAME_MAPPINGS["TenureWhyUnknown"], kind.RETURN_TYPES, kind.OUTPUT_NODE)
choices = kind.INPUT_TYPES()["required"]["model"][0]
print(choices)
for model in choices:
    answer = getattr(kind(), kind.FUNCTION)(model=model)
    assert answer["ui"]["text"] == list(answer["result"])
    print(answer["result"][0])
    assert kind.IS_CHANGED(model=model)[1] == os.path.getsize(model)
print(kind.IS_CHANGED("loras/nothing"))
try:
    kind().explain("loras/nothing")
except FileNotFoundError as error:
    print(error)
print(kind().explain(os.path.abspath("loras/style.safetensors"))["result"][0].splitlines()[0])
"""
    )
    said = comfy(program)
    assert said.startswith("Why is this model unknown? ('STRING',) True\n")
    names = ["checkpoints/cut", "checkpoints/known", "checkpoints/mystery", "loras/style"]
    assert str([f"{name}.safetensors" for name in names]) in said
    assert "cut.safetensors: It is damaged" in said
    assert "expected" in said
    assert "style.safetensors: It is known." in said
    assert "for lora/" in said
    assert "mystery.safetensors: Nothing that Tenure knows" in said
    assert "it has: mystery.weight [3, 4] F32" in said
    assert "against " in said
    assert "against" not in said[said.index("cut.safetensors: ") : said.index("known.safetensors: ")]
    assert "more that it is not" in said
    assert "nan\nthere is no model loras/nothing\nstyle.safetensors: It is known.\n" in said


def test_the_folder_is_put_into_custom_nodes(tmp_path):
    (tmp_path / "custom_nodes").mkdir()
    command = [sys.executable, "-m", "tenure", "comfyui", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 0, done.stderr
    placed = tmp_path / "custom_nodes/tenure_models/__init__.py"
    assert placed.read_text() == CUSTOM_NODE.read_text()
    assert str(placed.parent) in done.stdout
    assert subprocess.run(command, capture_output=True).returncode == 0  # once more is well
    shutil.rmtree(tmp_path / "custom_nodes")
    assert subprocess.run(command, capture_output=True).returncode == 1
