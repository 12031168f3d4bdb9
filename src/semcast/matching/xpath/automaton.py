"""Spines as one automaton: prefixes shared (an NFA), its sets of states made into states as they are met.

YFilter runs the NFA itself and pays for every active state at every element. Here each set of active states
becomes one state (a lazy DFA: Green et al., *Processing XML streams with deterministic automata*, ICDT 2003),
so an element costs one look-up, however many profiles are under way. Sets are made only as documents need
them; when they take too much room all are dropped, and the next elements make them again.
"""

from __future__ import annotations

from collections.abc import Iterable

from semcast.matching.xpath.accesses import Access
from semcast.matching.xpath.tables import Group, Table
from semcast.profiles.xpath.syntax import Axis

MAX_SIZE = 1 << 21
"""Places, tests and transitions that all states may hold together: some 200 MB."""


class Place:
    """A state of the NFA: a spine up to some step, and who asks for what there."""

    __slots__ = ("attributes", "below", "element", "inside", "loops", "number", "texts")

    def __init__(self, number: int, loops: bool) -> None:
        self.number = number
        self.loops = loops  # stays active for everything below: the place of a '//'
        self.below: dict[str, Place] = {}
        self.inside: Place | None = None
        self.element: Table | None = None
        self.texts: Table | None = None
        self.attributes: dict[str, Table] = {}


class State:
    """A set of places that are active together, with what they ask for gathered."""

    __slots__ = ("attributes", "element", "following", "places", "present", "size", "text", "wild_attributes")

    def __init__(self, places: tuple[Place, ...]) -> None:
        self.places = places
        self.following: dict[object, State] = {}
        elements = [place.element for place in places if place.element is not None]
        self.present = tuple(table.present for table in elements if table.present)
        tested = [table for table in elements if table.has_tests]
        self.element = Group(tested) if tested else None
        texts = [place.texts for place in places if place.texts is not None]
        self.text = Group(texts) if texts else None
        named: dict[str, list[Table]] = {}
        for place in places:
            for name, table in place.attributes.items():
                named.setdefault(name, []).append(table)
        groups = {name: Group(tables) for name, tables in named.items()}
        self.attributes = {name: group for name, group in groups.items() if not name.endswith("*")}
        self.wild_attributes = [(name[:-1], group) for name, group in groups.items() if name.endswith("*")]
        others = [group.size for group in (self.element, self.text) if group is not None]
        self.size = 1 + len(places) + sum(others) + sum(group.size for group in groups.values())


class Automaton:
    """The accesses of many profiles, to be run down a document from ``start``."""

    def __init__(self, accesses: Iterable[tuple[Access, int]], max_size: int = MAX_SIZE) -> None:
        self._places = 0
        self._tables: list[Table] = []
        self._root = self._place(False)
        for access, who in accesses:
            self._table(access).add(access.test, who)
        for table in self._tables:
            table.freeze()
        self._max_size = max_size
        self.evictions = 0
        self._clear()

    def following(self, state: State, tag: object) -> State:
        """Where an element leads to; a comment or processing instruction leads nowhere.

        Two threads may make the same state at once; either will do, as states with the same places are alike.
        """
        found = state.following.get(tag)
        if found is None:
            found = self._state(_step(state.places, tag) if isinstance(tag, str) else ())
            state.following[tag] = found
            self._size += 1
        return found

    def start(self) -> State:
        """The state at the document node; states that took too much room are dropped here."""
        if self._size > self._max_size:
            self.evictions += 1
            self._clear()
        return self._start

    def _clear(self) -> None:
        self._states: dict[tuple[int, ...], State] = {}
        self._size = 0
        self._start = self._state(_closed([self._root]))

    def _state(self, places: tuple[Place, ...]) -> State:
        key = tuple([place.number for place in places])
        found = self._states.get(key)
        if found is None:
            found = self._states[key] = State(places)
            self._size += found.size
        return found

    def _place(self, loops: bool) -> Place:
        self._places += 1
        return Place(self._places, loops)

    def _table(self, access: Access) -> Table:
        """Where an access ends, its way there made or shared with those that begin like it."""
        place = self._root
        for axis, deep, name in access.spine:
            if deep:
                place.inside = place.inside or self._place(True)
                place = place.inside
            if axis is Axis.ATTRIBUTE:
                place.attributes[name] = place.attributes.get(name) or self._new_table()
                return place.attributes[name]
            if axis is Axis.TEXT:
                place.texts = place.texts or self._new_table()
                return place.texts
            below = place.below.get(name)
            if below is None:
                below = place.below[name] = self._place(False)
            place = below
        place.element = place.element or self._new_table()
        return place.element

    def _new_table(self) -> Table:
        self._tables.append(Table())
        return self._tables[-1]


def _step(places: tuple[Place, ...], tag: str) -> tuple[Place, ...]:
    names = [tag, "*"]
    if tag.startswith("{"):
        names.append(tag[: tag.index("}") + 1] + "*")
    found = [place for place in places if place.loops]
    for place in places:
        if place.below:
            found += [below for name in names if (below := place.below.get(name)) is not None]
    return _closed(found)


def _closed(places: list[Place]) -> tuple[Place, ...]:
    """With what ``//`` opens at the same node; in order and once each, so that equal sets are equal keys."""
    active = {place.number: place for place in places}
    for place in places:
        if place.inside is not None:
            active[place.inside.number] = place.inside
    return tuple([active[number] for number in sorted(active)])
