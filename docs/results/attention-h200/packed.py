"""Packed sequences: ours, torch's FlashAttention 2 of as many lengths, and cuDNN called once for each sequence.

`python packed.py --rounds 5 --folder FOLDER`, on the cubins of `cargo xtask attention-cubins --packed FOLDER` (with `--sweep` of more tiles). Queries and keys of all
sequences lie one behind the other, `[heads, tokens, dim]`, with as many heads of keys as of queries or a quarter. Each contender is a
graph of launches; rounds are interleaved. TFLOP/s count what is seen, causal half of each square. Ours are held against fp32.
"""
import argparse
import random

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels import FOLDER, Kernel, interleaved, median, spread, variants

TOKENS = 16_384
ROUND_MS = 3.0
RATE = 400e9  # operations a millisecond, to count launches by


def lengths_by_name():
    """Of sequences that have TOKENS in all."""
    drawn = random.Random(1)
    mixed = []
    while sum(mixed) < TOKENS:
        mixed.append(min(drawn.randrange(64, 2049), TOKENS - sum(mixed)))
    short = []
    while sum(short) < TOKENS:
        short.append(min(drawn.randrange(16, 257), TOKENS - sum(short)))
    return {
        "32 of 512": [512] * 32,
        "8 of 2048": [2048] * 8,
        "2 of 8192": [8192] * 2,
        f"{len(mixed)} of 64 to 2048": mixed,
        f"{len(short)} of 16 to 256": short,
        "one of 8192, 64 of 128": [8192] + [128] * 64,
    }


def measure(kernels, dim, causal, sharing, name, lengths, rounds):
    heads = 2048 // dim
    groups = heads // sharing
    bounds = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], device="cuda", dtype=torch.int32)
    of = lambda count: torch.randn(TOKENS, count, dim, device="cuda").bfloat16()
    q, k, v = of(heads), of(groups), of(groups)
    out = torch.empty_like(q)
    ours = [it.transpose(0, 1) for it in (q, k, v)]
    sizes = dict(batch=len(lengths), heads=heads, groups=groups, queries=TOKENS, keys=TOKENS)
    operations = sum(4 * heads * length * length * dim * (0.5 if causal else 1.0) for length in lengths)
    launches = max(2, round(ROUND_MS * RATE / operations))
    parts = list(zip(bounds.tolist(), bounds.tolist()[1:]))

    def by_cudnn():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            for begin, end in parts:
                one = lambda it: it[begin:end].transpose(0, 1)[None]
                F.scaled_dot_product_attention(one(q), one(k), one(v), is_causal=causal, enable_gqa=sharing != 1)

    def by_cudnn_at_once():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            one = lambda it: it.view(len(lengths), lengths[0], -1, dim).transpose(1, 2)
            F.scaled_dot_product_attention(one(q), one(k), one(v), is_causal=causal, enable_gqa=sharing != 1)

    def by_flash():
        return torch.ops.aten._flash_attention_forward(
            q, k, v, bounds, bounds, max(lengths), max(lengths), 0.0, causal, False, scale=dim**-0.5)[0]

    contenders = {}
    for label, run in [("flash", by_flash), ("cudnn, a call each", by_cudnn)] + ([("cudnn, a batch", by_cudnn_at_once)] if len(set(lengths)) == 1 else []):
        try:
            run()
            torch.cuda.synchronize()
            contenders[label] = [run] * (launches if label == "flash" or "batch" in label else max(1, launches // 4))
        except RuntimeError as error:
            print(f"{label}: {str(error).splitlines()[0]}", flush=True)
    for kernel in kernels:
        launch = kernel.prepare([*ours, bounds, bounds, out.transpose(0, 1)], sizes)
        twice = []
        for _ in range(2):
            out.fill_(7.0)
            launch()
            twice.append(out.clone())
        assert torch.equal(*twice), f"{kernel.variant['name']}: other bits the second time"
        for begin, end in parts[:3] + parts[-1:]:
            one = lambda it: it[begin:end].transpose(0, 1)[None].float().repeat_interleave(heads // it.shape[1], 1)
            with sdpa_kernel(SDPBackend.MATH):
                expected = F.scaled_dot_product_attention(one(q), one(k), one(v), is_causal=causal)
            off = (one(out) - expected).abs().max() / expected.abs().max()
            assert off < 0.01, f"{kernel.variant['name']}: {off} of the largest element off"
        contenders[kernel.variant["name"]] = [launch] * launches
    times = interleaved(contenders, rounds)
    own = min((kernel.variant["name"] for kernel in kernels), key=lambda it: median(times[it]))
    cells = [f"{label} {operations / median(it) / 1e9:.0f} ({spread(it):.1f} %)" for label, it in times.items()]
    ratios = [f"{median([a / b for a, b in zip(times[label], times[own])]):.2f} x {label}" for label in times if label not in {it.variant["name"] for it in kernels}]
    print(f"d{dim}{' causal' if causal else ''} {heads} on {groups}, {name}: " + "  ".join(cells) + " | " + ", ".join(ratios), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sharing", type=int, nargs="+", default=[1, 4], help="heads that share keys")
    parser.add_argument("--only", default="", help="of all kernels those whose names have that")
    parser.add_argument("--lengths", default="", help="of all lists of lengths those whose names have that")
    options = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}; TFLOP/s, medians of {options.rounds} rounds, "
          "spread of their middle half; x the fastest of ours", flush=True)
    all_kernels = [Kernel(it, options.folder) for it in variants(options.folder) if options.only in it["name"]]
    for dim, causal in sorted({(it.variant["D"], it.variant["causal"]) for it in all_kernels}, reverse=True):
        own = [it for it in all_kernels if (it.variant["D"], it.variant["causal"]) == (dim, causal)]
        for sharing in options.sharing:
            for name, lengths in lengths_by_name().items():
                if options.lengths not in name:
                    continue
                measure(own, dim, causal, sharing, name, lengths, options.rounds)


if __name__ == "__main__":
    main()
