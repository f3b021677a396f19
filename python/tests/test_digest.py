"""Digests of a file, against the hashes of Python and of the blake3 package."""

import hashlib
import random
import sys
import threading
import time
import zlib

import numpy as np
import pytest

import tenure

BIG = 40 << 20


@pytest.fixture(scope="module")
def bytes_(tmp_path_factory):
    path = tmp_path_factory.mktemp("digests") / "bytes.bin"
    path.write_bytes(random.Random(5).randbytes(BIG))
    return path


def test_whole_file_digests_are_those_of_python_in_one_pass(bytes_):
    data = bytes_.read_bytes()
    assert tenure.digests(bytes_, ["sha256", "crc32", "autov2"]) == {
        "sha256": hashlib.sha256(data).hexdigest(),
        "crc32": f"{zlib.crc32(data):08x}",
        "autov2": hashlib.sha256(data).hexdigest()[:10],
    }


def test_blake3_is_that_of_its_own_package(bytes_):
    blake3 = pytest.importorskip("blake3", reason="the blake3 package is not installed")
    assert tenure.digests(bytes_) == {"blake3": blake3.blake3(bytes_.read_bytes()).hexdigest()}


def test_blake3_of_nothing_is_the_published_one(tmp_path):
    (tmp_path / "nothing").touch()
    published = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"  # BLAKE3's test vectors, length 0
    assert tenure.digests(tmp_path / "nothing") == {"blake3": published}


def test_content_digest_is_of_the_tensors_not_of_their_order(tmp_path):
    one, two = tmp_path / "one.safetensors", tmp_path / "two.safetensors"
    tensors = {"a": np.arange(6, dtype=np.float32), "b": np.ones(3, np.float32)}
    tenure.save(tensors, one, metadata={"title": "one"})
    tenure.save(dict(reversed(tensors.items())), two)
    words = ["content", "blake3"]
    first, second = tenure.digests(one, words), tenure.digests(two, words)
    assert first["content"] == second["content"]
    assert first["content"].startswith("c1:")
    assert first["blake3"] != second["blake3"]


def test_what_a_file_has_not_is_missing(bytes_):
    assert set(tenure.digests(bytes_, ["content", "key_hash", "crc32"])) == {"crc32"}


def test_progress_grows_to_the_files_size_and_its_exception_ends_the_work(bytes_):
    told = []
    tenure.digests(bytes_, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (BIG, BIG)
    assert told == sorted(told)
    with pytest.raises(ZeroDivisionError):
        tenure.digests(bytes_, progress=lambda done, total: 1 / 0)
    assert set(tenure.digests(bytes_)) == {"blake3"}  # and the next one is not cancelled


def test_other_threads_run_meanwhile(bytes_):
    """The interpreter takes the lock from nobody in this test, so the other thread counts while it was let go."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    thread.start()
    try:
        sys.setswitchinterval(60)
        before = counted[0]
        tenure.digests(bytes_, ["blake3", "sha256"])
        assert counted[0] > before + 100
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


@pytest.mark.parametrize("words", ["md6", [], ["blake3", "x"]])
def test_unknown_words_are_refused(bytes_, words):
    with pytest.raises(ValueError, match="digests are blake3"):
        tenure.digests(bytes_, words)


def test_what_is_no_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        tenure.digests(tmp_path / "missing")
    with pytest.raises(OSError, match="folder"):
        tenure.digests(tmp_path)
