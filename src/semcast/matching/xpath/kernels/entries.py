"""The kernels that are called from Python.

Each closes over the fingerprint of all it may call, which is how the cache on disk knows that one of those changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semcast.matching.xpath.kernels import automaton, markup, walk
from semcast.matching.xpath.kernels import run as whole
from semcast.matching.xpath.kernels.compiled import entry, fingerprint

_extent, _scan, _start, _spread = markup.extent, markup.scan, automaton.start, automaton.spread
_fill, _retrace, _run = walk.fill, walk.retrace, whole.run
Kernel = Callable[..., Any]


def _reading(known: int) -> tuple[Kernel, Kernel]:
    def extent(source, begins, ends):  # type: ignore[no-untyped-def]
        _ = known
        return _extent(source, begins, ends)

    def scan(source, begins, ends, cursor, elements, attributes, texts, data, names, spans, slots, documents):  # type: ignore[no-untyped-def]  # fmt: skip
        _ = known
        _scan(source, begins, ends, cursor, elements, attributes, texts, data, names, spans, slots, documents)

    return entry(extent), entry(scan)


def _making(known: int) -> tuple[Kernel, Kernel, Kernel]:
    def start(nfa, dfa):  # type: ignore[no-untyped-def]
        _ = known
        return _start(nfa, dfa)

    def spread(links, slots, dfa):  # type: ignore[no-untyped-def]
        _ = known
        _spread(links, slots, dfa)

    def fill(entries, literals, slots):  # type: ignore[no-untyped-def]
        _ = known
        _fill(entries, literals, slots)

    return entry(start), entry(spread), entry(fill)


def _matching(known: int) -> tuple[Kernel, Kernel]:
    def retrace(top, room, translate, nfa, dfa, notes):  # type: ignore[no-untyped-def]
        _ = known
        return _retrace(top, room, translate, nfa, dfa, notes)

    def run(row, fresh, ends, profiles, documents, room, translate, nfa, dfa, tables, tests, notes, conditions, wanting, found):  # type: ignore[no-untyped-def]  # fmt: skip # noqa: E501
        _ = known
        return _run(row, fresh, ends, profiles, documents, room, translate, nfa, dfa, tables, tests, notes, conditions, wanting, found)  # fmt: skip # noqa: E501

    return entry(retrace), entry(run)


extent, scan = _reading(fingerprint())
start, spread, fill = _making(fingerprint())
retrace, run = _matching(fingerprint())
