# SPDX-License-Identifier: MIT
"""Taking turns with another library: `tessera bench --turns` as an object, and how the other's calls are timed."""
import json
import os
import subprocess
import time


def sample_ns(run, calls):
    """The time of one call among `calls`. One that is not counted comes first, as in `tessera bench --turns`."""
    run()
    begin = time.perf_counter_ns()
    for _ in range(calls):
        run()
    return (time.perf_counter_ns() - begin) / calls


class Tessera:
    """One row of `size` (a tuple of rows and columns), warmed up when it is made. Unless it `is_ready`, why_not() says why."""

    def __init__(self, program, backend, name, dtype="f32", size=None, env=None):
        command = [program, "bench", "--turns", "--json", "--backend", backend, "--op", name, "--dtype", dtype]
        if size:
            command += ["--size", "x".join(str(n) for n in size)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env={**os.environ, **(env or {})})
        self.first_line = self.process.stdout.readline().strip()
        self.is_ready = self.first_line == "ready"

    def sample_ns(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def why_not(self):
        """Ends it; what went wrong, or nothing."""
        out, err = self.process.communicate()
        if self.is_ready:
            return ""
        try:
            return json.loads(self.first_line + out)["rows"][0]["message"].splitlines()[0]
        except (ValueError, LookupError):
            return (err.strip().splitlines() or ["no answer"])[-1]
