# SPDX-License-Identifier: MIT
"""Where NumPy has some of its functions: tessera.lib.stride_tricks.sliding_window_view."""
from . import stride_tricks

__all__ = ["stride_tricks"]
