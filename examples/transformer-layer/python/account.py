"""Where the time of a decoded token goes: the layer's kernels, taken from a captured graph and launched again, captured: all of them, all but
one, and each alone. One GPU on which nothing else runs; needs torch with CUDA, and `cargo build --release -p transformer-layer-python`."""

import argparse
import ctypes
import random
import statistics

import torch

from compare import CAPACITY, EPS, SEQUENCES, SIZES, THETA, milliseconds, random_weights, with_norms
from library import Library

DRIVER = ctypes.CDLL("libcuda.so.1")
KERNEL, PROGRAMMATIC_EDGE = 0, 1  # CUgraphNodeType, CUgraphDependencyType
CLUSTER, PROGRAMMATIC = 4, 6  # CUlaunchAttributeID
LAYERS, COPIED = 8, 512 << 20
LAPS = 4  # of a kernel alone
NAMES = ["project", "rotate", "attend_step", "add_few (O)", "scale_of", "gate", "add_few (D)", "scale_of'"]


def struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


Pointer, Sizes = ctypes.c_void_p, ctypes.c_uint * 7  # of grid and block, and bytes of shared memory
NodeParams = struct(
    "NodeParams", ("function", Pointer), ("sizes", Sizes), ("arguments", Pointer), ("extra", Pointer), ("kernel", Pointer), ("context", Pointer)
)
Attribute = struct("Attribute", ("id", ctypes.c_int), ("gap", ctypes.c_int), ("value", ctypes.c_uint * 16))
Config = struct("Config", ("sizes", Sizes), ("stream", Pointer), ("attributes", Pointer), ("count", ctypes.c_uint))
Edge = struct("Edge", ("from_port", ctypes.c_ubyte), ("to_port", ctypes.c_ubyte), ("type", ctypes.c_ubyte), ("reserved", ctypes.c_ubyte * 5))


def call(name, *arguments):
    if result := getattr(DRIVER, name)(*arguments):
        raise RuntimeError(f"{name}: CUDA error {result}")


class Launch:
    """A kernel node, launched again."""

    def __init__(self, node, programmatic):
        self.params, value, name = NodeParams(), (ctypes.c_uint * 16)(), ctypes.c_char_p()
        call("cuGraphKernelNodeGetParams_v2", node, ctypes.byref(self.params))
        call("cuGraphKernelNodeGetAttribute", node, CLUSTER, ctypes.byref(value))
        given = [(PROGRAMMATIC, [1])] * programmatic + [(CLUSTER, value[:3])] * (max(value[:3]) > 1)
        self.attributes = (Attribute * 2)(*(Attribute(id, 0, (ctypes.c_uint * 16)(*of)) for id, of in given))
        self.config = Config(self.params.sizes, None, ctypes.addressof(self.attributes), len(given))
        self.function = Pointer(self.params.function)
        if not self.function:
            call("cuKernelGetFunction", ctypes.byref(self.function), Pointer(self.params.kernel))
        call("cuFuncGetName", ctypes.byref(name), self.function)
        self.name = name.value.decode()

    def __call__(self):
        self.config.stream = torch.cuda.current_stream().cuda_stream
        call("cuLaunchKernelEx", ctypes.byref(self.config), self.function, Pointer(self.params.arguments), None)


def launches_of(graph):
    """Its kernels, in the order of its edges."""
    graph, count = Pointer(graph.raw_cuda_graph()), ctypes.c_size_t()
    call("cuGraphGetNodes", graph, None, ctypes.byref(count))
    nodes = (Pointer * count.value)()
    call("cuGraphGetNodes", graph, nodes, ctypes.byref(count))
    call("cuGraphGetEdges_v2", graph, None, None, None, ctypes.byref(count))
    begins, ends, edges = (Pointer * count.value)(), (Pointer * count.value)(), (Edge * count.value)()
    call("cuGraphGetEdges_v2", graph, begins, ends, edges, ctypes.byref(count))
    before, programmatic = {}, {end for end, edge in zip(ends, edges) if edge.type == PROGRAMMATIC_EDGE}
    for begin, end in zip(begins, ends):
        before.setdefault(end, set()).add(begin)
    kind, left, launches, done = ctypes.c_int(), list(nodes), [], set()
    while left:
        node = next(node for node in left if before.get(node, set()) <= done)
        left.remove(node)
        done.add(node)
        call("cuGraphNodeGetType", Pointer(node), ctypes.byref(kind))
        if kind.value == KERNEL:
            launches.append(Launch(Pointer(node), node in programmatic))
    return launches


