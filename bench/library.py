#!/usr/bin/env python3
"""What a library of 100,000 models costs: bytes on disk, opening, a page of the list, searches, memory.

The models are made: headers of the corpus (tests/data/corpus) are imported once by the command, so that their records are
true ones, and then repeated under other names and paths, each with a file, three hashes, an event and, some of them, tags
and a note. `prepare` makes the library (minutes the first time); `rows` measures it. Standard library only.
"""

import argparse
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests" / "support"))
import tenure_files  # noqa: E402

SEARCHES = {
    "a rare word": "zephyrine",
    "a word in many names": "portrait",
    "two words": "watercolor portrait",
    "a word in every path": "models",
    "a folder and a filter": "loras base:flux",
    "a filter alone": "tag:favourite",
    "ten digits of a hash": "",
    "two letters": "xl",
    "two letters that are nowhere": "zq",
}
WORDS = """portrait landscape watercolor anime detail realism vintage neon cyber forest ocean castle dragon knight robot
cinematic pastel sketch ink oil baroque gothic minimal retro synth lace velvet marble bronze copper silver golden autumn
winter summer spring night dawn dusk storm cloud mountain river desert jungle city street temple garden studio fashion
runway couture hair eyes skin hands pose light shadow glow bloom grain film noir comic manga chibi mecha space alien
planet galaxy nebula crystal glass ceramic paper origami felt wool knit plush toy puppet clay stop motion isometric
pixel voxel lowpoly render octane vray unreal blender anatomy dynamic tilt macro fisheye wide angle bokeh sharp soft""".split()


