# torch's products of groups of rows, timed a round at a time: the opponent of gpu_groups_speed.rs, which writes lines.
#   prepare N K LAUNCHES SETS OFFSETS...   answered by the names of what is timed
#   round                                  answered by milliseconds of a launch of each
# Each is a CUDA graph of LAUNCHES launches on sets of operands in turn. The loop knows the offsets on the host.
import sys
import torch


def random(*shape):
    return torch.rand(*shape, device="cuda", dtype=torch.bfloat16) * 2 - 1


def captured(launch, launches, sets):
    for number in range(sets):
        launch(number)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(launches):
            launch(number % sets)
    graph.replay()
    return graph


def prepare(n, k, launches, sets, *offsets):
    groups, rows = len(offsets) - 1, offsets[-1]
    x = [random(rows, k) for _ in range(sets)]
    w = [random(groups, n, k) for _ in range(sets)]
    ends = torch.tensor(offsets[1:], dtype=torch.int32, device="cuda")
    out = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
    bounds = [(group, *pair) for group, pair in enumerate(zip(offsets, offsets[1:])) if pair[0] < pair[1]]

    def grouped(number):
        return torch._grouped_mm(x[number], w[number].transpose(1, 2), offs=ends)

    def loop(number):
        for group, begin, end in bounds:
            torch.mm(x[number][begin:end], w[number][group].t(), out=out[begin:end])

    contenders = {"grouped_mm": grouped, "loop": loop}
    if len({end - begin for begin, end in zip(offsets, offsets[1:])}) == 1:
        even = out.view(groups, -1, n)
        contenders["bmm"] = lambda number: torch.bmm(x[number].view(groups, -1, k), w[number].transpose(1, 2), out=even)
    return {name: captured(launch, launches, sets) for name, launch in contenders.items()}


def timed(graph, launches):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / launches


def rounds(graphs, launches, number):
    # The first launches behind another process's are slower, and each round begins with another contender.
    names = list(graphs)
    graphs[names[0]].replay()
    first = number % len(names)
    times = {name: timed(graphs[name], launches) for name in names[first:] + names[:first]}
    return [times[name] for name in names]


graphs, launches, number = {}, 1, 0
for line in sys.stdin:
    command, *numbers = line.split()
    if command == "prepare":
        graphs = {}
        torch.cuda.empty_cache()
        numbers = [int(number) for number in numbers]
        launches = numbers[2]
        graphs = prepare(*numbers)
        print(*graphs)
    else:
        print(*rounds(graphs, launches, number))
        number += 1
