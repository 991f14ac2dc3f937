# SPDX-License-Identifier: MIT
"""The same measurements as bench/queues.c, of CUDA streams and graphs through PyTorch."""
import time
import torch

COUNT, KERNELS, SMALL, SIDE, BATCHES = 2000, 20, 256, 4096, 8
torch.set_grad_enabled(False)
torch.backends.cuda.matmul.allow_tf32 = False
x = torch.ones(SMALL, device="cuda")
streams = [torch.cuda.Stream() for _ in range(3)]


def sync():
    torch.cuda.synchronize()


def report(what, call, count=COUNT):
    for _ in range(2):
        sync()
        start = time.perf_counter_ns()
        for i in range(count):
            call(i)
        took = (time.perf_counter_ns() - start) / count
    sync()
    print(f"{what:58s} {took:9.0f} ns")


def on(stream, call):
    with torch.cuda.stream(stream):
        call()


report("a mul, current stream", lambda i: torch.mul(x, x))
report("a mul, another stream (with torch.cuda.stream)", lambda i: on(streams[0], lambda: torch.mul(x, x)))
event = torch.cuda.Event()
report("record an event", lambda i: event.record(streams[0]))
report("await it on another stream", lambda i: streams[1].wait_event(event))
pinned = torch.zeros(SMALL).pin_memory()
report("copy_ of 1 KiB to the device, pinned, non_blocking", lambda i: x.copy_(pinned, non_blocking=True))
report("copy_ of 1 KiB to the host, pinned, non_blocking", lambda i: pinned.copy_(x, non_blocking=True))

y = x
graph = torch.cuda.CUDAGraph()
torch.mul(x, x)
sync()
with torch.cuda.graph(graph):
    for _ in range(KERNELS):
        y = torch.mul(y, x)
for _ in range(2):
    sync()
    start = time.perf_counter_ns()
    for _ in range(COUNT // KERNELS):
        graph.replay()
    queued = time.perf_counter_ns() - start
    sync()
    done = time.perf_counter_ns() - start
print(f"{'per replayed kernel of a graph':58s} {queued / COUNT:9.0f} ns, until done {done / COUNT:.0f} ns")

w = torch.zeros(SIDE, SIDE, device="cuda")
a, into, last = torch.ones_like(w), torch.zeros_like(w), torch.ones_like(w)
host_in, host_out = torch.zeros(SIDE, SIDE).pin_memory(), torch.zeros(SIDE, SIDE).pin_memory()
for kind, name in enumerate(["copies in alone", "copies out alone", "work alone", "all three, one stream", "all three, three streams"]):
    best = 1e18
    for _ in range(4):
        sync()
        start = time.perf_counter_ns()
        for _ in range(BATCHES):
            if kind not in (1, 2):
                on(streams[0], lambda: into.copy_(host_in, non_blocking=True))
            if kind >= 2:
                on(streams[0 if kind == 3 else 1], lambda: (a @ w) @ w)
            if kind not in (0, 2):
                on(streams[0 if kind == 3 else 2], lambda: host_out.copy_(last, non_blocking=True))
        sync()
        best = min(best, time.perf_counter_ns() - start)
    print(f"{BATCHES} batches of 64 MiB, 2 products: {name:25s} {best / 1e6:9.2f} ms")
