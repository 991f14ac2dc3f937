# SPDX-License-Identifier: MIT
"""How arrays are shown: set_printoptions, and the text of arrays while its options are not NumPy's own, which the library writes by itself."""
from __future__ import annotations

import contextlib
import math
import operator
import struct
from typing import Any, Iterator

from . import _core, ops
from ._core import Array, DType

_DEFAULTS: dict[str, Any] = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False, "nanstr": "nan", "infstr": "inf",
                             "sign": "-", "formatter": None, "floatmode": "maxprec"}
_options = dict(_DEFAULTS)
# Which formatter is for a kind of dtypes, the first that is there. Others are of integers.
_FORMATTERS = {"f": ("float", "float_kind", "all"), "b": ("bool", "all")}


def get_printoptions() -> dict[str, Any]:
    """The options that set_printoptions sets."""
    return dict(_options)


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None, linewidth: float | None = None,
                     suppress: bool | None = None, nanstr: str | None = None, infstr: str | None = None, formatter: Any = None,
                     sign: str | None = None, floatmode: str | None = None) -> None:
    """How arrays are shown: most digits after the point, how many elements are shown whole, how many at each end of an axis otherwise, characters of a line, and
    whether small numbers are shown without exponents.

    >>> tessera.set_printoptions(precision=3, suppress=True)
    """
    given = {name: value for name, value in locals().items() if name != "formatter" and value is not None}
    for name, value in given.items():
        if type(value) is not type(_DEFAULTS[name]) and not (name in ("threshold", "linewidth") and isinstance(value, float)):
            given[name] = operator.index(value)
    _options.update(given, formatter=formatter)
    _core.set_formatter(None if _options == _DEFAULTS else _shown)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """set_printoptions for the statements of a `with`."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def _shown(x: Array, indent: int, has_commas: bool) -> str:
    """The elements as text, after `indent` columns."""
    if x.size == 0:
        return "[]"
    edge = int(_options["edgeitems"])
    is_cut = x.size > _options["threshold"]
    cuts = [is_cut and size > 2 * edge for size in x.shape]
    for axis, cut in enumerate(cuts):
        if cut:
            size = x.shape[axis]
            x = ops.concat([ops.slice(x, axis, 0, edge), ops.slice(x, axis, size - edge, size)], axis)
    words = _words(_shortest(ops.reshape(x, (-1,)).tolist(), x.dtype), x.dtype.kind)
    return _Layout(x.shape, cuts, words, indent, has_commas).axis(0)


class _Layout:
    """Words in brackets and lines, as NumPy has them."""

    def __init__(self, shape: tuple[int, ...], cuts: list[bool], words: list[str], indent: int, has_commas: bool) -> None:
        self._shape, self._cuts, self._words, self._indent = shape, cuts, iter(words), indent
        self._gap = ", " if has_commas else " "
        self._width = _options["linewidth"] - len(shape) - has_commas

    def axis(self, axis: int) -> str:
        edge = int(_options["edgeitems"])
        if axis == len(self._shape) - 1:
            items = [next(self._words) for _ in range(self._shape[axis])]
        else:
            items = [self.axis(axis + 1) for _ in range(self._shape[axis])]
        if self._cuts[axis]:
            items.insert(edge, "...")
        if axis == len(self._shape) - 1:
            return "[" + self._row(items) + "]"
        between = self._gap.rstrip() + "\n" * (len(self._shape) - axis - 1) + " " * (axis + 1 + self._indent)
        return "[" + between.join(items) + "]"

    def _row(self, items: list[str]) -> str:
        start = len(self._shape) + self._indent
        text, column = "", start
        for i, item in enumerate(items):
            if i:
                text, column = text + self._gap, column + len(self._gap)
            if column + len(item) > self._width and column > start:
                text, column = text.rstrip(" ") + "\n" + " " * start, start
            text, column = text + item, column + len(item)
        return text


def _shortest(numbers: list[Any], dtype: DType) -> list[Any]:
    """Of float32, the number with the fewest digits that is nearest to the same float32."""
    if dtype != _core.float32:
        return numbers

    def shortened(number: float) -> float:
        for digits in range(6, 10):
            short = float(f"{number:.{digits}g}")
            if math.isfinite(number) and struct.pack("f", short) == struct.pack("f", number):
                return short
        return number

    return [shortened(number) for number in numbers]


def _words(numbers: list[Any], kind: str) -> list[str]:
    """Each element, all of one width."""
    for name in _FORMATTERS.get(kind, ("int", "int_kind", "all")) if _options["formatter"] else ():
        if name in _options["formatter"]:
            return [_options["formatter"][name](number) for number in numbers]
    words = _floats(numbers) if kind == "f" else [str(number) for number in numbers]
    width = max(map(len, words))
    return [word.rjust(width) for word in words]


def _floats(numbers: list[float]) -> list[str]:
    finite = [number for number in numbers if math.isfinite(number)]
    sizes = [abs(number) for number in finite if number]
    precision = int(_options["precision"])
    is_exponential = bool(sizes) and not _options["suppress"] and (max(sizes) >= 1e8 or min(sizes) < 1e-4 or max(sizes) / min(sizes) > 1000)
    form = f".{precision}e" if is_exponential else f".{precision}f"
    texts = {number: format(number, form) for number in finite}
    if _options["floatmode"] != "fixed" and not is_exponential:
        # Each number without zeros at its end, and all points below each other.
        texts = {number: text.rstrip("0") if "." in text else text + "." for number, text in texts.items()}
        most = max((len(text) - text.index(".") for text in texts.values()), default=0)
        filler = "0" if _options["floatmode"] == "maxprec_equal" else " "
        texts = {number: text + filler * (most - (len(text) - text.index("."))) for number, text in texts.items()}
    sign = {"+": "+", " ": " "}.get(_options["sign"], "")

    def word(number: float) -> str:
        if math.isnan(number):
            return str(_options["nanstr"])
        if math.isinf(number):
            return ("-" if number < 0 else "") + str(_options["infstr"])
        text = texts[number]
        text = text if "." in text or is_exponential else text + "."
        return text if text.startswith("-") or not sign else sign + text

    return [word(number) for number in numbers]


def array2string(x: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None, separator: str = " ",
                 prefix: str = "", **options: Any) -> str:
    """The elements as text; `separator` is " " or ", ". Further options are those of set_printoptions."""
    from ._creation import asarray

    with printoptions(precision=precision, linewidth=max_line_width, suppress=suppress_small, **options):
        x = asarray(x)
        return _words([x.item()], x.dtype.kind)[0] if x.ndim == 0 else _shown(x, len(prefix), separator.startswith(","))
