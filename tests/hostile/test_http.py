"""Requests without end, requests that never end, and pages that are not what they seem."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterable
from urllib.error import HTTPError

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from semcast.protocol.wire.framing import PREFIX, VERSION
from semcast.server.http.protocol import HEAD_BYTES, LINE_BYTES
from semcast.server.serve import run
from tests.cases import CASES
from tests.hostile.attacks import Record, attacked
from tests.hostile.conftest import Target
from tests.hostile.raw import Raw, client

pytestmark = pytest.mark.system


async def asked(where: tuple[str, int], pieces: Iterable[bytes], patience_s: float = 30) -> bytes:
    """Send a request piece by piece, until the other end has had enough; all that it answers."""
    reader, writer = await asyncio.open_connection(*where)
    answer = asyncio.create_task(reader.read())
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if answer.done():
                break
        async with asyncio.timeout(patience_s):
            return await answer
    except OSError:
        return await answer if answer.done() and answer.exception() is None else b""
    finally:
        answer.cancel()
        writer.close()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def head(where: tuple[str, int], *lines: str) -> bytes:
    return "\r\n".join(["GET /healthz HTTP/1.1", f"Host: {where[0]}:{where[1]}", *lines, "", ""]).encode()


ENDLESS = {
    "a header": [b"GET / HTTP/1.1\r\nX: "] + [b"a" * (1 << 20)] * 200,
    "a header's name": [b"GET / HTTP/1.1\r\n"] + [b"a" * (1 << 20)] * 200,
    "headers": [b"GET / HTTP/1.1\r\n"] + [b"X: a\r\n" * (1 << 17)] * 200,
    "a request line": [b"GET /"] + [b"a" * (1 << 20)] * 200,
    "empty lines": [b"GET / HTTP/1.1\r\n", b"\r\n" * 100] + [b"\r\n" * (1 << 19)] * 200,
    "a chunk's extension": [b"POST /v1/streams/topics/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a="]
    + [b"a" * (1 << 20)] * 200,
    "trailers": [b"POST /v1/streams/topics/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "]
    + [b"a" * (1 << 20)] * 200,
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_never_ends_is_cut_off(what: str, unharmed: Target, record_property: Record) -> None:
    """200 MB where a few bytes belong, to a coordinator and to a gateway."""

    async def attack(target: Target) -> None:
        for member in ("c0", "b2"):
            answer = await asked(target.where(member), ENDLESS[what])
            assert status(answer) in (0, 400, 421, 431), answer[:200]

    attacked(unharmed, attack, record_property)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], 200),
        (["X: " + "a" * (LINE_BYTES - 1)], 200),
        (["X: " + "a" * (LINE_BYTES + 1)], 431),
        ([f"X{n}: " + "a" * 15_000 for n in range(4)], 200),
        ([f"X{n}: " + "a" * 15_000 for n in range(5)], 431),
        (["X: a"] * 20_000, 431),
    ],
)
def test_headers_have_limits(lines: list[str], expected: int, unharmed: Target) -> None:
    where = unharmed.where("b2")
    answer = run(asked(where, [head(where, *lines, "Connection: close")]))
    assert status(answer) == expected
    if expected == 431:
        assert "longer than" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def test_a_long_request_line_is_refused(unharmed: Target) -> None:
    answer = run(asked(unharmed.where("c0"), [b"GET /" + b"a" * (LINE_BYTES + 1) + b" HTTP/1.1\r\n\r\n"]))
    assert status(answer) == 431


@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.one_of(st.integers(1, 200), st.integers(LINE_BYTES - 9, LINE_BYTES + 9)), max_size=9),
    cuts=st.integers(1, 4),
)
def test_any_headers_are_taken_or_refused_by_their_size(sizes: list[int], cuts: int, target: Target) -> None:
    """The law: 200 exactly if no header is above its limit, nor all together, however the request is cut."""
    where = target.where("b2")
    headers = [(f"X{place:02}", "a" * max(0, size - 3)) for place, size in enumerate(sizes)]
    data = head(where, *(f"{name}: {value}" for name, value in headers), "Connection: close")
    step = len(data) // cuts + 1
    answer = run(asked(where, [data[at : at + step] for at in range(0, len(data), step)]))
    longest = max((len(name) + len(value) for name, value in headers), default=0)
    if longest > LINE_BYTES or len(data) > HEAD_BYTES + 100:  # the request line counts without its ends
        assert status(answer) == 431
    elif len(data) <= HEAD_BYTES:
        assert status(answer) == 200


def test_a_thousand_slow_connections_end(unharmed: Target, record_property: Record) -> None:
    """Each sends a byte now and then. All are told, and closed, within the time that headers have."""

    async def slow(where: tuple[str, int], first: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*where)
        answer = asyncio.create_task(reader.read())
        writer.write(first)
        try:
            async with asyncio.timeout(60):
                while not answer.done():
                    writer.write(b"a")
                    await asyncio.wait([answer], timeout=1.0)
            return b"" if answer.exception() else answer.result()
        finally:
            writer.close()

    async def attack(target: Target) -> None:
        where = target.where("b2")
        firsts = [b"GET / HTTP/1.1\r\nX: ", b"", b"GE", b"\x10\xff", b"POST "]
        answers = await asyncio.gather(*(slow(where, firsts[n % 5]) for n in range(1000)))
        assert {status(answer) for answer in answers[::5]} == {408}

    attacked(unharmed, attack, record_property)


def test_half_frames_of_many_connections_have_a_bound_together(unharmed: Target, record_property: Record) -> None:
    async def attack(target: Target) -> None:
        half = PREFIX.pack(6 << 20, VERSION, 0) + bytes(5 << 20)
        lines = [Raw(target.where("b2")) for _ in range(20)]
        for raw in lines:
            await raw.__aenter__()
            raw.say(client(f"half {id(raw)}"))
            await raw.greeted()
            raw.write(half)
            await raw.drain()
        async with asyncio.timeout(60):
            while sum(raw.over.is_set() for raw in lines) < 8:
                await asyncio.sleep(0.05)
        assert not lines[-1].over.is_set()  # the oldest go first
        for raw in lines:
            await raw.__aexit__(None, None, None)

    attacked(unharmed, attack, record_property)


# --- pages


def answered(
    target: Target, path: str, member: str = "b2", body: bytes | None = None, **headers: str
) -> tuple[int, str]:
    """Status and Access-Control-Allow-Origin of a request."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://{target.addresses[member]}{path}", body, given)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers.get("access-control-allow-origin", "")
    except HTTPError as error:
        return error.code, error.headers.get("access-control-allow-origin", "")


