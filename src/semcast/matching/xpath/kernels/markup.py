"""Tags, texts and comments: the scanner's grammar. Every function returns the next place, or -1 for doubt."""

from __future__ import annotations

from semcast.matching.xpath.kernels.compiled import inner
from semcast.matching.xpath.kernels.scanner import (
    _CLASS,
    _DECLARED,
    _DECLARED_BEGIN,
    _DECLARED_END,
    _MAX_ATTRIBUTES,
    _MAX_DEPTH,
    _MAX_NAME,
    ATTRIBUTES,
    BEFORE,
    BEGIN,
    CHARACTERS,
    ELEMENTS,
    END,
    FIRST,
    LAST,
    MAX_BYTES,
    NAME,
    OWNER,
    PARENT,
    TEXTS,
    VALUES,
    _copied,
    _name,
)
from semcast.matching.xpath.kernels.texts import same


@inner
def _after_blanks(source, at, end):  # type: ignore[no-untyped-def]
    while at < end and _CLASS[source[at]] & 16:
        at += 1
    return at


@inner
def _after_name(source, at, end):  # type: ignore[no-untyped-def]
    """Behind an ASCII name without colon that does not begin with ``xml``."""
    begin = at
    if at >= end or not _CLASS[source[at]] & 1:
        return -1
    while at < end and _CLASS[source[at]] & 2:
        at += 1
    if at == end or at - begin > _MAX_NAME or source[at] == 58 or source[at] >= 0x80:
        return -1
    if (
        at - begin >= 3
        and source[begin] | 32 == 120
        and source[begin + 1] | 32 == 109
        and source[begin + 2] | 32 == 108
    ):
        return -1
    return at


@inner
def _after_value(source, at, end, cursor, data):  # type: ignore[no-untyped-def]
    """Behind a quoted value, which is written to ``data``; blanks in it become spaces."""
    if at >= end or (source[at] != 34 and source[at] != 39):
        return -1
    quote = source[at]
    at += 1
    to = cursor[VALUES]
    while at < end and source[at] != quote:
        byte = source[at]
        if _CLASS[byte] & 8 or byte == 34 or byte == 39:
            data[to] = byte
            at += 1
            to += 1
        elif byte == 9 or byte == 10:
            data[to] = 32
            at += 1
            to += 1
        else:
            at, to = _copied(source, at, end, data, to)
            if at < 0:
                return -1
    cursor[VALUES] = to
    return at + 1 if at < end else -1


@inner
def _after_attributes(source, at, end, element, cursor, attributes, data, names, spans, slots):  # type: ignore[no-untyped-def]
    """Behind the attributes of a start tag, at its ``>`` or ``/``."""
    first = cursor[ATTRIBUTES]
    while True:
        begin = _after_blanks(source, at, end)
        if begin >= end:
            return -1
        if source[begin] == 62 or source[begin] == 47:
            return begin
        if begin == at:
            return -1
        at = _after_name(source, begin, end)
        if at < 0:
            return -1
        name = _name(source, begin, at, cursor, names, spans, slots)
        number = cursor[ATTRIBUTES]
        if number - first >= _MAX_ATTRIBUTES:
            return -1
        for other in range(first, number):
            if attributes[other, NAME] == name:
                return -1
        at = _after_blanks(source, at, end)
        if at >= end or source[at] != 61:
            return -1
        attributes[number, NAME] = name
        attributes[number, OWNER] = element
        attributes[number, BEGIN] = cursor[VALUES]
        at = _after_value(source, _after_blanks(source, at + 1, end), end, cursor, data)
        if at < 0:
            return -1
        attributes[number, END] = cursor[VALUES]
        cursor[ATTRIBUTES] = number + 1


@inner
def _open(name, parent, cursor, elements):  # type: ignore[no-untyped-def]
    element = cursor[ELEMENTS]
    elements[element, NAME] = name
    elements[element, PARENT] = parent
    elements[element, BEGIN] = cursor[CHARACTERS]
    elements[element, FIRST] = cursor[ATTRIBUTES]
    elements[element, LAST] = -1
    cursor[ELEMENTS] = element + 1
    return element


