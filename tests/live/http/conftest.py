"""One overlay for all tests of the HTTP front."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.http.running import Running


@pytest.fixture(scope="package")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("overlay"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def address(overlay: Running) -> str:
    """A gateway."""
    return overlay.addresses[overlay.gateways[0]]