def captured(launches, stream):
    for launch in launches:
        launch()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for launch in launches:
            launch()
    return graph


def bandwidth_of_a_copy(stream):
    """Terabytes a second, read and written."""
    source, target = (torch.empty(COPIED, dtype=torch.uint8, device="cuda") for _ in range(2))
    return 2 * COPIED / statistics.median(milliseconds(stream, lambda: target.copy_(source), 4) for _ in range(5)) / 1e9


def account(library, layers, stream, generator, keys, rounds, copy):
    x = torch.randn(SEQUENCES, SIZES.features, device="cuda", generator=generator).bfloat16()
    scale = (x.float().square().mean(-1) + EPS).rsqrt()
    shape = (LAYERS, SEQUENCES, CAPACITY, 2, SIZES.groups, SIZES.head_dim)
    caches = torch.randn(shape, device="cuda", generator=generator, dtype=torch.bfloat16)
    out = torch.empty_like(x), torch.empty_like(scale)
    lengths = [keys - 1] * SEQUENCES
    runs = [library.decode(layer, CAPACITY, lengths, THETA, (x, scale), cache, out) for layer, cache in zip(layers, caches)]
    for run in runs * 3:
        run()
    stream.synchronize()
    whole = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(whole, stream=stream):
        for run in runs:
            run()
    launches = launches_of(whole)
    whole.instantiate()
    kinds = len(NAMES)
    assert [it.name for it in launches] == [it.name for it in launches[:kinds]] * LAYERS
    without = lambda kinds_out: [it for number, it in enumerate(launches) if number % kinds not in kinds_out]
    every = set(range(kinds))
    sets = {"all": launches} | {("all but", it): without({it}) for it in every} | {("alone", it): without(every - {it}) * LAPS for it in every}
    sets |= {"no scale_of": without({4, 7}), "no scale_of, no rotate": without({1, 4, 7}), "products alone": without({1, 2, 4, 7})}
    graphs = {"captured": whole} | {name: captured(of, stream) for name, of in sets.items()}
    times, order, drawn = {name: [] for name in graphs}, list(graphs), random.Random(1)
    for number in range(rounds + 1):
        drawn.shuffle(order)
        for name in order:
            us = 1000 * milliseconds(stream, graphs[name].replay, 2, LAYERS * (LAPS if name[0] == "alone" else 1))
            if number:
                times[name].append(us)
    us = {name: statistics.median(of) for name, of in times.items()}
    print(f"{SEQUENCES} sequences of {keys} keys, us a layer: captured {us['captured']:.1f}, launched again {us['all']:.1f} (from "
          f"{min(times['all']):.1f} to {max(times['all']):.1f}); " + ", ".join(f"{it} {us[it]:.1f}" for it in list(sets)[-3:]))
    features = SIZES.features
    elements = [SIZES.of_qkv * features, 0, 2 * SEQUENCES * keys * SIZES.of_keys, SIZES.of_queries * features, 0,
                2 * SIZES.hidden * features, SIZES.hidden * features, 0]
    print(f"  {'':12} {'MB':>6} {'at a copy':>9} {'alone':>6} {'of all':>6} {'above':>6}")
    for number, name in enumerate(NAMES):
        bytes_of, of_all = 2 * elements[number], us["all"] - us["all but", number]
        at_copy = bytes_of / copy / 1e6
        print(f"  {name:12} {bytes_of / 1e6:6.1f} {at_copy:9.1f} {us['alone', number]:6.1f} {of_all:6.1f} {of_all - at_copy:6.1f}")
    print(f"  {'together':12} {2 * sum(elements) / 1e6:6.1f} {2 * sum(elements) / copy / 1e6:9.1f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--library", default="target/release/libtransformer_layer_python.so")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments = arguments.parse_args()
    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    copy = bandwidth_of_a_copy(stream)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; medians of {arguments.rounds} rounds through {LAYERS} layers; a copy {copy:.2f} TB/s. "
          "Of all: what all kernels take above all but that one; above: above its bytes at a copy's speed")
    library = Library(arguments.library, stream)
    generator = torch.Generator("cuda").manual_seed(1)
    weights, norms = random_weights(generator, LAYERS)
    folded = with_norms(weights, norms)
    layers = [library.layer(SIZES, {name: weight[number] for name, weight in folded.items()}) for number in range(LAYERS)]
    for keys in (2048, 4096, 8192):
        account(library, layers, stream, generator, keys, arguments.rounds, copy)


if __name__ == "__main__":
    main()
