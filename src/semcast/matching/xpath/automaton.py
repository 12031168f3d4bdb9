"""Spines as one automaton with shared prefixes, and its states, which are bounded.

States are made by the kernels as documents need them. When they take too much room all are dropped, also in the
middle of a document: the states of what the next element lies in are made again, and the walk goes on.
"""

from __future__ import annotations

import numpy as np

from semcast.matching.xpath.accesses import Access
from semcast.matching.xpath.arrays import Ints
from semcast.matching.xpath.kernels import entries
from semcast.matching.xpath.kernels.automaton import LINKED, TEXTS, Dfa, Nfa
from semcast.matching.xpath.tables import Table, columns
from semcast.matching.xpath.vocabulary import Vocabulary
from semcast.profiles.xpath.syntax import Axis

MAX_SIZE = 1 << 24
"""Places and tables that all states may hold together; with what leads to them, 130 MB."""
_FIRST_SIZE = 1 << 12
_FIRST_LINKS = 1 << 8


class _Place:
    """A state of the NFA: a spine up to some step."""

    __slots__ = ("attributes", "below", "element", "inside", "loops", "number", "texts")

    def __init__(self, number: int, loops: bool) -> None:
        self.number = number
        self.loops = loops  # stays active for everything below: the place of a '//'
        self.below: dict[int, _Place] = {}
        self.inside: _Place | None = None
        self.element = -1
        self.texts = -1
        self.attributes: dict[int, int] = {}


class Spines:
    """Collects spines; each ends at a table."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._places: list[_Place] = []
        self._root = self._place(False)
        self.tables: list[Table] = []
        self._endings: list[tuple[tuple[int, Axis, bool], ...]] = []  # of tables, the last step first
        self.atoms = 0

    def atom(self, access: Access) -> int:
        """The number of what an access asks for."""
        number = self._table_of(access)
        if number == len(self._endings):
            spine = reversed(access.spine)
            self._endings.append(tuple((self._vocabulary.symbol(name), axis, deep) for axis, deep, name in spine))
        table = self.tables[number]
        found = table.get(access.test)
        if found is None:
            found = table[access.test] = self.atoms
            self.atoms += 1
        return found

    def by_ending(self) -> list[int]:
        """All tables, those whose spines end alike beside each other: a node is at the end of many of them or none."""
        return sorted(range(len(self.tables)), key=self._endings.__getitem__)

    def nfa(self, tables: Ints, asked: Ints) -> Nfa:
        rows: list[list[int]] = []
        children: list[tuple[int, int]] = []
        attributes: list[tuple[int, int]] = []
        for place in self._places:
            star, inside = place.below.get(-1), place.inside
            ways = [-1 if inside is None else inside.number, int(place.loops), -1 if star is None else star.number]
            rows.append([*ways, place.element, place.texts, len(children), len(attributes)])
            children += sorted((symbol, below.number) for symbol, below in place.below.items() if symbol >= 0)
            attributes += sorted(place.attributes.items())
        rows.append([-1, 0, -1, -1, -1, len(children), len(attributes)])
        wild = self._vocabulary.wild()
        return Nfa(np.array(rows, np.int32), columns(children), columns(attributes), wild, tables, asked)

    def _table_of(self, access: Access) -> int:
        """The number of the table at the end of a spine, its way there made or shared with those that begin like it."""
        place = self._root
        for axis, deep, name in access.spine:
            if deep:
                place.inside = place.inside or self._place(True)
                place = place.inside
            symbol = self._vocabulary.symbol(name)
            if axis is Axis.ATTRIBUTE:
                if symbol not in place.attributes:
                    place.attributes[symbol] = self._table()
                return place.attributes[symbol]
            if axis is Axis.TEXT:
                place.texts = self._table() if place.texts < 0 else place.texts
                return place.texts
            below = place.below.get(symbol)
            if below is None:
                below = place.below[symbol] = self._place(False)
            place = below
        place.element = self._table() if place.element < 0 else place.element
        return place.element

    def _place(self, loops: bool) -> _Place:
        self._places.append(_Place(len(self._places), loops))
        return self._places[-1]

    def _table(self) -> int:
        self.tables.append({})
        return len(self.tables) - 1


class States:
    """The states of an Nfa, in room for ``max_size`` numbers; in more only if what one element lies in needs more."""

    def __init__(self, nfa: Nfa, max_size: int = MAX_SIZE) -> None:
        self._nfa = nfa
        self._max_size = 1 << max(6, (max_size - 1).bit_length())
        self.evictions = 0
        self._dropped_at: tuple[int, ...] = ()
        places = len(nfa.places)
        self._stamps = np.zeros(places, np.int64)
        self._gathered = np.zeros(3 * places + 8, np.int32)
        self.dfa = self._started(min(_FIRST_SIZE, self._max_size), _FIRST_LINKS)

    @property
    def size(self) -> int:
        return len(self.dfa.pool)

    def make_room(self, at: tuple[int, ...]) -> bool:
        """Grow, or drop all states where they have their size; True if they were dropped.

        Where dropping them did not help ``at`` one place, they grow all the same: a walk always goes on.
        """
        links = len(self.dfa.links)
        full = links >= self._max_size // 8 if self._is_short_of_links() else self.size >= self._max_size
        if not full or at == self._dropped_at:
            self.grow()
            return False
        self.evictions += 1
        self._dropped_at = at
        self.dfa = self._started(self._max_size, links)
        return True

    def grow(self) -> None:
        """Twice the room for what is short of it; what leads to states is spread anew."""
        old, links = self.dfa, len(self.dfa.links)
        new = self._empty(self.size, 2 * links) if self._is_short_of_links() else self._empty(2 * self.size, links)
        new.counts[:] = old.counts
        new.states[: len(old.states)] = old.states
        new.pool[: len(old.pool)] = old.pool
        entries.spread(old.links, old.slots, new)
        self.dfa = new

    def _is_short_of_links(self) -> bool:
        return bool(2 * self.dfa.counts[LINKED] + 2 >= len(self.dfa.links))

    def _started(self, size: int, links: int) -> Dfa:
        found = self._empty(size, links)
        while not entries.start(self._nfa, found):
            found = self._empty(2 * len(found.pool), links)
        return found

    def _empty(self, size: int, links: int) -> Dfa:
        # Links have room of their own, as little as they need: every look-up in a sparse table is a miss of the cache.
        self._stamps[:] = 0
        return Dfa(
            np.zeros(4, np.int64),
            np.zeros((size // 16, TEXTS + 1), np.int32),
            np.zeros(size, np.int32),
            np.zeros((links, 2), np.int64),
            np.full(size // 8, -1, np.int32),
            self._stamps,
            self._gathered,
        )
