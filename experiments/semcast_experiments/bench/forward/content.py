"""An interior broker that looks at masks, beside one that looks into every message (2005 §5.3).

Both are the same process with other tables, both deliver the same messages over the same ten links.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from semcast.model.message import Message, ProfileText, packed
from semcast.protocol.filters import Filter
from semcast.protocol.wire.codec import encode
from semcast.protocol.wire.frames import Data, Entry, Key, TreeLink
from semcast_experiments.bench.forward.contest import Contender, contest
from semcast_experiments.bench.forward.load import Load
from semcast_experiments.bench.forward.servers import FANS, Server
from semcast_experiments.bench.forward.stage import RECEIVERS, SOURCE, Stage, key_of, masked_entry
from semcast_experiments.bench.forward.wire import GATEWAYS_PER_LINK, frames

_SYMBOLS = 50
_LINK_SHARE = 0.3  # of messages that some profile behind a link matches
_BODY = 256


def profiles(count: int, rng: np.random.Generator) -> list[ProfileText]:
    """An equality and a range each, all distinct, so that a link's profiles together want its share of messages."""
    behind = count / len(RECEIVERS)
    width = min(90.0, 100 * _SYMBOLS * (1 - (1 - _LINK_SHARE) ** (1 / behind)))
    found = []
    for place in range(count):
        low = rng.uniform(0, 100 - width)
        text = f"symbol = 'S{place // len(RECEIVERS) % _SYMBOLS}' AND price BETWEEN {low:.4f} AND {low + width:.4f}"
        found.append(ProfileText("quotes", "relational", text))
    return found


def messages(count: int, rng: np.random.Generator) -> list[Message]:
    found = []
    for _ in range(count):
        fields = {"symbol": f"S{rng.integers(_SYMBOLS)}", "price": round(rng.uniform(0, 100), 4), "pad": ""}
        left = _BODY - len(packed(Message("quotes", json.dumps(fields).encode())))
        found.append(Message("quotes", json.dumps(fields | {"pad": "x" * left}).encode()))
    return found


def wanted(texts: Sequence[ProfileText], held: Sequence[Message]) -> list[set[int]]:
    """Per message the links behind which a profile matches it; profile p is behind link p modulo ten."""
    matched = Filter(dict(enumerate(texts))).match(held)
    return [{place % len(RECEIVERS) for place in places} for places in matched]


def filtered_entry(key: Key, texts: Sequence[ProfileText]) -> Entry:
    every = len(RECEIVERS)
    links = tuple(TreeLink(name, None, tuple(range(p, len(texts), every))) for p, name in enumerate(RECEIVERS))
    return Entry(key, SOURCE, links, (), None, False, tuple(texts))


def content(
    server: Server,
    stage: Stage,
    count: int,
    sizes: Sequence[int],
    rounds: int,
    seconds: float,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """CPU microseconds of the broker per message delivered, by masks and by content, and how they compare."""
    texts = profiles(count, rng)
    held = messages(2048, rng)
    found = [(message, links) for message, links in zip(held, wanted(texts, held), strict=True) if links]
    bodies = [packed(message) for message, _ in found]
    asked = [
        sum(1 << (link * GATEWAYS_PER_LINK + int(rng.integers(GATEWAYS_PER_LINK))) for link in links)
        for _, links in found
    ]
    gets = tuple(sum(place in links for _, links in found) for place in range(len(RECEIVERS)))
    key: Key = ("content", count)
    stage.install((*(masked_entry(fan) for fan in FANS), filtered_entry(key, texts)))
    loop = server.loop(_BODY)
    rows = []
    for each in sizes:
        by_mask = Load(frames(key_of(len(RECEIVERS)), SOURCE, bodies, asked, each), len(bodies), gets)
        by_content = Load(_plain(key, bodies, each), len(bodies), gets)
        raced = contest([Contender("masks", loop, by_mask), Contender("content", loop, by_content)], rounds, seconds)
        cost = {name: record["cpu_us_per_delivery"] for name, record in raced.items()}
        lost = sum(record["lost"] for record in raced.values())
        rows.append({"per_frame": each, **cost, "ratio": round(cost["content"] / cost["masks"], 1), "lost": lost})
    stage.install(tuple(masked_entry(fan) for fan in FANS))
    return {"profiles": count, "links_per_message": round(sum(gets) / len(bodies), 2), "rows": rows}


def _plain(key: Key, bodies: Sequence[bytes], each: int) -> bytes:
    encoded = []
    for first in range(0, len(bodies), each):
        some = tuple(bodies[first : first + each])
        encoded.append(encode(Data(key, 1, SOURCE, tuple(range(first + 1, first + 1 + len(some))), None, some)))
    return b"".join(encoded)
