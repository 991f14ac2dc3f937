# SPDX-License-Identifier: MIT
"""help(): each function has a sentence and an example, and the examples run."""
import inspect
import pydoc
import unittest

import tessera
from test_array_api import LINALG, NAMES

# Names of the standard that are no functions.
OTHERS = "e inf nan newaxis pi __array_api_version__ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 __array_namespace_info__".split()


def lines_of(doc):
    """The lines of a function's examples, as they are typed."""
    return [line.strip()[4:] for line in (doc or "").split("\n") if line.strip().startswith(">>> ")]


def run(doc):
    """Runs a function's example; the last line is what it shows."""
    place = {"tessera": tessera}
    *before, last = lines_of(doc)
    for line in before:
        exec(line, place)
    found = eval(last, place)
    repr(found)
    return found


class Help(unittest.TestCase):
    def test_every_operator_has_an_example_that_runs(self):
        for name in tessera.ops.__all__:
            doc = getattr(tessera.ops, name).__doc__
            with self.subTest(name=name):
                self.assertRegex(doc.split("\n")[0], r"^\S.*\.$")
                run(doc)

    def test_every_function_of_the_standard_has_an_example_that_runs(self):
        for module, names in ((tessera, NAMES), (tessera.linalg, LINALG)):
            for name in names:
                if name not in OTHERS:
                    with self.subTest(name=name):
                        run(getattr(module, name).__doc__)

    def test_every_public_function_has_a_sentence(self):
        for module in (tessera, tessera.linalg, tessera.random, tessera.nn, tessera.optim, tessera.testing):
            for name in getattr(module, "__all__", list(vars(module))):
                value = getattr(module, name)
                if callable(value) and not name.startswith("_") and not inspect.isclass(value):
                    self.assertTrue((value.__doc__ or "").strip(), f"{module.__name__}.{name}")

    def test_names_of_numpy_that_are_not_here_say_why(self):
        for module, name, reason in ((tessera, "fft", "tessera.ops.fft"), (tessera, "complex128", "complex"), (tessera, "roots", "complex"),
                                     (tessera, "ma", "x.mask."), (tessera.linalg, "eig", "eigh")):
            with self.assertRaisesRegex(AttributeError, f"has no attribute '{name}': .*{reason}"):
                getattr(module, name)
        with self.assertRaisesRegex(AttributeError, "has no attribute 'nothing'$"):
            tessera.nothing

    def test_help_shows_signature_sentence_and_example(self):
        for function in (tessera.ops.softmax, tessera.add, tessera.sum, tessera.zeros(1).sum):
            text = pydoc.render_doc(function, renderer=pydoc.plaintext)
            self.assertIn(">>> tessera.", text)
        self.assertIn("add(a, b)", pydoc.render_doc(tessera.add, renderer=pydoc.plaintext))
        self.assertEqual(str(inspect.signature(tessera.ops.softmax)), "(x, axis=-1)")


if __name__ == "__main__":
    unittest.main()
