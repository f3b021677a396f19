"""python -m tenure run -- PROGRAM ARGS: run a Python program with Tenure in the place of safetensors.

PROGRAM is a script (app.py), -m MODULE, or a command of the same environment. Programs that it starts are served too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

USAGE = """usage: python -m tenure run -- PROGRAM [ARGS]
       python -m tenure probe PATH...
       python -m tenure comfyui FOLDER
       python -m tenure version

run      run a Python program with Tenure in the place of safetensors
probe    say what files are, a JSON object a line
comfyui  put Tenure's custom node into the folder of a ComfyUI, whose Python this is
"""


def main(arguments: list[str]) -> int:
    """Do what the arguments say; the exit code."""
    if arguments[:1] == ["run"] and len(arguments) > 1:
        return run(arguments[2:] if arguments[1] == "--" else arguments[1:])
    if arguments[:1] == ["probe"] and len(arguments) > 1:
        return probe(arguments[1:])
    if arguments[:1] == ["comfyui"] and len(arguments) == 2:
        return comfyui(arguments[1])
    if arguments == ["version"]:
        from . import __version__

        print(__version__)
        return 0
    asked = arguments[:1] in (["--help"], ["-h"], ["help"])
    print(USAGE, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def probe(paths: list[str]) -> int:
    """Print what files are."""
    import json

    from . import _probe

    for path in paths:
        print(json.dumps({"v": 1, **_probe.probe(path)}))
    return 0


def comfyui(folder: str) -> int:
    """Copy the custom node into ComfyUI's folder."""
    nodes = os.path.join(folder, "custom_nodes")
    if not os.path.isdir(nodes):
        print(f"tenure: {nodes} is no folder: name the one in which ComfyUI's main.py lies", file=sys.stderr)
        return 1
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "integrations/comfyui/custom_nodes/tenure_models")
    place = os.path.join(nodes, "tenure_models")
    shutil.copytree(here, place, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    print(f'{place}: start ComfyUI again, and look for the node "Why is this model unknown?"')
    return 0


def run(command: list[str]) -> int:
    """Run a program with Tenure in the place of safetensors; its exit code."""
    if not command:
        print(USAGE, end="", file=sys.stderr)
        return 2
    if command[0].startswith("-") or command[0].endswith((".py", ".pyc", ".pyz")):
        command = [sys.executable, *command]
    program = shutil.which(command[0])
    if program is None:
        print(f"tenure: there is no program {command[0]}", file=sys.stderr)
        return 127
    environment = dict(os.environ)
    start = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_start")
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = start if not before else start + os.pathsep + before
    environment["TENURE_RUN"] = "1"
    if os.name != "posix":
        return subprocess.call([program, *command[1:]], env=environment)
    sys.stdout.flush()
    os.execve(program, command, environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
