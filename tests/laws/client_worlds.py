"""What clients may say to a broker, sensible or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from semcast.model.message import Message, ProfileText, packed
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.wire.frames import (
    Append,
    Ask,
    Attach,
    AttachMany,
    Beat,
    Detach,
    FoundPlan,
    Ingested,
    OfferPlans,
    Publish,
    Taken,
    TakenMany,
)
from tests.protocol.playbook import KEY

STREAMS = Streams({"t": Stream(language="topic"), "q": Stream(schema={"n": "long", "s": "string"})})
SMALL = st.integers(0, 300)
WHOLE = st.one_of(SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, st.integers(0, 1 << 62), st.integers(-(2**63), 2**64 - 1))
"""Mostly sensible: a frame that is refused when it is read ends the connection, and nothing behind it is tried."""
REAL = st.one_of(st.none(), st.none(), st.floats(0.1, 1e6), st.floats())
NAMES = st.sampled_from(["", "a", "b", "s", "m", "c", "x" * 300, "\0", "é"])
SOURCES = st.sampled_from(["s", "other", ""])
PROFILES = st.builds(
    ProfileText,
    st.sampled_from(["t", "q", "none"]),
    st.sampled_from(["topic", "relational", "xpath", "no language"]),
    st.sampled_from(["a", "a/*", "n > 1", "n > ", "", "s LIKE '%a%'", "\0"]),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["t", "q", "none", ""]),
    st.sampled_from([b"", b"{}", b'{"n": 1}', b'{"n": 1e400}', b"\xff", b"[" * 3000]),
    st.one_of(st.none(), st.sampled_from(["a/b", "", "\0", "a" * 70_000])),
    WHOLE.filter(lambda n: n < 2**63),
    st.one_of(st.none(), NAMES),
    st.lists(st.tuples(NAMES, NAMES), max_size=3).map(tuple),
)
BODIES = st.one_of(MESSAGES.map(packed), st.binary(max_size=9))
CURSORS = st.lists(st.tuples(SOURCES, WHOLE), max_size=3).map(tuple)
HAVE = st.lists(st.tuples(SOURCES, st.lists(WHOLE, max_size=4).map(tuple)), max_size=3).map(tuple)
ATTACHES = st.builds(
    Attach, NAMES, PROFILES, st.booleans(), st.booleans(), st.sampled_from(["latest", "earliest", "never"]),
    CURSORS, HAVE, REAL, WHOLE, st.one_of(st.none(), PROFILES), CURSORS, st.one_of(st.none(), WHOLE), REAL, WHOLE,
)  # fmt: skip
TAKEN = st.builds(Taken, NAMES, WHOLE, WHOLE)
FRAMES: st.SearchStrategy[Any] = st.one_of(
    st.builds(Publish, NAMES, WHOLE, st.lists(MESSAGES, max_size=3).map(tuple), WHOLE, WHOLE),
    st.builds(
        Append, NAMES, WHOLE, WHOLE, st.sampled_from([1, 0, 2**63]), st.lists(BODIES, max_size=3).map(tuple),
        st.lists(st.sampled_from([KEY, ("", 0), ("c9", 2**63)]), max_size=2).map(tuple),
        st.lists(st.lists(st.tuples(WHOLE, st.binary(max_size=3)), max_size=2).map(tuple), max_size=3).map(tuple),
        st.sampled_from([b"", b"\0\0", b"\0\0\1\0", b"\0\0\0\0\0\0", b"x"]),
        st.lists(st.lists(NAMES, max_size=2).map(tuple), max_size=2).map(tuple),
    ),
    ATTACHES,
    st.lists(ATTACHES, max_size=4).map(tuple).map(AttachMany),
    TAKEN,
    st.lists(TAKEN, max_size=4).map(tuple).map(TakenMany),
    st.builds(Detach, NAMES, st.booleans(), WHOLE, CURSORS, HAVE),
    st.builds(Ingested, WHOLE),
    st.builds(Beat, st.floats()),
)  # fmt: skip

QUESTIONS = st.sampled_from(
    [
        "status",
        "plan",
        "reorganise",
        "ingest",
        "ingest x y",
        "ingest 0 5",
        "ingest -1 99999999999999999999",
        "ingest 1 2 3",
        "",
        "\0",
    ]
)
"""What people and pipelines ask members for."""
TO_COORDINATORS: st.SearchStrategy[Any] = st.one_of(
    st.builds(Ask, WHOLE, QUESTIONS),
    st.builds(OfferPlans, NAMES),
    st.builds(FoundPlan, WHOLE, st.binary(max_size=20), NAMES),
    st.builds(Beat, st.floats()),
)
TO_BROKERS: st.SearchStrategy[Any] = st.one_of(FRAMES, st.builds(Ask, WHOLE, QUESTIONS))
