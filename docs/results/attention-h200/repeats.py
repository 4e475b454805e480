"""Whether results are the same bits whichever block comes last to a tile: decoding again and again while other work takes multiprocessors.

`python repeats.py SECONDS`, on the cubins of `cargo xtask attention-cubins --decoding FOLDER`; `--beside FOLDER …` other builds of them.
"""
import argparse
import os
import random
import time

import torch

from decoding import Set, sizes_for
from kernels import FOLDER, Kernel, variants

SHAPES = [(1, 2048), (1, 8192), (3, 5000), (16, 2048)]


def distinct(kernel, of, batch, keys, launches, disturbed, rng):
    """How many results launches give, of which some run beside copies and products on another stream."""
    launch = kernel.prepare(of.operands(kernel.variant), sizes_for(kernel.variant, batch, keys))
    other, results = torch.cuda.Stream(), []
    sizes = [torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for n in (128, 512, 1024, 2048)]
    for _ in range(launches):
        if disturbed:
            with torch.cuda.stream(other):
                for _ in range(rng.randint(0, 3)):
                    it = rng.choice(sizes)
                    it @ it if rng.random() < 0.5 else it.clone()
        launch()
        results.append(of.out.clone())
        if rng.random() < 0.2:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return len(torch.unique(torch.stack(results).view(launches, -1).view(torch.int16), dim=0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float)
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--beside", nargs="*", default=[])
    options = parser.parse_args()
    torch.manual_seed(1)
    rng, begun = random.Random(1), time.time()
    folders = [options.folder, *options.beside]
    kernels = [(os.path.basename(os.path.normpath(folder)), Kernel(it, folder)) for folder in folders for it in variants(folder)]
    counted = {}
    while time.time() - begun < options.seconds:
        for batch, keys in SHAPES:
            for label, kernel in kernels:
                pages = {kernel.variant["page"]} - {0}
                keys_here = keys // max(pages, default=1) * max(pages, default=1)
                of = Set(batch, keys_here, kernel.variant["D"], pages)
                disturbed = rng.random() < 0.8
                times = counted.setdefault((label, kernel.variant["name"]), [0, 0, 1])
                times[0] += 60
                times[1] += 60 * disturbed
                times[2] = max(times[2], distinct(kernel, of, batch, keys_here, 60, disturbed, rng))
    print(torch.cuda.get_device_name())
    for (label, name), (launches, disturbed, most) in counted.items():
        print(f"{label}/{name}: {launches} launches, {disturbed} of them beside other work; most results of 60 launches alike: {most}")


if __name__ == "__main__":
    main()
