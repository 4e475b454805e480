"""Times the layer of the shared library against the same from cuBLASLt, cuDNN and element-wise kernels: one GPU, both in CUDA graphs, in
rounds that take turns. Needs torch with CUDA, and `cargo build --release -p transformer-layer-python`."""

import argparse
import random
import statistics
import sys

import torch
from torch.profiler import ProfilerActivity, profile

import reference
from library import Library, Sizes
from opponent import Opponent

SIZES, EPS, THETA = Sizes(features=4096, heads=32, groups=8, hidden=14336), 1e-5, 500_000.0
PROMPT, SEQUENCES, CAPACITY = 4096, 16, 8192
# Both sides round what is added to the stream seven times to 8 bits, and twice the stream, which is up to twice as large.
LARGEST_ERROR = 15**0.5 / 256 / 3**0.5


def random_weights(generator, layers):
    """Those of so many layers, `[layers, out, in]` each, and the weights of both norms."""
    rows = {
        "qkv": (SIZES.of_qkv, SIZES.features),
        "output": (SIZES.features, SIZES.of_queries),
        "gate_and_up": (2 * SIZES.hidden, SIZES.features),
        "down": (SIZES.features, SIZES.hidden),
    }
    weights = {
        name: torch.empty(layers, n, k, dtype=torch.bfloat16, device="cuda").normal_(0, k**-0.5, generator=generator)
        for name, (n, k) in rows.items()
    }
    return weights, [torch.rand(SIZES.features, device="cuda", generator=generator) + 0.5 for _ in range(2)]


def with_norms(weights, norms):
    """The same for kernels that know no norm: its weight is in the columns of what follows it."""
    of_norm = {"qkv": norms[0], "gate_and_up": norms[1]}
    fold = lambda name, weight: (weight.float() * of_norm[name]).bfloat16() if name in of_norm else weight
    return {name: fold(name, weight) for name, weight in weights.items()}


def captured(stream, run):
    """`run` as a graph, once it has loaded what it needs."""
    for _ in range(3):
        run()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        run()
    return graph.replay


def milliseconds(stream, run, launches, layers=1):
    """Of one of the layers that a launch goes through, behind a launch that is not counted, so that whatever ran before is no matter."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    run()
    begin.record(stream)
    for _ in range(launches):
        run()
    end.record(stream)
    end.synchronize()
    return begin.elapsed_time(end) / launches / layers


def interleaved(stream, runs, rounds, launches, layers):
    """Medians, and the times of each round."""
    times = {name: [] for name in runs}
    for name in list(runs) * 2:
        milliseconds(stream, runs[name], launches, layers)
    order, shuffled = list(runs), random.Random(1)
    for _ in range(rounds):
        shuffled.shuffle(order)
        for name in order:
            times[name].append(milliseconds(stream, runs[name], launches, layers))
    return {name: statistics.median(each) for name, each in times.items()}, times


def print_kernels(what, run, layers, launches=10):
    """The time of each kernel, one after the other, of a layer."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(launches):
            run()
        torch.cuda.synchronize()
    for event in sorted(profiled.key_averages(), key=lambda event: -event.device_time_total):
        of_run = event.device_time_total / launches / layers
        print(f"  {what}: {of_run:8.2f} us in {event.count / launches / layers:g} of {event.key[:70]}")


def ratio(times, opponent, ours):
    ratios = sorted(a / b for a, b in zip(times[opponent], times[ours]))
    low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
    return statistics.median(ratios), 50 * (high - low)


