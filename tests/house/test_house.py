"""The house keeps its own rules: the law of dependence, the style, the public headers, the exported symbols.

Standard library only. TENURE_BUILD names the build folder (for the symbols); without it those tests skip with a word.
"""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent

# design.md: what each folder of src/ may include. An arrow never points back.
SEES = {
    "core": [],
    "os": ["core"],
    "context": ["core", "os"],
    "io": ["core", "os", "context"],
    "format": ["core", "os", "context", "io"],
    "digest": ["core", "os", "context", "io", "format"],
    "identify": ["core", "os", "context", "io", "format", "digest"],
    "weights": ["core", "os", "context", "io", "format", "digest"],
    "library": ["core", "os", "context", "io", "format", "digest", "identify"],
    "cli": ["core", "os"],
}
BANNED = ["gets", "strcpy", "strcat", "sprintf", "vsprintf", "strtok", "atoi", "atol", "alloca", "system", "popen",
          "tmpnam", "mktemp"]


def sources(*suffixes):
    for folder in sorted(SEES):
        for path in sorted((TOP / "src" / folder).rglob("*")):
            if path.suffix in suffixes:
                yield folder, path


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


class House(unittest.TestCase):
    def test_no_include_points_back(self):
        wrong = []
        for folder, path in sources(".c", ".h"):
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
                room = name.split("/")[0] if "/" in name else folder
                if room != folder and room not in SEES[folder]:
                    wrong.append(f"{path.relative_to(TOP)} includes {name}")
        self.assertEqual(wrong, [])

    def test_a_format_reader_knows_no_other_reader(self):
        readers = ["safetensors", "index", "folder"]
        allowed = {("index", "safetensors"), ("folder", "safetensors"), ("folder", "index")}
        wrong = []
        for reader in readers:
            for path in (TOP / "src/format").glob(f"{reader}*.c"):
                for other in readers:
                    if other != reader and (reader, other) not in allowed and f'"format/{other}.h"' in path.read_text():
                        wrong.append(f"{path.name} includes {other}.h")
        self.assertEqual(wrong, [])

    def test_systems_differ_in_os_only(self):
        wrong = [str(p.relative_to(TOP)) for folder, p in sources(".c", ".h")
                 if folder != "os" and re.search(r"_WIN32|__linux__|__APPLE__", without_comments(p.read_text()))]
        self.assertEqual(wrong, [])

    def test_no_file_is_over_800_lines(self):
        wrong = []
        for pattern in ("src/**/*.[ch]", "include/**/*.h", "tests/**/*.[ch]", "tests/**/*.py", "tools/*", "fuzz/*.c"):
            for path in TOP.glob(pattern):
                if path.is_file() and path.suffix in (".c", ".h", ".py") and len(path.read_text().splitlines()) > 800:
                    wrong.append(str(path.relative_to(TOP)))
        self.assertEqual(wrong, [])

    def test_no_banned_function_is_called(self):
        pattern = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
        wrong = []
        for _, path in sources(".c", ".h"):
            for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
                if pattern.search(line):
                    wrong.append(f"{path.relative_to(TOP)}:{number}: {line.strip()}")
        self.assertEqual(wrong, [])

    def test_the_library_never_prints_or_ends_the_process(self):
        pattern = re.compile(r"(?<![\w.>])(printf|fprintf|puts|fputs|putchar|perror|exit|_exit|abort|quick_exit)\s*\(")
        wrong = []
        for folder, path in sources(".c"):
            # os holds the doors (terminals, children, points where tests kill); cli is the one that prints.
            if folder in ("cli", "os"):
                continue
            for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
                if pattern.search(line):
                    wrong.append(f"{path.relative_to(TOP)}:{number}: {line.strip()}")
        self.assertEqual(wrong, [])

    def test_functions_that_leave_a_file_carry_the_prefix(self):
        build = os.environ.get("TENURE_BUILD")
        archive = Path(build or "") / "libtenure.a"
        if not build or not archive.exists():
            self.skipTest("TENURE_BUILD names no build with libtenure.a")
        names = subprocess.run(["nm", "-g", "--defined-only", str(archive)], capture_output=True, text=True).stdout
        ours = [line.split()[-1] for line in names.splitlines() if len(line.split()) == 3]
        wrong = [n for n in ours if not n.startswith(("tn_", "blake3_", "__asan", "__odr_asan", "__tsan", "__ubsan", "_blake3_"))]
        self.assertEqual(wrong, [])

    def test_only_tn_symbols_are_exported(self):
        build = os.environ.get("TENURE_BUILD")
        library = Path(build or "") / "libtenure.so"
        if not build or not library.exists():
            self.skipTest("TENURE_BUILD names no build with libtenure.so")
        names = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in names.splitlines()}
        declared = set()
        for header in (TOP / "include/tenure").glob("*.h"):
            declared |= set(re.findall(r"\bTN_API\b[^;(]*?\b(tn_\w+)\(", header.read_text()))
        self.assertEqual(exported, declared)


