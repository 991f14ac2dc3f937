# SPDX-License-Identifier: MIT
"""What tests that compare with NumPy share: NumPy in the manners of its version 1, which Debian 12 has, and how many cases a device gets."""
import numpy as np
import tessera as ts

if int(np.__version__.split(".", maxsplit=1)[0]) >= 2:
    np.set_printoptions(legacy="1.25")
    for old, new in (("trapz", "trapezoid"), ("in1d", "isin")):
        if not hasattr(np, old):
            setattr(np, old, getattr(np, new))


def some(cases):
    """All cases on the CPU. Elsewhere every sixth: other devices compile a kernel for each, which takes a GPU's compiler 50 ms."""
    cases = list(cases)
    return cases if str(ts.device()).startswith("cpu") else cases[::6]
