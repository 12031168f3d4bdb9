"""Bytes → flat documents, for XML as nearly everybody writes it; anything else is left to libxml2.

What is read here libxml2 would read to the same document: UTF-8, ASCII names without prefix, no document type,
no processing instruction, references to characters and the five entities of XML. Whatever is more, or doubtful,
or wrong, is not judged: the document counts as unread, and libxml2 says what it is. So this scanner never has to
know what makes XML ill-formed, only what makes it surely well-formed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Bytes, Ints, Longs, packed
from semcast.matching.xpath.kernels.compiled import inner
from semcast.matching.xpath.kernels.texts import hashed, same

MAX_BYTES = 1 << 20
"""Longer documents are left to libxml2, which limits the length of texts and names."""
_MAX_DEPTH = 200  # libxml2 refuses from 256 on, in its strictest version
_MAX_NAME = 1000
_MAX_ATTRIBUTES = 64  # of one element: they are compared with each other

ELEMENTS, ATTRIBUTES, TEXTS, CHARACTERS, VALUES, NAMES, NAME_BYTES = range(7)
"""What ``cursor`` counts."""
NAME, PARENT, BEGIN, END, FIRST, LAST = range(6)
BEFORE, OWNER = NAME, PARENT
"""Columns of elements, attributes and texts."""


def _declarations() -> tuple[Bytes, Ints, Ints]:
    """The XML declarations that say nothing but UTF-8, as they are written."""
    found: list[bytes] = []
    for quote in ('"', "'"):
        for encoding in ("", "UTF-8", "utf-8"):
            for standalone in ("", "yes", "no"):
                text = f"<?xml version={quote}1.0{quote}"
                text += f" encoding={quote}{encoding}{quote}" if encoding else ""
                text += f" standalone={quote}{standalone}{quote}" if standalone else ""
                found += [f"{text}?>".encode(), f"{text} ?>".encode()]
    return packed(found)


def _classes() -> Bytes:
    """1: begins a name, 2: goes on with it, 4: plain in text, 8: plain in values, 16: blank."""
    found = np.zeros(256, np.uint8)
    for byte in range(128):
        letter = chr(byte)
        found[byte] |= 3 if letter.isalpha() or letter == "_" else 2 if letter.isdigit() or letter in "-." else 0
        found[byte] |= 4 if (byte >= 32 and letter not in "<&]") or letter in "\t\n" else 0
        found[byte] |= 8 if byte >= 32 and letter not in "<&\"'" else 0
        found[byte] |= 16 if letter in " \t\n\r" else 0
    return found


_CLASS = _classes()
_DECLARED, _DECLARED_BEGIN, _DECLARED_END = _declarations()


class Room(NamedTuple):
    """Where documents are written to; ``cursor`` says how far."""

    cursor: Longs
    elements: Ints  # name, parent, begin and end of its text in ``data``, first attribute, last text or -1
    attributes: Ints  # name, owner, begin, end
    texts: Ints  # the text of the same owner before it or -1, owner, begin, end
    data: Bytes
    names: Bytes
    spans: Ints  # of each name in ``names``
    slots: Ints  # where the number of a name stands, by the name's hash


@inner
def _name(source, begin, end, cursor, names, spans, slots):  # type: ignore[no-untyped-def]
    """The number of a name, a new one if it was not met before."""
    mask = np.uint64(len(slots) - 1)
    slot = hashed(source, begin, end) & mask
    while True:
        known = slots[slot]
        if known < 0:
            break
        first = spans[known, 0]
        if spans[known, 1] - first == end - begin and same(source, begin, names, first, end - begin):
            return known
        slot = (slot + np.uint64(1)) & mask
    number = cursor[NAMES]
    at = cursor[NAME_BYTES]
    for i in range(end - begin):
        names[at + i] = source[begin + i]
    spans[number, 0] = at
    spans[number, 1] = at + end - begin
    slots[slot] = number
    cursor[NAMES] = number + 1
    cursor[NAME_BYTES] = at + end - begin
    return np.int32(number)


@inner
def _sequence(source, at, end):  # type: ignore[no-untyped-def]
    """The length of the UTF-8 sequence at ``at``; 0 if it is none, or of no character that XML may hold."""
    first = source[at]
    if 0xC2 <= first <= 0xDF:
        return 2 if at + 1 < end and source[at + 1] & 0xC0 == 0x80 else 0
    if 0xE0 <= first <= 0xEF:
        if at + 2 >= end or source[at + 1] & 0xC0 != 0x80 or source[at + 2] & 0xC0 != 0x80:
            return 0
        code = (int(first) & 15) << 12 | (int(source[at + 1]) & 63) << 6 | int(source[at + 2]) & 63
        return 3 if code >= 0x800 and not 0xD800 <= code <= 0xDFFF and code < 0xFFFE else 0
    if 0xF0 <= first <= 0xF4:
        if at + 3 >= end:
            return 0
        for i in range(1, 4):
            if source[at + i] & 0xC0 != 0x80:
                return 0
        code = (int(first) & 7) << 18 | (int(source[at + 1]) & 63) << 12
        return 4 if 0x10000 <= code < 0x110000 else 0
    return 0


@inner
def _encoded(code, data, at):  # type: ignore[no-untyped-def]
    """Write a character; returns how many bytes it took, 0 if XML may not hold it."""
    if code < 0x20 and code != 9 and code != 10 and code != 13:
        return 0
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF or 0xFFFE <= code <= 0xFFFF:
        return 0
    if code < 0x80:
        data[at] = code
        return 1
    if code < 0x800:
        data[at] = 0xC0 | code >> 6
        data[at + 1] = 0x80 | code & 63
        return 2
    if code < 0x10000:
        data[at] = 0xE0 | code >> 12
        data[at + 1] = 0x80 | code >> 6 & 63
        data[at + 2] = 0x80 | code & 63
        return 3
    data[at] = 0xF0 | code >> 18
    data[at + 1] = 0x80 | code >> 12 & 63
    data[at + 2] = 0x80 | code >> 6 & 63
    data[at + 3] = 0x80 | code & 63
    return 4


@inner
def _entity(source, at, end):  # type: ignore[no-untyped-def]
    """The character that a named entity of XML stands for, and the length of its name with the semicolon."""
    if at + 3 <= end and source[at + 1] == 116 and source[at + 2] == 59:
        if source[at] == 108:
            return 60, 3
        if source[at] == 103:
            return 62, 3
    if at + 4 <= end and source[at] == 97 and source[at + 1] == 109 and source[at + 2] == 112 and source[at + 3] == 59:
        return 38, 4
    if at + 5 <= end and source[at + 2] == 111 and source[at + 4] == 59:
        if source[at] == 113 and source[at + 1] == 117 and source[at + 3] == 116:
            return 34, 5
        if source[at] == 97 and source[at + 1] == 112 and source[at + 3] == 115:
            return 39, 5
    return 0, 0


@inner
def _reference(source, at, end):  # type: ignore[no-untyped-def]
    """What the reference at ``at`` stands for, and how long it is; length 0 if that is not known here."""
    if at + 1 >= end or source[at + 1] != 35:
        code, length = _entity(source, at + 1, end)
        return code, (length + 1 if length else 0)
    i = at + 2
    base = 10
    if i < end and source[i] == 120:
        base = 16
        i += 1
    code = 0
    begin = i
    while i < end and i - begin < 8:
        digit = int(source[i])
        if 48 <= digit <= 57:
            digit -= 48
        elif base == 16 and (65 <= digit <= 70 or 97 <= digit <= 102):
            digit = (digit & 7) + 9
        else:
            break
        code = code * base + digit
        i += 1
    if i == begin or i >= end or source[i] != 59:
        return 0, 0
    return code, i + 1 - at


@inner
def _copied(source, at, end, data, to):  # type: ignore[no-untyped-def]
    """Copy the character at ``at``, resolved if it is a reference; returns the new places, (-1, 0) for doubt."""
    byte = source[at]
    if byte == 38:
        code, length = _reference(source, at, end)
        taken = _encoded(code, data, to) if length else 0
        return (at + length, to + taken) if taken else (-1, 0)
    length = _sequence(source, at, end) if byte >= 0x80 else 0
    if length == 0:
        return -1, 0
    for i in range(length):
        data[to + i] = source[at + i]
    return at + length, to + length
