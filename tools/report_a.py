#!/usr/bin/env python3
"""Report (a): a folder of checkpoints imported into the real InvokeAI, with and without Tenure under it.

Fifty full-size sparse checkpoints, SD 1 (2.1 GB) and SDXL (6.9 GB) in turn, with true headers of tests/data/corpus,
are identified one after another in one process: by ModelConfigFactory.from_model_on_disk with the hash given, then by
InvokeAI's install service, headless and in place, which hashes them too. Each with and without a limit of what the
process had after InvokeAI was imported and one small file identified, and 512 MiB (RLIMIT_DATA, which is what
`prlimit --data` sets; it counts private writable memory, as Windows' commit limit does).

Run with a Python that has InvokeAI 6.14.2 and Tenure, as tools/peers.py does: `python tools/report_a.py [--write]`.
--write puts the table into docs/report-a.md. Linux only.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DOC = TOP / "docs/report-a.md"
MODELS = ["te/sd15_ckpt", "te/sdxl_base_ckpt", "te/sd15_nai_clip_ckpt", "te/sdxl_base_ckpt_noposids"]
FILES = 50
ROOM = 512 << 20
LEVEL_AFTER = 3  # imports; growth is counted from there
MIB = 1 << 20
GROWTH_GOAL, SLOPE_GOAL = 64 * MIB, 64 << 10
RUNS = [
    (service, limited, side)
    for service in ("identify", "install")
    for limited in (True, False)
    for side in ("original", "tenure")
]
WORDS = {
    ("identify", True): "Identified, limit 512 MiB",
    ("identify", False): "Identified, no limit",
    ("install", True): "Install service, limit 512 MiB",
    ("install", False): "Install service, no limit",
}


def make_files(folder, count):
    sys.path.insert(0, str(TOP / "tests/support"))
    import tenure_files

    rows = {row["id"]: row for row in tenure_files.corpus_rows() if row["id"] in MODELS}
    for i in range(count):
        tensors = tenure_files.corpus_tensors(rows[MODELS[i % len(MODELS)]], "F16")
        tenure_files.write_safetensors(folder / f"model {i:02}.safetensors", tensors, {"title": f"model {i}"})
    small = [("thing.weight", "F32", (4, 4))]
    (folder / "warm").mkdir()
    tenure_files.write_safetensors(folder / "warm" / "small.safetensors", small)


def status(word):
    return int(re.search(rf"{word}:\s+(\d+)", Path("/proc/self/status").read_text()).group(1)) << 10


def private_writable():
    """Bytes of this process's private writable maps, by /proc/self/smaps: what Windows would count as commit."""
    total, counts = 0, False
    for line in Path("/proc/self/smaps").read_text(errors="replace").splitlines():
        head = re.match(r"[0-9a-f]+-[0-9a-f]+ (....) ", line)
        if head:
            counts = head.group(1)[1] == "w" and head.group(1)[3] == "p"
        elif counts and line.startswith("Size:"):
            total += int(line.split()[1]) << 10
    return total


class Folder:
    """A folder of models and a process that imports them."""

    def __init__(self, service, folder):
        import invokeai.app.api.dependencies  # noqa: F401  (as the application does)
        from invokeai.backend.model_manager.configs.factory import ModelConfigFactory

        self.factory, self.folder = ModelConfigFactory, folder
        self.take = self.identify if service == "identify" else self.install
        if service == "install":
            self.start_service()

    def identify(self, path):
        result = self.factory.from_model_on_disk(path, override_fields={"hash": "given"})
        return result.config

    def start_service(self):
        from unittest import mock

        from invokeai.app.services.config import InvokeAIAppConfig
        from invokeai.app.services.download import DownloadQueueService
        from invokeai.app.services.events.events_base import EventServiceBase
        from invokeai.app.services.image_files.image_files_base import ImageFileStorageBase
        from invokeai.app.services.model_install import ModelInstallService
        from invokeai.app.services.model_records import ModelRecordServiceSQL
        from invokeai.app.services.shared.sqlite.sqlite_util import init_db
        from invokeai.backend.util.logging import InvokeAILogger

        class Events(EventServiceBase):
            def dispatch(self, event):
                pass

        root = Path(os.environ["INVOKEAI_ROOT"])
        config = InvokeAIAppConfig(models_dir=root / "models", log_level="critical", use_memory_db=True)
        config._root = root
        (root / "models").mkdir(exist_ok=True)
        logger = InvokeAILogger.get_logger(config=config)
        database = init_db(config=config, logger=logger, image_files=mock.Mock(spec=ImageFileStorageBase))
        downloads = DownloadQueueService(app_config=config, event_bus=Events())
        downloads.start()
        records = ModelRecordServiceSQL(database, logger)
        self.service = ModelInstallService(
            app_config=config, record_store=records, download_queue=downloads, event_bus=Events()
        )
        self.service.start()

    def install(self, path):
        from invokeai.app.services.model_install.model_install_common import LocalModelSource

        job = self.service.import_model(LocalModelSource(path=Path(path), inplace=True))
        self.service.wait_for_installs()
        if job.errored:
            raise RuntimeError(f"{job.error_type}: {job.error}")
        return job.config_out


