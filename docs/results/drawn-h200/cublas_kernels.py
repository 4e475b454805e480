"""Which kernels cuBLAS launches: `python cublas_kernels.py` where torch and a GPU are.

A name has tile, columns of K by stages, and cluster: nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT.
"""
import torch
from torch.profiler import ProfilerActivity, profile

PRODUCTS = [
    (4096, 4096, 4096), (4088, 4104, 4120), (4088, 4096, 4096), (4096, 4104, 4096), (4096, 4096, 4120), (1218, 1536, 5056),
    (145, 1280, 5120), (122, 2048, 8192), (504, 13824, 5120), (419, 1408, 6144), (140, 10240, 8192), (117, 10240, 8192),
    (2373, 4096, 14336), (1000, 1000, 1000), (64, 28672, 8192), (16, 28672, 8192),
]
BATCHES = [
    (108, 176, 856, 3832), (41, 208, 2424, 1064), (38, 232, 504, 2664), (38, 704, 392, 1592), (210, 288, 168, 1640),
    (140, 1104, 680, 320), (149, 3992, 72, 120), (4, 96, 1944, 2072),
]
LAUNCHES = 3


def show(label, run):
    run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(LAUNCHES):
            run()
        torch.cuda.synchronize()
    for event in profiled.key_averages():
        if event.self_device_time_total:
            print(label, event.key[:150], f"{event.self_device_time_total / LAUNCHES:.1f} us", flush=True)


def normal(*sizes):
    return torch.randn(*sizes, device="cuda").bfloat16()


for m, n, k in PRODUCTS:
    a, nt, nn = normal(m, k), normal(n, k), normal(k, n)
    show(f"nt {m}x{n}x{k}", lambda: a @ nt.t())
    show(f"nn {m}x{n}x{k}", lambda: a @ nn)
for count, m, n, k in BATCHES:
    a, b = normal(count, m, k), normal(count, n, k)
    show(f"batch {count}x{m}x{n}x{k}", lambda: torch.bmm(a, b.transpose(1, 2)))
