"""Attention of the portable family on one GPU: random problems against fp64, and its speed beside Hopper's kernels and cuDNN's.

`python portable.py check SECONDS` and `python portable.py speed ROUNDS`, on the cubins of `cargo xtask attention-cubins --portable FOLDER`.
"""
import argparse
import math
import random
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels import FOLDER, Kernel, interleaved, median, spread, variants

GUARD = 7.0
TOKENS = 16_384


def strided(heads_last, batch, heads, rows, dim, amplitude, rng):
    """[batch, heads, rows, dim] with gaps between rows, of heads apart or side by side."""
    pitch = dim + 8 * rng.randint(0, 2)
    shape = (batch, rows, heads, pitch) if heads_last else (batch, heads, rows, pitch)
    of = (torch.randn(shape, device="cuda") * amplitude).bfloat16()[..., :dim]
    return of.transpose(1, 2) if heads_last else of


def located(variant, rng, batch, keys):
    """Operands that say where keys are, lengths, and for a cache in pages which of the pool each sequence has."""
    if not variant["keys"]:
        return [], [keys] * batch, None
    lengths = [rng.choice([0, 1, keys, rng.randint(0, keys)]) for _ in range(batch)]
    told = [length + (5 if length == keys else 0) for length in lengths]
    given = [torch.tensor(told, dtype=torch.int32, device="cuda")]
    if not variant["page"]:
        return given, lengths, None
    count = -(-keys // variant["page"])
    lengths = [min(length, count * variant["page"]) for length in told]
    table = torch.randperm(batch * count + 2, device="cuda")[: batch * count].to(torch.int32).view(batch, count)
    return [table, *given], lengths, table


def expected(variant, q, k, v, length):
    """Of one sequence in fp64: results, log-sum-exp, weights times the size of values, and the largest sum of magnitudes."""
    groups = q.shape[0] // k.shape[0]
    q, k, v = [it.double() for it in (q, k[:, :length].repeat_interleave(groups, 0), v[:, :length].repeat_interleave(groups, 0))]
    scores = q @ k.transpose(-1, -2) * variant["SCALE"]
    sizes = q.abs() @ k.abs().transpose(-1, -2) * variant["SCALE"]
    place = torch.arange(q.shape[1], device="cuda")[:, None] + length - q.shape[1]
    seen = torch.arange(length, device="cuda")[None] <= place if variant["causal"] else torch.ones_like(scores[0], dtype=torch.bool)
    scores, sizes = scores.masked_fill(~seen, -math.inf), sizes.masked_fill(~seen, 0.0)
    sees = seen.any(-1)[:, None]
    lse = torch.logsumexp(scores, -1)
    weights = torch.where(sees & seen, (scores - lse[..., None]).exp(), 0.0)
    most = sizes.amax(-1, keepdim=True) if length else torch.zeros(*q.shape[:2], 1, device="cuda", dtype=torch.float64)
    return weights @ v, lse, weights @ v.abs(), most


def wrong(kernel, rng):
    """What is wrong with one random problem; nothing where all is right."""
    variant = kernel.variant
    batch, groups = rng.randint(1, 4), rng.randint(1, 3)
    heads = groups * rng.choice([1, 1, 2, 4, 7])
    queries = rng.choice([1, rng.randint(1, 16), rng.randint(1, 300), rng.randint(1, 1500)])
    keys = rng.choice([1, queries, rng.randint(1, 400), rng.randint(1, 2500)])
    amplitude = rng.choice([1.0, 1.0, 30.0])
    of = lambda rows, heads, amplitude=1.0: strided(rng.random() < 0.5, batch, heads, rows, variant["D"], amplitude, rng)
    q = of(queries, heads, amplitude)
    where, lengths, table = located(variant, rng, batch, keys)
    k, v = of(keys, groups), of(keys, groups)
    if table is not None:
        page = variant["page"]
        k, v = [torch.randn(batch * table.shape[1] + 2, groups, page, variant["D"], device="cuda").bfloat16() for _ in range(2)]
    memory = torch.full((batch * heads * queries * (variant["D"] + 8) + 512,), GUARD, device="cuda", dtype=torch.bfloat16)
    pitch = variant["D"] + rng.choice([0, 8])
    strides = (queries * heads * pitch, pitch, heads * pitch, 1) if rng.random() < 0.5 else (heads * queries * pitch, queries * pitch, pitch, 1)
    out = memory.as_strided((batch, heads, queries, variant["D"]), strides, 256)
    lse = torch.full((batch, heads, queries), GUARD, device="cuda")
    sizes = dict(batch=batch, heads=heads, groups=groups, queries=queries, keys=variant["page"] or keys)
    launch = kernel.prepare([q, k, v, *where, out, lse], sizes)
    twice = []
    for _ in range(2):
        memory.fill_(GUARD)
        lse.fill_(GUARD)
        launch()
        twice.append((memory.clone(), lse.clone()))
    if not all(torch.equal(a, b) for a, b in zip(*twice)):
        return "other bits the second time"
    for number, length in enumerate(lengths):
        in_one = lambda it: it[number] if table is None else it[table[number].long()].transpose(0, 1).flatten(1, 2)
        result, of_lse, weighted, most = expected(variant, q[number], in_one(k), in_one(v), length)
        limit = weighted * (2.1 * 2.0**-8 + 8e-6 + most * 2.0**-20) + 1e-30
        if not ((out[number].double() - result).abs() <= limit).all():
            return f"sequence {number}: {((out[number].double() - result).abs() / limit).max():.2f} of what is allowed"
        close = (lse[number].double() - of_lse).abs() <= 1e-5 + of_lse.abs() * 1e-6 + most[..., 0] * 2.0**-20
        if not (close | (lse[number] == of_lse)).all():
            return f"sequence {number}: log-sum-exp"
    out.fill_(GUARD)
    return None if (memory == GUARD).all() else "memory beside the result is written"


def check(kernels, seconds):
    rng, begun, count, bad = random.Random(7), time.time(), 0, 0
    while time.time() - begun < seconds:
        for kernel in kernels:
            seed = rng.randrange(1 << 30)
            torch.manual_seed(seed)
            what = wrong(kernel, random.Random(seed))
            count, bad = count + 1, bad + bool(what)
            if what:
                print(f"WRONG {kernel.variant['name']}, seed {seed}: {what}", flush=True)
    print(f"{count} problems of {len(kernels)} kernels, {bad} wrong")


def dense(kernels, dim, causal, tokens, rounds):
    batch, heads = TOKENS // tokens, 2048 // dim
    q, k, v = [torch.randn(batch, heads, tokens, dim, device="cuda").bfloat16() for _ in range(3)]
    out, lse = torch.empty_like(q), torch.empty(batch, heads, tokens, device="cuda")
    sizes = dict(batch=batch, heads=heads, groups=heads, queries=tokens, keys=tokens)
    operations = 4 * batch * heads * tokens * tokens * dim * (0.5 if causal else 1.0)
    launches = max(2, round(3e-3 / (operations / 400e12)))

    def cudnn():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def flash():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    contenders = {"cudnn": [cudnn] * launches, "flash2": [flash] * launches}
    for kernel in kernels:
        contenders[kernel.variant["name"]] = [kernel.prepare([q, k, v, out, lse], sizes)] * launches
    times = interleaved(contenders, rounds)
    cells = [f"{name} {operations / median(of) / 1e9:.0f} ({median([a / b for a, b in zip(times['cudnn'], of)]):.3f}, {spread(of):.1f} %)"
             for name, of in times.items()]
    print(f"d{dim}{' causal' if causal else ''} {batch} x {tokens}: " + "  ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["check", "speed"])
    parser.add_argument("count", type=int)
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 2048, 8192])
    options = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    listed = variants(options.folder)
    if options.what == "check":
        return check([Kernel(it, options.folder) for it in listed if it["portable"]], options.count)
    for dim, causal in sorted({(it["D"], it["causal"]) for it in listed if not it["keys"]}):
        of = [Kernel(it, options.folder) for it in listed if (it["D"], it["causal"], it["keys"]) == (dim, causal, "")]
        for tokens in options.tokens:
            dense(of, dim, causal, tokens, options.count)


if __name__ == "__main__":
    main()
