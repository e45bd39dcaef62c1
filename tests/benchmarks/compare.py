#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our training step beside a peer's: both programs in turn, so that what else the machine does hits both.

compare.py OURS PEER [--only MODEL] [--rounds 11] [--seconds 0.5] [--threads 2] [--floor FLOOR]
prints, for each model and batch, both medians, the fastest tenth, and the median of the rounds' ratios peer / ours.
With --floor also the share of the measured multiply-add peak that our step reaches. On a machine that others use, one
thread gives steadier ratios: waiting threads spin, and a team stalls when one of them is preempted.
"""
import argparse
import os
import statistics
import subprocess

CASES = [("cnn", 64), ("cnn", 128), ("mlp", 32), ("mlp", 128), ("lstm", 64), ("toy", 4)]


def flops(model, batch):
    """Multiply-adds of a step, twice: forward, both gradients (the first layer needs one)."""
    def dense(widths):
        pairs = list(zip(widths, widths[1:]))
        return sum(2 * a * b * (2 if i == 0 else 3) for i, (a, b) in enumerate(pairs))
    if model == "cnn":
        return batch * (2 * 28 * 28 * 9 * 32 * 2 + 2 * 14 * 14 * 9 * 32 * 64 * 3 + 3 * 2 * (3136 * 128 + 128 * 10))
    if model == "mlp":
        return batch * dense([784, 512, 512, 10])
    if model == "lstm":
        return batch * (28 * 2 * 4 * 128 * (28 * 2 + 128 * 3) + 3 * 2 * 128 * 10)
    return batch * dense([8, 8, 8, 4])


def step(program, model, batch, seconds, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    out = subprocess.run([program, model, str(batch), str(seconds)], env=environment, check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.split()
    return float(out[2]), float(out[3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("peer")
    parser.add_argument("--only", help="one model's name")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=2, choices=(1, 2))
    parser.add_argument("--floor")
    arguments = parser.parse_args()
    peak = 0.0
    if arguments.floor:
        measured = subprocess.run([arguments.floor], check=True, text=True, stdout=subprocess.PIPE).stdout
        for line in measured.splitlines():
            print(line)
            if line.startswith(f"multiply_add_{arguments.threads} "):
                peak = float(line.split()[1])
    print(f"{'model':6} {'batch':>5} {'ours µs':>10} {'best 10%':>10} {'peer µs':>10} {'best 10%':>10} {'ratio':>6}"
          + (f" {'of peak':>8}" if peak else ""))
    for model, batch in CASES:
        if arguments.only not in (None, model):
            continue
        ours, peer = [], []
        for _ in range(arguments.rounds):
            ours.append(step(arguments.ours, model, batch, arguments.seconds, arguments.threads))
            peer.append(step(arguments.peer, model, batch, arguments.seconds, arguments.threads))
        ratio = statistics.median(p[0] / o[0] for o, p in zip(ours, peer))
        best = min(o[1] for o in ours)
        row = (f"{model:6} {batch:5} {statistics.median(o[0] for o in ours):10.1f} {best:10.1f} "
               f"{statistics.median(p[0] for p in peer):10.1f} {min(p[1] for p in peer):10.1f} {ratio:6.2f}")
        if peak:
            row += f" {100 * flops(model, batch) / best / 1e3 / peak:7.1f}%"
        print(row, flush=True)


if __name__ == "__main__":
    main()
