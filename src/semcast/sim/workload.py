"""What clients ask for and publishers send in a simulation: small vocabularies, so that many profiles match."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from semcast.matching.languages import language
from semcast.model.message import Message, ProfileText
from semcast.profiles.semantic.names import RDF
from semcast.sim.scenario import Stream

_COLUMNS = ("symbol", "price", "volume", "bid", "ask")


def profile_text(stream: Stream, text: str) -> ProfileText:
    """A profile of a stream, in canonical form."""
    return ProfileText(stream.name, stream.language, str(language(stream.language).parse(text)))


def draw_profile(stream: Stream, rng: np.random.Generator) -> ProfileText:
    """A profile that matches a fair share of the stream's messages."""
    drawn = {"topic": _topic, "relational": _condition, "semantic": _interest}[stream.language]
    return profile_text(stream, drawn(stream, rng))


def draw_message(stream: Stream, rng: np.random.Generator, key: str) -> Message:
    """A message of the stream; ``key`` tells it from all others."""
    values = rng.integers(0, stream.values, stream.attributes).tolist()
    if stream.language == "topic":
        return Message(
            stream.name, b"." * stream.payload_bytes, topic="/".join(f"v{value}" for value in values), key=key
        )
    if stream.language == "semantic":
        return Message(stream.name, packet(descriptor(values), b"." * stream.payload_bytes), key=key)
    row: dict[str, object] = dict(zip(_names(stream), values, strict=True))
    row[_names(stream)[0]] = f"S{values[0]}"
    filled = msgspec.json.encode(row | {"filler": ""})
    row["filler"] = "." * max(0, stream.payload_bytes - len(filled))
    return Message(stream.name, msgspec.json.encode(row), key=key)


def _topic(stream: Stream, rng: np.random.Generator) -> str:
    """The first attribute is a value; the others may be wildcards, and the last ones are often left to the implicit."""
    depth = int(rng.integers(1, stream.attributes + 1))
    parts = [f"v{value}" for value in rng.integers(0, stream.values, depth).tolist()]
    return "/".join(part if at == 0 or rng.random() < 0.6 else "*" for at, part in enumerate(parts))


def _condition(stream: Stream, rng: np.random.Generator) -> str:
    names = _names(stream)
    limits = rng.integers(0, stream.values, stream.attributes).tolist()
    terms = [f"{names[0]} IN ('S{limits[0]}', 'S{(limits[0] + 1) % stream.values}')"] if rng.random() < 0.7 else []
    for name, limit in zip(names[1:], limits[1:], strict=True):
        if rng.random() < 0.4:
            terms.append(f"{name} {'>=' if rng.random() < 0.5 else '<='} {limit}")
    return " AND ".join(terms) or f"{names[0]} <> 'S{limits[0]}'"


def _interest(stream: Stream, rng: np.random.Generator) -> str:
    """Some of the nodes on one way down, each with one of two values, with a value above a limit, or as it may be."""
    depth = int(rng.integers(1, stream.attributes + 1))
    lines = []
    for at, value in enumerate(rng.integers(0, stream.values, depth).tolist()):
        test = [f"= {value} | {(value + 1) % stream.values}", f">= {value}", ""][int(rng.integers(3))]
        lines.append(f"a{at} {{v {test}")
    return "; ".join(lines) + "}" * depth


def descriptor(values: Sequence[int]) -> bytes:
    """Nodes below each other, each with its value: a0 {v = 2; a1 {v = 0}}."""
    begin = "".join(f"<a{at}><v>{value}</v>" for at, value in enumerate(values))
    end = "".join(f"</a{at}>" for at in reversed(range(len(values))))
    return f'<r:Description xmlns:r="{RDF}">{begin}{end}</r:Description>'.encode()


def packet(content: bytes, payload: bytes) -> bytes:
    """A descriptor and what it describes, as one document."""
    return (
        b"<Packet><Content-Descriptor>" + content + b"</Content-Descriptor><Payload>" + payload + b"</Payload></Packet>"
    )


def _names(stream: Stream) -> list[str]:
    return [_COLUMNS[at] if at < len(_COLUMNS) else f"c{at}" for at in range(stream.attributes)]
