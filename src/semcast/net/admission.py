"""Who may go by which name.

Anybody can claim a name in a hello. A broker's claim counts when the party at that broker's address vouches for it:
the hello carries a proof, and a call back to the address asks whether the proof is its own. A client has no address;
its name is its own as long as its connection answers, unless the newcomer shows the same proof. This keeps out all who
cannot listen at a member's address. It takes keys to keep out those who can.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from semcast.model import SemcastError
from semcast.net.addresses import split_address
from semcast.net.connection import Connection
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import Hello, Ping, Vouch, Vouched
from semcast.protocol.wire.framing import LENGTH_BYTES, FrameError

if TYPE_CHECKING:
    from semcast.net.host import Host

_CALL_S = 2.0
_CALLS = 64
"""Calls back that may be under way at a time; whoever comes meanwhile is told to come again."""
_CALLS_PER_NAME = 2
_ANSWERS_S = 1.0
"""A connection whose name another one asks for has this long to show that it is still there."""
_LONGEST_NAME = 200
_ANSWER_BYTES = 4096
CLIENTS = ("client", "newcomer")


class Proofs:
    """The proofs that one party shows in its hellos: one per address that it dials, made from a secret of its own."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._shown: dict[bytes, str] = {}

    def show(self, address: str, name: str) -> bytes:
        """The proof for the member at an address; ``name`` is empty while it is not known."""
        proof = hmac.digest(self._secret, address.encode(), hashlib.sha256)
        self._shown[proof] = name or self._shown.get(proof, "")
        return proof

    def vouch(self, question: Vouch) -> bool:
        """Was this proof shown to the asker? One that was shown to another member proves nothing."""
        shown_to = self._shown.get(question.proof)
        return shown_to is not None and shown_to in ("", question.asker)


def unfit(hello: Hello, me: str, members: Callable[[str], bool]) -> str | None:
    """Why this hello is refused whatever its sender can prove; None where it is not."""
    name = hello.name
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        return f"a name has 1 to {_LONGEST_NAME} printable characters"
    if name == me:
        return f"{name} is this member's own name"
    if hello.role == "coordinator":
        return "coordinators are dialled, they dial nobody"
    if hello.role in CLIENTS:
        return f"{name} is a member of the overlay, so it cannot be the name of a client" if members(name) else None
    if hello.role != "broker":
        return f"unknown role {hello.role[:_LONGEST_NAME]!r}"
    return None if members(name) else f"the overlay has no broker {name}"


class Admission:
    """Decides on hellos. A claim that takes a call is checked while everything else goes on."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._callbacks = Callbacks(host.name)

    def hello(self, connection: Connection, hello: Hello) -> None:
        host = self._host
        if connection.dialled or connection.name:
            host.refuse(connection, "Hello", "only the end that dialled says hello, and only once")
            return
        reason = unfit(hello, host.name, host.is_member)
        if reason is not None:
            host.refuse(connection, "Hello", reason)
            return
        known = host.peers.get(hello.name)
        same = known is not None and hello.proof and known.proof == hello.proof
        if hello.role in CLIENTS and (known is None or same):
            host.admit(connection, hello)
            return
        host.set_aside(connection, self._check(connection, hello))

    async def _check(self, connection: Connection, hello: Hello) -> None:
        """Find out whether a name belongs to who claims it."""
        host = self._host
        if hello.role in CLIENTS:
            reason = f"{hello.name} is connected already" if await self._answers(hello.name) else None
        else:
            known = host.address_of_member(hello.name)
            reason = await self._callbacks.refusal(hello, known, lambda: self._answers(hello.name))
        if connection.over:
            return
        if reason is not None:
            host.refuse(connection, "Hello", reason)
        else:
            host.admit(connection, hello)

    async def _answers(self, name: str) -> bool:
        """Does the party that has a name still answer?"""
        loop, known = asyncio.get_running_loop(), self._host.peers.get(name)
        if known is None:
            return False
        asked = loop.time()
        known.send(Ping(time.time()))
        while known.heard_at <= asked and not known.over and loop.time() < asked + _ANSWERS_S:
            await asyncio.wait([known.gone], timeout=0.02)
        return known.heard_at > asked and not known.over


class Callbacks:
    """Calls back to the addresses of brokers that say hello."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._under_way: dict[str, int] = {}

    async def refusal(self, hello: Hello, known: str | None, taken: Callable[[], Awaitable[bool]]) -> str | None:
        """Why a broker is not believed, or None.

        ``known`` is where the overlay says that the broker is. If nobody is there, the broker may have moved: then the
        address in the hello counts, unless the name is ``taken`` by a connection that still answers.
        """
        if sum(self._under_way.values()) >= _CALLS or self._under_way.get(hello.name, 0) >= _CALLS_PER_NAME:
            return "too many ask for this at the moment"
        self._under_way[hello.name] = self._under_way.get(hello.name, 0) + 1
        try:
            return await self._checked(hello, known, taken)
        finally:
            self._under_way[hello.name] -= 1
            if not self._under_way[hello.name]:
                del self._under_way[hello.name]

    async def _checked(self, hello: Hello, known: str | None, taken: Callable[[], Awaitable[bool]]) -> str | None:
        if known is not None:
            vouched = await self._call(known, hello)
            if vouched is not None:
                return None if vouched else f"{hello.name} at {known} does not know of this connection"
        if await taken():
            return f"{hello.name} is connected already"
        if hello.address == known or not hello.address:
            return f"nobody answers for {hello.name} at {known}" if known else f"{hello.name} names no address"
        if await self._call(hello.address, hello):
            return None
        return f"nobody at {hello.address[:_LONGEST_NAME]} answers for {hello.name}"

    async def _call(self, address: str, hello: Hello) -> bool | None:
        """Does the party at an address vouch for a hello? None where nobody answers there."""
        try:
            async with asyncio.timeout(_CALL_S):
                answer = await self._asked(*split_address(address), Vouch(self._me, hello.proof))
        except (OSError, TimeoutError, ValueError, SemcastError, EOFError):
            return None  # nobody is there, or somebody else, or it is not an address at all
        return answer.mine and answer.name == hello.name if isinstance(answer, Vouched) else None

    async def _asked(self, host: str, port: int, question: Vouch) -> object:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(encode(question))
            head = await reader.readexactly(LENGTH_BYTES)
            length = int.from_bytes(head, "little")
            if length > _ANSWER_BYTES:
                raise FrameError("an answer that is too long")
            return decode(head + await reader.readexactly(length))
        finally:
            writer.close()
