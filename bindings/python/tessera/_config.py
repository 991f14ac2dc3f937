# SPDX-License-Identifier: MIT
"""Settings of the library from code."""
from __future__ import annotations

from typing import Any, overload

from . import _core

_LEFT_OUT: Any = object()


def _text(value: Any) -> str | None:
    """A value as tsr_config_set takes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return str(value)
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"config: a value is a str, an int or a bool, or None to remove it, not {value!r}")


@overload
def config() -> dict[str, str]: ...
@overload
def config(name: str, /) -> str: ...
@overload
def config(name: str, value: str | int | bool | None, /) -> None: ...


def config(name: str = _LEFT_OUT, value: str | int | bool | None = _LEFT_OUT, /) -> Any:
    """Sets a setting of the library; with a name alone gives its value in force, and without one all of them as a dict.

    docs/configuration.md lists the settings. What is set here counts before environment variables and the config file; None removes it. A device is opened when it
    is first used, and keeps the settings of that time: set them before.

    >>> tessera.config("memory_limit", "80%")
    >>> tessera.config("memory_limit")
    """
    if name is not _LEFT_OUT and not isinstance(name, str):
        raise TypeError(f"config: the name of a setting is a str, not {name!r}")
    if value is not _LEFT_OUT:
        return _core.config_set(name, _text(value))
    values = _core.config_load()
    if name is _LEFT_OUT:
        return values
    if name not in values:
        _core.config_set(name, None)  # raises: the library says which name is most similar
    return values[name]
