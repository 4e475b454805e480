"""The layer and cuBLASLt's products from the shared library, on torch's tensors and stream."""

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    features: int
    heads: int
    groups: int
    hidden: int
    head_dim = 128

    @property
    def of_queries(self):
        return self.heads * self.head_dim

    @property
    def of_keys(self):
        return self.groups * self.head_dim

    @property
    def of_qkv(self):
        return self.of_queries + 2 * self.of_keys


def struct(name, *fields):
    return type(name, (Structure,), {"_fields_": list(fields)})


LayerSizes = struct("LayerSizes", *((name, c_size_t) for name in ("features", "heads", "groups", "hidden")))
Weights = struct("Weights", *((name, c_uint64) for name in ("qkv", "output", "gate_and_up", "down")))
Tokens = struct("Tokens", ("x", c_uint64), ("scale", c_uint64))
Operands = struct(
    "Operands", ("a", c_uint64), ("b", c_uint64), ("copies", c_size_t), ("skip", c_uint64), ("out", c_uint64)
)


class Library:
    """One stream's session. Tensors that are handed to it must stay alive: keep them."""

    def __init__(self, path, stream):
        self.calls = ctypes.CDLL(path)
        signatures = {
            "error": (c_char_p, []),
            "session": (c_void_p, [c_void_p]),
            "new": (c_void_p, [c_void_p, LayerSizes, POINTER(Weights)]),
            "prefill": (c_void_p, [c_void_p, c_void_p, c_size_t, c_double, Tokens, c_uint64, Tokens]),
            "decode": (
                c_void_p,
                [c_void_p, c_void_p, c_size_t, c_size_t, POINTER(c_size_t), c_double, Tokens, c_uint64, Tokens],
            ),
            "run": (c_int, [c_void_p]),
            "product": (c_void_p, [c_void_p, c_size_t, c_size_t, c_size_t, POINTER(Operands)]),
            "product_run": (c_int, [c_void_p, c_uint64, c_size_t]),
        }
        for name, (result, arguments) in signatures.items():
            call = getattr(self.calls, f"transformer_layer_{name}")
            call.restype, call.argtypes = result, arguments
            setattr(self, f"_{name}", call)
        self.session = self._made(self._session(stream.cuda_stream))

    def _made(self, handle):
        if not handle:
            raise RuntimeError(self._error().decode())
        return handle

    def _runs(self, call, handle):
        def run():
            if call(handle):
                raise RuntimeError(self._error().decode())

        return run

    def layer(self, sizes, weights):
        """A layer of bf16 weights, those of norms in the columns of `qkv` and `gate_and_up`."""
        sizes = LayerSizes(sizes.features, sizes.heads, sizes.groups, sizes.hidden)
        addresses = Weights(*(weights[name].data_ptr() for name in ("qkv", "output", "gate_and_up", "down")))
        return self._made(self._new(self.session, sizes, byref(addresses)))

    def prefill(self, layer, tokens, theta, input, cache, out):
        """What launches the layer on a prompt; `input` and `out` are pairs of tokens and scales."""
        input, out = (Tokens(*(tensor.data_ptr() for tensor in pair)) for pair in (input, out))
        run = self._prefill(self.session, layer, tokens, theta, input, cache.data_ptr(), out)
        return self._runs(self._run, self._made(run))

    def decode(self, layer, capacity, cached, theta, input, cache, out):
        """What launches the layer on the next token of each sequence."""
        input, out = (Tokens(*(tensor.data_ptr() for tensor in pair)) for pair in (input, out))
        lengths = (c_size_t * len(cached))(*cached)
        run = self._decode(self.session, layer, len(cached), capacity, lengths, theta, input, cache.data_ptr(), out)
        return self._runs(self._run, self._made(run))

    def product(self, a, weights, out, skip=None):
        """What launches `out = a weights[layer]ᵀ + skip` of any `a` of this size by cuBLASLt's fastest algorithm. `weights` are those of
        all layers, one behind the other, so that it is looked for on what is in no cache."""
        (m, k), (copies, n, _) = a.shape, weights.shape
        skip = 0 if skip is None else skip.data_ptr()
        operands = Operands(a.data_ptr(), weights.data_ptr(), copies, skip, out.data_ptr())
        product = self._made(self._product(self.session, m, n, k, byref(operands)))
        return lambda a, layer: self._runs(lambda handle: self._product_run(handle, a.data_ptr(), layer), product)()
