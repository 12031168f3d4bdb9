"""Documents that an XPath profile matches, made from its tree patterns.

Whatever covers a profile matches all of its documents. A pattern gives two: one with no element more than it asks for
and values at the near ends of what it compares with; and one with a strange element wherever ``//`` leaves room,
strange texts where nothing is asked of them, and values far away. What a pattern cannot say, a negation, may fail:
libxml2 decides which documents count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from lxml import etree

from semcast.matching.markup import Refusal, parser, tree_of
from semcast.matching.xpath.naive import compiled
from semcast.profiles.xpath import XPathProfile
from semcast.profiles.xpath.patterns import Node, Pattern, TooMany, grown, patterns
from semcast.profiles.xpath.syntax import Axis, Call, Number
from semcast.profiles.xpath.values import Test, holds

MAX_PATTERNS = 4
"""Patterns of a profile that give documents; a profile without alternatives has one."""
_MAX_NODES = 256
_STRANGE = "any-other"  # a name for what may have any: hardly a profile asks for it
_FILLER = "\N{SNOWMAN}"


class _NoDocument(Exception):
    """The pattern asks for two root elements, or for a text that was not found."""


@dataclass(eq=False, slots=True)
class _Draft:
    """An element to be; ``texts``: must it have a text of its own?"""

    name: str
    tests: list[Test] = field(default_factory=list)
    texts: bool = False
    attributes: dict[str, list[Test]] = field(default_factory=dict)
    children: list[_Draft] = field(default_factory=list)


def documents_of(profile: XPathProfile) -> list[bytes]:
    """Up to two documents per pattern, each of which ``profile`` matches."""
    found: dict[bytes, None] = {}
    try:
        for pattern in patterns(profile.expression, True)[:MAX_PATTERNS]:
            _look_into_first_nodes(pattern)
            if sum(1 for _ in pattern.nodes()) <= _MAX_NODES:
                found |= dict.fromkeys(chain.from_iterable(_written(pattern, far) for far in (False, True)))
        return _confirmed(profile, list(found))
    except (TooMany, RecursionError):
        return []


def _look_into_first_nodes(pattern: Pattern) -> None:
    """Where only one node has a path, it is the first: ``contains(path, …)`` asks for a node with that text."""
    for node in list(pattern.nodes()):
        for item in node.opaque:
            if isinstance(item, Call):
                grown(pattern, node, item.path).tests.append(Test(item.function, item.literal))


def _written(pattern: Pattern, far: bool) -> Iterator[bytes]:
    try:
        yield etree.tostring(_element(_root(pattern, far), far), encoding="utf-8")
    except (_NoDocument, ValueError):  # a name or a character that XML does not know
        return


def _confirmed(profile: XPathProfile, documents: Sequence[bytes]) -> list[bytes]:
    if not documents:
        return []
    path, trusted = compiled(profile.expression), parser(None)
    trees = [(document, tree_of(document, trusted)) for document in documents]
    return [document for document, tree in trees if not isinstance(tree, Refusal) and path(tree)]


def _root(pattern: Pattern, far: bool) -> _Draft:
    tops = [node for node in pattern.document.children if node.axis is Axis.CHILD and not node.deep]
    rest = [node for node in pattern.document.children if node not in tops]
    if not tops and not far:  # what may stand anywhere may be the root
        tops = [node for node in rest if node.axis is Axis.CHILD][:1]
        rest = [node for node in rest if node not in tops]
    named = {node.name for node in tops if not node.name.endswith("*")}
    if len(named) > 1:
        raise _NoDocument
    spaces = [node.name for node in tops if node.name.endswith("}*")]
    root = _Draft(named.pop() if named else _name(spaces[0] if spaces else "*"), list(pattern.document.tests))
    for node in tops:
        root.tests += node.tests
        _grow(root, node.children, far)
    _grow(root, rest, far)
    return root


def _grow(parent: _Draft, nodes: Sequence[Node], far: bool) -> None:
    for node in nodes:
        place = parent
        if node.deep and far:
            place = _Draft(_STRANGE)
            parent.children.append(place)
        match node.axis:
            case Axis.ATTRIBUTE:
                place.attributes.setdefault(_name(node.name), []).extend(node.tests)
            case Axis.TEXT:
                place.texts = True
                place.tests += node.tests
            case _:
                child = _Draft(_name(node.name), list(node.tests))
                place.children.append(child)
                _grow(child, node.children, far)


def _name(name: str) -> str:
    return name[:-1] + _STRANGE if name.endswith("*") else name


def _element(draft: _Draft, far: bool) -> Any:
    # A text where none is asked for would be part of what is asked of the elements around: only leaves have one.
    wants_text = draft.texts or (far and not draft.children)
    attributes = {name: _text(tests, far, True) for name, tests in draft.attributes.items()}
    made = etree.Element(draft.name, attributes)
    made.text = _text(draft.tests, far, wants_text) or None
    for child in draft.children:
        made.append(_element(child, far))
    return made


def _text(tests: Sequence[Test], far: bool, wanted: bool) -> str:
    """A text for which all tests hold, near or far from what they compare with; not empty if it is ``wanted``."""
    if not tests:
        return _FILLER if wanted else ""
    near, away = ([pair[at] for pair in map(_suggestions, tests)] for at in (0, 1))
    tried = [*reversed(away), *reversed(near)] if far else [*near, *away]
    tried += ["".join(near), "".join(away), _FILLER, "", "0", "1"]
    for text in tried:
        if (text or not wanted) and all(holds(test, text) for test in tests):
            return text
    raise _NoDocument


def _suggestions(test: Test) -> tuple[str, str]:
    """Texts for which the test holds: one close to its literal, one as different as may be."""
    literal = test.literal.digits if isinstance(test.literal, Number) else test.literal
    limit = test.limit()
    step = 0.0 if limit is None else max(abs(limit), 1.0)
    match test.operator:
        case "=":
            return literal, literal if limit is None else f" {literal} "
        case "!=":
            return literal + _FILLER, _FILLER
        case "contains":
            return literal, _FILLER + literal + _FILLER
        case "starts-with":
            return literal, literal + _FILLER
        case "<" | "<=":
            assert limit is not None
            return literal if test.operator == "<=" else _digits(limit - step * 1e-9), _digits(limit - step * 1e6)
        case _:
            assert limit is not None
            return literal if test.operator == ">=" else _digits(limit + step * 1e-9), _digits(limit + step * 1e6)


def _digits(value: float) -> str:
    return f"{value:.12f}".rstrip("0").rstrip(".")
