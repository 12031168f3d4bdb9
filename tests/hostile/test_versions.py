"""Two ends that speak different versions say so at once, both of them."""

from __future__ import annotations

import asyncio

import pytest

import semcast
from semcast.client import OtherVersion, Unreachable
from semcast.protocol.wire.codec import encode
from semcast.protocol.wire.frames import Greeting
from semcast.protocol.wire.framing import VERSION, VersionError, whole
from semcast.server.serve import run
from tests.hostile.conftest import Target
from tests.hostile.raw import client

pytestmark = pytest.mark.system


def of_version(data: bytes, version: int) -> bytes:
    return data[:4] + bytes([version]) + data[5:]


def test_a_member_answers_another_version_with_its_own_and_logs_both(unharmed: Target) -> None:
    async def dial() -> bytes:
        reader, writer = await asyncio.open_connection(*unharmed.where("b2"))
        writer.write(of_version(encode(client()), 77))
        async with asyncio.timeout(10):
            answer = await reader.read()
        writer.close()
        return answer

    answer = run(dial())
    assert answer[4] == VERSION  # whoever speaks version 77 reads this, wherever its own frames differ
    with pytest.raises(VersionError, match=f"version {VERSION} of the protocol, this one version 77"):
        raise _as_seen_by(77, answer)
    assert f"the other end speaks version 77 of the protocol, this one version {VERSION}" in unharmed.log()


def _as_seen_by(version: int, data: bytes) -> VersionError:
    """What a program of another version reads in an answer."""
    from semcast.protocol.wire import framing

    mine, framing.VERSION = framing.VERSION, version
    try:
        whole(data, 0)
    except VersionError as error:
        return error
    finally:
        framing.VERSION = mine
    raise AssertionError("it was taken for a frame of its own")


async def _served(answer: bytes) -> tuple[asyncio.Server, str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    return server, f"{host}:{port}"


def test_a_client_says_both_versions_at_once() -> None:
    async def dial() -> None:
        server, address = await _served(of_version(encode(Greeting("b9", "broker", b"{}")), 3))
        async with server:
            begun = asyncio.get_running_loop().time()
            with pytest.raises(OtherVersion, match=rf"{address} speaks version 3 .* version {VERSION}"):
                await semcast.connect(address).open(patience_s=60)
            assert asyncio.get_running_loop().time() - begun < 30  # it did not go on trying

    run(dial())


def test_a_client_that_is_not_let_in_says_why(unharmed: Target) -> None:
    async def dial() -> None:
        with pytest.raises(Unreachable, match="does not let this client in: b0 is a member of the overlay"):
            await semcast.connect(unharmed.addresses["b2"], name="b0").open(patience_s=0.2)
        server, address = await _served(b"")
        async with server:
            with pytest.raises(Unreachable, match=r"closed it|without a greeting"):
                await semcast.connect(address).open(patience_s=0.2)

    run(dial())


def test_greetings_carry_the_version_of_the_program(unharmed: Target) -> None:
    from tests.hostile.raw import Raw

    async def dial() -> Greeting:
        async with Raw(unharmed.where("c0")) as raw:
            raw.say(client("curious"))
            return await raw.greeted()

    greeting = run(dial())
    assert greeting.software == semcast.__version__
    assert "orderly-close" in greeting.features
