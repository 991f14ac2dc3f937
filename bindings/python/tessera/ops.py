# SPDX-License-Identifier: MIT
"""Every operator of the library, by its own name and with its own parameters.

The functions of `tessera` itself follow NumPy and the array API; they are made of these.
"""
from . import _core

globals().update(_core.operators)
__all__ = sorted(_core.operators)
