# SPDX-License-Identifier: MIT
"""Raises the clock of a GPU before it is measured.

Through Vulkan, OpenCL and WebGPU an H200 that works for less than some half of the time, as it does while kernels are built, lowers its clock, down to
345 MHz. After some 0.2 s of work the clock is back.
"""
import time

MOST_NS = 4e8  # most nanoseconds of work at once: enough for a GPU that was idle for seconds


class Waker:
    """Remembers when the GPU last worked (`last_ns`), and how long it has worked to raise its clock (`spent_ns`)."""

    def __init__(self):
        self.last_ns = self.spent_ns = 0

    def worked(self):
        self.last_ns = time.perf_counter_ns()

    def wake(self, work, since_ns, least_ns=0, is_awake=None):
        """Calls `work`, which keeps the GPU busy for some milliseconds and waits for it, for twice as long as the GPU has idled since `since_ns`: at least
        `least_ns`, at most MOST_NS, and no longer than until `is_awake` says so."""
        begin = time.perf_counter_ns()
        enough_ns = max(least_ns, min(2 * (begin - since_ns), MOST_NS))
        while time.perf_counter_ns() - begin < enough_ns:
            work()
            if is_awake and is_awake():
                break
        self.worked()
        self.spent_ns += self.last_ns - begin


class Pace:
    """How fast the GPU is now, as a share of the fastest it has been, by a kernel whose time depends on the clock. `sample` returns that kernel's time; `best` is
    the least so far, a multiprocessing.Value that processes share."""

    FULL, TRIES = 0.96, 3

    def __init__(self, sample, best):
        self.sample, self.best, self.share = sample, best, 0

    def measure(self):
        now = self.sample()
        self.best.value = min(self.best.value, now)
        self.share = self.best.value / now

    def settle(self):
        """Measures until the pace is full, a few times at most: a single sample may have been disturbed."""
        for _ in range(Pace.TRIES):
            self.measure()
            if self.is_full():
                break

    def is_known(self):
        return self.best.value < float("inf")

    def is_full(self):
        return self.share >= Pace.FULL
