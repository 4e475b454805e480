"""Attention of drawn shapes against cuDNN: `python drawn.py SEED COUNT`, on the cubins of `cargo xtask attention-cubins FOLDER`.

Batch, heads, heads of keys, tokens, and elements of a head (64, 128 or 256), causal or not, are drawn. Buffers rotate past L2, rounds are
interleaved. Ours is the fastest of the schedules that a kernel carries, and beside it the first of them, the default.
"""
import argparse
import math
import random

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels import FOLDER, Kernel, interleaved, median, variants

ROTATED = 128 << 20  # bytes
ROUND_MS = 4.0
FLOPS_PER_MS = 500e9
MOST_TOKENS = 32768  # of all sequences


def draw(rng):
    tokens = round(2 ** rng.uniform(7, 14))
    batch = max(1, min(round(2 ** rng.uniform(0, 6)), MOST_TOKENS // tokens))
    heads = rng.choice([4, 8, 16, 32])
    groups = heads // rng.choice([it for it in (1, 1, 2, 4, 8) if heads % it == 0])
    return dict(batch=batch, heads=heads, groups=groups, tokens=tokens, dim=rng.choice([64, 128, 256]), causal=rng.random() < 0.5)


def operands(batch, heads, groups, tokens, dim):
    of = lambda count: torch.randn(batch, count, tokens, dim, device="cuda", dtype=torch.bfloat16)
    q = of(heads)
    return [q, of(groups), of(groups), torch.empty_like(q), torch.empty(batch, heads, tokens, device="cuda")]


def by_cudnn(q, k, v, causal):
    def launch():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
    return launch


def measure(kernels, rounds, batch, heads, groups, tokens, dim, causal):
    flops = 4 * batch * heads * tokens * tokens * dim * (0.5 if causal else 1)
    bytes_of = 2 * batch * (2 * heads + 2 * groups) * tokens * dim
    sets = [operands(batch, heads, groups, tokens, dim) for _ in range(-(-ROTATED // bytes_of))]
    laps = max(1, round(ROUND_MS * FLOPS_PER_MS / flops / len(sets)))
    sizes = dict(batch=batch, heads=heads, groups=groups, queries=tokens, keys=tokens)
    around = lambda make: [make(of) for of in sets] * laps
    contenders = {"cudnn": around(lambda of: by_cudnn(*of[:3], causal))}
    expected = by_cudnn(*sets[0][:3], causal)().float()
    for kernel in kernels:
        contenders[kernel.variant["name"]] = around(lambda of: kernel.prepare(of, sizes))
        contenders[kernel.variant["name"]][0]()
        off = (sets[0][3].float() - expected).abs().max().item()
        assert off < 0.02 * expected.abs().max().item(), f"{kernel.variant['name']} is {off} off"
    times = interleaved(contenders, rounds)
    ratio = lambda name: median([theirs / ours for theirs, ours in zip(times["cudnn"], times[name])])
    ratios = {name: ratio(name) for name in times if name != "cudnn"}
    best = max(ratios, key=ratios.get)
    first = kernels[0].variant["name"]
    speed = flops / median(times["cudnn"]) / 1e9
    print(f"{batch} x {heads}/{groups} x {tokens} d{dim}{' causal' if causal else ''}: cudnn {speed:.0f} TFLOP/s, {best} {ratios[best]:.3f}, "
          f"default {ratios[first]:.3f}", flush=True)
    return ratios[best], ratios[first]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    torch.manual_seed(options.seed)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, seed {options.seed}, medians of {options.rounds} rounds")
    loaded = {}
    for variant in variants(options.folder):
        loaded.setdefault((variant["D"], variant["causal"]), []).append(Kernel(variant, options.folder))
    results = []
    for _ in range(options.count):
        shape = draw(rng)
        results.append(measure(loaded[shape["dim"], shape["causal"]], options.rounds, **shape))
    for name, of in zip(("fastest", "default"), zip(*results)):
        print(f"{name}: geometric mean {math.exp(sum(map(math.log, of)) / len(of)):.3f}, lowest {min(of):.3f}")


if __name__ == "__main__":
    main()