class PublicHeaders(unittest.TestCase):
    LANGUAGES = [("c11", "gcc", "c"), ("c17", "gcc", "c"), ("c++17", "g++", "c++")]

    def test_each_compiles_alone(self):
        for header in sorted((TOP / "include/tenure").glob("*.h")):
            for standard, compiler, language in self.LANGUAGES:
                with self.subTest(header=header.name, standard=standard):
                    run = subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror",
                                          "-I", str(TOP / "include"), "-fsyntax-only", "-x", language, str(header)],
                                         capture_output=True, text=True)
                    self.assertEqual(run.returncode, 0, run.stderr)

    def test_each_internal_header_compiles_alone(self):
        for _, header in sources(".h"):
            if "_win32" in header.name:
                continue
            with self.subTest(header=header.name):
                run = subprocess.run(["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE",
                                      "-I", str(TOP / "include"), "-I", str(TOP / "src"),
                                      "-I", os.environ.get("TENURE_BUILD", ".") + "/generated",
                                      "-I", str(TOP / "build/blake3/c"), "-fsyntax-only",
                                      "-x", "c", str(header)], capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)

    def test_every_public_function_has_a_comment(self):
        wrong = []
        for header in sorted((TOP / "include/tenure").glob("*.h")):
            lines = header.read_text().splitlines()
            for number, line in enumerate(lines):
                if line.startswith("TN_API"):
                    before = number - 1
                    while before >= 0 and lines[before].startswith("TN_API"):
                        before -= 1
                    if not lines[before].rstrip().endswith(("*/", ",", ";")) and "}" not in lines[before]:
                        wrong.append(f"{header.name}:{number + 1}")
        self.assertEqual(wrong, [])


class Words(unittest.TestCase):
    """The project speaks of itself alone."""

    FORBIDDEN = [r"/work/", r"\bsubagent", r"\bthis session\b", r"pypi\.org", r"npmjs\.(com|org)", r"crates\.io/api",
                 r"deb\.debian\.org", r"files\.pythonhosted"]

    def test_no_word_of_where_it_was_made(self):
        listed = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True)
        names = listed.stdout.split("\n") if listed.returncode == 0 else []
        wrong = []
        for name in filter(None, names):
            path = TOP / name
            if not path.is_file() or path == Path(__file__) or name.startswith("tests/data/"):
                continue
            try:
                text = path.read_text()
            except UnicodeDecodeError:
                continue
            wrong += [f"{name}: {p}" for p in self.FORBIDDEN if re.search(p, text)]
        self.assertEqual(wrong, [])


class Packages(unittest.TestCase):
    def test_the_program_in_the_readme_builds_against_an_installed_copy(self):
        build = os.environ.get("TENURE_BUILD")
        if not build or not (Path(build) / "libtenure.so").exists():
            self.skipTest("TENURE_BUILD names no build with libtenure.so")
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["cmake", "--install", build, "--prefix", place], check=True, capture_output=True)
            pc = next(Path(place).rglob("tenure.pc"))
            program = Path(place) / "readme.c"
            program.write_text(re.search(r"```c\n(.*?)```", (TOP / "README.md").read_text(), re.S).group(1))
            flags = subprocess.run(["pkg-config", "--cflags", "--libs", "tenure"], capture_output=True, text=True, check=True,
                                   env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}).stdout.split()
            sanitize = re.search(r"^TENURE_SANITIZE:\w+=(.+)$", (Path(build) / "CMakeCache.txt").read_text(), re.M)
            if sanitize:
                flags.append("-fsanitize=" + sanitize.group(1))
            subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", str(program), "-o", str(Path(place) / "readme"), *flags],
                           check=True)
            embedding = Path(place) / "word.safetensors"
            header = b'{"emb_params":{"dtype":"F32","shape":[1,768],"data_offsets":[0,3072]}}'
            embedding.write_bytes(len(header).to_bytes(8, "little") + header + bytes(3072))
            said = subprocess.run([str(Path(place) / "readme"), str(embedding)], capture_output=True, text=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(pc.parent.parent)})
            self.assertEqual(said.stdout, f"{embedding}: identified sd-1 embedding\n", said.stderr)


if __name__ == "__main__":
    unittest.main()
