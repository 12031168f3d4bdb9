"""XML text of a profile → elements that know where they stand, within bounds.

expat tells offsets, which libxml2 does not, so that an error can point at its place. A profile comes from anywhere:
a document type, and with it every entity, is refused where it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from semcast.model import ProfileError

MAX_TEXT = 1 << 20
"""Characters."""
MAX_NODES = 50_000
"""Elements and attributes."""
MAX_DEPTH = 64
"""Of elements, operators among them."""
MAX_CONDITIONS, MAX_BLOCKS = 2 * MAX_NODES, 2 * MAX_DEPTH
"""The same in the short notation, where a denial that XML says once may be said of each part."""

_HINTS = {
    expat.errors.XML_ERROR_UNBOUND_PREFIX: 'say what it stands for, as in xmlns:d="http://…"',
    expat.errors.XML_ERROR_TAG_MISMATCH: "every element must be closed by its own name",
    expat.errors.XML_ERROR_NO_ELEMENTS: "an interest profile is one element, as in <ip:IP>…</ip:IP>",
    expat.errors.XML_ERROR_UNCLOSED_TOKEN: "the text ends inside a tag",
}


@dataclass(slots=True)
class Element:
    uri: str
    local: str
    byte: int
    """Where it begins, in UTF-8; ``place`` makes a position of it."""
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    """Namespace, local name, value."""
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text right inside."""
        return "".join(self.pieces)


def place(text: str, byte: int) -> int:
    """The character at a byte; bytes are what expat counts. Walks the text, so it is for errors only."""
    before = text.encode()[: max(0, byte)]
    return min(len(before.decode(errors="ignore")), max(0, len(text) - 1))


def read(text: str) -> Element:
    """The root element; ProfileError, with its place, for what is no XML or goes beyond the bounds."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ProfileError("the profile holds half a character", text, error.start, hint="remove it") from None
    reader = _Reader(text)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        message = expat.errors.messages[error.code]
        at = place(text, reader.parser.ErrorByteIndex)
        raise ProfileError(f"this is no XML: {message}", text, at, hint=_HINTS.get(message)) from None
    assert reader.root is not None  # expat has seen an element
    return reader.root


class _Reader:
    def __init__(self, text: str) -> None:
        self.root: Element | None = None
        self._text = text
        self._open: list[Element] = []
        self._nodes = 0
        self.parser = expat.ParserCreate("utf-8", " ")
        self.parser.ordered_attributes = True
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._declared
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def _refuse(self, message: str, hint: str) -> ProfileError:
        return ProfileError(message, self._text, place(self._text, self.parser.CurrentByteIndex), hint=hint)

    def _declared(self, *_: object) -> None:
        raise self._refuse("a profile declares nothing of its own", "remove the document type")

    def _start(self, name: str, attributes: list[str]) -> None:
        self._nodes += 1 + len(attributes) // 2
        if self._nodes > MAX_NODES:
            raise self._refuse(f"the profile has more than {MAX_NODES:,} nodes", "split it")
        if len(self._open) >= MAX_DEPTH:
            raise self._refuse(f"the profile is nested deeper than {MAX_DEPTH} levels", "ask for less at once")
        uri, _, local = name.rpartition(" ")
        element = Element(uri, local, self.parser.CurrentByteIndex)
        for at in range(0, len(attributes), 2):
            of, _, called = attributes[at].rpartition(" ")
            element.attributes.append((of, called, attributes[at + 1]))
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        if self._open:
            self._open[-1].pieces.append(text)