def sources(folder: Path, limit: int = 60) -> int:
    """True headers as sparse files."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name in ("headers.ndjson.gz", "loras.ndjson.gz"):
        for i, row in enumerate(tenure_files.corpus_rows(name)):
            if i == limit:
                break
            metadata = {
                "modelspec.title": f"Model number {i}",
                "modelspec.trigger_phrase": " ".join(WORDS[i % 50 : i % 50 + 3]),
                "ss_network_module": "networks.lora",
            }
            path = folder / f"{name.split('.')[0]}{i}.safetensors"
            tenure_files.write_safetensors(path, tenure_files.corpus_tensors(row), metadata)
            count += 1
    return count


def copy_rows(library: Path, models: int) -> None:
    """Repeat what was imported until there are so many models."""
    db = sqlite3.connect(library)
    db.row_factory = sqlite3.Row
    true = db.execute("SELECT * FROM models WHERE part_count = 1 ORDER BY id").fetchall()
    files = {row["model"]: row for row in db.execute("SELECT p.model, f.* FROM parts p JOIN files f ON f.id = p.file")}
    rng = random.Random(7)

    def put(table: str, row: dict[str, object]) -> None:
        db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))

    have = db.execute("SELECT count(*) FROM models").fetchone()[0]
    next_model = db.execute("SELECT max(id) FROM models").fetchone()[0] + 1
    next_file = db.execute("SELECT max(id) FROM files").fetchone()[0] + 1
    for i in range(have, models):
        model = dict(true[i % len(true)])
        words = "_".join(rng.sample(WORDS, rng.randint(2, 4)))
        if i % 20000 == 11:
            words += "_zephyrine"
        kind = "loras" if model["type"] == "lora" else "checkpoints"
        path = f"/home/somebody/ai/models/{kind}/{rng.choice(WORDS)}/{words}_v{rng.randint(1, 9)}_{i}.safetensors".encode()
        salt = hashlib.sha256(str(i).encode()).digest()
        file = dict(files[model["id"]])
        file.pop("model")
        file |= {"id": next_file, "path": path, "file_id": salt[:8] + bytes(8), "mtime_ns": file["mtime_ns"] + i}
        model |= {"id": next_model, "name": Path(path.decode()).stem, "path": path, "sample": salt}
        if i % 50 == 0:
            model["note"] = "bought with the pack of " + rng.choice(WORDS)
        put("files", file)
        put("models", model)
        put("parts", {"model": next_model, "file": next_file, "position": 0, "entry": 1})
        sha256 = hashlib.sha256(salt).hexdigest()
        for algorithm, value in (("blake3", salt.hex()), ("sha256", sha256), ("autov2", sha256[:10])):
            put("hashes", {"model": next_model, "position": 0, "algorithm": algorithm, "value": value,
                           "size": file["size"], "mtime_ns": file["mtime_ns"]})  # fmt: skip
        put("events", {"at_ns": model["added_ns"], "job": 1, "model": next_model, "what": "added", "detail": ""})
        if i % 3 == 0:
            for tag in rng.sample(["favourite", "sdxl", "wip", "client work", "2024", "portrait"], 2):
                put("tags", {"model": next_model, "tag": tag})
        next_model += 1
        next_file += 1
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def prepare(tenure: Path, data: Path, models: int) -> Path:
    library = data / f"library of {models}.db"
    if library.exists():
        return library
    data.mkdir(parents=True, exist_ok=True)
    folder = data / "library sources"
    sources(folder)
    making = data / "library being made.db"
    for path in data.glob(making.name + "*"):
        path.unlink()
    run = [str(tenure), "--library", str(making), "--quiet"]
    subprocess.run([*run, "import", str(folder)], check=False, stdout=subprocess.DEVNULL)
    copy_rows(making, models)
    subprocess.run([*run, "tag", "1", "+favourite"], check=True)  # the end of a transaction writes the index
    shutil.rmtree(folder)
    for path in data.glob(making.name + "?*"):
        path.unlink()
    making.rename(library)
    return library


def measure(bench: Path, library: Path, rounds: int) -> dict[str, tuple[float, float, int]]:
    """Milliseconds (resident: MiB), median and least, and how many were found."""
    db = sqlite3.connect(f"file:{library}?mode=ro", uri=True)
    digits = db.execute("SELECT value FROM hashes WHERE algorithm = 'sha256' ORDER BY model DESC LIMIT 1").fetchone()[0]
    db.close()
    words = [word or digits[:10].upper() for word in SEARCHES.values()]
    out = subprocess.run([str(bench), str(library), str(rounds), *words], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        what, median, least, count = line.split("\t")
        found[what] = (float(median), float(least), int(count))
    for name, word in zip(SEARCHES, words, strict=True):
        found[name] = found.pop(f"search {word}")
    return found


def rows(tenure: Path, bench: Path, data: Path, models: int = 100_000, rounds: int = 30) -> list[tuple[str, str, str, bool]]:
    """Work, what was measured, the goal, and whether it was met."""
    library = prepare(tenure, data, models)
    size = library.stat().st_size / 1e6
    found = measure(bench, library, rounds)
    table = [("bytes on disk", f"{size:.1f} MB", "≤ 200 MB", size <= 200)]
    for what, goal in (("open", 20), ("list", 10)):
        median, least, _ = found.pop(what)
        name = "opening it" if what == "open" else "a page of the list (100 models, all fields)"
        table.append((name, f"{median:.2f} / {least:.2f} ms", f"≤ {goal} ms", median <= goal))
    resident = found.pop("resident")[0]
    for name, (median, least, count) in found.items():
        table.append((f"search for {name}, the first 100: {count} found", f"{median:.2f} / {least:.2f} ms", "≤ 20 ms",
                      median <= 20))  # fmt: skip
    table.append(("memory resident through all of this", f"{resident:.1f} MiB", "≤ 32 MiB", resident <= 32))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=TOP / "build" / "bench")
    parser.add_argument("--data", type=Path, default=TOP / "build" / "bench-data")
    parser.add_argument("--models", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    print(f"| a library of {args.models:,} models | median / least | goal | met |\n|---|---|---|---|")
    table = rows(args.build / "tenure", args.build / "bench_library", args.data, args.models, args.rounds)
    for work, said, goal, met in table:
        print(f"| {work} | {said} | {goal} | {'yes' if met else '**no**'} |")
    return 0 if all(met for *_, met in table) else 1


if __name__ == "__main__":
    os.environ.pop("TENURE_LIBRARY", None)
    sys.exit(main())
