"""From payloads to content descriptors: an ``rdf:RDF`` document, or a packet (thesis Figure 3.3) that holds one.

A packet's payload is passed over, whatever it is. What is refused matches nothing and is told with the reason.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from semcast.matching import markup
from semcast.matching.markup import Refusal, Tree, parser
from semcast.matching.payloads import Payloads
from semcast.profiles.semantic.descriptor import Node, place
from semcast.profiles.semantic.names import DESCRIPTION, PACKET, ROOT, named, split
from semcast.profiles.semantic.values import collapsed

MAX_NODES = 65_536
"""Elements and attributes of a descriptor; the thesis expects some hundreds (§3.5)."""
MAX_DEPTH = 128
NO_DESCRIPTOR = "no content descriptor"

Element = Any  # lxml's stubs know no iteration over elements alone


class Descriptors:
    """Consecutive messages, each read at most once for all engines that look at them."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._refused: dict[int, str] = {row: str(why) for row, why in payloads.refused.items()}
        self.missing = payloads.missing

    @property
    def num_rows(self) -> int:
        return len(self._payloads.begins)

    @property
    def refused(self) -> dict[int, str]:
        """What is there and cannot be read, by row, and why."""
        _ = self.nodes
        return dict(sorted(self._refused.items()))

    @cached_property
    def nodes(self) -> list[Node | None]:
        """The descriptors' roots; None for what is missing, and for what is refused."""
        source, begins, ends, encoding, _ = self._payloads
        trusted = parser(encoding)
        found: list[Node | None] = []
        for row, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            read = descriptor(source[begin:end].tobytes(), trusted) if begin >= 0 else None
            if isinstance(read, str):
                self._refused[row], read = read, None
            found.append(read)
        return found


def descriptor(payload: bytes, trusted: Any = None) -> Node | str:
    """The root of a payload's content descriptor, or why there is none."""
    tree = markup.tree_of(payload, parser(None) if trusted is None else trusted)
    return str(tree) if isinstance(tree, Refusal) else _of_tree(tree)


def _of_tree(tree: Tree) -> Node | str:
    top = _described(tree.getroot())
    if top is None:
        return NO_DESCRIPTOR
    try:
        root = _Reading().node(top)
    except _Refused as refused:
        return str(refused.why)
    return root if root.name == ROOT else Node(ROOT, "", [root])


def _described(element: Element) -> Element | None:
    """The descriptor's element: the document's root, or inside a packet."""
    name = named(element.tag)
    if name in (ROOT, DESCRIPTION):
        return element
    space, local = split(name)
    if local == "Packet" and space in (PACKET, ""):
        for part in element.iterchildren(f"{{{space}}}Content-Descriptor" if space else "Content-Descriptor"):
            return next((child for child in part.iterchildren("*") if named(child.tag) in (ROOT, DESCRIPTION)), None)
    return None


class _Refused(Exception):
    def __init__(self, why: Refusal) -> None:
        self.why = why


class _Reading:
    """Reads a tree from the root down, within bounds."""

    def __init__(self) -> None:
        self._nodes = 0

    def node(self, element: Element, depth: int = 0) -> Node:
        attributes = element.items()
        self._nodes += 1 + len(attributes)
        if self._nodes > MAX_NODES:
            raise _Refused(Refusal.TOO_LARGE)
        if depth > MAX_DEPTH:
            raise _Refused(Refusal.TOO_DEEP)
        text = element.text or ""
        children: list[Node] = [Node(named(name), collapsed(value)) for name, value in attributes]
        for child in element:
            if isinstance(child.tag, str):  # neither a comment nor an instruction
                children.append(self.node(child, depth + 1))
            if child.tail:
                text += child.tail
        where = place(element.get("latitude", ""), element.get("longitude", "")) if attributes else None
        return Node(named(element.tag), collapsed(text), children, where)