EVIL = {"Host": "evil.example", "Origin": "http://evil.example"}


def test_a_name_that_leads_here_is_not_a_name_of_this_overlay(unharmed: Target) -> None:
    """DNS rebinding: Host and Origin of a page are equal, and neither is ours."""
    publish = "/v1/streams/topics/messages?topic=canary/forged"
    assert answered(unharmed, publish, body=b"x", **EVIL)[0] == 421
    assert answered(unharmed, "/reorganise", "c0", b"", **EVIL)[0] == 421
    assert answered(unharmed, "/subz", **EVIL)[0] == 421
    port = unharmed.where("b2")[1]
    for host in ("127.0.0.1", f"127.0.0.1:{port}", "localhost:9999", "overlay.example", "OVERLAY.example.:80", "[::1]"):
        assert answered(unharmed, "/healthz", Host=host)[0] == 200, host
    for host in ("overlay.example.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "a b", "[", "", "::1", "x:y"):
        assert answered(unharmed, "/healthz", Host=host)[0] in (400, 421), host


def test_a_websocket_of_another_name_is_refused(unharmed: Target) -> None:
    async def attack() -> None:
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"ws://{unharmed.addresses['b2']}/v1/ws", additional_headers={"Host": "evil.example"}):
                pass
        assert refused.value.response.status_code in (400, 421)

    run(attack())


@pytest.mark.parametrize("path", ["/subz", "/samplez", "/statusz", "/channelz", "/treez", "/overlayz", "/metrics"])
def test_pages_of_other_origins_cannot_read_how_the_overlay_stands(path: str, unharmed: Target) -> None:
    assert answered(unharmed, path, Origin="http://evil.example") == (200, "")
    assert answered(unharmed, "/v1/streams", Origin="http://evil.example") == (200, "*")


@pytest.mark.parametrize("path", ["/planz", "/eventz"])
def test_nor_how_a_coordinator_decides(path: str, unharmed: Target) -> None:
    assert answered(unharmed, path, "c0", Origin="http://evil.example") == (200, "")
