# SPDX-License-Identifier: MIT
"""Takes turns with another library: `tessera bench --turns` as an object, and timing of the other library's calls."""
import json
import os
import subprocess
import time


def mean_ns(run, calls):
    """The mean time of `calls` calls."""
    begin = time.perf_counter_ns()
    for _ in range(calls):
        run()
    return (time.perf_counter_ns() - begin) / calls


def sample_ns(run, calls):
    """The mean time of `calls` calls. One call that is not counted comes first, as in `tessera bench --turns`."""
    run()
    return mean_ns(run, calls)


class Turns:
    """A program that answers each line it reads with a time in ns, warmed up at once. If not `is_ready`, it has ended or says why."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env={**os.environ, **(env or {})})
        self.first_line = self.process.stdout.readline().strip()
        self.is_ready = self.first_line == "ready"

    def sample_ns(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


class Tessera(Turns):
    """One row of `tessera bench` with `size` (a tuple of rows and columns). If not `is_ready`, why_not() gives the reason."""

    def __init__(self, program, backend, name, dtype="f32", size=None, env=None):
        command = [program, "bench", "--turns", "--json", "--backend", backend, "--op", name, "--dtype", dtype]
        super().__init__(command + (["--size", "x".join(str(n) for n in size)] if size else []), env)

    def why_not(self):
        """Ends the process. Returns the error, or nothing."""
        out, err = self.process.communicate()
        if self.is_ready:
            return ""
        try:
            return json.loads(self.first_line + out)["rows"][0]["message"].splitlines()[0]
        except (ValueError, LookupError):
            return (err.strip().splitlines() or ["no answer"])[-1]
