"""The client for programs without asyncio, against a running overlay."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from semcast.client import connect_blocking
from tests.live.overlays import CALM, written
from tests.pipeline.overlays import running

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = written(tmp_path_factory.mktemp("blocking"), brokers=5, gateways=1, settings=CALM)
    with running(file) as addresses:
        yield "semcast://" + addresses["c0"]


def test_what_comes_after_a_timeout_is_given_to_whoever_asks_next(url: str) -> None:
    with connect_blocking(url) as client:
        subscription = client.subscribe("topics", "late")
        assert subscription.next(0.1) is None
        for number in range(3):
            client.publish("topics", str(number), topic="late/news")
        assert [next(subscription).payload for _ in range(3)] == [b"0", b"1", b"2"]
        assert subscription.next(0.1) is None


def test_what_comes_after_ctrl_c_is_given_to_whoever_asks_next(url: str) -> None:
    with connect_blocking(url) as client:
        subscription = client.subscribe("topics", "interrupted")
        for number in range(3):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                next(subscription)
            client.publish("topics", str(number), topic="interrupted/news")
            assert next(subscription).payload == str(number).encode()


def test_closing_ends_what_was_asked_for(url: str) -> None:
    with connect_blocking(url) as client:
        subscription = client.subscribe("topics", "closed")
        assert subscription.next(0.1) is None
        subscription.close()
        again = client.subscribe("topics", "closed")
        client.publish("topics", "1", topic="closed/news")
        assert next(again).payload == b"1"
