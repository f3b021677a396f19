"""The Python package safetensors' side of bench/weights.py: each round prints its nanoseconds and the sum of what was
read.

weights_peer.py load BACKEND FILE ROUNDS   load_file: every tensor into owned memory
weights_peer.py each BACKEND FILE ROUNDS   safe_open, then every tensor by get_tensor
weights_peer.py views FILE ROUNDS          load_file over a map, nothing touched (torch; left out without it)
weights_peer.py small FILE TIMES ROUNDS    the first tensor of at most 4 KiB, TIMES times
weights_peer.py fastsafetensors THREADS FILE ROUNDS   its loader, every tensor
weights_peer.py runai THREADS FILE ROUNDS  Run:ai's model streamer, every tensor
weights_peer.py rows FILE TIMES ROUNDS     four rows out of the middle of the largest tensor, TIMES times
"""

import os
import sys
import time

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file


def total(tensors):
    """The sum of all 64-bit words, and of the bytes behind the last: what bench/weights.c adds."""
    summed = 0
    for tensor in tensors:
        data = tensor.reshape(-1).view(numpy.uint8)
        whole = data.size - data.size % 8
        summed += int(data[:whole].view(numpy.uint64).sum(dtype=numpy.uint64)) + int(data[whole:].sum(dtype=numpy.uint64))
    return summed % 2**64


def load(backend, path, rounds):
    for _ in range(rounds):
        began = time.perf_counter_ns()
        tensors = load_file(path, backend=backend)
        took = time.perf_counter_ns() - began
        print(took, total(tensors.values()))
        del tensors


def each(backend, path, rounds):
    for _ in range(rounds):
        began = time.perf_counter_ns()
        with safe_open(path, framework="np", backend=backend) as file:
            tensors = [file.get_tensor(name) for name in file.keys()]
        took = time.perf_counter_ns() - began
        print(took, total(tensors))
        del tensors


def fastsafetensors(threads, path, rounds):
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup

    for _ in range(rounds):
        began = time.perf_counter_ns()
        loader = SafeTensorsFileLoader(SingleGroup(), "cpu", nogds=True, max_threads=threads)
        loader.add_filenames({0: [path]})
        buffer = loader.copy_files_to_device()
        tensors = [buffer.get_tensor(name) for name in buffer.key_to_rank_lidx]
        took = time.perf_counter_ns() - began
        print(took, total(as_words(tensors)))
        del tensors
        buffer.close()
        loader.close()


def runai(threads, path, rounds):
    os.environ["RUNAI_STREAMER_CONCURRENCY"] = str(threads)
    from runai_model_streamer import SafetensorsStreamer

    for _ in range(rounds):
        began = time.perf_counter_ns()
        with SafetensorsStreamer() as streamer:
            streamer.stream_file(path)
            tensors = [tensor for _, tensor in streamer.get_tensors()]
            took = time.perf_counter_ns() - began
            print(took, total(as_words(tensors)))
            del tensors


def as_words(tensors):
    import torch

    return [tensor.reshape(-1).view(torch.uint8).numpy() for tensor in tensors]


def views(path, rounds):
    from safetensors.torch import load_file as load_torch

    for _ in range(rounds):
        began = time.perf_counter_ns()
        tensors = load_torch(path)
        print(time.perf_counter_ns() - began, 0)
        del tensors


def sizes(file):
    for name in file.keys():
        part = file.get_slice(name)
        yield name, part.get_shape(), numpy.prod(part.get_shape(), dtype=int) * 2


def small(path, times, rounds):
    with safe_open(path, framework="np", backend="pread") as file:
        name = next(name for name, _, size in sizes(file) if 0 < size <= 4096)
        for _ in range(rounds):
            began = time.perf_counter_ns()
            for _ in range(times):
                file.get_tensor(name)
            print(time.perf_counter_ns() - began, 0)


def rows(path, times, rounds):
    with safe_open(path, framework="np", backend="pread") as file:
        name, shape, _ = max(sizes(file), key=lambda row: row[2])
        middle = shape[0] // 2
        for _ in range(rounds):
            began = time.perf_counter_ns()
            for _ in range(times):
                file.get_slice(name)[middle : middle + 4]
            print(time.perf_counter_ns() - began, 0)


def main():
    mode, *given = sys.argv[1:]
    modes = (load, each, fastsafetensors, runai, views, small, rows)
    {one.__name__: one for one in modes}[mode](*(int(word) if word.isdigit() else word for word in given))


if __name__ == "__main__":
    main()
