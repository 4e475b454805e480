"""Chunks of prompts on caches: packed queries that see the keys before them, by tiles of one head and by blocks that share keys.

`python chunks.py --rounds 5 --folder FOLDER`, on the cubins of `cargo xtask attention-cubins --chunks FOLDER` (with `--sweep` of more
tiles). Each sequence has as many queries, which stand at the end of its keys; caches are one piece a sequence, or pages that lie in random
order. Each contender is a graph of launches; rounds are interleaved. TFLOP/s count what is seen. Ours are held against fp32, and those
that share keys are what ratios are of.
"""
import argparse

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels import FOLDER, Kernel, interleaved, median, spread, variants

# Sequences, queries of each and keys of each.
SHAPES = [(8, 512, 4096), (32, 128, 2048), (1, 2048, 8192), (4, 4096, 4096), (8, 2048, 8192), (32, 512, 4096), (128, 128, 2048)]
ROUND_MS = 3.0
RATE = 400e9  # operations a millisecond, to count launches by


class Cache:
    """Keys and values of each sequence in one piece, and the same in pages that lie in random order."""

    def __init__(self, batch, groups, keys, dim, pages):
        of = lambda: torch.randn(batch, groups, keys, dim, device="cuda").bfloat16()
        self.whole, self.pages, self.tables = [of(), of()], {}, {}
        for page in pages:
            count = keys // page
            order = torch.randperm(batch * count, device="cuda")
            self.tables[page] = order.argsort().to(torch.int32).view(batch, count)
            in_pages = [it.view(batch, groups, count, page, dim).transpose(1, 2).reshape(-1, groups, page, dim) for it in self.whole]
            self.pages[page] = [it[order] for it in in_pages]
        self.lengths = torch.full((batch,), keys, dtype=torch.int32, device="cuda")

    def operands(self, q, bounds, out, page):
        cache, table = (self.pages[page], [self.tables[page]]) if page else (self.whole, [])
        return [q, *cache, bounds, *table, self.lengths, out]


def measure(kernels, dim, sharing, shape, rounds):
    batch, queries, keys = shape
    heads = 2048 // dim
    groups = heads // sharing
    cache = Cache(batch, groups, keys, dim, {it.variant["page"] for it in kernels} - {0})
    bounds = torch.arange(0, batch * queries + 1, queries, device="cuda", dtype=torch.int32)
    q = torch.randn(batch * queries, heads, dim, device="cuda").bfloat16()
    out = torch.empty_like(q)
    pairs = batch * heads * sum(keys - queries + 1 + query for query in range(queries))
    operations = 4 * dim * pairs
    launches = max(2, round(ROUND_MS * RATE / operations))
    seen = torch.ones(queries, keys, dtype=torch.bool, device="cuda").tril(keys - queries)
    contenders, expected = {}, {}
    for number in sorted({0, batch // 2, batch - 1}):
        one = lambda it: it[number, :, :, :].float().repeat_interleave(sharing, 0)[None]
        rows = q[number * queries : (number + 1) * queries].float().transpose(0, 1)[None]
        with sdpa_kernel(SDPBackend.MATH):
            # Head by head: scores of all would not fit.
            parts = [F.scaled_dot_product_attention(rows[:, h : h + 1], *(one(it)[:, h : h + 1] for it in cache.whole), attn_mask=seen) for h in range(heads)]
        expected[number] = torch.cat(parts, 1)[0].transpose(0, 1)
    for kernel in kernels:
        page = kernel.variant["page"]
        sizes = dict(batch=batch, heads=heads, groups=groups, queries=batch * queries, keys=page or keys)
        launch = kernel.prepare(cache.operands(q.transpose(0, 1), bounds, out.transpose(0, 1), page), sizes)
        twice = []
        for _ in range(2):
            out.fill_(7.0)
            launch()
            twice.append(out.clone())
        assert torch.equal(*twice), f"{kernel.variant['name']}: other bits the second time"
        for number, right in expected.items():
            off = (out[number * queries : (number + 1) * queries].float() - right).abs().max() / right.abs().max()
            assert off < 0.01, f"{kernel.variant['name']}: {off} of the largest element off"
        contenders[kernel.variant["name"]] = [launch] * launches
    times = interleaved(contenders, rounds)
    shares = lambda it: "sharing" in it.step["grid"]["residency"]
    for lies in sorted({it.variant["keys"] for it in kernels}):
        own = [it for it in kernels if it.variant["keys"] == lies]
        base = [times[it.variant["name"]] for it in own if shares(it)][0]
        cells = []
        for name in (it.variant["name"] for it in own):
            ratio = median([a / b for a, b in zip(base, times[name])])
            cells.append(f"{name} {operations / median(times[name]) / 1e9:.0f} ({spread(times[name]):.1f} %, {ratio:.2f} x)")
        print(f"d{dim} {heads} on {groups}, {batch} of {queries} on {keys}, {lies}: " + "  ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sharing", type=int, nargs="+", default=[4], help="heads that share keys")
    options = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; TFLOP/s, medians of {options.rounds} rounds, spread of their middle half; "
          "x what blocks that share keys reach", flush=True)
    kernels = [Kernel(it, options.folder) for it in variants(options.folder)]
    for dim in sorted({it.variant["D"] for it in kernels}, reverse=True):
        for sharing in options.sharing:
            for shape in SHAPES:
                measure([it for it in kernels if it.variant["D"] == dim], dim, sharing, shape, options.rounds)


if __name__ == "__main__":
    main()
