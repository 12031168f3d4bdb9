"""Content descriptors: what a packet says of its content (thesis §3.2.1), as a tree of named nodes.

The root stands for ``rdf:RDF``; below it are descriptions, below these what they say. An attribute is a node
below its element, without children. Knows no XML: ``matching.semantic`` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from semcast.profiles.semantic.values import number


class Node:
    """A concept: its name with the namespace, its own text with white space collapsed, its place if it has one."""

    __slots__ = ("__dict__", "children", "name", "place", "text")

    def __init__(
        self, name: str, text: str = "", children: Sequence[Node] = (), place: tuple[float, float] | None = None
    ) -> None:
        self.name = name
        self.text = text
        self.children = children
        self.place = place

    @cached_property
    def number(self) -> float | None:
        return number(self.text) if self.text else None

    def __repr__(self) -> str:
        return f"Node({self.name!r}, {self.text!r}, {list(self.children)!r})"


def place(latitude: str, longitude: str) -> tuple[float, float] | None:
    """A place on the globe from its attributes; None where there is none."""
    north, east = number(latitude.strip()), number(longitude.strip())
    if north is None or east is None or not (abs(north) <= 90 and abs(east) <= 180):
        return None
    return north, east
