"""Streams as they are declared: what may be published on them, and what may be asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal

import msgspec

from semcast.matching import language
from semcast.model import Kind, Schema, SemcastError
from semcast.model.message import MAX_HEADERS, Message, ProfileText
from semcast.model.tables import Part
from semcast.protocol.profile_texts import LONG, canonical, prepare
from semcast.protocol.values import Range, decoded, range_of, shown
from semcast.protocol.wire.framing import MAX_MESSAGE

MAX_ENVELOPE = 1 << 16
"""Bytes of topic, key and headers together."""
_CHARACTER_BYTES = 4
_LATEST_MS = 1 << 53
_Pairs = tuple[tuple[str, str], ...]
_PYTHON: dict[Kind, tuple[type, ...]] = {
    Kind.NUMBER: (int, float),
    Kind.STRING: (str,),
    Kind.BOOLEAN: (bool,),
    Kind.TIMESTAMP: (str,),
}
_CERTAIN: dict[Kind, set[type]] = {
    kind: {type(None), *(() if kind is Kind.TIMESTAMP else types)} for kind, types in _PYTHON.items()
}
"""Types of values that are of a kind without a further look."""


class Stream(Part, frozen=True, kw_only=True, dict=True):
    """One declared stream."""

    language: Literal["relational", "xpath", "topic", "semantic"] = "relational"
    schema: dict[str, str] = msgspec.field(default_factory=dict)
    """Of a relational stream: attribute → type. Empty: anything goes."""
    namespaces: dict[str, str] = msgspec.field(default_factory=dict)
    """Of XML streams: what prefixes in profiles stand for."""
    mode: Literal["inline", "spark"] = "inline"
    """Who matches and routes what is published on it: the source that takes it in, or a pipeline on Spark."""

    def __post_init__(self) -> None:
        if self.schema and self.language != "relational":
            raise SemcastError(f"schema: only relational streams have one, not {self.language} ones")
        self.kinds  # noqa: B018  # an attribute of no known type is told at once

    @cached_property
    def kinds(self) -> Schema | None:
        return Schema(self.schema) if self.schema else None

    @cached_property
    def _attributes(self) -> list[tuple[str, Kind, Range | None]]:
        """Each attribute with its kind and, where that is a number, what its declared type can hold."""
        found = self.kinds.items() if self.kinds is not None else ()
        return [(name, kind, range_of(self.schema[name]) if kind is Kind.NUMBER else None) for name, kind in found]

    def canonical(self, text: str) -> str:
        """A profile's canonical text; ProfileError where it is none, or asks for what the schema does not have."""
        known = _canonical_long if len(text) >= LONG else _canonical
        return known(self.language, tuple(self.schema.items()), tuple(self.namespaces.items()), text)

    def refusal(self, message: Message) -> str | None:
        """Why a message cannot be published here; None where it can."""
        if self.language == "topic":
            return "a message of a topic stream needs a topic" if not message.topic else None
        return self._no_row(message.payload) if self.language == "relational" else _no_xml(message.payload)

    def rows(self, payloads: Sequence[bytes]) -> tuple[list[dict[str, Any]], dict[int, str]]:
        """What a relational stream's payloads say, each read once, and which of them are refused, with the reason.

        Refused are those that ``refusal`` refuses; a refused one says nothing.
        """
        found: list[dict[str, Any]] = []
        refused: set[int] = set()
        for at, payload in enumerate(payloads):
            row, reason = decoded(payload)
            if reason is not None or type(row) is not dict:
                refused.add(at)
                row = {}
            found.append(row)
        for name, kind, limits in self._attributes:
            values = [_nested(row, name) for row in found] if "." in name else [row.get(name) for row in found]
            if not set(map(type, values)) <= _CERTAIN[kind]:
                refused |= {at for at, value in enumerate(values) if value is not None and not _is(value, kind)}
            if limits is not None:
                _, low, high = limits
                beyond = {
                    at for at, value in enumerate(values) if isinstance(value, int | float) and not low <= value <= high
                }
                refused |= beyond
        reasons = {at: self._no_row(payloads[at]) or "" for at in sorted(refused)}
        return [{} if at in reasons else row for at, row in enumerate(found)] if reasons else found, reasons

    def _no_row(self, payload: bytes) -> str | None:
        row, reason = decoded(payload)
        if reason is not None:
            return reason
        if type(row) is not dict:
            return f"the payload is no JSON object but {shown(row)}"
        for name, kind, limits in self._attributes:
            value = _nested(row, name)
            if value is None:
                continue
            if not _is(value, kind):
                return f"{name!r} should be a {kind}, and is {shown(value)}"
            if limits is not None and not limits.low <= value <= limits.high:
                return limits.refusal(name, value)
        return None


