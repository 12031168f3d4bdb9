"""One overlay, one dashboard and one browser for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import find_program
from tests.live.http.browser import Page, browsing
from tests.web.world import Served, World


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="package")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a pipeline would tell of its batches; empty at first."""
    file = tmp_path_factory.mktemp("pipeline") / "progress.jsonl"
    file.touch()
    return file


@pytest.fixture(scope="package")
def served(world: World, batches: Path) -> Iterator[Served]:
    made = Served("--url", f"semcast://{world.coordinator}", "--pipeline", str(batches))
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(find_program("chromium"), tmp_path_factory.mktemp("browser")) as page:
        page.strict = True
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    browser.troubles.clear()
    yield browser
    troubles = list(browser.troubles)
    browser.open("about:blank")  # or it goes on asking a server that is stopped before the next test
    assert troubles == []