def work(service, limited, side, folder, out):
    """Run in a process of its own: a line of JSON for the start, and one for each file."""
    import logging
    import resource

    os.environ["INVOKEAI_ROOT"] = tempfile.mkdtemp()
    if side == "tenure":
        import tenure

        tenure.install()
    models = Folder(service, folder)
    logging.disable(logging.CRITICAL)
    models.take(folder / "warm" / "small.safetensors")
    level = status("VmData")
    if limited:
        resource.setrlimit(resource.RLIMIT_DATA, (level + ROOM, level + ROOM))
    with open(out, "w", buffering=1) as lines:
        print(json.dumps({"level": level}), file=lines)
        for path in sorted(folder.glob("*.safetensors")):
            began = time.perf_counter()
            try:
                answer = models.take(path).base.value
            except Exception as error:
                answer = f"error: {type(error).__name__}"
            seconds = time.perf_counter() - began
            row = {"answer": answer, "seconds": seconds, "rss": status("VmRSS"), "private": private_writable()}
            print(json.dumps(row), file=lines)
        print(json.dumps({"peak": status("VmHWM")}), file=lines)
    os._exit(0)


def slope(values):
    """Bytes an import, by least squares."""
    n = len(values)
    if n < 2:
        return 0.0
    middle = (n - 1) / 2
    mean = statistics.mean(values)
    return sum((x - middle) * (y - mean) for x, y in enumerate(values)) / sum((x - middle) ** 2 for x in range(n))


def measure(run, folder, out):
    service, limited, side = run
    command = [sys.executable, __file__, "--work", service, str(int(limited)), side, str(folder), str(out)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    files = [line for line in lines if "answer" in line]
    if not files:
        raise RuntimeError(f"{run}: no file was taken: {done.stderr[-2000:]}")
    later = files[LEVEL_AFTER:]
    level = files[min(LEVEL_AFTER, len(files)) - 1]
    answers = [line["answer"] for line in files]
    return {
        "run": run,
        "files": len(files),
        "right": sum(a == ("sdxl" if "sdxl" in MODELS[i % len(MODELS)] else "sd-1") for i, a in enumerate(answers)),
        "answers": {a: answers.count(a) for a in sorted(set(answers))},
        "growth": max((line["private"] for line in later), default=0) - level["private"],
        "slope": slope([line["rss"] for line in later]),
        "seconds": statistics.median(line["seconds"] for line in files),
        "total": sum(line["seconds"] for line in files),
        "code": done.returncode,
    }


def row(found, count):
    service, limited, side = found["run"]
    answers = ", ".join(f"{n} {word}" for word, n in found["answers"].items())
    ended = "" if found["code"] == 0 and found["files"] == count else f" (ended with {found['code']})"
    goal = "-" if side == "original" else ("yes" if is_met(found, count) else "no")
    return (
        f"| {WORDS[service, limited]} | {'Tenure' if side == 'tenure' else 'InvokeAI alone'} | "
        f"{found['right']} of {count} | {answers}{ended} | {found['growth'] / MIB:,.1f} | "
        f"{found['slope'] / 1024:,.1f} | {found['seconds']:.3f} | {found['total']:.1f} | {goal} |"
    )


def is_met(found, count):
    return (
        found["code"] == 0
        and found["right"] == count
        and found["growth"] <= GROWTH_GOAL
        and found["slope"] <= SLOPE_GOAL
    )


def commit():
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=TOP, capture_output=True, text=True
    ).stdout.strip()


def text(results, count, measured_on):
    from importlib.metadata import version

    names = ("invokeai", "spandrel", "safetensors", "torch")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    machine = f"{os.cpu_count()} cores{f' of {cpu.group(1)}' if cpu else ''}, Linux {platform.release().split('-')[0]}"
    head = f"""# Report (a): a folder of checkpoints imported into InvokeAI

InvokeAI 6.14 on Windows dies natively while it imports a folder of checkpoints. Most likely it is its private writable maps of the files, which Windows charges to it whole: a file is mapped twice while it is identified, the maps live on through tracebacks that Python's collector frees late, and a map that fails is taken for "no match". Linux charges such maps too where a process has a limit of data. So they can be counted there, and what comes of the limit can be seen: no death, but no model known any more. Nothing here was run on Windows.

{count} full-size sparse checkpoints, SD 1 (2.1 GB) and SDXL (6.9 GB) in turn, with true headers, go one after another through one process: once by `ModelConfigFactory.from_model_on_disk` with the hash given, once by InvokeAI's own install service, headless and in place, which hashes them too. "limit 512 MiB" means `prlimit --data` of what the process held after InvokeAI was imported and one small file identified, and 512 MiB. Growth is that of private writable memory (`/proc/PID/smaps`) over its level after import {LEVEL_AFTER}, the most after any later import; the slope is that of resident memory over those imports, by least squares.

Goals: every file is `sd-1` or `sdxl` as it should be, growth at most {GROWTH_GOAL // MIB} MiB, slope at most {SLOPE_GOAL >> 10} KiB an import, and the process runs to its end.

Measured by `tools/report_a.py` (`make peers` runs it) on commit {measured_on}, with {versions}, Python {platform.python_version()}, on {machine}, which others used too: compare seconds within a row's pair only.

| what | by | right | answers | growth, MiB | slope, KiB an import | seconds a file (median) | seconds in all | goals met |
|---|---|---|---|---|---|---|---|---|
"""
    return head + "\n".join(row(found, count) for found in results) + "\n"


def main():
    if sys.argv[1:2] == ["--work"]:
        service, limited, side, folder, out = sys.argv[2:]
        work(service, limited == "1", side, Path(folder), out)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--write", action="store_true", help="write docs/report-a.md")
    args = parser.parse_args()
    results, measured_on = [], commit()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "models"
        folder.mkdir()
        make_files(folder, args.files)
        for number, run in enumerate(RUNS):
            results.append(measure(run, folder, Path(name) / f"{number}.jsonl"))
            print(row(results[-1], args.files), flush=True)
    if args.write:
        DOC.write_text(text(results, args.files, measured_on))
    return 0 if all(is_met(found, args.files) for found in results if found["run"][2] == "tenure") else 1


if __name__ == "__main__":
    sys.exit(main())