def _read_canonical(kind: str, schema: _Pairs, namespaces: _Pairs, text: str) -> str:
    chosen = language(kind)
    if chosen.has_namespaces:
        return chosen.canonical(chosen.parse(text, namespaces=dict(namespaces) or None))
    return chosen.canonical(chosen.parse(text, Schema(dict(schema)) if schema else None))


_canonical = lru_cache(maxsize=1 << 14)(_read_canonical)
_canonical_long = lru_cache(maxsize=64)(_read_canonical)


def _nested(row: Any, name: str) -> Any:
    if name in row:
        return row[name]
    for part in name.split("."):
        row = row.get(part) if type(row) is dict else None
    return row


def _is(value: Any, kind: Kind) -> bool:
    if kind is Kind.TIMESTAMP:
        # Here and below: a client or broker loads what its streams need, and nothing of other languages.
        from semcast.profiles.relational.literals import moment

        return type(value) is str and moment(value) is not None
    return type(value) in _PYTHON[kind]


def _no_xml(payload: bytes) -> str | None:
    if not payload:
        return "the payload is empty, and should be XML"
    from semcast.matching.markup import Refusal, parser, tree_of

    found = tree_of(payload, parser(None))
    return f"the payload cannot be read as XML: {found}" if isinstance(found, Refusal) else None


def envelope_refusal(message: Message) -> str | None:
    """Why a message cannot travel, whatever its stream: it has to fit into frames, and its time into columns."""
    payload, topic, key, headers = message.payload, message.topic, message.key, message.headers
    if len(payload) > MAX_MESSAGE:
        return f"a payload of {len(payload):,} bytes; {MAX_MESSAGE:,} are the most"
    if not -_LATEST_MS <= message.time_ms <= _LATEST_MS:
        return f"an event time of {message.time_ms} ms; it has to be within ±{_LATEST_MS}"
    characters = (len(topic) if topic else 0) + (len(key) if key else 0)
    if headers:
        if len(headers) > MAX_HEADERS:
            return f"{len(headers):,} headers; {MAX_HEADERS:,} are the most"
        characters += sum(map(len, chain.from_iterable(headers)))
    if _CHARACTER_BYTES * characters > MAX_ENVELOPE:  # else there is no need to count exactly
        texts = (topic or "", key or "", *chain.from_iterable(headers))
        size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
        if size > MAX_ENVELOPE:
            return f"topic, key and headers have {size:,} bytes together; {MAX_ENVELOPE:,} are the most"
    return None


class Streams:
    """All that are declared; where nothing is, everything goes."""

    def __init__(self, declared: Mapping[str, Stream] | None = None) -> None:
        self.declared = dict(declared or {})
        self.on_spark = frozenset(name for name, stream in self.declared.items() if stream.mode == "spark")
        """Streams whose messages wait in the log for a pipeline."""

    def refusal(self, message: Message) -> str | None:
        """Why a message cannot be published; None where it can."""
        reason = envelope_refusal(message)
        if reason is not None or not self.declared:
            return reason
        stream = self.declared.get(message.stream)
        return self.unknown(message.stream) if stream is None else stream.refusal(message)

    def profile(self, stream: str, text: str) -> ProfileText:
        """A profile over a declared stream, in its canonical text; SemcastError where it is none."""
        known = self.declared.get(stream)
        if known is None:
            raise SemcastError(self.unknown(stream))
        return ProfileText(stream, known.language, known.canonical(text))

    def canonical(self, profile: ProfileText) -> ProfileText:
        """The same profile in the text that all ways of writing it share; SemcastError where it makes no sense."""
        if not self.declared:
            return canonical(profile)
        found = self.profile(profile.stream, profile.text)
        if found.language != profile.language:
            raise SemcastError(f"stream {profile.stream!r} is {found.language}, and the profile {profile.language}")
        return found

    def prepare(self, profile: ProfileText) -> None:
        """Read and index a long profile; SemcastError where it makes no sense. In any thread."""
        found = self.canonical(profile)
        prepare(self.canonical(found))  # a gateway is told of it in its canonical text

    def unknown(self, name: str) -> str:
        """What to tell who names a stream that is not declared."""
        near = get_close_matches(name, self.declared, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return f"there is no stream {name!r}; {hint}there is {', '.join(self.declared)}"
