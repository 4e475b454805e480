# The same layer of torch's parts, timed a round at a time: speed.rs writes lines.
#   prepare TOKENS FEATURES HIDDEN EXPERTS TOP_K LAUNCHES SCORES...   answered by the names of what is timed
#   round                                                             answered by milliseconds of a pass of each
# Each is a CUDA graph, replayed LAUNCHES times. Gate and up are one product; what was computed comes back as a batch of products.
import sys
import torch
import torch.nn.functional as F


def random(*shape, scale=1.0):
    return torch.empty(*shape, device="cuda", dtype=torch.bfloat16).uniform_(-1, 1) * (3**0.5 * scale)


def route(scores, top_k):
    top, experts = scores.topk(top_k, dim=-1)
    of_rows, order = experts.flatten().sort(stable=True)
    numbers = torch.arange(scores.shape[1], device=scores.device)
    ends = torch.searchsorted(of_rows, numbers, right=True).to(torch.int32)
    return top.softmax(-1), order, ends


def gated(both):
    gate, up = both.chunk(2, dim=-1)
    return F.silu(gate) * up


def combined(made, order, weights):
    rows = torch.empty_like(order)
    rows[order] = torch.arange(order.numel(), device=order.device)
    made = made[rows].view(*weights.shape, -1)
    return torch.bmm(weights.to(made.dtype).unsqueeze(1), made).squeeze(1)


def layer_of(route, gated, combined):
    def layer(x, scores, gate_and_up, down, top_k):
        weights, order, ends = route(scores, top_k)
        both = torch._grouped_mm(x[order // top_k], gate_and_up.transpose(1, 2), offs=ends)
        made = torch._grouped_mm(gated(both), down.transpose(1, 2), offs=ends)
        return combined(made, order, weights)

    return layer


def captured(launch):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    graph.replay()
    return graph


def summed(made, order, weights):
    rows = torch.empty_like(order)
    rows[order] = torch.arange(order.numel(), device=order.device)
    return (made[rows].view(*weights.shape, -1) * weights.unsqueeze(-1)).sum(1).to(made.dtype)


def prepare(tokens, features, hidden, experts, top_k, scores):
    x = random(tokens, features)
    scores = torch.tensor(scores, dtype=torch.float32).view(tokens, experts).cuda() / 4096  # units of 2**-12
    gate_and_up = random(experts, 2 * hidden, features, scale=features**-0.5)
    down = random(experts, features, hidden, scale=hidden**-0.5)
    arguments = (x, scores, gate_and_up, down, top_k)
    graphs = {"eager": captured(lambda: layer_of(route, gated, combined)(*arguments))}
    parts = [torch.compile(part, dynamic=False) for part in (route, gated, summed)]
    layers = {
        "compiled": torch.compile(layer_of(route, gated, summed), dynamic=False),
        "compiled_parts": layer_of(*parts),
    }
    for name, layer in layers.items():
        try:
            graphs[name] = captured(lambda: layer(*arguments))
            break
        except Exception as error:  # some versions compile no grouped products
            print(f"{name}: {error!r}"[:300], file=sys.stderr)
    return graphs


def timed(graph, launches):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(launches):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / launches


graphs, launches = {}, 1
for line in sys.stdin:
    command, *numbers = line.split()
    with torch.no_grad():
        if command == "prepare":
            *sizes, launches = [int(number) for number in numbers[:6]]
            graphs = prepare(*sizes, [int(number) for number in numbers[6:]])
            print(*graphs)
        else:
            print(*(timed(graph, launches) for graph in graphs.values()))
