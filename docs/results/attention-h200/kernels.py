"""Kernels of `cargo xtask attention-cubins` in Python: loaded by the driver, launched by their plans on torch's tensors."""
import ctypes
import json
import os
import struct

import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))
DRIVER = ctypes.CDLL("libcuda.so.1")
BF16, F16 = 9, 6  # CUtensorMapDataType
SWIZZLES = {128: 3, 64: 2, 32: 1, 16: 0}
PROMOTION_128 = 2
MAX_DYNAMIC_SHARED = 8  # CUfunction_attribute
PROGRAMMATIC = 6  # CUlaunchAttributeID: a launch may begin while the one before it ends
torch.zeros(1, device="cuda")  # makes the context that modules are loaded into
EXTENTS = ("batch", "heads", "groups", "queries", "keys")


def check(result, what):
    if result != 0:
        raise RuntimeError(f"{what}: CUDA error {result}")


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("gap", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class Config(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p),
                ("count", ctypes.c_uint)]


def tensor_map(tensor, tile):
    """Of up to four axes, the last of which is without gaps; of an axis of one element the stride is free."""
    rank, size = tensor.dim(), tensor.element_size()
    sizes, strides = list(tensor.shape)[::-1], list(tensor.stride())[::-1]
    given = [stride * size if count > 1 else 16 for count, stride in zip(sizes, strides)][1:]
    boxes = [tile["columns"], tile["rows"], 1, 1][:rank]
    memory = ctypes.create_string_buffer(128 + 64)
    address = (ctypes.addressof(memory) + 63) // 64 * 64
    array = lambda ctype, values: (ctype * len(values))(*values)
    check(DRIVER.cuTensorMapEncodeTiled(
        ctypes.c_void_p(address), BF16 if tensor.dtype == torch.bfloat16 else F16, rank, ctypes.c_void_p(tensor.data_ptr()),
        array(ctypes.c_uint64, sizes), array(ctypes.c_uint64, given), array(ctypes.c_uint32, boxes),
        array(ctypes.c_uint32, [1] * rank), 0, SWIZZLES[tile["swizzle"]], PROMOTION_128, 0),
        "a tensor map")
    return ctypes.string_at(address, 128)


class Kernel:
    """A variant of variants.json."""

    def __init__(self, variant, folder=FOLDER):
        self.variant, self.plan = variant, variant["plan"]
        (self.step,) = self.plan["kernels"]
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        path = os.path.join(folder, variant["file"])
        check(DRIVER.cuModuleLoad(ctypes.byref(module), path.encode()), path)
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, self.step["symbol"].encode()), "its kernel")
        check(DRIVER.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, self.step["shared_bytes"]), "its memory")
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count
        self.workspace = {}

    def blocks(self, sizes):
        parts = 1
        for axis in self.step["grid"]["axes"]:
            parts *= -(-sizes[EXTENTS[axis["dim"]]] // axis["step"])
        residency = self.step["grid"]["residency"]
        return self.sms * residency["sharing"]["blocks_per_sm"] if "sharing" in residency else min(parts, self.sms) if "persistent" in residency else parts

    def prepare(self, operands, sizes):
        """A launch on `operands`, in the order of the signature; launches follow one another, as they share the workspace."""
        blocks = self.blocks(sizes)
        workspace = self.workspace.setdefault(blocks, [
            torch.zeros(max(blocks * it["bytes"], 16), dtype=torch.uint8, device="cuda") for it in self.plan.get("workspace", [])])
        raw = b""
        for field in self.step["args"]:
            ((kind, of),) = field["arg"].items()
            tensor = operands[of["operand"]] if "operand" in of else None
            if kind == "map":
                align, value = 64, tensor_map(tensor, of["tile"])
            elif kind == "pointer":
                align, value = 8, struct.pack("<Q", tensor.data_ptr())
            elif kind == "scalar":
                align, value = 4, struct.pack("<f", tensor)
            elif kind == "stride":
                align, value = 8, struct.pack("<q", tensor.stride(of["axis"]))
            elif kind == "workspace":
                align, value = 8, struct.pack("<Q", workspace[of["buffer"]].data_ptr())
            else:
                numbers = {"extent": lambda: sizes[EXTENTS[of["dim"]]], "columns": lambda: tensor.shape[-1],
                           "is_mapped": lambda: int(tensor.numel() > 0), "matrices": lambda: tensor.shape[0]}
                align, value = 4, struct.pack("<i", numbers[kind]())
            raw += b"\0" * (-len(raw) % align) + value
        memory = ctypes.create_string_buffer(len(raw) + 128)
        address = (ctypes.addressof(memory) + 63) // 64 * 64
        ctypes.memmove(address, raw, len(raw))
        return Launch(self, blocks, address, (memory, operands))


class Launch:
    def __init__(self, kernel, blocks, address, kept):
        step = kernel.step
        self.kept = kept
        self.parameters = (ctypes.c_void_p * 1)(address)
        self.attribute = Attribute(PROGRAMMATIC, b"", 1)
        self.config = Config((ctypes.c_uint * 7)(blocks, 1, 1, step["threads"], 1, 1, step["shared_bytes"]), None,
                             ctypes.addressof(self.attribute), int(step["overlaps_previous"]))
        self.function = kernel.function

    def __call__(self):
        """On torch's stream."""
        self.config.stream = torch.cuda.current_stream().cuda_stream
        check(DRIVER.cuLaunchKernelEx(ctypes.byref(self.config), self.function, self.parameters, None), "a launch")


def variants(folder=FOLDER):
    with open(os.path.join(folder, "variants.json")) as file:
        return json.load(file)


def graph(launches):
    """All of them in order, captured."""
    for launch in launches:  # loads and plans whatever the first call does
        launch()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for launch in launches:
            launch()
    return captured


def milliseconds(captured, count):
    """Of one of the `count` launches in a graph."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    captured.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def milliseconds_by_host(launches, sleep=0):
    """Of one of the launches that the host makes one by one; behind so many cycles in which it queues all of them."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    if sleep:
        torch.cuda._sleep(sleep)
    begin.record()
    for launch in launches:
        launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / len(launches)


def interleaved(contenders, rounds):
    """Milliseconds of a launch of each of {name: launches}, round by round; whoever is timed first changes from round to round."""
    graphs = {name: (graph(launches), len(launches)) for name, launches in contenders.items()}
    times = {name: [] for name in graphs}
    for name in graphs:
        milliseconds(*graphs[name])
    for number in range(rounds):
        names = list(graphs)
        for name in names[number % len(names):] + names[:number % len(names)]:
            times[name].append(milliseconds(*graphs[name]))
    return times


def median(values):
    return sorted(values)[len(values) // 2]


def spread(values):
    """Of the middle half, in percent of the median."""
    values = sorted(values)
    return 100 * (values[-1 - len(values) // 4] - values[len(values) // 4]) / median(values)