@inner
def _text(owner, begin, cursor, elements, texts):  # type: ignore[no-untyped-def]
    """What was written since ``begin`` is one text of ``owner``, if it is anything."""
    to = cursor[CHARACTERS]
    if to > begin:
        text = cursor[TEXTS]
        texts[text, OWNER] = owner
        texts[text, BEFORE] = elements[owner, LAST]
        texts[text, BEGIN] = begin
        texts[text, END] = to
        elements[owner, LAST] = text
        cursor[TEXTS] = text + 1


@inner
def _after_characters(source, at, end, cursor, data):  # type: ignore[no-untyped-def]
    """Behind character data, at the next ``<``."""
    to = cursor[CHARACTERS]
    data = data
    while at < end and source[at] != 60:
        byte = source[at]
        if _CLASS[byte] & 4:
            data[to] = byte
            at += 1
            to += 1
        elif byte == 13:
            data[to] = 10
            at += 2 if at + 1 < end and source[at + 1] == 10 else 1
            to += 1
        elif byte == 93:
            if at + 2 < end and source[at + 1] == 93 and source[at + 2] == 62:
                return -1
            data[to] = byte
            at += 1
            to += 1
        else:
            at, to = _copied(source, at, end, data, to)
            if at < 0:
                return -1
    cursor[CHARACTERS] = to
    return at


@inner
def _after_comment(source, at, end, cursor, data):  # type: ignore[no-untyped-def]
    """Behind ``-->``; what is in it is written where the next text will be written over it."""
    to = cursor[CHARACTERS]
    while at + 2 < end:
        byte = source[at]
        if byte == 45 and source[at + 1] == 45:
            return at + 3 if source[at + 2] == 62 else -1
        if _CLASS[byte] & 20 or byte == 60 or byte == 38 or byte == 93:
            at += 1
        else:
            at, _ = _copied(source, at, end, data, to)
            if at < 0:
                return -1
    return -1


@inner
def _after_cdata(source, at, end, cursor, data):  # type: ignore[no-untyped-def]
    """Behind ``]]>``; an empty section is doubtful."""
    to = cursor[CHARACTERS]
    begin = at
    while at + 2 < end:
        byte = source[at]
        if byte == 93 and source[at + 1] == 93 and source[at + 2] == 62:
            cursor[CHARACTERS] = to
            return at + 3 if at > begin else -1
        if _CLASS[byte] & 4 or byte == 60 or byte == 38 or byte == 93:
            data[to] = byte
            at += 1
            to += 1
        elif byte == 13:
            data[to] = 10
            at += 2 if source[at + 1] == 10 else 1
            to += 1
        else:
            at, to = _copied(source, at, end, data, to)
            if at < 0:
                return -1
    return -1


@inner
def _begins(source, at, end, second, third, fourth):  # type: ignore[no-untyped-def]
    return at + 3 < end and source[at + 1] == second and source[at + 2] == third and source[at + 3] == fourth


@inner
def _is_cdata(source, at, end):  # type: ignore[no-untyped-def]
    if not _begins(source, at, end, 33, 91, 67) or at + 8 >= end:
        return False
    return source[at + 4] == 68 and _begins(source, at + 4, end, 65, 84, 65) and source[at + 8] == 91


@inner
def _closes(source, at, end, name, names, spans):  # type: ignore[no-untyped-def]
    """Behind an end tag that must be of ``name``."""
    length = spans[name, 1] - spans[name, 0]
    if at + length >= end or not same(source, at, names, spans[name, 0], length):
        return -1
    at = _after_blanks(source, at + length, end)
    return at + 1 if at < end and source[at] == 62 else -1


