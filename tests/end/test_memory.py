"""Large checkpoints under a small limit: 200 of 1 GiB and ten of 40 GiB, asked about in one process that may have
512 MB of data. A header is what they cost.

The files have true headers where tests/data/corpus holds them; their data is a hole. Standard library only; run by
ctest (cmake/End.cmake), a class at a time.
"""

import os
import resource
import subprocess
import unittest
from pathlib import Path

import command
import tenure_files
from command import Case, arguments, environment, records

LIMIT = 512 << 20
MANY_PROBE = os.environ.get("TENURE_MANY_PROBE", str(command.TOP / "build" / "dev" / "many_probe"))
GIB = 1 << 30

# Headers of about 1 GiB and of about 40 GiB do not exist in this number: a true header is filled up with one more
# tensor to the size wanted. A name that no model uses, so that it says nothing.
SMALL = [
    ("te/sd15_ckpt", "F16"),
    ("native/vae_sd_kl_f8", "F32"),
    ("te/clip_l_hf", "F16"),
    ("te/sd15_inpaint_ckpt", "F16"),
]
LARGE = [("native/flux1_dev", "BF16"), ("te/t5xxl_encoder", "F16"), ("te/sdxl_base_ckpt", "F16")]


def limit_data():
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


def headers():
    """Tensors by corpus id; LoRAs where there is no corpus."""
    wanted = {ident: dtype for ident, dtype in SMALL + LARGE}
    try:
        return {
            row["id"]: tenure_files.corpus_tensors(row, wanted[row["id"]])
            for row in tenure_files.corpus_rows()
            if row["id"] in wanted
        }
    except FileNotFoundError:
        return {ident: tenure_files.lora_header(264 - i) for i, ident in enumerate(wanted)}


def write_of_size(path, tensors, size, number):
    """A sparse file of about `size` bytes; no two are equal."""
    header, data = tenure_files.header_bytes(tensors)
    if data < size:
        tensors = [*tensors, ("padding.of.the.test", "U8", (size - data - len(header) + number,))]
    return tenure_files.write_safetensors(path, tensors, metadata={"number": str(number)})


def make_files(folder, small, large):
    """Small ones first; returns their paths in that order and the bytes they seem to take."""
    tensors, paths, total = headers(), [], 0
    folder.mkdir()
    for i in range(small + large):
        kinds, size = (SMALL, GIB) if i < small else (LARGE, 40 * GIB)
        ident = kinds[i % len(kinds)][0]
        paths.append(folder / f"{i:03d} {ident.replace('/', ' ')}.safetensors")
        total += write_of_size(paths[-1], tensors[ident], size, i)
    return paths, total


@unittest.skipIf(command.SANITIZED, "a sanitizer's shadow memory alone is over the limit")
class ManyProbe(Case):
    def probe(self, paths):
        run = subprocess.run(
            [MANY_PROBE],
            input="".join(f"{p}\n" for p in paths),
            capture_output=True,
            text=True,
            env=environment(),
            preexec_fn=limit_data,
            timeout=300,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "", "the budget is back at zero")
        rows = [line.split() for line in run.stdout.splitlines()]
        self.assertEqual(len(rows), len(paths))
        return [(state, kind, base, int(rss), int(read), int(header)) for state, kind, base, rss, read, header in rows]

    def test_210_large_checkpoints_are_named_and_cost_their_headers(self):
        paths, total = make_files(self.models, 200, 10)
        self.assertGreater(total, 200 * GIB + 10 * 40 * GIB)
        rows = self.probe(paths)
        tenth, last = rows[9][3], rows[-1][3]
        most = max(read - header for *_, read, header in rows)
        print(
            f"RSS after the tenth {tenth} KB, at the end {last} KB, most {max(r[3] for r in rows)} KB; "
            f"read beyond the header at most {most} bytes"
        )
        for path, row in zip(paths, rows, strict=True):
            self.assertIn(row[0], ("identified", "ambiguous", "unknown"), path.name)
            self.assertLessEqual(row[4], row[5] + (128 << 10), path.name)
        if (tenure_files.CORPUS / "headers.ndjson.gz").exists():
            bases = {"te sd15": "sd-1", "native flux1": "flux", "te sdxl": "sdxl"}
            for path, row in zip(paths, rows, strict=True):
                for part, base in bases.items():
                    if part in path.name:
                        self.assertEqual((row[1], row[2]), ("main", base), path.name)
            self.assertEqual(
                [p.name for p, r in zip(paths, rows, strict=True) if r[0] not in ("identified", "ambiguous")], []
            )
        self.assertLessEqual(last, tenth + 1024)

    def test_order_does_not_matter(self):
        paths, _ = make_files(self.models, 60, 10)
        rows = self.probe(paths[60:] + paths[:60])
        self.assertLessEqual(rows[-1][3], rows[9][3] + 1024)


@unittest.skipIf(command.SANITIZED, "a sanitizer's shadow memory alone is over the limit")
class ManyImport(Case):
    def test_the_command_imports_them_under_the_same_limit(self):
        paths, _ = make_files(self.models, 200, 10)
        run = subprocess.run(
            arguments("import", "--hash", "none", self.models, library=self.library),
            capture_output=True,
            env=environment(),
            preexec_fn=limit_data,
            timeout=300,
        )
        self.check(run, 0)
        found = {Path(r["path"]).name: r for r in records(self.library)}
        self.assertEqual(sorted(found), sorted(p.name for p in paths))
        self.assertEqual({r["state"] for r in found.values()} - {"identified", "ambiguous", "unknown"}, set())


if __name__ == "__main__":
    command.main()
