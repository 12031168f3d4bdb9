"""Covers and overlaps of XPath profiles, by tree patterns.

``covers(a, b)`` looks for a homomorphism from a pattern of ``a`` into each pattern of ``b`` (sound; complete
where one of ``//``, ``*`` and ``[]`` is missing). Where all three meet, a homomorphism may not exist although
``a`` covers ``b``; patterns without value tests are then compared on the canonical models of ``b`` (Miklau
and Suciu, *Containment and equivalence for a fragment of XPath*, JACM 2004), up to MAX_MODELS of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from semcast.profiles.xpath.patterns import Node, Pattern, TooMany, patterns
from semcast.profiles.xpath.profile import XPathProfile
from semcast.profiles.xpath.syntax import And, Axis, Expression, Not, Or
from semcast.profiles.xpath.values import Test, clash, follows

MAX_MODELS = 256
MAX_PARTS = 256
"""Pairs of parts that are compared, at each level of two expressions."""
_FRESH = "\0"  # a name that no profile can ask for


def covers(a: XPathProfile, b: XPathProfile) -> bool:
    """True only if every message that matches ``b`` matches ``a``."""
    try:
        return a == b or _implies(b.expression, a.expression, True)
    except RecursionError:  # the caller's stack was nearly used up
        return False


def overlaps(a: XPathProfile, b: XPathProfile) -> bool:
    """False only if no message can match both.

    A document has one root element, and an element one attribute of a name: only there can two conditions
    be told to be on the same node, and so to clash.
    """
    try:
        mine, others = patterns(a.expression, True), patterns(b.expression, True)
    except (TooMany, RecursionError):
        return True
    return any(_meet(x, y) for x in mine for y in others)


@lru_cache(maxsize=1 << 12)
def _implies(narrow: Expression, wide: Expression, at_document: bool) -> bool:
    """Does ``wide`` hold wherever ``narrow`` does? Both at the document, or both at any one node."""
    if narrow == wide:
        return True
    try:
        wanted, given = patterns(wide, at_document), patterns(narrow, at_document)
    except TooMany:
        return _implies_by_parts(narrow, wide, at_document)
    return all(any(_covered(a, b, at_document) for a in wanted) for b in given)


def _implies_by_parts(narrow: Expression, wide: Expression, at_document: bool) -> bool:
    """What follows part by part, where the patterns of the whole are too many; a part has fewer of them."""
    if len(_parts(narrow)) * len(_parts(wide)) > MAX_PARTS:
        return False
    if isinstance(wide, And):
        return all(_implies(narrow, part, at_document) for part in wide.items)
    if isinstance(narrow, Or):
        return all(_implies(part, wide, at_document) for part in narrow.items)
    if isinstance(wide, Or) and any(_implies(narrow, part, at_document) for part in wide.items):
        return True
    return isinstance(narrow, And) and any(_implies(part, wide, at_document) for part in narrow.items)


def _parts(expression: Expression) -> tuple[Expression, ...]:
    return expression.items if isinstance(expression, And | Or) else (expression,)


def _covered(wide: Pattern, narrow: Pattern, at_document: bool) -> bool:
    if _maps(wide, narrow):
        return True
    if not at_document or any(node.tests or node.opaque for x in (wide, narrow) for node in x.nodes()):
        return False
    return _holds_on_all_models(wide, narrow)


def _maps(wide: Pattern, narrow: Pattern) -> bool:
    """Is there a homomorphism? O(nodes of one × nodes of the other × depth)."""
    known: dict[tuple[Node, Node], bool] = {}
    return _fits(wide.document, narrow.document, known) and _fits(wide.context, narrow.context, known)


def _fits(wide: Node, narrow: Node, known: dict[tuple[Node, Node], bool]) -> bool:
    found = known.get((wide, narrow))
    if found is None:
        found = (
            wide.axis is narrow.axis
            and _names(wide.name, narrow.name)
            and all(follows(test, narrow.tests) for test in wide.tests)
            and all(_opaque_follows(item, narrow.opaque) for item in wide.opaque)
            and all(any(_fits(child, y, known) for y in _images(child, narrow)) for child in wide.children)
        )
        known[wide, narrow] = found
    return found


def _images(child: Node, parent: Node) -> Iterator[Node]:
    if child.deep:
        yield from parent.below()
    else:
        yield from (node for node in parent.children if not node.deep)


def _names(wide: str, narrow: str) -> bool:
    return wide in ("*", narrow) or (wide.endswith("}*") and narrow.startswith(wide[:-1]))


def _opaque_follows(wanted: Expression, known: list[Expression]) -> bool:
    if wanted in known:
        return True
    if not isinstance(wanted, Not):
        return False
    return any(isinstance(item, Not) and _implies(wanted.item, item.item, False) for item in known)


def _holds_on_all_models(wide: Pattern, narrow: Pattern) -> bool:
    deep = [node for node in narrow.nodes() if node.deep]
    longest = _wildcards(wide.document) + 1
    if (longest + 1) ** len(deep) > MAX_MODELS:
        return False
    for lengths in product(range(longest + 1), repeat=len(deep)):
        chains = dict(zip(map(id, deep), lengths, strict=True))
        model = _model(narrow.document, chains)
        if not _maps(wide, Pattern(model, model)):
            return False
    return True


def _wildcards(node: Node) -> int:
    """Wildcards on one way down: no chain of them is longer."""
    return node.name.endswith("*") + max(map(_wildcards, node.children), default=0)


def _model(node: Node, chains: dict[int, int]) -> Node:
    """A document of the pattern: a fresh name for every wildcard, a chain of elements for every ``//``."""
    name = node.name[:-1] + _FRESH if node.name.endswith("*") and node.axis is not None else node.name
    top = made = Node(node.axis, name)
    if node.deep:
        for _ in range(chains[id(node)]):
            top = Node(Axis.CHILD, _FRESH, children=[top])
    made.children = [_model(child, chains) for child in node.children]
    return top


def _meet(a: Pattern, b: Pattern) -> bool:
    for pattern in (a, b):
        if any(clash(node.tests) for node in pattern.nodes()):
            return False
    documents = [a.document, b.document]
    roots = [child for document in documents for child in document.children if _right_below(child, Axis.CHILD)]
    if any(not _names(x.name, y.name) and not _names(y.name, x.name) for x in roots for y in roots):
        return False
    # The text of a document is that of its root element.
    if clash([test for node in documents + roots for test in node.tests]):
        return False
    attributes: dict[str, list[Test]] = {}
    for root in roots:
        for child in root.children:
            if _right_below(child, Axis.ATTRIBUTE) and not child.name.endswith("*"):
                attributes.setdefault(child.name, []).extend(child.tests)
    return not any(map(clash, attributes.values()))


def _right_below(node: Node, axis: Axis) -> bool:
    return node.axis is axis and not node.deep