@inner
def _prolog(source, begin, end):  # type: ignore[no-untyped-def]
    if begin >= end or source[begin] != 60:
        return -1
    if begin + 1 < end and source[begin + 1] == 63:
        for i in range(len(_DECLARED_BEGIN)):
            length = _DECLARED_END[i] - _DECLARED_BEGIN[i]
            if end - begin > length and same(source, begin, _DECLARED, _DECLARED_BEGIN[i], length):
                return begin + length
        return -1
    return begin


@inner
def _document(source, begin, end, cursor, elements, attributes, texts, data, names, spans, slots):  # type: ignore[no-untyped-def]
    """Read one document; False if it is not surely well-formed."""
    at = _prolog(source, begin, end)
    if at < 0:
        return False
    top = _open(-1, -1, cursor, elements)
    current = top
    depth = 0
    text = cursor[CHARACTERS]
    while at < end:
        if source[at] != 60:
            after = _after_characters(source, at, end, cursor, data) if depth else _after_blanks(source, at, end)
            if after < 0 or (after < end and source[after] != 60):
                return False
            at = after
        elif at + 1 < end and source[at + 1] == 47:
            if depth == 0:
                return False
            _text(current, text, cursor, elements, texts)
            at = _closes(source, at + 2, end, elements[current, NAME], names, spans)
            elements[current, END] = text = cursor[CHARACTERS]
            current = elements[current, PARENT]
            depth -= 1
        elif _begins(source, at, end, 33, 45, 45):
            _text(current, text, cursor, elements, texts)
            text = cursor[CHARACTERS]
            at = _after_comment(source, at + 4, end, cursor, data)
        elif depth and _is_cdata(source, at, end):
            at = _after_cdata(source, at + 9, end, cursor, data)
        else:
            if depth == 0 and cursor[ELEMENTS] > top + 1:
                return False
            _text(current, text, cursor, elements, texts)
            after = _after_name(source, at + 1, end)
            if after < 0:
                return False
            current = _open(_name(source, at + 1, after, cursor, names, spans, slots), current, cursor, elements)
            text = cursor[CHARACTERS]
            at = _after_attributes(source, after, end, current, cursor, attributes, data, names, spans, slots)
            if at < 0 or (at + 1 >= end and source[at] == 47):
                return False
            if source[at] == 47:
                if source[at + 1] != 62:
                    return False
                elements[current, END] = text
                current = elements[current, PARENT]
                at += 2
            else:
                at += 1
                depth += 1
                if depth > _MAX_DEPTH:
                    return False
        if at < 0:
            return False
    elements[top, END] = cursor[CHARACTERS]
    return depth == 0 and cursor[ELEMENTS] > top + 1


@inner
def _is_short(begin, end):  # type: ignore[no-untyped-def]
    return begin >= 0 and end - begin <= MAX_BYTES


@inner
def extent(source, begins, ends):  # type: ignore[no-untyped-def]
    """How many bytes ``scan`` will look at, how many of them ``<`` and how many ``=``."""
    size, tags, signs = 0, 0, 0
    for i in range(len(begins)):
        if _is_short(begins[i], ends[i]):
            size += ends[i] - begins[i]
            for byte in source[begins[i] : ends[i]]:
                tags += byte == 60
                signs += byte == 61
    return size, tags, signs


@inner
def scan(source, begins, ends, cursor, elements, attributes, texts, data, names, spans, slots, documents):  # type: ignore[no-untyped-def]
    """Read documents one after the other; row i of ``documents`` is where its parts begin and end, all 0 if unread."""
    for i in range(len(begins)):
        before = (cursor[0], cursor[1], cursor[2], cursor[3], cursor[4])
        read = _is_short(begins[i], ends[i]) and _document(
            source, begins[i], ends[i], cursor, elements, attributes, texts, data, names, spans, slots
        )
        if not read:
            for k in range(VALUES + 1):
                cursor[k] = before[k]
            continue
        for k in range(3):
            documents[i, 2 * k] = before[k]
            documents[i, 2 * k + 1] = cursor[k]
