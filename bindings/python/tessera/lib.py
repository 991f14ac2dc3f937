# SPDX-License-Identifier: MIT
"""Where NumPy has some of its functions: tessera.lib.stride_tricks.sliding_window_view."""
from ._manipulation import broadcast_arrays, broadcast_shapes, broadcast_to
from ._signal import sliding_window_view


class stride_tricks:
    """Functions of numpy.lib.stride_tricks."""

    sliding_window_view = staticmethod(sliding_window_view)
    broadcast_to = staticmethod(broadcast_to)
    broadcast_arrays = staticmethod(broadcast_arrays)
    broadcast_shapes = staticmethod(broadcast_shapes)
