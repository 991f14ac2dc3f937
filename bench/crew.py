# SPDX-License-Identifier: MIT
"""Runs processes that prepare work at the same time, each on its own core, and measure it one after the other, so that the GPU runs nothing else meanwhile."""
import multiprocessing
import threading
import traceback


class Crew:
    """What the processes share. They go round by round: all prepare, then all measure in turn."""

    def __init__(self, count):
        self.count, self.barrier, self.turn = count, multiprocessing.Barrier(count), multiprocessing.Lock()
        self.idle = multiprocessing.Value("i", 0)
        self.best_ns = multiprocessing.Value("d", float("inf"))  # of the kernel of known time, see gpu_wake.Pace

    def rounds(self, prepare, measure):
        """Calls `prepare`, and `measure` with what it returned, until no process has anything to measure."""
        while True:
            work = prepare()
            if not work:
                with self.idle.get_lock():
                    self.idle.value += 1
            self.barrier.wait()
            is_over = self.idle.value == self.count  # nobody changes it between the two waits
            if work:
                with self.turn:
                    measure(work)
            self.barrier.wait()
            if is_over:
                return
            if not work:
                with self.idle.get_lock():
                    self.idle.value -= 1


def run(count, task):
    """Calls task(crew, number) in `count` processes. Returns what they returned; a process that fails ends the others' rounds, too."""
    crew, answers = Crew(count), multiprocessing.SimpleQueue()

    def work(number):
        answer = None
        try:
            answer = task(crew, number)
        except threading.BrokenBarrierError:
            pass  # another process has said why
        except Exception:
            traceback.print_exc()
            crew.barrier.abort()
        answers.put(answer)

    processes = [multiprocessing.get_context("fork").Process(target=work, args=(number,)) for number in range(count)]
    for process in processes:
        process.start()
    found = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    return [answer for answer in found if answer is not None]
