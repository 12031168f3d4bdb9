"""The kernels that are called from Python.

Each closes over the fingerprint of all it may call, which is how the cache on disk knows that one of those changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semcast.matching.xpath.kernels import automaton, lookup, markup, needles, walk, watch
from semcast.matching.xpath.kernels.compiled import entry, fingerprint
from semcast.matching.xpath.kernels.run import whole

_extent, _scan, _start, _spread = markup.extent, markup.scan, automaton.start, automaton.spread
_fill, _fill_pairs, _grow, _watch_all = lookup.fill, lookup.fill_pairs, needles.grow, watch.watch_all
_retrace = walk.retrace
Kernel = Callable[..., Any]


def _reading(known: int) -> tuple[Kernel, Kernel]:
    def extent(source, begins, ends):  # type: ignore[no-untyped-def]
        _ = known
        return _extent(source, begins, ends)

    def scan(source, begins, ends, cursor, elements, attributes, texts, data, names, spans, slots, documents):  # type: ignore[no-untyped-def]  # fmt: skip
        _ = known
        _scan(source, begins, ends, cursor, elements, attributes, texts, data, names, spans, slots, documents)

    return entry(extent), entry(scan)


def _making(known: int) -> tuple[Kernel, Kernel]:
    def start(nfa, dfa):  # type: ignore[no-untyped-def]
        _ = known
        return _start(nfa, dfa)

    def spread(links, slots, dfa):  # type: ignore[no-untyped-def]
        _ = known
        _spread(links, slots, dfa)

    return entry(start), entry(spread)


def _filling(known: int) -> tuple[Kernel, Kernel, Kernel, Kernel]:
    def fill(texts, literals, slots):  # type: ignore[no-untyped-def]
        _ = known
        _fill(texts, literals, slots)

    def fill_pairs(keys, values, slots):  # type: ignore[no-untyped-def]
        _ = known
        _fill_pairs(keys, values, slots)

    def grow(literals, reached, needles):  # type: ignore[no-untyped-def]
        _ = known
        _grow(literals, reached, needles)

    def watch_all(watches):  # type: ignore[no-untyped-def]
        _ = known
        _watch_all(watches)

    return entry(fill), entry(fill_pairs), entry(grow), entry(watch_all)


def _matching(known: int) -> tuple[Kernel, Kernel]:
    def retrace(top, room, translate, nfa, dfa, notes):  # type: ignore[no-untyped-def]
        _ = known
        return _retrace(top, room, translate, nfa, dfa, notes)

    return entry(retrace), entry(whole(known))


extent, scan = _reading(fingerprint())
start, spread = _making(fingerprint())
fill, fill_pairs, grow, watch_all = _filling(fingerprint())
retrace, run = _matching(fingerprint())
