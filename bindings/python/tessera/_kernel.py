# SPDX-License-Identifier: MIT
"""Kernels in Tessera's kernel language."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core import Array, DType, Kernel


def _define(name: str, value: Any) -> str:
    """T=f32 from T=tessera.float32, WG=128 from WG=128."""
    names = {"float8_e4m3fn": "f8_e4m3", "float8_e5m2": "f8_e5m2", "bfloat16": "bf16", "bool": "bool"}
    if isinstance(value, DType):
        value = names.get(value.name) or value.name.replace("float", "f").replace("uint", "u").replace("int", "i")
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


def kernel(source: str, name: str | None = None, *, checked: bool = False, **defines: Any) -> Kernel:
    """Builds a kernel of the kernel language (docs/kernel-language.md); `name` says which of several. Mistakes are a KernelError with the compiler's messages.

    Compile-time parameters are keywords: T=tessera.float32, WG=128. The kernel is called with its arguments in order or by name, and with `items`: how many work
    items there are, along one axis or up to three; by itself as many as the first array that is written has elements. It runs on the device of the arrays.

    >>> double = tessera.kernel("kernel double(in f32 x[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) y[i] = x[i] * 2; }")
    >>> double(x, y, x.size)
    """
    return _core.build_kernel(source, name, [_define(*item) for item in defines.items()], checked)


def _call(self: Kernel, *args: Any, items: Any = None, **named: Any) -> None:
    """Launches the kernel."""
    if items is None:
        rows = self.parameters
        given = {row[0]: arg for row, arg in zip(rows, args)} | named
        written = [given.get(row[0]) for row in rows if row[1] in ("out", "inout")]
        if not written or not isinstance(written[0], Array):
            raise TypeError("the kernel writes no array: give `items`")
        items = written[0].size
    sizes = (items,) if isinstance(items, int) else tuple(items)
    if not 1 <= len(sizes) <= 3:
        raise ValueError("items has one to three sizes")
    x, y, z = (*sizes, 1, 1)[:3]
    self.launch((x, y, z), args, named)


setattr(Kernel, "__call__", _call)
