# SPDX-License-Identifier: MIT
"""Names for what functions take, for type checkers."""
from __future__ import annotations

from typing import Any, Sequence, Union

from ._core import Array, Device, DType

Number = Union[bool, int, float]
ArrayLike = Union[Array, Number, Sequence[Any], Any]
DTypeLike = Union[DType, str, type, None]
DeviceLike = Union[Device, str, None]
Axes = Union[int, Sequence[int], None]
