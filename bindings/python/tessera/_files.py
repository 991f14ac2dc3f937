# SPDX-License-Identifier: MIT
"""Arrays in files and in bytes: NumPy's .npy and .npz formats, and tables as text."""
from __future__ import annotations

import ast
import io
import os
import struct
from typing import Any, Callable, Dict, Iterable

from . import _core, ops
from ._core import Array
from ._creation import asarray, frombuffer

_MAGIC = b"\x93NUMPY"
# dtype: how NumPy's files name it. Those without a name there are stored as a wider one.
_NAMES = {"bool": "|b1", "int8": "|i1", "uint8": "|u1", "int16": "<i2", "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8",
          "uint64": "<u8", "float16": "<f2", "float32": "<f4", "float64": "<f8"}
_DTYPES = {text: name for name, text in _NAMES.items()}


def _npy_bytes(x: Any) -> bytes:
    from ._methods import _readable

    x = _readable(asarray(x))
    header = f"{{'descr': {_NAMES[x.dtype.name]!r}, 'fortran_order': False, 'shape': {x.shape!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return _MAGIC + bytes((1, 0)) + struct.pack("<H", len(header)) + header.encode("latin1") + x.tobytes()


def _from_npy(data: bytes) -> Array:
    if data[:6] != _MAGIC or len(data) < 10:
        raise ValueError("load: this is no .npy file")
    at, form = (10, "<H") if data[6] == 1 else (12, "<I")
    (length,) = struct.unpack_from(form, data, 8)
    header = ast.literal_eval(data[at:at + length].decode("latin1"))
    name = _DTYPES.get(header["descr"].replace("=", "<"))
    if name is None:
        raise TypeError(f"load: elements of the type {header['descr']!r} have no dtype in tessera")
    shape = tuple(header["shape"])
    x = frombuffer(data, name, offset=at + length, count=_count(shape))
    return ops.reshape(x, shape[::-1]).T if header["fortran_order"] else ops.reshape(x, shape)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Writes an array to a .npy file, which NumPy reads, too."""
    data = _npy_bytes(arr)
    if hasattr(file, "write"):
        file.write(data)
        return
    path = os.fspath(file)
    with open(path if path.endswith(".npy") else path + ".npy", "wb") as opened:
        opened.write(data)


def savez(file: Any, *arrays: Any, **named: Any) -> None:
    """Writes several arrays to a .npz file, by the names of keywords or as arr_0, arr_1, …"""
    _write_npz(file, arrays, named, is_compressed=False)


def savez_compressed(file: Any, *arrays: Any, **named: Any) -> None:
    """As savez, into a compressed file."""
    _write_npz(file, arrays, named, is_compressed=True)


def _write_npz(file: Any, arrays: tuple[Any, ...], named: dict[str, Any], is_compressed: bool) -> None:
    import zipfile

    if not hasattr(file, "write"):
        file = os.fspath(file)
        file = file if file.endswith(".npz") else file + ".npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED) as archive:
        for name, x in [(f"arr_{i}", x) for i, x in enumerate(arrays)] + list(named.items()):
            archive.writestr(name + ".npy", _npy_bytes(x))


class NpzFile(Dict[str, Array]):
    """The arrays of a .npz file by their names. All are in memory, so there is nothing to close."""

    @property
    def files(self) -> list[str]:
        """The names."""
        return list(self)

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def close(self) -> None:
        """Does nothing."""


def load(file: Any, mmap_mode: None = None, allow_pickle: bool = False) -> Any:
    """Reads a .npy file, or the arrays of a .npz file as a dict. There are no pickled objects and no memory-mapped files here."""
    if mmap_mode is not None:
        raise NotImplementedError("load: there are no memory-mapped files here")
    if hasattr(file, "read"):
        data = file.read()
    else:
        with open(file, "rb") as opened:
            data = opened.read()
    if data[:4] != b"PK\x03\x04":
        return _from_npy(data)
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return NpzFile({name.removesuffix(".npy"): _from_npy(archive.read(name)) for name in archive.namelist()})


def _lines(fname: Any, encoding: str | None) -> list[str]:
    if isinstance(fname, (str, os.PathLike)):
        with open(fname, encoding=encoding or "utf-8") as opened:
            return opened.read().splitlines()
    return [line.decode() if isinstance(line, bytes) else line for line in fname]


def loadtxt(fname: Any, dtype: Any = None, comments: str = "#", delimiter: str | None = None, skiprows: int = 0, usecols: Any = None,
            unpack: bool = False, converters: dict[int, Callable[[str], float]] | None = None, *, ndmin: int = 0, max_rows: int | None = None,
            encoding: str | None = None) -> Array:
    """A table of numbers from a text file, or from lines; at most max_rows of them, and with at least ndmin axes."""
    rows: list[list[str]] = []
    for line in _lines(fname, encoding)[skiprows:]:
        if len(rows) == max_rows:
            break
        words = line.split(comments)[0].strip()
        if words:
            rows.append([word.strip() for word in words.split(delimiter)])
    columns = range(len(rows[0]) if rows else 0) if usecols is None else [usecols] if isinstance(usecols, int) else usecols
    own = converters or {}
    x = asarray([[own.get(i, float)(row[i]) for i in columns] for row in rows], dtype)
    x = ops.squeeze_all(x) if x.ndim == 2 and 1 in x.shape and ndmin < 2 else x
    x = ops.reshape(x, (1,)) if x.ndim < ndmin else x
    return x.T if unpack else x


def genfromtxt(fname: Any, dtype: Any = None, comments: str = "#", delimiter: str | None = None, skip_header: int = 0, usecols: Any = None,
               filling_values: float = float("nan"), *, skip_footer: int = 0, unpack: bool = False, max_rows: int | None = None,
               encoding: str | None = None) -> Array:
    """As loadtxt; what is no number becomes NaN, or another number."""

    def number(word: str) -> float:
        try:
            return float(word)
        except ValueError:
            return filling_values

    lines = _lines(fname, encoding)
    lines = lines[:len(lines) - skip_footer]
    width = max((len(line.split(delimiter)) for line in lines), default=0)
    return loadtxt(lines, dtype, comments, delimiter, skip_header, usecols, unpack, dict.fromkeys(range(width), number), max_rows=max_rows)


def savetxt(fname: Any, X: Any, fmt: Any = "%.18e", delimiter: str = " ", newline: str = "\n", header: str = "", footer: str = "", comments: str = "# ",
            encoding: str | None = None) -> None:
    """Writes a table of numbers as text; fmt is one format, or a list of one for each column."""
    x = asarray(X)
    rows = ops.reshape(x, (-1, 1) if x.ndim < 2 else x.shape).tolist()
    lines = [comments + line for line in header.splitlines()]
    lines += [delimiter.join(form % number for form, number in zip([fmt] * len(row) if isinstance(fmt, str) else fmt, row)) for row in rows]
    lines += [comments + line for line in footer.splitlines()]
    text = newline.join(lines) + newline
    if hasattr(fname, "write"):
        fname.write(text)
        return
    with open(fname, "w", encoding=encoding or "utf-8") as opened:
        opened.write(text)


def fromfile(file: Any, dtype: Any = _core.float32, count: int = -1, offset: int = 0) -> Array:
    """The bytes of a file as elements of a dtype."""
    if hasattr(file, "read"):
        return frombuffer(file.read(), dtype, count, offset)
    with open(file, "rb") as opened:
        return frombuffer(opened.read(), dtype, count, offset)


def fromiter(iterable: Iterable[Any], dtype: Any, count: int = -1) -> Array:
    """A list of what an iterable gives."""
    import itertools

    return asarray(list(iterable if count < 0 else itertools.islice(iterable, count)), dtype)


def fromstring(string: str, dtype: Any = _core.float32, sep: str = " ") -> Array:
    """A list of the numbers in a text."""
    return asarray([float(word) for word in string.split(sep if sep.strip() else None)], dtype)
