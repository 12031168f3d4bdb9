"""The whole way of a document, from arrays to the profiles that match it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from semcast.matching.xpath.arrays import Ints
from semcast.matching.xpath.kernels.compiled import inner, sort
from semcast.matching.xpath.kernels.lookup import (
    CANDIDATE,
    ELEMENT,
    EPOCH,
    FIRST_TEXT,
    HELD_COUNT,
    HIT_COUNT,
    LAST_TEXT,
    SERIAL,
    SLOTS,
    look_up,
)
from semcast.matching.xpath.kernels.scanner import BEGIN, END
from semcast.matching.xpath.kernels.texts import forget
from semcast.matching.xpath.kernels.verify import verify
from semcast.matching.xpath.kernels.walk import walk
from semcast.matching.xpath.kernels.watch import fire

FINISHED, NO_STATES, NO_STORE, NO_ROOM = range(4)


class Wanting(NamedTuple):
    """Who wants a condition to hold (``positive[begin:end]`` for each) and who wants it not to (profile, condition)."""

    spans: Ints
    positive: Ints
    negative: Ints


@inner
def _begin(document, room, tests, notes):  # type: ignore[no-untyped-def]
    counts = notes.counts
    counts[SERIAL] += 1
    counts[EPOCH] += 1
    for count in (HIT_COUNT, HELD_COUNT, CANDIDATE, SLOTS):
        counts[count] = 0
    counts[ELEMENT] = document[0]
    counts[FIRST_TEXT] = room.elements[document[0], BEGIN]
    counts[LAST_TEXT] = room.elements[document[0], END]
    notes.met[:] = 0
    forget(tests)


@inner
def _write(wanting, notes, found, at):  # type: ignore[no-untyped-def]
    """The profiles that match, ascending, from ``at`` on."""
    begin = at
    for i in range(notes.counts[HELD_COUNT]):
        condition = notes.holding[i]
        for k in range(wanting.spans[condition, 0], wanting.spans[condition, 1]):
            found[at] = wanting.positive[k]
            at += 1
    for i in range(len(wanting.negative)):
        if notes.held[wanting.negative[i, 1]] != notes.counts[SERIAL]:
            found[at] = wanting.negative[i, 0]
            at += 1
    sort(found, begin, at)
    return at


def whole(known: int) -> Callable[..., Any]:
    """What is called from Python, not compiled yet: each function around it would be optimized as a whole once more."""

    def run(row, fresh, ends, profiles, documents, room, translate, nfa, dfa, tables, tests, notes, watches, conditions, wanting, found):  # type: ignore[no-untyped-def]  # fmt: skip # noqa: E501
        """Match documents from ``row`` on; returns the row it got to and why it stopped.

        ``fresh``: that row was not begun yet. Profiles are written to ``found``, up to ``ends[row]`` for each row.
        """
        _ = known
        while row < len(documents):
            document = documents[row]
            before = ends[row - 1] if row else 0
            if document[0] == document[1]:
                ends[row] = before
                row += 1
                continue
            if before + profiles > len(found):
                return row, NO_ROOM
            if fresh:
                _begin(document, room, tests, notes)
            fresh = True
            walked = walk(document[0], document[1], room, translate, nfa, dfa, notes)
            look_up(room.data, dfa.pool, dfa.states, tables, tests, notes)
            if not walked:
                return row, NO_STATES
            fire(notes, watches)
            if not verify(document, room, translate, nfa.wild, tests, notes, conditions):
                return row, NO_STORE
            ends[row] = _write(wanting, notes, found, before)
            row += 1
        return row, FINISHED

    return run
