"""What a window costs of plain causal attention on one GPU, beside the share of its tiles that it computes.

`python windows.py ROUNDS`, on the cubins of `cargo xtask attention-cubins --windows FOLDER`.
"""
import argparse

import torch

from kernels import FOLDER, Kernel, interleaved, median, spread, variants

TOKENS = 16_384


def tiles(variant, tokens):
    """Blocks of keys that all tiles of queries see."""
    rows, keys, window = 64 * variant["C"], variant["BN"], variant["WINDOW"] or tokens
    of = lambda first: -(-min(first + rows, tokens) // keys) - max(0, first - window + 1) // keys
    return sum(of(first) for first in range(0, tokens, rows))


def measure(kernels, tokens, rounds):
    dim = kernels[0].variant["D"]
    batch, heads = TOKENS // tokens, 2048 // dim
    q, k, v = [torch.randn(batch, heads, tokens, dim, device="cuda").bfloat16() for _ in range(3)]
    out, lse = torch.empty_like(q), torch.empty(batch, heads, tokens, device="cuda")
    sizes = dict(batch=batch, heads=heads, groups=heads, queries=tokens, keys=tokens)
    contenders = {}
    for kernel in kernels:
        share = tiles(kernel.variant, tokens) / tiles(kernel.variant | {"WINDOW": 0}, tokens)
        launches = max(2, round(4 / share))
        contenders[kernel.variant["name"]] = [kernel.prepare([q, k, v, out, lse], sizes)] * launches
    times = interleaved(contenders, rounds)
    best = lambda window: min((it.variant for it in kernels if it.variant["WINDOW"] == window), key=lambda it: median(times[it["name"]]))
    plain = best(0)
    for window in sorted({it.variant["WINDOW"] for it in kernels}):
        it = best(window)
        share = tiles(it, tokens) / tiles(plain, tokens) * it["BN"] * it["C"] / plain["BN"] / plain["C"]
        of_plain = median([a / b for a, b in zip(times[it["name"]], times[plain["name"]])])
        print(f"d{dim} {batch} x {tokens}, window {window or 'none'}: {it['name']} {median(times[it['name']]):.4f} ms "
              f"({spread(times[it['name']]):.1f} %), {of_plain:.3f} of plain's time, {share:.3f} of its tiles: {of_plain / share:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int)
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--tokens", type=int, nargs="+", default=[4096, 16_384])
    options = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: medians of {options.rounds} rounds, spread of the middle half")
    kernels = [Kernel(it, options.folder) for it in variants(options.folder)]
    for dim in sorted({it.variant["D"] for it in kernels}):
        for tokens in options.tokens:
            measure([it for it in kernels if it.variant["D"] == dim], tokens, options.rounds)


if __name__ == "__main__":
    main()
