# SPDX-License-Identifier: MIT
"""What the array API asks about this namespace, and the table of devices."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core import Device, DType
from ._dtypes import isdtype

_STANDARD = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


class _Info:
    """__array_namespace_info__ of the standard."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Device:
        return _core.device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        return {"real floating": _core.float32, "integral": _core.int64, "indexing": _core.int32}

    def devices(self) -> list[str]:
        return [row["device"] for row in _core.discover() if "device" in row]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        found = {name: getattr(_core, name) for name in _STANDARD}
        own = _core.device(device)
        return {name: dtype for name, dtype in found.items() if own.has_dtype(dtype) and (kind is None or isdtype(dtype, kind))}


def __array_namespace_info__() -> _Info:
    """What this namespace can do, as the array API asks it."""
    return _Info()


class DeviceTable(list[dict[str, Any]]):
    """The devices of this machine; prints as a table, also in notebooks."""

    def _cells(self) -> list[tuple[str, str, str]]:
        rows = [("device", "name", "memory")]
        for row in self:
            if "device" in row:
                memory = f"{row['total_bytes'] / 2**30:.1f} GiB" if row["total_bytes"] else ""
                rows.append((row["device"], row["name"] + (" (software)" if row["is_software"] else ""), memory))
            else:
                rows.append((row["backend"], "none: " + row["reason"], ""))
        return rows

    def __repr__(self) -> str:
        rows = self._cells()
        first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
        return "\n".join(f"{a:<{first}}  {b:<{second}}  {c}".rstrip() for a, b, c in rows)

    def _repr_html_(self) -> str:
        import html

        rows = ("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells())
        return "<table>" + "".join(rows) + "</table>"


def devices() -> DeviceTable:
    """Every device of this machine, and for each backend without one the reason."""
    return DeviceTable(_core.discover())
