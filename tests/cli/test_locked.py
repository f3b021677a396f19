"""A library that another program holds: one word, exit code 5, and nothing is lost."""

import sqlite3
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import CommandTest, main
from tenure_files import lora_header, write_safetensors


class Locked(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "models").mkdir()
        write_safetensors(self.folder / "models" / "a.safetensors", lora_header())
        self.assertEqual(self.tenure("import", "models", "--hash", "none").code, 0)
        write_safetensors(self.folder / "models" / "b.safetensors", lora_header())

    def test_an_import_waits_and_then_says_who_is_in_the_way(self) -> None:
        other = sqlite3.connect(self.library, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        ran = self.tenure("import", "models", "--hash", "none")
        self.assertEqual(ran.code, 5, ran.err)
        self.assertIn("another program", ran.err)
        self.assertEqual(len(self.tenure("list", "--json").objects()), 1)
        other.execute("ROLLBACK")
        self.assertEqual(self.tenure("import", "models", "--hash", "none").code, 0)
        self.assertEqual(len(self.tenure("list", "--json").objects()), 2)

    def test_one_held_exclusively_cannot_be_opened(self) -> None:
        other = sqlite3.connect(self.library, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        other.execute("COMMIT")
        ran = self.tenure("list")
        self.assertEqual(ran.code, 5, ran.err)
        self.assertIn("another program", ran.err)


if __name__ == "__main__":
    main()
