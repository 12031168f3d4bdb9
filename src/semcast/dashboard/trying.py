"""A profile that somebody tries, and why a subscriber gets a message: both judged on the sources' latest messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from semcast.dashboard.samples import matches
from semcast.dashboard.snapshot import Json, Snapshot
from semcast.matching import language
from semcast.model import ProfileError, SemcastError
from semcast.model.message import ProfileText
from semcast.protocol.profile_texts import covers, parsed
from semcast.protocol.streams import Stream

_SHOWN = 20
_EXPLAINED = 5
_RELATED = 12


class Rejected(SemcastError):
    """A profile that is none, as JSON tells it: what is wrong, where, and what to try."""

    def __init__(self, error: SemcastError, text: str) -> None:
        super().__init__(str(error))
        self.json: Json = {"error": str(error), "message": str(error), "text": text}
        if isinstance(error, ProfileError):
            place = {"position": error.position, "length": error.length, "hint": error.hint}
            self.json |= {"message": error.message, **place}


def read(streams: Mapping[str, Stream], stream: str, text: str) -> ProfileText:
    """A profile in its canonical text; Rejected where it is none."""
    declared = streams.get(stream)
    try:
        if declared is None:
            raise SemcastError(f"there is no stream {stream!r}")
        return ProfileText(stream, declared.language, declared.canonical(text))
    except SemcastError as error:
        raise Rejected(error, text) from None


def tried(found: Snapshot, stream: str, text: str) -> Json:
    """What a profile means, how selective it is, what it matches, and which subscriptions say more or less than it."""
    profile = read(found.streams, stream, text)
    chosen, made = language(profile.language), parsed(profile.language, profile.text)
    held = list(_latest(found, stream))
    matched = [seen for seen, names in zip(held, matches({"": profile}, held), strict=True) if names]
    others = [(name, other) for name, other in found.profiles.items() if other.stream == stream]
    wider = [other.text for _, other in others if covers(other, profile)]
    narrower = [other.text for _, other in others if covers(profile, other) and not covers(other, profile)]
    return {
        "stream": stream,
        "language": profile.language,
        "canonical": profile.text,
        "parts": chosen.parts(made),
        "attributes": {name: sorted(kinds) for name, kinds in chosen.wanted([made]).items()},
        "messages": len(held),
        "matched": len(matched),
        "share": len(matched) / len(held) if held else None,
        "matching": [_plain(seen) for seen in matched[:_SHOWN]],
        "covered_by": wider[:_RELATED],
        "covered_by_count": len(wider),
        "covers": narrower[:_RELATED],
        "covers_count": len(narrower),
    }


def why(found: Snapshot, session: str) -> Json:
    """The latest messages that a subscriber was sent: by which part of its profile, over which channel, which way."""
    gateway, told = next(
        ((gateway, it) for gateway, held in found.sessions.items() for it in held if it["session"] == session),
        (None, None),
    )
    if gateway is None or told is None:
        raise SemcastError(f"there is no session {session!r} at the moment")
    profile = ProfileText(told["stream"], told["language"], told["profile"])
    parts = _parts(profile)
    held = [seen for seen in _latest(found, profile.stream) if any(gateway in way["to"] for way in seen["way"])]
    reasons = []
    for seen, names in zip(held, matches({"": profile, **parts}, held), strict=True):
        if "" in names:
            reasons.append(
                {
                    "message": _plain(seen),
                    "because": [name for name in names if name],
                    "way": [_way(found, seen, way, gateway) for way in seen["way"] if gateway in way["to"]],
                }
            )
        if len(reasons) == _EXPLAINED:
            break
    about = {"session": session, "gateway": gateway, "stream": profile.stream, "profile": profile.text}
    return {**about, "parts": list(parts) or [profile.text], "looked_at": len(held), "messages": reasons}


def _parts(profile: ProfileText) -> dict[str, ProfileText]:
    """The alternatives of a profile, each as one of its own, where it has several and they can be read back."""
    chosen = language(profile.language)
    found = {}
    for text in chosen.parts(parsed(profile.language, profile.text)):
        try:
            found[text] = ProfileText(profile.stream, profile.language, chosen.canonical(chosen.parse(text)))
        except SemcastError:
            return {}
    return found


def _latest(found: Snapshot, stream: str) -> Iterator[Json]:
    """The latest messages of a stream, of all sources, the newest first by their event time."""
    held = [seen for told in found.samples.values() for seen in told["streams"].get(stream, ())]
    yield from sorted(held, key=lambda seen: seen["time_ms"], reverse=True)


def _plain(seen: Json) -> Json:
    return {name: value for name, value in seen.items() if name not in ("profiles", "way", "epoch")}


def _way(found: Snapshot, seen: Json, way: Json, gateway: str) -> Json:
    """The brokers that the message crossed; none where its tree is not in the plan any more."""
    source = seen["id"].rpartition(":")[0]
    plan = found.planned
    channel = next((it for it in (plan.channels if plan is not None else ()) if it.id == way["channel"]), None)
    path: list[str] = []
    if plan is not None and channel is not None and seen["epoch"] == found.status["epoch"]:
        if plan.kind.filtered:  # these trees carry a message from wherever it enters; others from where they hang
            path = path_on(channel.tree, source, gateway)
        if not path:
            topology = found.topology
            leg = topology.graph.paths(topology.node(source)).to(topology.node(channel.rendezvous))
            path = [*topology.ids(leg)[:-1], *path_on(channel.tree, channel.rendezvous, gateway)]
    return {"channel": way["channel"], "also_to": [other for other in way["to"] if other != gateway], "path": path}


def path_on(tree: Iterable[tuple[str, str]], start: str, end: str) -> list[str]:
    """The brokers from one to another over a tree's links; none where it does not join them."""
    near: dict[str, list[str]] = {}
    for a, b in tree:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    before: dict[str, str | None] = {start: None}
    todo = deque([start] if start in near or start == end else [])
    while todo:
        at = todo.popleft()
        for other in near.get(at, ()):
            if other not in before:
                before[other] = at
                todo.append(other)
    path: list[str] = []
    step: Any = end if end in before else None
    while step is not None:
        path.append(step)
        step = before[step]
    return path[::-1]
