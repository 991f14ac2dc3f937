# SPDX-License-Identifier: MIT
"""Profiles: what ran on which device, how long, with how much memory, and what was moved."""
from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Iterator

from . import _core


class profile:
    """Records what runs while it is open, on all threads and devices, and writes a report at its end.

    The end of the path says what is written: .html a report for a browser, .json a trace for Perfetto, anything else a table. print(p) shows the table, p.records has
    everything, and a notebook shows the report. With `full`, captures run step by step, so that each of their kernels is timed.

    >>> with tessera.profile("report.html") as p:
    ...     step(x)
    """

    def __init__(self, path: Any = None, *, full: bool = False, record_limit: int = 0) -> None:
        self._path, self._full, self._limit = path, full, record_limit
        self._profile: _core.Profile | None = None

    def __enter__(self) -> profile:
        _core.profile_begin(self._limit, self._full)
        return self

    def __exit__(self, *exception: object) -> None:
        self._profile = _core.profile_end()
        if self._path is not None:
            self.write(self._path)

    def _ended(self) -> _core.Profile:
        if self._profile is None:
            raise RuntimeError("the profile has not ended: it can be read after the statements of `with`")
        return self._profile

    def write(self, path: Any) -> None:
        """Writes the profile to a file: .html, .json, or a table."""
        self._ended().write(os.fspath(path))

    @property
    def records(self) -> list[dict[str, Any]]:
        """One dict for each thing that happened: kind, name, operators, label, device, start_ns, duration_ns, bytes, …"""
        return self._ended().records

    @property
    def devices(self) -> list[dict[str, Any]]:
        """The devices that were used, with their limits and the most memory in use."""
        return self._ended().devices

    @property
    def summary(self) -> dict[str, int]:
        """How many records there are, how long it took, and what is missing."""
        return self._ended().summary

    def _text(self, end: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile" + end)
            self.write(path)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def __str__(self) -> str:
        return self._text(".txt") if self._profile is not None else "a profile that has not ended"

    def html(self) -> str:
        """The report as a page of HTML."""
        return self._text(".html")

    def _repr_html_(self) -> str:
        import html

        return f'<iframe srcdoc="{html.escape(self.html())}" style="width: 100%; height: 640px; border: 0"></iframe>'


@contextlib.contextmanager
def label(name: str) -> Iterator[None]:
    """Names what the operators of its statements belong to, in profiles.

    >>> with tessera.label("forward"):
    ...     y = network(x)
    """
    _core.label_begin(name)
    try:
        yield
    finally:
        _core.label_end()
