# torch's products of groups along K, timed a round at a time: the opponent of gpu_groups_along_k_speed.rs, which writes lines.
#   prepare M N LAUNCHES SETS OFFSETS...   answered by the names of what is timed
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


def prepare(m, n, launches, sets, *offsets):
    groups, rows = len(offsets) - 1, offsets[-1]
    x = [random(rows, m) for _ in range(sets)]
    dy = [random(rows, n) for _ in range(sets)]
    ends = torch.tensor(offsets[1:], dtype=torch.int32, device="cuda")
    out = torch.zeros(groups, m, n, device="cuda", dtype=torch.bfloat16)
    bounds = [(group, *pair) for group, pair in enumerate(zip(offsets, offsets[1:])) if pair[0] < pair[1]]

    def grouped(number):
        return torch._grouped_mm(x[number].t(), dy[number], offs=ends)

    def loop(number):
        for group, begin, end in bounds:
            torch.mm(x[number][begin:end].t(), dy[number][begin:end], out=out[group])

    contenders = {"grouped_mm": grouped, "loop": loop}
    if len({end - begin for begin, end in zip(offsets, offsets[1:])}) == 1:
        batched = lambda of: of.view(groups, -1, of.shape[1])
        contenders["bmm"] = lambda number: torch.bmm(batched(x[number]).transpose(1, 2), batched(dy[number]), out=out)
    return {name: captured(launch, launches, sets) for name, launch in contenders.items()}


def timed(graph, launches):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / launches


graphs, launches = {}, 1
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
        print(*(timed(graph, launches) for graph in graphs.values()))
