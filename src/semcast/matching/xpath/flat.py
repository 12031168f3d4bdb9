"""Documents as arrays: elements, attributes and texts in document order, with slices of one run of bytes.

All texts of a slice of messages stand behind each other, so the text of an element, with all that lies in it, is
one slice. Names are numbered anew in each slice; an engine translates the few hundred names of a slice at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from lxml import etree

from semcast.matching.markup import Tree
from semcast.matching.xpath.arrays import Bytes, Ints, Longs
from semcast.matching.xpath.kernels.entries import extent, scan
from semcast.matching.xpath.kernels.scanner import (
    ATTRIBUTES,
    BEFORE,
    BEGIN,
    ELEMENTS,
    END,
    FIRST,
    LAST,
    NAMES,
    OWNER,
    PARENT,
    TEXTS,
    VALUES,
    Room,
)


class Flat(NamedTuple):
    """Row i of ``documents``: begin and end of its elements, of its attributes, of its texts; empty if unreadable.

    The first element of a document is its document node, without a name (-1) and a parent (-1).
    """

    documents: Ints
    room: Room
    names: list[bytes]

    def readable(self, row: int) -> bool:
        return bool(self.documents[row, 0] < self.documents[row, 1])


def scanned(source: Bytes, begins: Longs, ends: Longs) -> Flat:
    """Read what the scanner can read; messages without bytes (begin -1) and all others stay unread."""
    documents = np.zeros((len(begins), 6), np.int32)
    room = _room(len(begins), *extent(source, begins, ends))
    scan(source, begins, ends, *room, documents)
    room.elements[room.cursor[ELEMENTS], FIRST] = room.cursor[ATTRIBUTES]
    names = [room.names[begin:end].tobytes() for begin, end in room.spans[: room.cursor[NAMES]].tolist()]
    return Flat(documents, room, names)


def _room(documents: int, size: int, tags: int, signs: int) -> Room:
    """Room for whatever the bytes may hold: each element, text and attribute has a byte of its own kind."""
    elements, texts = tags + documents + 1, tags + 1
    cursor = np.zeros(7, np.int64)
    cursor[VALUES] = size
    slots = np.full(1 << max(6, (2 * (elements + signs)).bit_length()), -1, np.int32)
    return Room(
        cursor,
        np.empty((elements, 6), np.int32),
        np.empty((signs + 1, 4), np.int32),
        np.empty((texts, 4), np.int32),
        np.empty(2 * size + 8, np.uint8),
        np.empty(size, np.uint8),
        np.empty((elements + signs, 2), np.int32),
        slots,
    )


def with_trees(flat: Flat, trees: Sequence[tuple[int, Tree]]) -> Flat:
    """The same with documents that libxml2 read, each for a row that was unread."""
    if not trees:
        return flat
    numbers = {name: number for number, name in enumerate(flat.names)}
    parts = [_Part(tree, numbers) for _, tree in trees]
    room, documents = flat.room, flat.documents.copy()
    base, data = room.cursor[[ELEMENTS, ATTRIBUTES, TEXTS]].tolist(), len(room.data)
    tables: list[list[Ints]] = [[room.elements[: base[0]]], [room.attributes[: base[1]]], [room.texts[: base[2]]]]
    texts: list[Bytes] = [room.data]
    for (row, _), part in zip(trees, parts, strict=True):
        for rows, more in zip(tables, part.tables(base, data), strict=True):
            rows.append(more)
        ends = [begin + len(rows[-1]) for begin, rows in zip(base, tables, strict=True)]
        documents[row] = [x for pair in zip(base, ends, strict=True) for x in pair]
        base = ends
        texts.append(np.frombuffer(b"".join([*part.characters, *part.values]), np.uint8))
        data += len(texts[-1])
    tables[0].append(np.full((1, 6), base[1], np.int32))  # where the attributes of the last element end
    elements, attributes, pieces = (np.concatenate(rows) for rows in tables)
    grown = room._replace(elements=elements, attributes=attributes, texts=pieces, data=np.concatenate(texts))
    return Flat(documents, grown, list(numbers))


class _Part:
    """One document as rows, numbered from 0; values of attributes stand behind all texts."""

    def __init__(self, tree: Tree, numbers: dict[bytes, int]) -> None:
        self._numbers = numbers
        self.characters: list[bytes] = []
        self.values: list[bytes] = []
        self._read = self._valued = 0
        self.elements: list[list[int]] = []  # name, parent, begin, end, attributes, last text
        self.attributes: list[tuple[int, int, int, int]] = []
        self.texts: list[tuple[int, int, int, int]] = []
        top = self._element(-1, -1)
        self._below(tree.getroot(), top)
        self.elements[top][END] = self._read

    def tables(self, base: Sequence[int], data: int) -> tuple[Ints, Ints, Ints]:
        """As those of a Room that has ``base`` elements, attributes and texts and ``data`` bytes already."""
        elements = np.array(self.elements, np.int32).reshape(-1, 6)
        attributes = np.array(self.attributes, np.int32).reshape(-1, 4)
        texts = np.array(self.texts, np.int32).reshape(-1, 4)
        elements[1:, PARENT] += base[0]
        elements[:, BEGIN : END + 1] += data
        elements[:, FIRST] += base[1]
        elements[elements[:, LAST] >= 0, LAST] += base[2]
        attributes[:, OWNER] += base[0]
        attributes[:, BEGIN : END + 1] += data + self._read
        texts[texts[:, BEFORE] >= 0, BEFORE] += base[2]
        texts[:, OWNER] += base[0]
        texts[:, BEGIN : END + 1] += data
        return elements, attributes, texts

    def _below(self, root: Tree, current: int) -> None:
        """In document order and without recursion."""
        for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
            if event == "start":
                current = self._start(node, current)
                self._text(node.text, current)
                continue
            if event == "end":
                self.elements[current][END] = self._read
                current = self.elements[current][PARENT]
            if node is not root:
                self._text(node.tail, current)

    def _start(self, node: Tree, parent: int) -> int:
        element = self._element(self._name(node.tag), parent)
        for name, value in node.items():
            encoded = value.encode()
            self.values.append(encoded)
            begin, self._valued = self._valued, self._valued + len(encoded)
            self.attributes.append((self._name(name), element, begin, self._valued))
        return element

    def _element(self, name: int, parent: int) -> int:
        self.elements.append([name, parent, self._read, 0, len(self.attributes), -1])
        return len(self.elements) - 1

    def _text(self, text: str | None, owner: int) -> None:
        if text:
            encoded = text.encode()
            self.characters.append(encoded)
            begin, self._read = self._read, self._read + len(encoded)
            self.texts.append((self.elements[owner][LAST], owner, begin, self._read))
            self.elements[owner][LAST] = len(self.texts) - 1

    def _name(self, name: str) -> int:
        return self._numbers.setdefault(name.encode(), len(self._numbers))
