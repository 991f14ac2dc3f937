# SPDX-License-Identifier: MIT
"""What waits of a GPU take the host, through the stand-in for NVIDIA's libraries: no GPU is needed."""
import os
import subprocess
import sys
import threading
import unittest

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bench")
FAKE = os.path.join(os.environ.get("TSR_TEST_FAKE_DIR", ""), "fake_cuda.so")
CALLS = 2000


def next_thread():
    """The number that the system gave to a new thread. Numbers are given in order, whoever asks."""
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    return thread.native_id


def threads_of_calls():
    """In a process that has the stand-in: how many threads began while CALLS results of 4 million elements were queued."""
    import tessera as ts
    with ts.device("cuda"):
        x = ts.zeros((2048, 2048))
        work = lambda: ts.where(x > 0, x, 0.5).sum(axis=0).evaluate()
        work()
        begin = next_thread()
        for _ in range(CALLS):
            work()
        return next_thread() - begin


class Waits(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(FAKE), "no stand-in for NVIDIA's libraries here (TSR_TEST_FAKE_DIR)")
    def test_queueing_work_on_a_gpu_starts_no_thread(self):
        found = subprocess.run([sys.executable, os.path.abspath(__file__), "count"], capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertLess(int(found.stdout), CALLS // 2)  # those of other processes


if __name__ == "__main__":
    if sys.argv[1:] == ["count"]:
        sys.path.insert(0, BENCH)
        import launches  # of bench/
        launches.use_stand_in(FAKE)
        print(threads_of_calls())
    else:
        unittest.main()
