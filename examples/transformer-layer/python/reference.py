"""The layer in fp64."""

import torch


def normed(x, weight, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight


def turned(x, cosines, sines):
    """`x: [tokens, heads, 128]` by tables of a row a token."""
    first, second = x.chunk(2, -1)
    cosines, sines = cosines[:, None], sines[:, None]
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], -1)


def attend(q, k, v, first):
    """`[heads, queries, 128]` on `[groups, keys, 128]`, where query `i` sees the keys up to `first + i`."""
    out = torch.empty_like(q)
    hidden = torch.arange(k.shape[1], device=q.device) > first + torch.arange(q.shape[1], device=q.device)[:, None]
    for head in range(q.shape[0]):
        group = head * k.shape[0] // q.shape[0]
        scores = (q[head] @ k[group].T / q.shape[2] ** 0.5).masked_fill(hidden, float("-inf"))
        out[head] = scores.softmax(-1) @ v[group]
    return out


def added(sizes, weights, norms, eps, angles, x, cached=None, lengths=None):
    """What the layer adds to the tokens of a prompt; or with the keys and values of some sequences, `[sequences, groups, capacity, 128]`,
    and as many as are in use of each, to the next token of each. `angles` has a row a position."""
    wide, features = x.double(), sizes.features
    weights, norms = {name: weight.double() for name, weight in weights.items()}, [norm.double() for norm in norms]
    qkv = normed(wide, norms[0], eps) @ weights["qkv"].T
    heads = qkv.view(x.shape[0], -1, sizes.head_dim)
    positions = torch.tensor(lengths, device=x.device) if cached else torch.arange(x.shape[0], device=x.device)
    rotated = turned(heads[:, : sizes.heads + sizes.groups], angles[positions].cos(), angles[positions].sin())
    q, k = rotated.split([sizes.heads, sizes.groups], 1)
    v = heads[:, sizes.heads + sizes.groups :]
    if cached:
        rows = []
        for sequence, length in enumerate(lengths):
            keys, values = (part[sequence, :, :length].double() for part in cached)
            keys, values = torch.cat([keys, k[sequence, :, None]], 1), torch.cat([values, v[sequence, :, None]], 1)
            rows.append(attend(q[sequence, :, None], keys, values, length)[:, 0])
        attended = torch.stack(rows)
    else:
        attended = attend(*(part.transpose(0, 1).contiguous() for part in (q, k, v)), 0).transpose(0, 1)
    branch = attended.reshape(x.shape[0], sizes.of_queries) @ weights["output"].T
    gate, up = (normed(wide + branch, norms[1], eps) @ weights["gate_and_up"].T).chunk(2, -1)
    assert branch.shape[1] == features
    return branch + (gate * gate.sigmoid() * up) @ weights["down"].T


def error(x, out, added):
    """Of what was added: the norm of its error over its own."""
    return ((out.double() - x.double() - added).norm() / added.norm()).item()
