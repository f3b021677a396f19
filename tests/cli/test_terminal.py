"""On a terminal: colours, progress in place, the terminal's width. A pseudo-terminal stands for it."""

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from tenure_command import TENURE, CommandTest, main
from tenure_files import lora_header, write_safetensors

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


class Terminal(CommandTest):
    def on_terminal(self, *words: str, columns: int = 80, **environment: str) -> bytes:
        """What is written to a terminal that is stdout and stderr."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [TENURE, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=self.folder,
            env=self.environment | {"TERM": "xterm"} | environment,
        )  # fmt: skip
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError as error:  # the other end has closed
                if error.errno != errno.EIO:
                    raise
                break
            if not piece:
                break
            said += piece
        os.close(ours)
        process.wait(60)
        return said

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "models").mkdir()
        for i in range(5):
            write_safetensors(self.folder / "models" / f"{i}.safetensors", lora_header())

    def test_colours_are_there_unless_they_are_not_wanted(self) -> None:
        words = ("probe", "models/0.safetensors")
        self.assertRegex(self.on_terminal(*words), COLOUR)
        self.assertNotRegex(self.on_terminal(*words, "--no-color"), COLOUR)
        self.assertNotRegex(self.on_terminal(*words, NO_COLOR="1"), COLOUR)
        self.assertNotRegex(self.on_terminal(*words, TERM="dumb"), COLOUR)
        self.assertRegex(self.on_terminal(*words, NO_COLOR=""), COLOUR)  # empty counts as unset: no-color.org

    def test_a_name_cannot_write_escape_sequences(self) -> None:
        name = "\x1b[31mred\x1b]0;title\x07.safetensors"
        write_safetensors(self.folder / name, lora_header())
        for verb in ("probe", "inspect"):
            said = self.on_terminal(verb, "--no-color", name)
            self.assertNotIn(b"\x1b[31m", said)
            self.assertNotIn(b"\x1b]", said)
            self.assertNotIn(b"\x07", said)

    def test_progress_is_taken_away_before_the_result(self) -> None:
        said = self.on_terminal("import", "models")
        self.assertIn(b"\r\x1b[K", said)
        last = said.rsplit(b"\x1b[K", 1)[1]  # what remains on the screen
        self.assertIn(b"5 models", last)
        self.assertNotIn(b"\r\x1b[K", self.on_terminal("import", "models", "--quiet"))

    def test_nothing_is_wider_than_the_terminal(self) -> None:
        write_safetensors(self.folder / "models" / ("long-" * 30 + ".safetensors"), lora_header(), short_by=5)
        for columns in (60, 100):
            for words in (("import", "models"), ("list",)):
                said = self.on_terminal(*words, columns=columns)
                for line in said.split(b"\x1b[K")[-1].decode().split("\r\n"):
                    plain = re.sub(r"\x1b\[[0-9;]*[mK]|\r", "", line)
                    self.assertLessEqual(len(plain), columns, plain)


if __name__ == "__main__":
    main()
