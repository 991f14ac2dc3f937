#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares training steps with PyTorch: the same network, batch and optimiser, in one run, in turns.

    /usr/bin/python3 bench/train_vs_torch.py [--backend cuda] [--threads 2] [--models digits,resnet18] [--forms eager,graph] [--rounds 7]

Forms of PyTorch's step: eager, graph (the eager step in a CUDA graph), compiled, compiled-graph; compiling takes up to a minute for each network. Ours is captured.
"""
import argparse
import os
import statistics

from turns import Turns, sample_ns

PROGRAMS = {"digits": "train_vision", "resnet18": "train_vision", "characters": "train_text", "gpt2": "train_text"}


def peer_sample(torch, step, is_gpu):
    """A function that times some steps of PyTorch, in ns each."""
    wait = torch.cuda.synchronize if is_gpu else lambda: None

    def run(count):
        for _ in range(count):
            step()
        wait()

    run(3)
    once = sample_ns(lambda: run(1), 2)
    steps = max(1, int(5e7 / once))
    return lambda: sample_ns(lambda: run(steps), 1) / steps


def measure(torch, given, name):
    is_gpu = given.backend != "cpu"
    from train_torch import training_step

    command = [os.path.join(given.programs, PROGRAMS[name]), name, given.backend, "--turns"]
    if given.batch:
        command += ["--batch", str(given.batch)]
    ours = Turns(command, {"TESSERA_THREADS": str(given.threads)})
    if not ours.is_ready:
        print(f"{name:12} {(ours.process.communicate()[1].strip().splitlines() or ['no answer'])[-1]}")
        return
    samples = [ours.sample_ns]
    for form in given.forms:
        try:
            samples.append(peer_sample(torch, training_step(name, "cuda" if is_gpu else "cpu", form, given.batch), is_gpu))
        except Exception as error:  # a form that PyTorch cannot build here is a missing column, not the end
            print(f"{name}: {form}: {str(error).splitlines()[0]}")
            samples.append(lambda: float("nan"))
    rounds = [[sample() for sample in samples] for _ in range(given.rounds)]
    ours.process.communicate()
    columns = [statistics.median(column) / 1e3 for column in zip(*rounds)]
    print(f"{name:12}" + "".join(f" {column:14.1f}" for column in columns), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--programs", default="build/release/bench", help="folder of train_vision and train_text")
    options.add_argument("--backend", default="cuda")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--models", default=",".join(PROGRAMS), type=lambda text: text.split(","))
    options.add_argument("--forms", default="eager", type=lambda text: text.split(","))
    options.add_argument("--batch", type=int)
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    import torch

    torch.set_num_threads(given.threads)
    print(f"us a step    {'Tessera':>14}" + "".join(f" {form:>14}" for form in given.forms) + f"   PyTorch {torch.__version__}, {given.backend}")
    for name in given.models:
        measure(torch, given, name)


if __name__ == "__main__":
    main()
