"""The default engine: one walk down each document, in an automaton of all profiles' accesses.

Most profiles are decided by the walk. What remains, conditions that must hold on one and the same node, is
verified for the profiles whose access was met, each by its own compiled XPath on the parsed document.
"""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from semcast.matching.xpath.accesses import Access, accesses, others, refutations
from semcast.matching.xpath.automaton import Automaton, State
from semcast.matching.xpath.documents import Tree
from semcast.matching.xpath.engine import DocumentEngine, compiled
from semcast.matching.xpath.tables import Group
from semcast.profiles.xpath import XPathProfile
from semcast.profiles.xpath.syntax import Expression, negation

_OPEN = 1 << 40
_MAX_COMPILED = 1 << 14  # a compiled XPath takes some kilobytes
_string = etree.XPath("string()", smart_strings=False)


class _Registry:
    """Numbers for what the walk may meet.

    Condition n is met by an exact access (n) or by one that leaves something to verify (_OPEN + n). Negative is
    what conditions need beside, shared by all that need it.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[Access, int]] = []
        self.exact: set[int] = set()
        self._shared: dict[tuple[Access, ...], int] = {}

    def register(self, number: int, condition: Expression, first: list[Access]) -> frozenset[int]:
        """Ask for what a condition must have; returns the shared numbers that it needs."""
        self.asked += [(access, number if access.exact else _OPEN + number) for access in first]
        if any(access.exact for access in first):
            self.exact.add(number)
        if all(access.exact for access in first):
            return frozenset()
        return frozenset(self._number(way) for way in others(condition, first))

    def _number(self, way: tuple[Access, ...]) -> int:
        number = self._shared.get(way)
        if number is None:
            number = self._shared[way] = -1 - len(self._shared)
            self.asked += [(access, number) for access in way]
        return number


class DfaEngine(DocumentEngine):
    """Finds the met accesses in O(elements + hits), then verifies what they leave open.

    A *condition* is what one or more equal profiles ask for; a profile that can only be told by what must
    not be there matches where its negation, also a condition, does not hold.
    """

    def __init__(self, profiles: Sequence[XPathProfile]) -> None:
        super().__init__(profiles)
        numbers: dict[Expression, int] = {}
        self._conditions: list[Expression] = []
        self._wanted_by: list[list[int]] = []
        self._refused_by: list[list[int]] = []
        self._needs: list[frozenset[int]] = []
        registry = _Registry()
        for index, profile in enumerate(profiles):
            found = accesses(profile.expression)
            positive = found is not None
            condition = profile.expression if positive else negation(profile.expression)
            number = numbers.get(condition)
            if number is None:
                number = numbers[condition] = len(numbers)
                self._conditions.append(condition)
                self._wanted_by.append([])
                self._refused_by.append([])
                self._needs.append(registry.register(number, condition, _known(profile.expression, found)))
            (self._wanted_by if positive else self._refused_by)[number].append(index)
        self._negative = [index for indices in self._refused_by for index in indices]
        self._exact = frozenset(registry.exact)
        self._open = frozenset(number for _, number in registry.asked if number >= _OPEN)
        self._automaton = Automaton(registry.asked)
        self._compiled: dict[int, etree.XPath] = {}

    def matched(self, tree: Tree) -> list[int]:
        hits: set[int] = set()
        self._walk(tree.getroot(), hits)
        holding = hits & self._exact
        needs = self._needs
        for hit in hits & self._open:
            number = hit - _OPEN
            if number not in holding and needs[number] <= hits and self._verified(number, tree):
                holding.add(number)
        found = [index for number in holding for index in self._wanted_by[number]]
        if self._negative:
            refused = {index for number in holding for index in self._refused_by[number]}
            found += [index for index in self._negative if index not in refused]
        found.sort()
        return found

    def _verified(self, number: int, tree: Tree) -> bool:
        path = self._compiled.get(number)
        if path is None:
            if len(self._compiled) >= _MAX_COMPILED:
                self._compiled = {}
            path = self._compiled[number] = compiled(self._conditions[number])
        return bool(path(tree))

    def _walk(self, root: Tree, hits: set[int]) -> None:
        automaton = self._automaton
        start = automaton.start()
        _document(start, root, hits)
        seen: set[State] = set()
        stack = [(root, start)]
        while stack:
            element, above = stack.pop()
            tag = element.tag
            state = above.following.get(tag) or automaton.following(above, tag)
            if not state.places:
                continue  # nobody asks for anything below
            if state not in seen:
                seen.add(state)
                hits.update(*state.present)
            if state.element is not None:
                state.element.look_up(_text(element), hits)
            if state.attributes or state.wild_attributes:
                _attributes(element, state, hits)
            if state.text is not None:
                _texts(element, state.text, hits)
            stack += [(child, state) for child in element]


def _known(expression: Expression, found: list[Access] | None) -> list[Access]:
    if found is None:
        found = refutations(expression)
    assert found is not None
    return found


def _document(start: State, root: Tree, hits: set[int]) -> None:
    hits.update(*start.present)
    if start.element is not None:
        start.element.look_up(_text(root), hits)  # the text of a document is that of its root element


def _text(element: Tree) -> str:
    """The string-value: all text below, in document order."""
    return str(_string(element)) if len(element) else element.text or ""


def _attributes(element: Tree, state: State, hits: set[int]) -> None:
    for name, value in element.items():
        group = state.attributes.get(name)
        if group is not None:
            group.look_up(value, hits)
        for start, group in state.wild_attributes:
            if name.startswith(start):
                group.look_up(value, hits)


def _texts(element: Tree, group: Group, hits: set[int]) -> None:
    for text in (element.text, *[child.tail for child in element]):
        if text:
            group.look_up(text, hits)
