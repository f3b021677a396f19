#!/usr/bin/env python3
"""The real peers, side by side with Tenure on this machine: installs InvokeAI 6.14.2 (7 GB) and runs the benchmarks
with its measured time instead of the one in the documentation. Before that, what PyTorch makes of every element type is
compared with the recorded table, and 10,000 files with those of the real safetensors writer; and small models of
transformers, diffusers, accelerate and spandrel (whose versions InvokeAI chooses) are loaded and saved with Tenure
underneath, safetensors' own tests run with Tenure under its name, 100,000 random cases are compared, and the package's
speed is measured (bench/python.py). InvokeAI itself imports fifty checkpoints with and without Tenure under it
(tools/report_a.py, docs/report-a.md).

Everything goes into build/peers-venv, which may be deleted afterwards. Run by `make peers`; what it prints belongs
under docs/ with the commit it was measured on. Options are passed on to bench/run.py, such as --write.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
VENV = TOP / "build" / "peers-venv"
PYTHON = VENV / "bin" / "python"
PACKAGES = ["invokeai==6.14.2", "safetensors==0.8.0", "spandrel==0.4.2", "pytest", "fsspec"]
WANTED = "invokeai, safetensors, spandrel, pytest, fsspec"
ROUNDS = 5
FILES = 100


def installed():
    return (
        PYTHON.exists()
        and subprocess.run([str(PYTHON), "-c", f"import {WANTED}"], capture_output=True).returncode == 0
    )


def install():
    if installed():
        return
    print(f"installing {' and '.join(PACKAGES)} into {VENV.relative_to(TOP)} (7 GB, some minutes)", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    subprocess.run(
        [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True
    )


def classify(folder):
    """Runs in the peers' Python: InvokeAI says what each file is; the hash is given, so that none is computed."""
    os.environ["INVOKEAI_ROOT"] = tempfile.mkdtemp()
    began = time.perf_counter()
    from invokeai.backend.model_manager.configs.factory import ModelConfigFactory

    print(f"import of InvokeAI's factory: {time.perf_counter() - began:.1f} s", flush=True)
    paths = sorted(str(p) for p in Path(folder).iterdir())[:FILES]
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (it logs a line a file)
    totals, kinds = [], set()
    for round_ in range(ROUNDS + 1):
        began = time.perf_counter()
        for path in paths:
            kinds.add(
                type(ModelConfigFactory.from_model_on_disk(path, override_fields={"hash": "given"}).config).__name__
            )
        if round_:  # the first fills every cache
            totals.append((time.perf_counter() - began) * 1e3 / len(paths))
    resident = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    megabytes = int(resident.group(1)) // 1024
    print(f"InvokeAI classification of {len(paths)} files: {sorted(kinds)}; most memory {megabytes} MB")
    print(f"milliseconds a file: median {statistics.median(totals):.2f} least {min(totals):.2f} n={len(totals)}")


def same_as_peers():
    """The conversions of the installed PyTorch and the bytes of the installed safetensors."""
    subprocess.run(["ninja", "-C", "build/release", "--quiet", "libtenure.so"], cwd=TOP, check=True)
    checks = [
        ["tests/weights/torch_conversions.py", "--check", "tests/data/weights/torch_conversions.txt"],
        ["tests/end/differential_writer.py", "--count", "10000"],
    ]
    where = {**os.environ, "LIBTENURE": str(TOP / "build/release/libtenure.so")}
    return all([subprocess.run([str(PYTHON), *check], cwd=TOP, env=where).returncode == 0 for check in checks])


def same_in_python():
    """This checkout's package in the place of the installed safetensors."""
    subprocess.run(["sh", "tools/fetch-blake3"], cwd=TOP, check=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--force-reinstall", "."], cwd=TOP, check=True)
    versions = "import accelerate, diffusers, spandrel, torch, transformers as t; " \
        "print(*(f'{m.__name__} {m.__version__}' for m in (torch, t, diffusers, accelerate)), sep=', ')"
    subprocess.run([str(PYTHON), "-c", versions], check=True)
    pytest = ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    checks = [
        [*pytest, "python/tests/test_peer_models.py"],
        ["python/tests/peer_suite.py"],
        ["python/tests/differential.py", "--count", "100000"],
        [*pytest, "python/tests/test_unread.py", "python/tests/test_invokeai.py"],
        ["tools/report_a.py"],
    ]
    return all([subprocess.run([str(PYTHON), *check], cwd=TOP).returncode == 0 for check in checks])


def main():
    if sys.argv[1:2] == ["--classify"]:
        classify(sys.argv[2])
        return 0
    install()
    if not same_as_peers() or not same_in_python():
        return 1
    sys.path.insert(0, str(TOP / "bench"))
    import run as bench

    bench.prepare()
    subprocess.run([str(PYTHON), str(TOP / "bench/python.py")])  # its table says which goals are met
    said = subprocess.run(
        [str(PYTHON), __file__, "--classify", str(bench.DATA / "loras 100")], capture_output=True, text=True
    )
    print(said.stdout, end="", flush=True)
    found = re.search(r"milliseconds a file: median ([\d.]+)", said.stdout)
    if said.returncode or not found:
        print(f"InvokeAI could not be measured: {said.stderr[-2000:]}", file=sys.stderr)
        return 1
    return subprocess.run(
        [sys.executable, str(TOP / "bench/run.py"), "--invokeai-ms", found.group(1), *sys.argv[1:]]
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
