"""One subscription for all clients of a gateway that ask for the same at QoS 0, as long as they are connected.

A message comes once and is encoded once, however many clients there are. Who cannot keep up is *set apart*, with a
feed of its own that goes on where the common one left it, and is taken back when it has caught up: the others never
wait, and it misses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from semcast.client.messages import Gap
from semcast.model.message import Message, ProfileText, unpacked
from semcast.server.mqtt.packets import Encoder, Form
from semcast.server.near import NearSubscription

if TYPE_CHECKING:
    from semcast.server.mqtt.front import MqttFront
    from semcast.server.mqtt.session import Session


class Member:
    """A client's filter; of each source it is owed what comes behind ``since``."""

    __slots__ = ("filter", "form", "gaps", "session", "since")

    def __init__(self, session: Session, filter: str, form: Form, since: Mapping[str, int]) -> None:
        self.session, self.filter, self.form = session, filter, form
        self.since = dict(since)
        self.gaps: tuple[str, ...] = ()


class Common:
    """A feed that gives each message to all its takers."""

    def __init__(self, front: MqttFront, profile: ProfileText, failed: Callable[[Common, str], None]) -> None:
        self.profile = profile
        self.given: dict[str, int] = {}
        """Per source the last message that was given."""
        self._front = front
        self._members: dict[tuple[Session, str], Member] = {}
        self._groups: dict[Form, tuple[Encoder, list[Member]]] = {}
        self._asking = 0
        self._on_failure = failed
        self._subscription = NearSubscription(front.host, profile, self._take, on_gap=self._gap, failed=self._failed)

    @property
    def takers(self) -> list[Session]:
        return [member.session for member in self._members.values()]

    @property
    def members(self) -> list[Member]:
        return list(self._members.values())

    def join(self, session: Session, filter: str, since: Mapping[str, int] | None = None) -> None:
        """From now on, or behind these positions, a session is given everything; again: in another form."""
        wanted, connection = session.wanted[filter], session.connection
        assert connection is not None
        form = Form(connection.version, wanted.identifier, wanted.include)
        known = self._members.get((session, filter))
        gateway = self._front.host.node.gateway
        if known is not None:
            known.form = form
        else:
            if since is None:
                since = {source: inbox.top for source, inbox in gateway.inboxes.items()} if gateway is not None else {}
            self._members[session, filter] = Member(session, filter, form, since)
        self._regroup()

    def part(self, session: Session, filter: str) -> dict[str, int]:
        """A session is given nothing more; the positions through which it was given everything."""
        member = self._members.pop((session, filter))
        self._regroup()
        return {s: max(at, member.since.get(s, 0)) for s, at in (member.since | self._subscription.cursor).items()}

    def wake(self) -> None:
        """Nothing waits here."""

    async def live(self) -> None:
        """Wait until nothing is missed any more; SemcastError where that will never be."""
        self._asking += 1
        try:
            await self._subscription.live()
        finally:
            self._asking -= 1

    async def close(self) -> None:
        self._subscription.close()

    def _regroup(self) -> None:
        before = self._groups
        self._groups = {}
        for member in self._members.values():
            form = member.form
            if form not in self._groups:
                known = before.get(form)
                encoder = known[0] if known else Encoder(form, self._front.names.topic, self._front.count)
                self._groups[form] = encoder, []
            self._groups[form][1].append(member)

    # --- messages

    def _take(self, source: str, numbers: Sequence[int], bodies: Sequence[bytes]) -> None:
        messages = [unpacked(body) for body in bodies]
        now_ms = self._front.intake.now_ms()
        late: list[Member] = []
        clients = 0
        for encoder, members in self._groups.values():
            joined: bytes | None = None
            for member in members:
                connection = member.session.connection
                if connection is None:
                    continue
                if not connection.keeps_up:
                    late.append(member)
                    continue
                clients += 1
                if source in member.since or member.gaps or connection.max_packet is not None:
                    self._alone(encoder, member, source, numbers, messages, now_ms)
                    continue
                if joined is None:
                    joined = b"".join(encoder.packets(source, numbers, messages, now_ms))
                connection.write(joined)
        for member in late:
            self._front.set_apart(member.session, member.filter)
        self.given[source] = numbers[-1]
        times = [message.time_ms for message in messages]
        self._front.host.deliveries.handed(self._subscription.name, times, bodies, clients, now_ms)

    def _alone(
        self,
        encoder: Encoder,
        member: Member,
        source: str,
        numbers: Sequence[int],
        messages: Sequence[Message],
        now_ms: int,
    ) -> None:
        """For who does not get all of it, or not all alike."""
        since = member.since.get(source, 0)
        if numbers[-1] > since:
            member.since.pop(source, None)
        rows = [row for row, number in enumerate(numbers) if number > since]
        connection = member.session.connection
        assert connection is not None
        packets = encoder.packets(
            source, [numbers[row] for row in rows], [messages[row] for row in rows], now_ms, member.gaps
        )
        if rows:
            member.gaps = ()
        for packet in packets:
            connection.publish_bytes(packet)

    def _gap(self, gap: Gap) -> None:
        for member in self._members.values():
            first = max(gap.first, member.since.get(gap.source, 0))
            if first < gap.through:
                member.gaps += (f"{gap.source}:{first + 1}-{gap.through}",)

    def _failed(self, reason: str) -> None:
        if not self._asking:  # whoever waits for it to be live is told there
            self._on_failure(self, reason)
