"""A named party on real sockets: who it hears, whom it dials, and what it knows of the overlay.

A broker, a coordinator and a client are hosts; what they do with frames that are not about the connection itself is
their own. Names are found in the overlay's view, which coordinators tell to brokers and brokers to clients. Of two
parties that could dial each other the one with the smaller name does, else whoever has something to say.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter, deque
from collections.abc import Coroutine, Iterable
from typing import Any

from semcast.model import SemcastError
from semcast.model.version import __version__
from semcast.net.addresses import split_address
from semcast.net.admission import CLIENTS, Admission, Proofs
from semcast.net.clocks import Clocks
from semcast.net.connection import Connection, Leaving
from semcast.net.door import Door, Front
from semcast.net.partial import Partial
from semcast.protocol.wire.codec import AnyView
from semcast.protocol.wire.frames import (
    AnyFrame,
    Data,
    Greeting,
    Hello,
    Leg,
    Ping,
    Pong,
    ProtocolError,
    Tally,
    Vouch,
    Vouched,
)
from semcast.protocol.wire.frames.semantic import Packet
from semcast.protocol.wire.framing import MAX_CLIENT_FRAME, MAX_FRAME, MAX_HELLO, FrameError, VersionError

_PARKED = 256
"""Frames kept for somebody who is being dialled."""
_FIRST_S, _LONGEST_S = 0.05, 2.0
_HELLO_S = 10.0
_TURN_S, _LOOKED = 0.004, 4
"""How long frames of one connection are taken in at a time, and after how many of them the clock is looked at."""
_LOGGED_S = 1.0
"""Refusals of one kind are logged once in so long; all of them are counted."""
ORDERLY_CLOSE = "orderly-close"
"""A gateway keeps a session whose client leaves it, with what was taken; without, it would end the session."""
MANY_SESSIONS = "many-sessions"
"""A gateway takes frames in which a client speaks of many of its sessions."""
FEATURES = (ORDERLY_CLOSE, MANY_SESSIONS)
"""What this program understands beyond its protocol version; members and clients tell each other."""
log = logging.getLogger("semcast")


class Host:
    """The connections of one party. Subclasses take frames in by ``frame``, and hear of peers by ``met``, ``lost``."""

    role = "client"
    linger_s = 2.0
    """How long one that stops waits for its last frames to leave."""

    def __init__(self, name: str, *, incarnation: int = 0, beat_s: float = 0.5, dead_s: float = 2.5) -> None:
        self.name = name
        self.incarnation = incarnation
        self.address = ""
        self.peers: dict[str, Connection] = {}
        """By name; a connection is here between its hello and its end."""
        self.clocks = Clocks()
        self.leaving = Leaving()
        self.fronts: list[Front] = []
        self.doors: set[Door] = set()
        self.partial = Partial()
        self.listening = ("", "")
        """The host that it was told to listen at, and the address that this came to."""
        self.dropped = 0
        """Frames for somebody who could not be reached."""
        self.refused: Counter[str] = Counter()
        """Hellos and frames that were not taken from who sent them, by kind."""
        self._beat_s, self._dead_s = beat_s, dead_s
        self._loop = asyncio.get_running_loop()
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._dialling: dict[str, asyncio.Task[None]] = {}
        self._wanted: dict[str, str] = {}
        """Who is to be dialled, and kept: name → address."""
        self._parked: dict[str, deque[tuple[AnyFrame, bool]]] = {}
        self._pinging: asyncio.TimerHandle | None = None
        self._proofs = Proofs()
        self._admission = Admission(self)
        self._spawned: set[asyncio.Task[None]] = set()
        self._logged: dict[str, float] = {}
        self._stopping = False

    # --- being there

    async def listen(self, address: str) -> None:
        """Be reachable; port 0 takes a free one. ``address`` is what others are told."""
        host, port = split_address(address)
        try:
            self._server = await self._loop.create_server(lambda: Door(self), host, port, backlog=1024)
        except OSError as error:
            raise SemcastError(f"{self.name}: cannot listen at {address} ({error.strerror or error})") from None
        found = self._server.sockets[0].getsockname()
        self.listening = host, found[0]
        told = "127.0.0.1" if found[0] in ("0.0.0.0", "::") else found[0]
        self.address = f"{told}:{found[1]}"

    def begin(self) -> None:
        self._ping()

    async def stop(self) -> None:
        """Say nothing more, and let what was said leave."""
        self._stopping = True
        if self._pinging is not None:
            self._pinging.cancel()
        for task in (*self._dialling.values(), *self._spawned):
            task.cancel()
        if self._server is not None:
            self._server.close()
        for door in list(self.doors):
            door.close()
        connections = list(self._connections)
        for connection in connections:
            connection.close("it is being stopped")
        if connections:
            await asyncio.wait([connection.gone for connection in connections], timeout=self.linger_s)
        for connection in list(self._connections):
            connection.abort("it is being stopped")
        for front in self.fronts:
            await front.stop()

    # --- saying

    def say(self, to: str, frame: AnyFrame) -> int:
        """Send a frame to a party by its name, dialling it where that is possible; the bytes that left, 0 if none."""
        urgent = not isinstance(
            frame, Data | Leg | Tally | Packet
        )  # a tally that overtakes its data would tell of losses
        peer = self.peers.get(to)
        if peer is not None:
            return peer.send(frame, urgent=urgent)
        address = self.address_of(to)
        if address is None or self._stopping:
            self.dropped += 1
            return 0
        parked = self._parked.setdefault(to, deque(maxlen=_PARKED))
        self.dropped += len(parked) == _PARKED
        parked.append((frame, urgent))
        if to not in self._dialling:
            self._dialling[to] = self._loop.create_task(self._dial_once(to, address))
        return 0

    def address_of(self, name: str) -> str | None:
        """Where a party can be dialled; None where nobody knows."""
        return self._wanted.get(name)

    def keep(self, wanted: dict[str, str]) -> None:
        """Be connected to these parties from now on, and to no other of those kept before."""
        self._wanted = dict(wanted)
        for name in wanted:
            task = self._dialling.get(name)
            if name not in self.peers and (task is None or task.done()):
                self._dialling[name] = self._loop.create_task(self._keep_dialling(name))

    def meet(self, addresses: Iterable[str]) -> None:
        """Be connected to who is at these addresses, as soon as somebody is; their names are not known yet."""
        for address in addresses:
            self._dialling[address] = self._loop.create_task(self._meet(address))

    # --- what subclasses do

    def frame(self, peer: Connection, frame: AnyView) -> None:
        """A frame that is not about the connection itself."""

    def met(self, peer: Connection) -> None:
        """Somebody said hello, or was greeted."""

    def lost(self, peer: Connection, reason: str) -> None:
        """A peer's connection has ended."""

    def greeted(self, peer: Connection, greeting: Greeting) -> None:
        """A peer tells of the overlay."""

    def greeting(self, peer: Connection) -> Greeting:
        """What to tell who said hello."""
        return self.introduction(b"{}")

    def introduction(self, overlay: bytes) -> Greeting:
        """A greeting with what is known of the overlay."""
        return Greeting(self.name, self.role, overlay, __version__, FEATURES)

    def is_member(self, name: str) -> bool:
        """Is this the name of a broker or coordinator of the overlay?"""
        return False

    def congested(self, connection: Connection, much: bool) -> None:
        """Much waits for a peer, or not any more."""

    # --- connections

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)
        if not connection.dialled:
            connection.held.most = MAX_HELLO
            self._loop.call_later(_HELLO_S, self._impatient, connection)
            return
        proof = self._proofs.show(connection.dialled, connection.wanted)
        connection.send(Hello(self.name, self.role, self.incarnation, self.address, proof, __version__, FEATURES))

    def _impatient(self, connection: Connection) -> None:
        if not connection.name and not connection.over:
            connection.abort("it did not say who it is")

    def received(self, connection: Connection, frames: list[AnyView]) -> None:
        """Take frames in; where there are very many of them, some now and the others when others had their turn."""
        until = time.perf_counter() + _TURN_S
        for place, frame in enumerate(frames):
            if connection.over:
                return
            if connection.busy:
                connection.behind += frames[place:]
                return
            if place and not place % _LOOKED and time.perf_counter() > until:
                self._later(connection, frames[place:])
                return
            kind = type(frame)
            if kind is Ping:
                connection.send(Pong(frame.sent_at, time.time()))  # type: ignore[union-attr]
            elif kind is Pong:
                self.clocks.heard(connection.name, frame.sent_at, frame.at, time.time())  # type: ignore[union-attr]
            elif kind is Hello:
                self._admission.hello(connection, frame)  # type: ignore[arg-type]
            elif kind is Greeting:
                self._greeting(connection, frame)  # type: ignore[arg-type]
            elif kind is Vouch:
                connection.send(Vouched(self.name, self._proofs.vouch(frame)))  # type: ignore[arg-type]
            elif connection.name:
                self.frame(connection, frame)
            elif kind is ProtocolError and connection.dialled:
                connection.close(frame.reason)  # type: ignore[union-attr]
            else:
                self.refuse(connection, kind.__name__, "say hello first")

    def _later(self, connection: Connection, frames: list[AnyView]) -> None:
        """Go on with frames when others have had their turn; what their sender says next comes behind them."""
        connection.busy = True
        connection.pause()
        connection.behind = frames
        self._loop.call_soon(self._catch_up, connection)

    def _catch_up(self, connection: Connection) -> None:
        connection.busy = False
        behind, connection.behind = connection.behind, []
        if connection.over:
            return
        with connection.turn():
            self.received(connection, behind)
        if not connection.busy:
            connection.resume()

    def set_aside(self, connection: Connection, work: Coroutine[Any, Any, None]) -> None:
        """Take nothing more from a connection until some work is done that its last frame asked for."""
        connection.busy = True
        connection.pause()
        self.spawn(self._go_on(connection, work))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in the background; it ends when this host stops."""
        task = self._loop.create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    async def _go_on(self, connection: Connection, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            connection.busy = False
        behind, connection.behind = connection.behind, []
        self.received(connection, behind)
        if not connection.busy:
            connection.resume()

    def faulty(self, connection: Connection, error: FrameError) -> None:
        """End a connection that sent bad bytes. To another version the answer is a frame that shows this one."""
        if isinstance(error, VersionError):
            connection.mismatch = error
        if connection.dialled:
            connection.close(f"it sent something other than a frame: {error}")
        elif connection.mismatch is not None:
            self.refuse(connection, "version", f"{error} (semcast {__version__})")
        else:
            self.refuse(connection, "bytes", str(error))

    def refuse(self, connection: Connection, what: str, reason: str) -> None:
        """Take nothing more from a connection whose end sent what it may not send; count it, and say why."""
        self.refused[what] += 1
        now = self._loop.time()
        if now - self._logged.get(what, float("-inf")) >= _LOGGED_S:
            self._logged[what] = now
            who = f"{connection.role} {connection.name!r}" if connection.name else "somebody"
            log.warning("%s: refused %s from %s at %s: %s", self.name, what, who, connection.peer, reason)
        connection.send(ProtocolError(reason))
        connection.close(reason)

    def admit(self, connection: Connection, hello: Hello) -> None:
        """Know a connection by the name that it has claimed, in place of an older one."""
        known = self.peers.get(hello.name)
        if known is not None:
            mine = known.dialled and self.name < hello.name and hello.incarnation <= known.incarnation
            if mine and hello.role not in CLIENTS:
                connection.close("there is a connection already")
                return
            known.abort("it has come again")
            self._forget(known, "it has come again")
        connection.name, connection.role, connection.incarnation = hello.name, hello.role, hello.incarnation
        connection.proof, connection.features = hello.proof, hello.features
        connection.held.most = MAX_CLIENT_FRAME if hello.role in CLIENTS else MAX_FRAME
        connection.send(self.greeting(connection))
        self._welcome(connection, hello.address)

    def _greeting(self, connection: Connection, greeting: Greeting) -> None:
        if not connection.dialled:
            self.refuse(connection, "Greeting", "who dials says hello")
            return
        if not connection.name:
            wrong = connection.wanted and greeting.name != connection.wanted
            if wrong or not self.expects(greeting):
                connection.abort(f"{greeting.name} answered at {connection.dialled}, not {connection.wanted or 'it'}")
                return
            connection.name, connection.role, connection.features = greeting.name, greeting.role, greeting.features
            self._welcome(connection, "")
        self.greeted(connection, greeting)

    def _welcome(self, connection: Connection, address: str) -> None:
        self.peers[connection.name] = connection
        if not connection.met.done():
            connection.met.set_result(None)
        self.said_hello(connection, address)
        self.met(connection)
        for frame, urgent in self._parked.pop(connection.name, ()):
            connection.send(frame, urgent=urgent)

    def expects(self, greeting: Greeting) -> bool:
        """May this party be at an address that was dialled?"""
        return True

    def address_of_member(self, name: str) -> str | None:
        """Where the overlay says that a broker listens; None where it does not know."""
        return None

    def said_hello(self, connection: Connection, address: str) -> None:
        """Who said hello told where it can be dialled."""

    def closed(self, connection: Connection, reason: str) -> None:
        self._connections.discard(connection)
        self._forget(connection, reason)

    def _forget(self, connection: Connection, reason: str) -> None:
        if self.peers.get(connection.name) is not connection:
            return
        del self.peers[connection.name]
        self.lost(connection, reason)
        if connection.name in self._wanted and not self._stopping:
            self.keep(self._wanted)

    # --- dialling

    async def _keep_dialling(self, name: str) -> None:
        """Dial until there is a connection, waiting longer each time, and never all at once."""
        pause = _FIRST_S
        while not self._stopping and name in self._wanted and name not in self.peers:
            await self._dial(name, self._wanted[name])
            if name in self.peers:
                return
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_S)

    async def _meet(self, address: str) -> None:
        """Dial until somebody answers, whoever it is."""
        pause = _FIRST_S
        while not self._stopping and not await self._dial("", address):
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_S)

    async def _dial_once(self, name: str, address: str) -> None:
        try:
            if not await self._dial(name, address):
                self.dropped += len(self._parked.pop(name, ()))
        finally:
            self._dialling.pop(name, None)

    async def _dial(self, name: str, address: str) -> bool:
        """Connect and wait for the greeting; was that it? Without a name, whoever answers is right."""
        host, port = split_address(address)
        try:
            async with asyncio.timeout(_HELLO_S):
                _, connection = await self._loop.create_connection(
                    lambda: Connection(self, dialled=address, wanted=name), host, port
                )
        except (OSError, TimeoutError):
            return False
        await asyncio.wait([connection.met, connection.gone], timeout=_HELLO_S, return_when=asyncio.FIRST_COMPLETED)
        if connection.over or not connection.name:
            connection.abort(f"nobody greeted at {address}")
            self.unmet(address, connection)
            return False
        return True

    def unmet(self, address: str, connection: Connection) -> None:
        """Somebody is at an address, but ended the connection without a greeting."""
        if connection.mismatch is not None:
            self.refused["version"] += 1
            log.warning("%s: cannot talk to %s: %s", self.name, address, connection.mismatch)

    # --- pings

    def _ping(self) -> None:
        """Measure the way to every peer, and leave those that have long been silent."""
        if self._stopping:
            return
        self._pinging = self._loop.call_later(self._beat_s, self._ping)
        now = self._loop.time()
        for peer in list(self.peers.values()):
            if now - peer.heard_at > 2 * self._dead_s:
                peer.abort("it has said nothing for too long")
            else:
                peer.send(Ping(time.time()))
