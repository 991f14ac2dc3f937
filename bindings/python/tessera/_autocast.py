# SPDX-License-Identifier: MIT
"""Mixed precision."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

from . import _core


@contextlib.contextmanager
def autocast(dtype: Any) -> Iterator[None]:
    """In its statements products, convolutions and attention convert float32 to `dtype`, which is float16 or bfloat16, and add up in float32; sums, norms, softmax
    and losses give float32. tessera.float32 switches that off inside of another range.

    >>> with tessera.autocast(tessera.bfloat16):
    ...     loss = nn.cross_entropy(network(params, x), labels)
    """
    _core.autocast_begin(dtype)
    try:
        yield
    finally:
        _core.autocast_end()
