"""The same layer from cuBLASLt's fastest algorithms, cuDNN's attention and element-wise kernels, which fuse what those can:
the residual is cuBLASLt's own (beta = 1), rotary embeddings and both appends to the cache are one kernel."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.nn.attention import SDPBackend, sdpa_kernel


@triton.jit
def rms_norm(x, weight, out, features, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64) * features, tl.arange(0, BLOCK)
    inside = at < features
    values = tl.load(x + row + at, inside, 0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(values * values) / features + eps)
    normed = values * scale * tl.load(weight + at, inside, 0.0)
    tl.store(out + row + at, normed.to(tl.bfloat16), inside)


@triton.jit
def silu_mul(gate_and_up, out, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < hidden
    gate = tl.load(gate_and_up + row * 2 * hidden + at, inside, 0.0).to(tl.float32)
    up = tl.load(gate_and_up + row * 2 * hidden + hidden + at, inside, 0.0).to(tl.float32)
    tl.store(out + row * hidden + at, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), inside)


@triton.jit
def rotate(
    qkv, cosines, sines, positions, sequences, q, keys, values, capacity, HEADS: tl.constexpr, GROUPS: tl.constexpr,
    DIM: tl.constexpr, HEADS_AT_ONCE: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    heads = tl.program_id(1) * HEADS_AT_ONCE + tl.arange(0, HEADS_AT_ONCE)[:, None]
    at = tl.arange(0, DIM // 2)[None, :]
    position, sequence = tl.load(positions + token).to(tl.int64), tl.load(sequences + token).to(tl.int64)
    cosine, sine = tl.load(cosines + position * DIM // 2 + at), tl.load(sines + position * DIM // 2 + at)
    source = qkv + (token * (HEADS + 2 * GROUPS) + heads) * DIM + at
    first, second = tl.load(source), tl.load(source + DIM // 2)
    wide, partner = first.to(tl.float32), second.to(tl.float32)
    turned, other = (wide * cosine - partner * sine).to(tl.bfloat16), (partner * cosine + wide * sine).to(tl.bfloat16)
    place = q + (token * HEADS + heads) * DIM + at
    tl.store(place, turned, heads < HEADS)
    tl.store(place + DIM // 2, other, heads < HEADS)
    is_key = (heads >= HEADS) & (heads < HEADS + GROUPS)
    place = keys + ((sequence * GROUPS + heads - HEADS) * capacity + position) * DIM + at
    tl.store(place, turned, is_key)
    tl.store(place + DIM // 2, other, is_key)
    place = values + ((sequence * GROUPS + heads - HEADS - GROUPS) * capacity + position) * DIM + at
    tl.store(place, first, heads >= HEADS + GROUPS)
    tl.store(place + DIM // 2, second, heads >= HEADS + GROUPS)


def forms_of_attention(q, k, v, causal, lengths):
    """Ways of torch to call attention of heads that share keys, of which some GPUs and shapes have a faster one."""
    cudnn, flash = SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION

    def sdpa(backend, q=q, mask=None):
        def run():
            with sdpa_kernel(backend):
                grouped = q.shape[1] != k.shape[1]
                return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=grouped)

        return run

    if lengths is not None:
        seen = torch.arange(k.shape[2], device=q.device)[None] < lengths[:, None]
        yield "cuDNN, a mask for lengths", sdpa(cudnn, mask=seen[:, None, None].expand(-1, q.shape[1], 1, -1))
        return
    yield "cuDNN", sdpa(cudnn)
    yield "FlashAttention 2", sdpa(flash)
    if q.shape[2] == 1:
        # The heads that share keys as queries of one head: to these the same keys are seen by all.
        packed = q.reshape(q.shape[0], k.shape[1], -1, q.shape[3])
        yield "cuDNN, packed", lambda run=sdpa(cudnn, packed): run().reshape(q.shape)
        yield "FlashAttention 2, packed", lambda run=sdpa(flash, packed): run().reshape(q.shape)


class Opponent:
    """Layers of torch's tensors: `run()` lets each read `x`, append to its `keys` and `values`, `[sequences, groups, capacity, 128]`, and
    write `out`. `places` are the position and the sequence of each token; with `lengths` sequences differ in them."""

    def __init__(self, library, sizes, weights, norms, eps, tables, x, out, caches, places, time, lengths=None):
        self.sizes, self.eps, self.tables, self.norms = sizes, eps, tables, norms
        self.x, self.out, self.caches, (self.positions, self.sequences) = x, out, caches, places
        tokens, is_prompt = x.shape[0], caches[0][0].shape[0] == 1

        def new(columns):
            return torch.empty(tokens, columns, dtype=x.dtype, device=x.device)

        self.normed, self.qkv, self.q = new(sizes.features), new(sizes.of_qkv), new(sizes.of_queries)
        self.between, self.stacked, self.hidden = new(sizes.features), new(2 * sizes.hidden), new(sizes.hidden)
        self.project = library.product(self.normed, weights["qkv"], self.qkv)
        self.add = library.product(torch.zeros_like(self.q), weights["output"], self.between, skip=x)
        self.gate = library.product(self.normed, weights["gate_and_up"], self.stacked)
        self.lead_back = library.product(self.hidden, weights["down"], out, skip=self.between)
        shape = (1, tokens, sizes.heads, 128) if is_prompt else (tokens, 1, sizes.heads, 128)
        seen = int(self.positions.max()) + 1
        q = self.q.view(shape).transpose(1, 2)
        forms = [
            list(forms_of_attention(q, keys[:, :, :seen], values[:, :, :seen], is_prompt, lengths)) for keys, values in caches
        ]
        number = self.fastest(forms[0], time)
        self.attention = [of_layer[number][1] for of_layer in forms]

    @staticmethod
    def fastest(forms, time):
        times = []
        for number, (name, run) in enumerate(forms):
            try:
                times.append((time(run), number))
                print(f"  opponent's attention, {name}: {times[-1][0]:.4f} ms")
            except RuntimeError as refused:
                print(f"  opponent's attention, {name}: refused ({str(refused).splitlines()[0][:70]})")
        return min(times)[1]

    def norm(self, x, weight):
        rms_norm[(x.shape[0],)](x, weight, self.normed, x.shape[1], self.eps, BLOCK=4096, num_warps=8)

    def run(self):
        for layer in range(len(self.caches)):
            self.run_layer(layer)

    def run_layer(self, layer):
        sizes, tokens, (keys, values) = self.sizes, self.x.shape[0], self.caches[layer]
        self.norm(self.x, self.norms[0])
        self.project(self.normed, layer)
        rotate[(tokens, (sizes.heads + 2 * sizes.groups) // 16)](
            self.qkv, *self.tables, self.positions, self.sequences, self.q, keys, values, keys.shape[2],
            HEADS=sizes.heads, GROUPS=sizes.groups, DIM=128, HEADS_AT_ONCE=16,
        )
        attended = self.attention[layer]().transpose(1, 2).view(tokens, sizes.of_queries)  # a view: it writes heads side by side
        self.add(attended, layer)
        self.norm(self.between, self.norms[1])
        self.gate(self.normed, layer)
        block = 2048
        silu_mul[(triton.cdiv(sizes.hidden, block), tokens)](self.stacked, self.hidden, sizes.hidden, BLOCK=block)
        self.lead_back(self.hidden, layer)
