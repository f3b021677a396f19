"""The programs of docs/examples do what their first lines say. TENURE_EXAMPLES names the folder they were built in."""

import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAMS = Path(os.environ["TENURE_EXAMPLES"])
SOURCES = Path(__file__).resolve().parent.parent.parent / "docs/examples"
DATA = bytes(i * 7 % 256 for i in range(5 * 6)) + bytes(range(3))
HEADER = (
    b'{"rows":{"dtype":"U8","shape":[5,6],"data_offsets":[0,30]},"three":{"dtype":"U8","shape":[3],"data_offsets":[30,33]}}'
)


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = Path(self.folder.name) / "a.safetensors"
        self.file.write_bytes(struct.pack("<Q", len(HEADER)) + HEADER + DATA)

    def said(self, name, *arguments, code=0):
        run = subprocess.run([PROGRAMS / f"example_{name}", self.file, *arguments], capture_output=True, text=True)
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout

    def test_iterate(self):
        self.assertEqual(self.said("iterate"), "rows U8 30\nthree U8 3\n33 bytes, which fit\n")

    def test_lease(self):
        self.assertEqual(self.said("lease", "three"), '3 in 3 bytes, by way of "read": it is small\n')
        self.assertIn(f"{sum(DATA[:30])} in 30 bytes", self.said("lease", "rows"))
        self.said("lease", "nobody", code=1)

    def test_slice(self):
        self.assertEqual(self.said("slice", "rows"), f"3 rows, 18 bytes, the first byte is {DATA[24]}\n")
        self.assertEqual(self.said("slice", "three"), f"2 rows, 2 bytes, the first byte is {DATA[32]}\n")

    def test_many(self):
        self.assertEqual(self.said("many"), "rows view\nthree view\n")

    def test_convert(self):
        self.assertEqual(self.said("convert", "three"), "0, the first of 3\n")
        self.assertEqual(self.said("convert", "rows"), f"{DATA[0]}, the first of 30\n")

    def test_save(self):
        new = Path(self.folder.name) / "b.safetensors"
        for path in (new, self.file):
            self.said("save", "three", path)
            header = b'{"three":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}'
            header += b" " * (-len(header) % 8)
            self.assertEqual(path.read_bytes(), struct.pack("<Q", len(header)) + header + DATA[30:])

    def test_each_is_under_thirty_lines_of_code(self):
        for source in SOURCES.glob("*.c"):
            lines = [line for line in source.read_text().splitlines() if line.strip() not in ("", "{", "}")]
            self.assertLess(len(lines), 30, source.name)


if __name__ == "__main__":
    unittest.main()
