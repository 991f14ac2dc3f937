# SPDX-License-Identifier: MIT
"""docs/python.md and examples/python: their programs run."""
import glob
import os
import re
import runpy
import sys
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Page(unittest.TestCase):
    def test_its_programs_run(self):
        with open(os.path.join(TREE, "docs", "python.md"), encoding="utf-8") as file:
            programs = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertTrue(programs)
        for program in programs:
            exec(compile(program, "docs/python.md", "exec"), {})


class Examples(unittest.TestCase):
    def test_they_run(self):
        programs = sorted(glob.glob(os.path.join(TREE, "examples", "python", "*.py")))
        self.assertGreaterEqual(len(programs), 3)
        for program in programs:
            arguments, sys.argv = sys.argv, [program]
            try:
                runpy.run_path(program, run_name="__main__")
            finally:
                sys.argv = arguments


if __name__ == "__main__":
    unittest.main(buffer=True)
