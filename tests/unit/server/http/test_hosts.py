"""Which Host headers name a member."""

from __future__ import annotations

import asyncio
import socket
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.dashboard.serving import Serving
from semcast.server.http.hosts import known_host


@pytest.mark.parametrize(
    ("header", "given", "bound", "known"),
    [
        ("127.0.0.1:7400", "127.0.0.1", "127.0.0.1", True),
        ("localhost", "127.0.0.1", "127.0.0.1", True),
        ("127.8.8.8", "127.0.0.1", "127.0.0.1", True),
        ("[::1]:80", "127.0.0.1", "127.0.0.1", True),
        ("[::1]:80", "::1", "::1", True),
        ("10.0.0.2:7400", "10.0.0.2", "10.0.0.2", True),
        ("localhost", "10.0.0.2", "10.0.0.2", False),
        ("10.0.0.3", "10.0.0.2", "10.0.0.2", False),
        ("broker1:7400", "broker1", "10.0.0.2", True),
        ("BROKER1.", "broker1", "10.0.0.2", True),
        ("10.9.9.9", "0.0.0.0", "0.0.0.0", True),
        ("[2001:db8::1]", "::", "::", True),
        (socket.gethostname(), "0.0.0.0", "0.0.0.0", True),
        ("evil.example", "0.0.0.0", "0.0.0.0", False),
        ("overlay.example:443", "10.0.0.2", "10.0.0.2", True),
        ("overlay.example.evil.example", "10.0.0.2", "10.0.0.2", False),
        ("127.0.0.1.evil.example", "127.0.0.1", "127.0.0.1", False),
        ("", "127.0.0.1", "127.0.0.1", False),
        ("127.0.0.1:x", "127.0.0.1", "127.0.0.1", False),
        ("[::1", "127.0.0.1", "127.0.0.1", False),
        ("[::1]x", "127.0.0.1", "127.0.0.1", False),
    ],
)
def test_a_member_is_known_by_where_it_listens_and_by_the_names_of_its_file(
    header: str, given: str, bound: str, known: bool
) -> None:
    assert known_host(header, given, bound, ["Overlay.example"]) is known


@given(st.text(max_size=30), st.sampled_from(["127.0.0.1", "0.0.0.0", "10.0.0.2"]))
def test_no_header_breaks_it_and_no_name_is_known_that_was_not_given(header: str, bound: str) -> None:
    found = known_host(header, bound, bound)
    letters = any(character.isalpha() for character in header.replace("localhost", "").replace("LOCALHOST", ""))
    if letters and ":" not in header and header.strip().lower() not in ("localhost", socket.gethostname().lower()):
        assert not found


class _Empty(Serving):
    def routes(self) -> list[object]:  # type: ignore[override]
        return []


def test_the_page_of_a_dashboard_is_served_under_its_own_names_only() -> None:
    async def asked(host: str) -> int:
        serving = _Empty()
        await serving.start("127.0.0.1", 0, ["dash.example"])
        request = Request(f"http://{serving.address}/", headers={"Host": host})

        def status() -> int:
            try:
                with urlopen(request, timeout=30) as answer:
                    return int(answer.status)
            except HTTPError as error:
                return error.code

        try:
            return await asyncio.to_thread(status)
        finally:
            await serving.stop()

    assert asyncio.run(asked("dash.example")) == 200
    assert asyncio.run(asked("localhost:1")) == 200
    assert asyncio.run(asked("evil.example")) == 421
