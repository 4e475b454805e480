"""What bodies on the score cost over the plain kernel on one GPU, and whether they are right against fp64.

`python bodies.py check SECONDS` and `python bodies.py speed ROUNDS`, on the cubins of `cargo xtask attention-cubins --bodies FOLDER`.
With `--beside FOLDER …` those of other such folders run in the same rounds, and with `--flex` torch's flex_attention.
"""
import argparse
import math
import random
import time

import torch

from kernels import FOLDER, Kernel, interleaved, median, spread, variants
from portable import strided

GUARD = 7.0
TOKENS = 16_384
CAP = 50.0


def slopes(heads):
    """ALiBi's, of a power of two heads."""
    return torch.tensor([2.0 ** (-8.0 * (head + 1) / heads) for head in range(heads)], device="cuda")


def operands(body, heads, keys):
    """What the kernel of a body reads beside queries, keys and values."""
    return {"": [], "alibi": [slopes(heads)], "distance": [slopes(heads)], "cap": [CAP], "capped_alibi": [slopes(heads), CAP],
            "documents": [float(keys // 3)]}[body]


def scored(body, scores, distance, query, key, given):
    """Scores of scaled products in fp64, and how far a kernel's may be off beside what rounding does to sums."""
    slope = given[0].double()[:, None, None] if body in ("alibi", "distance", "capped_alibi") else 0.0
    capped = CAP * torch.tanh(scores / CAP)
    exact = torch.zeros_like(scores)
    return {
        "": lambda: (scores, exact),
        "alibi": lambda: (scores + slope * distance, exact),
        "distance": lambda: (scores - slope * distance.abs(), exact),
        "cap": lambda: (capped, capped.abs() * 2.0**-11),
        "capped_alibi": lambda: (capped + slope * distance, capped.abs() * 2.0**-11),
        "documents": lambda: (torch.where((key < given[0]) == (query < given[0]), scores, -1e30), exact),
    }[body]()


def expected(variant, q, k, v, given):
    """Results in fp64, log-sum-exp, and how far each may be off."""
    groups, scale = q.shape[1] // k.shape[1], variant["SCALE"]
    q, k, v = [it.double() for it in (q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1))]
    query = torch.arange(q.shape[2], device="cuda", dtype=torch.float64)[:, None] + k.shape[2] - q.shape[2]
    key = torch.arange(k.shape[2], device="cuda", dtype=torch.float64)[None]
    scores, off = scored(variant["body"], q @ k.transpose(-1, -2) * scale, key - query, query, key, given)
    size = q.abs() @ k.abs().transpose(-1, -2) * scale + torch.where(scores > -1e29, scores, 0.0).abs()
    off = off + size * 2.0**-20 + 8e-6
    seen = (key <= query) if variant["causal"] else torch.ones_like(scores[0, 0], dtype=torch.bool)
    scores = scores.masked_fill(~seen, -math.inf)
    lse = torch.logsumexp(scores, -1)
    weights = torch.where(seen.any(-1)[:, None] & seen, scores.softmax(-1), 0.0)
    mean = (weights * off).sum(-1, keepdim=True)
    limit = weights @ v.abs() * (2.1 * 2.0**-8) + (weights * (off + mean)) @ v.abs() + 1e-30
    return weights @ v, lse, limit, mean[..., 0] + 1e-5 + lse.abs() * 1e-6


def wrong(kernel, rng):
    """What is wrong with one random problem; nothing where all is right."""
    variant = kernel.variant
    batch, groups = rng.randint(1, 2), rng.randint(1, 3)
    heads = groups * rng.choice([1, 1, 2, 4])
    queries = rng.choice([1, rng.randint(1, 300), rng.randint(1, 1500)])
    keys = rng.choice([1, queries, rng.randint(1, 400), rng.randint(1, 2500)])
    of = lambda rows, heads, amplitude=1.0: strided(rng.random() < 0.5, batch, heads, rows, variant["D"], amplitude, rng)
    q, k, v = of(queries, heads, rng.choice([1.0, 1.0, 30.0, 3000.0])), of(keys, groups), of(keys, groups)
    given = operands(variant["body"], heads, keys)
    memory = torch.full((batch * heads * queries * variant["D"] + 512,), GUARD, device="cuda", dtype=torch.bfloat16)
    out = memory[256:-256].view(batch, heads, queries, variant["D"])
    lse = torch.full((batch, heads, queries), GUARD, device="cuda")
    launch = kernel.prepare([q, k, v, *given, out, lse], dict(batch=batch, heads=heads, groups=groups, queries=queries, keys=keys))
    twice = []
    for _ in range(2):
        memory.fill_(GUARD)
        lse.fill_(GUARD)
        launch()
        twice.append((memory.clone(), lse.clone()))
    if not all(torch.equal(a, b) for a, b in zip(*twice)):
        return "other bits the second time"
    result, of_lse, limit, of_sum = expected(variant, q, k, v, given)
    error = (out.double() - result).abs()
    if not (error <= limit).all():
        return f"{(error / limit).max():.2f} of what is allowed"
    if not (((lse.double() - of_lse).abs() <= of_sum) | (lse == of_lse)).all():
        return "log-sum-exp"
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
    print(f"{count} problems of {len(kernels)} kernels, {bad} wrong", flush=True)


def flex(body, causal, q, k, v, given):
    """torch's, compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def changed(score, _, head, query, key):
        if body in ("cap", "capped_alibi"):
            score = CAP * torch.tanh(score / CAP)
        if body in ("alibi", "capped_alibi"):
            score = score + given[0][head] * (key - query)
        return score

    mask = create_block_mask(lambda b, h, q, k: k <= q, None, None, q.shape[2], k.shape[2]) if causal else None
    compiled = torch.compile(flex_attention)
    run = lambda: compiled(q, k, v, score_mod=changed if body else None, block_mask=mask)
    run()
    return run


def speed(all_kernels, dim, causal, tokens, rounds, with_flex):
    batch, heads = TOKENS // tokens, 2048 // dim
    q, k, v = [torch.randn(batch, heads, tokens, dim, device="cuda").bfloat16() for _ in range(3)]
    out, lse = torch.empty_like(q), torch.empty(batch, heads, tokens, device="cuda")
    sizes = dict(batch=batch, heads=heads, groups=heads, queries=tokens, keys=tokens)
    operations = 4 * batch * heads * tokens * tokens * dim * (0.5 if causal else 1.0)
    launches = max(2, round(2e-3 / (operations / 500e12)))
    contenders, bodies = {}, {}
    for label, kernel in all_kernels:
        body = kernel.variant["body"]
        name = label + kernel.variant["name"]
        bodies[name] = body
        contenders[name] = [kernel.prepare([q, k, v, *operands(body, heads, tokens), out, lse], sizes)] * launches
    if with_flex:
        for body in ("", "alibi", "cap", "capped_alibi"):
            try:
                contenders[f"flex {body}"] = [flex(body, causal, q, k, v, operands(body, heads, tokens))] * launches
                bodies[f"flex {body}"] = body
            except Exception as error:  # no compiler there
                print(f"flex_attention: {type(error).__name__}", flush=True)
                break
    times = interleaved(contenders, rounds)
    plain = min((name for name, body in bodies.items() if not body and not name.startswith("flex")), key=lambda it: median(times[it]))
    print(f"d{dim}{' causal' if causal else ''} {batch} x {tokens}: plain {plain} {operations / median(times[plain]) / 1e9:.0f} TFLOP/s")
    for body in dict.fromkeys(bodies.values()):
        own = sorted((name for name in bodies if bodies[name] == body), key=lambda it: median(times[it]))
        cells = [f"{name} {operations / median(times[name]) / 1e9:.0f} ({100 * (median([b / a for a, b in zip(times[plain], times[name])]) - 1):+.1f} %, "
                 f"{spread(times[name]):.1f} %)" for name in own]
        print(f"  {body or 'plain'}: " + "  ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["check", "speed"])
    parser.add_argument("count", type=int)
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--beside", nargs="*", default=[])
    parser.add_argument("--flex", action="store_true")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 16384])
    options = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: time over the fastest plain kernel's in the same rounds, spread of the middle half")
    of = lambda folder, label: [(label, Kernel(it, folder)) for it in variants(folder)]
    kernels = of(options.folder, "") + [it for folder in options.beside for it in of(folder, f"{folder}/")]
    if options.what == "check":
        return check([kernel for _, kernel in kernels], options.count)
    for dim, causal in sorted({(kernel.variant["D"], kernel.variant["causal"]) for _, kernel in kernels}):
        own = [(label, kernel) for label, kernel in kernels if (kernel.variant["D"], kernel.variant["causal"]) == (dim, causal)]
        for tokens in options.tokens:
            speed(own, dim, causal, tokens, options.count, options.flex)


if __name__ == "__main__":
    main()