class Comparison:
    def __init__(self, libraries, stream, rounds, kernels, layers):
        """`libraries` by name; the opponent has its products from the first."""
        self.libraries, self.stream, self.rounds, self.failed = libraries, stream, rounds, []
        self.kernels = kernels
        self.generator = torch.Generator("cuda").manual_seed(1)
        self.weights, self.norms = random_weights(self.generator, layers)
        self.folded = with_norms(self.weights, self.norms)
        of_layer = [{name: weight[layer] for name, weight in self.folded.items()} for layer in range(layers)]
        self.layers = {
            name: [library.layer(SIZES, weights) for weights in of_layer] for name, library in libraries.items()
        }
        half = SIZES.head_dim // 2
        steps = THETA ** (-torch.arange(half, dtype=torch.float64, device="cuda") / half)
        self.angles = torch.arange(CAPACITY, dtype=torch.float64, device="cuda")[:, None] * steps
        self.tables = [self.angles.cos().float().contiguous(), self.angles.sin().float().contiguous()]

    def tokens(self, count):
        return torch.randn(count, SIZES.features, device="cuda", generator=self.generator).bfloat16()

    def run(self, what, lengths, launches):
        """A prompt where there are no lengths; else the next token behind so many of each sequence."""
        tokens, sequences = (len(lengths), len(lengths)) if lengths else (PROMPT, 1)
        capacity = CAPACITY if lengths else PROMPT
        x = self.tokens(tokens)
        scale = (x.float().square().mean(-1) + EPS).rsqrt()
        # A token goes through all layers, whose weights and caches are more than L2 holds of one layer until the next lap.
        layers = len(self.weights["qkv"]) if lengths else 1
        shape = (layers, 2, sequences, SIZES.groups, capacity, SIZES.head_dim)
        cached = torch.randn(shape, device="cuda", generator=self.generator, dtype=torch.bfloat16)
        theirs = torch.empty_like(x)
        expected = reference.added(
            SIZES, {name: weight[layers - 1] for name, weight in self.weights.items()}, self.norms, EPS, self.angles, x,
            cached[-1].clone().unbind(0) if lengths else None, lengths,
        )
        forwards, results, kept = {}, {}, []
        for name, library in self.libraries.items():
            results[name], scale_out = torch.empty_like(x), torch.empty_like(scale)
            out, caches = (results[name], scale_out), cached.permute(0, 2, 4, 1, 3, 5).contiguous()
            runs = []
            for layer, cache in zip(self.layers[name], caches):
                if lengths:
                    runs.append(library.decode(layer, capacity, lengths, THETA, (x, scale), cache, out))
                else:
                    runs.append(library.prefill(layer, tokens, THETA, (x, scale), cache, out))
            forwards[name] = lambda runs=runs: [run() for run in runs]
            kept += [caches, scale_out]
        if lengths:
            places = [torch.tensor(lengths, device="cuda"), torch.arange(tokens, device="cuda")]
        else:
            places = [torch.arange(tokens, device="cuda"), torch.zeros(tokens, dtype=torch.int64, device="cuda")]
        differ = bool(lengths) and len(set(lengths)) > 1
        opponent = Opponent(
            next(iter(self.libraries.values())), SIZES, self.weights, self.norms, EPS, self.tables, x, theirs, cached, places,
            lambda run: min(milliseconds(self.stream, captured(self.stream, run), launches) for _ in range(3)),
            lengths=places[0] + 1 if differ else None,
        )
        results["theirs"] = theirs
        graphs = {name: captured(self.stream, run) for name, run in {**forwards, "theirs": opponent.run}.items()}
        for run in graphs.values():
            run()
        self.stream.synchronize()
        errors = {name: reference.error(x, out, expected) for name, out in results.items()}
        first = next(iter(forwards))
        graphs[f"{first}, no graph"] = forwards[first]
        medians, times = interleaved(self.stream, graphs, self.rounds, max(4, launches // layers), layers)
        of_theirs = [name for name in graphs if name != "theirs"]
        print(
            f"{what}: " + ", ".join(f"{name} {ms:.4f} ms" for name, ms in medians.items())
            + "".join("; {} {:.3f} x (spread {:.1f} %)".format(name, *ratio(times, "theirs", name)) for name in of_theirs)
            + "; errors " + ", ".join(f"{error:.2e} {name}" for name, error in errors.items()),
            flush=True,
        )
        if self.kernels:
            for name in results:
                print_kernels(name, graphs[name], layers)
        if not all(error < LARGEST_ERROR for error in errors.values()):
            self.failed.append(what)
        del kept  # whose addresses the libraries have, which launch this no more


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--library", action="append", help="a build of the layer, PATH or NAME=PATH; several are measured in the same rounds"
    )
    arguments.add_argument("--tokens", action="store_true", help="tokens alone, no prompt")
    arguments.add_argument("--layers", type=int, default=8, help="that a token goes through, each with weights and a cache of its own")
    arguments.add_argument("--rounds", type=int, default=30)
    arguments.add_argument("--kernels", action="store_true", help="the time of each kernel, too")
    arguments = arguments.parse_args()
    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    paths = arguments.library or ["target/release/libtransformer_layer_python.so"]
    named = dict(path.split("=", 1) if "=" in path else ("ours", path) for path in paths)
    libraries = {name: Library(path, stream) for name, path in named.items()}
    comparison = Comparison(libraries, stream, arguments.rounds, arguments.kernels, arguments.layers)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}; medians of {arguments.rounds} rounds")
    if not arguments.tokens:
        comparison.run(f"a prompt of {PROMPT} tokens", None, 4)
    for keys in (2048, 4096, 8192):
        comparison.run(f"a token of {SEQUENCES} sequences of {keys}", [keys - 1] * SEQUENCES, 20)
    drawn = random.Random(1)
    lengths = [drawn.randrange(2047, CAPACITY) for _ in range(SEQUENCES)]
    comparison.run(f"a token of {SEQUENCES} sequences of 2048 to {CAPACITY}, {sum(lengths)} keys", lengths, 20)
    if comparison.failed:
        sys.exit(f"far from fp64: {comparison.failed}")


if __name__ == "__main__":
    main()
