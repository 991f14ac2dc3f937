# SPDX-License-Identifier: MIT
"""Pages of NumPy code (tests/pages) print the same with `import tessera as np`: the same words, and numbers that agree as float32 does with float64."""
import contextlib
import glob
import io
import math
import os
import re
import unittest

import numpy
from beside import some

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pages")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\binf\b|\bnan\b)")


def printed(source, name):
    """What a page prints, as its words and its numbers."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        exec(compile(source, name, "exec"), {"__name__": "__main__"})
    shown = text.getvalue().replace(", dtype=int32", "")
    return NUMBER.sub("#", re.sub(r"\s+", "", NUMBER.sub(" # ", shown))), [float(word) for word in NUMBER.findall(shown)]


def agree(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 2e-3 * max(abs(a), abs(b)) + 1.1e-3


class Pages(unittest.TestCase):
    def test_print_the_same_with_another_import_line(self):
        pages = sorted(glob.glob(os.path.join(PAGES, "*.py")))
        self.assertGreaterEqual(len(pages), 25)
        for page in some(pages):
            with self.subTest(page=os.path.basename(page)), numpy.printoptions():
                with open(page, encoding="utf-8") as file:
                    source = file.read()
                self.assertEqual(source.count("import numpy as np\n"), 1)
                wanted_words, wanted = printed(source, page)
                words, found = printed(source.replace("import numpy as np\n", "import tessera as np\n").replace("from numpy.", "from tessera."), page)
                self.assertEqual(words, wanted_words)
                self.assertEqual([pair for pair in zip(found, wanted) if not agree(*pair)], [])


if __name__ == "__main__":
    unittest.main()
