"""Decoding: one query of 32 heads on 8 of keys, by ours and by torch's backends, and a copy of as many bytes.

`python decoding.py`, on the cubins of `cargo xtask attention-cubins --decoding FOLDER`. Each contender is a graph of launches that
go around sets of buffers larger than L2; rounds are interleaved. GB/s are bytes of keys and values, of a copy those
that it reads and writes. Ours on a cache in one piece must be that of torch, and of pages and counted keys the same bits.
"""
import argparse
import os

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels import FOLDER, Kernel, interleaved, median, milliseconds_by_host, spread, variants

HEADS, GROUPS = 32, 8
ROTATED = 256 << 20  # bytes that launches go around, at least: five times L2
ROUND_MS = 1.5  # of one contender
BYTES_PER_MS = 4e9  # about what is read, to count launches by
MOST_QUEUED = 128  # launches that the host makes one by one
QUEUING_CYCLES = 20_000_000  # about 10 ms, in which it makes as many
TORCH = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


class Set:
    """A cache in one piece, and the same in pages that lie in random order."""

    def __init__(self, batch, keys, dim, pages):
        self.q = torch.randn(batch, HEADS, 1, dim, device="cuda", dtype=torch.bfloat16)
        self.whole = [torch.randn(batch, GROUPS, keys, dim, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        self.pages, self.tables = {}, {}
        for page in pages:
            count = keys // page
            order = torch.randperm(batch * count, device="cuda")
            self.tables[page] = order.argsort().to(torch.int32).view(batch, count)
            in_pages = [it.view(batch, GROUPS, count, page, dim).transpose(1, 2).reshape(-1, GROUPS, page, dim) for it in self.whole]
            self.pages[page] = [it[order] for it in in_pages]
        self.lengths = torch.full((batch,), keys, dtype=torch.int32, device="cuda")
        self.out = torch.empty_like(self.q)

    def operands(self, variant):
        page = variant["page"]
        located = [self.tables[page]] if page else []
        located += [self.lengths] if variant["keys"] else []
        return [self.q, *(self.pages[page] if page else self.whole), *located, self.out]


def by_torch(of, backend):
    def launch():
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(of.q, *of.whole, enable_gqa=True)
    return launch


def copy_of(of):
    """Half of the bytes, read and written; in pieces, as the driver copies more than 1 GiB at two thirds of the speed."""
    source = of.whole[1].view(-1).split(128 << 20)
    target = torch.empty_like(source[0])

    def launch():
        for piece in source:
            target[: piece.numel()].copy_(piece)
    return launch


def sizes_for(variant, batch, keys):
    return dict(batch=batch, heads=HEADS, groups=GROUPS, queries=1, keys=variant["page"] or keys)


def compare(kernels, of, batch, keys):
    """Ours against torch's in fp32, and all of ours that take the same blocks of keys against each other, bit by bit."""
    group = lambda it: it[:1].float().repeat_interleave(HEADS // GROUPS, 1)
    with sdpa_kernel(SDPBackend.MATH):
        expected = F.scaled_dot_product_attention(of.q[:1].float(), *map(group, of.whole))
    results = {}
    for kernel in kernels:
        name, launch = kernel.variant["name"], kernel.prepare(of.operands(kernel.variant), sizes_for(kernel.variant, batch, keys))
        twice = []
        for _ in range(2):
            of.out.fill_(7.0)
            launch()
            twice.append(of.out.clone())
        assert torch.equal(*twice), f"{name}: another result the second time"
        off = (twice[0][:1].float() - expected).abs().max().item() / expected.abs().max().item()
        assert off < 0.01, f"{name}: {off} of the largest element off"
        same = results.setdefault((kernel.variant["BN"], str(kernel.plan["workspace"])), twice[0])
        assert torch.equal(same, twice[0]), f"{name}: other bits than of a cache in one piece"


def by_host(contenders, rounds, bytes_of):
    """The same without graphs: launches as the host makes them, and behind a kernel in whose time it makes all of them."""
    for sleep, said in [(0, "as the host launches"), (QUEUING_CYCLES, "queued")]:
        times = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, launches in contenders.items():
                times[name].append(milliseconds_by_host(launches[:MOST_QUEUED], sleep))
        of = [f"{name} {bytes_of / median(it) / 1e6:.0f} ({1000 * median(it):.2f} us)" for name, it in times.items()]
        print(f"    {said}: " + ", ".join(of), flush=True)


def measure(kernels, dim, batch, keys, rounds, launches=False):
    bytes_of = 2 * batch * GROUPS * keys * dim * 2
    pages = {kernel.variant["page"] for kernel in kernels} - {0}
    sets = [Set(batch, keys, dim, pages) for _ in range(-(-ROTATED // bytes_of))]
    compare(kernels, sets[0], batch, keys)
    laps = max(1, round(ROUND_MS * BYTES_PER_MS / bytes_of / len(sets)))
    around = lambda make: [make(of) for of in sets] * laps
    contenders = {"copy": around(copy_of)}
    for name, backend in TORCH.items():
        try:
            by_torch(sets[0], backend)()
            contenders[name] = around(lambda of, backend=backend: by_torch(of, backend))
        except RuntimeError as error:
            print(f"{name} has no kernel: {error}")
    for kernel in kernels:
        sizes = sizes_for(kernel.variant, batch, keys)
        prepare = lambda of: kernel.prepare(of.operands(kernel.variant), sizes)
        contenders[kernel.variant["name"]] = around(prepare)
    times = interleaved(contenders, rounds)
    speed = {name: bytes_of / median(of) / 1e6 for name, of in times.items()}
    ratio = lambda a, b: median([y / x for x, y in zip(times[a], times[b])]) if b in times else float("nan")
    others = [name for name in ("copy", *TORCH) if name in times]
    print(f"d{dim} {batch:>3} x {keys:<6}" + "".join(f" {name} {speed[name]:.0f}" for name in others), end=" |")
    whole = kernels[0].variant["name"]
    for kernel in kernels:
        name = kernel.variant["name"]
        of_whole = f", {ratio(name, whole):.3f} of the first" if name != whole else ""
        of_copy, of_cudnn = ratio(name, "copy"), ratio(name, "cudnn")
        print(f" {name} {speed[name]:.0f} ({of_copy:.3f} of copy, {of_cudnn:.2f} x cudnn{of_whole}, {spread(times[name]):.1f} %)", end="")
    print(flush=True)
    if launches:
        by_host(contenders, rounds, bytes_of)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--beside", nargs="*", default=[], help="folders of other builds of the same kernels")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--heads-of", type=int, nargs="+", default=[128, 64])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--keys", type=int, nargs="+", default=[2048, 8192, 32768])
    parser.add_argument("--launches", action="store_true", help="time launches without graphs too")
    options = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}; GB/s, "
          f"medians of {options.rounds} rounds, spread of their middle half")
    for dim in options.heads_of:
        kernels = [Kernel(variant, options.folder) for variant in variants(options.folder) if variant["D"] == dim]
        for folder in options.beside:
            named = [variant | {"name": f"{os.path.basename(folder)}/{variant['name']}"} for variant in variants(folder)]
            kernels += [Kernel(variant, folder) for variant in named if variant["D"] == dim]
        for batch in options.batches:
            for keys in options.keys:
                measure(kernels, dim, batch, keys, options.rounds, options.launches)


if __name__ == "__main__":
    main()
