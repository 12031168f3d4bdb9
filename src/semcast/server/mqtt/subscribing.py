"""SUBSCRIBE and UNSUBSCRIBE: filters with what their user properties add, granted when they are live."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mqtt5
from mqtt5 import DisconnectReasonCode as Disconnect
from mqtt5 import SubAckReasonCode as SubAck
from mqtt5 import UnsubAckReasonCode as UnsubAck

from semcast.model import SemcastError
from semcast.model.message import ProfileText
from semcast.server.mqtt.common import Common
from semcast.server.mqtt.feed import Feed
from semcast.server.mqtt.names import shared
from semcast.server.mqtt.session import Session, Wanted, granted
from semcast.server.mqtt.wire import MqttError, told

if TYPE_CHECKING:
    from semcast.server.mqtt.front import MqttFront

_INCLUDE = ("id", "time")


async def subscribe(front: MqttFront, session: Session, packet: mqtt5.SubscribePacket) -> tuple[list[SubAck], str]:
    """A code for each filter, when all of them are live or refused, and the reasons of those that are refused."""
    given = dict(packet.user_properties)
    for wish in packet.topic_filters:
        _check(front, wish)
    begun = [_begun(front, session, packet, wish, given) for wish in packet.topic_filters]
    front.save(session)  # once for all of them: what is saved is the whole session
    try:
        answers = await asyncio.gather(*(_live(front, session, one) for one in begun), return_exceptions=True)
    finally:
        front.save(session)  # also where the client has gone meanwhile
    codes: list[SubAck] = []
    reasons: list[str] = []
    for wish, answer in zip(packet.topic_filters, answers, strict=True):
        if isinstance(answer, SubAck):
            codes.append(answer)
        elif isinstance(answer, SemcastError):
            codes.append(SubAck.TOPIC_FILTER_INVALID)
            reasons.append(f"{wish.pattern}: {told(answer)}")
        else:
            raise answer
    await front.kept(session)
    return codes, "; ".join(reasons)


@dataclass(slots=True)
class _Begun:
    """A filter whose feed has begun."""

    filter: str
    profile: ProfileText
    feed: Feed | Common
    qos: int
    is_new: bool


def _check(front: MqttFront, wish: mqtt5.TopicFilter) -> None:
    """MqttError where a filter ends the connection, before anything has begun."""
    try:
        share = shared(wish.pattern)
    except SemcastError:
        return  # it is refused by itself
    if share is not None and wish.no_local:
        raise MqttError(Disconnect.PROTOCOL_ERROR, "a shared subscription cannot be without what is local")
    elsewhere = front.elsewhere(share)
    if elsewhere is not None:
        raise elsewhere


def _begun(
    front: MqttFront,
    session: Session,
    packet: mqtt5.SubscribePacket,
    wish: mqtt5.TopicFilter,
    given: dict[str, str],
) -> _Begun | SemcastError:
    try:
        return _begin(front, session, packet, wish, given)
    except SemcastError as error:
        return error


def _begin(
    front: MqttFront,
    session: Session,
    packet: mqtt5.SubscribePacket,
    wish: mqtt5.TopicFilter,
    given: dict[str, str],
) -> _Begun:
    filter = wish.pattern
    share = shared(filter)
    profile = front.names.profile(
        filter if share is None else share.filter, stream=given.get("stream"), profile=given.get("profile")
    )
    include = _included(given.get("include", ""))
    qos = min(1, wish.max_qos.value)
    known = session.wanted.get(filter)
    if known is not None and not _can_become(known, profile):
        front.release(session, filter)
        known = None
    together = share is None and not session.durable and not qos and not wish.no_local
    if known is not None and isinstance(known.feed, Common) and not (together and known.feed.profile == profile):
        front.set_apart(session, filter)
        known = session.wanted[filter]
    if known is not None:
        feed = known.feed
    else:
        feed = front.common(profile) if together else front.feed(session, filter, profile, share)
    session.add(filter, Wanted(feed, qos, wish.no_local, packet.subscription_id, include, share is not None))
    return _Begun(filter, profile, feed, qos, known is None)


async def _live(front: MqttFront, session: Session, begun: _Begun | SemcastError) -> SubAck:
    """Wait until a filter is live with what was asked for; it waits for no other filter."""
    if isinstance(begun, SemcastError):
        raise begun
    try:
        await begun.feed.live()
        if begun.feed.profile != begun.profile and isinstance(begun.feed, Feed):
            await begun.feed.replace(begun.profile)
    except SemcastError:
        now = session.wanted.get(begun.filter)
        if begun.is_new and now is not None and now.feed is begun.feed:
            front.release(session, begun.filter)
        raise
    return granted(begun.qos)


def _can_become(known: Wanted, profile: ProfileText) -> bool:
    """Can a subscription go on with this profile? A group's is not one member's to change."""
    before = known.feed.profile
    return before == profile or (before.stream == profile.stream and not known.shared)


def _included(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in found:
        if part not in _INCLUDE:
            raise SemcastError(f"include: there is no {part!r}; there is {', '.join(_INCLUDE)}")
    return found


async def unsubscribe(front: MqttFront, session: Session, packet: mqtt5.UnsubscribePacket) -> list[UnsubAck]:
    """A code for each filter, when they have ended."""
    ends = [front.release(session, filter) for filter in packet.patterns]
    front.save(session)
    await asyncio.gather(*(end for end in ends if end is not None))
    return [UnsubAck.NO_SUBSCRIPTION_EXISTED if end is None else UnsubAck.SUCCESS for end in ends]
