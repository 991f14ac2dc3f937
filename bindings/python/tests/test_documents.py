# SPDX-License-Identifier: MIT
"""docs/python.md: its programs run."""
import os
import re
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Page(unittest.TestCase):
    def test_its_programs_run(self):
        with open(os.path.join(TREE, "docs", "python.md"), encoding="utf-8") as file:
            programs = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertTrue(programs)
        for program in programs:
            exec(compile(program, "docs/python.md", "exec"), {})


if __name__ == "__main__":
    unittest.main(buffer=True)
