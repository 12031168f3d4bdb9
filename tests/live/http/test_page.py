"""The page at a gateway, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from semcast.client.blocking import BlockingClient
from tests.live.http.browser import Page, browsing
from tests.live.http.running import Running, ask, publish

pytestmark = pytest.mark.system
SHOWN = "[...document.querySelectorAll('#messages li[data-id]')].map(row => row.dataset.id)"


@pytest.fixture
def page(require_program: Callable[[str], str], tmp_path: Path) -> Iterator[Page]:
    with browsing(require_program("chromium"), tmp_path) as page:
        yield page
        assert page.troubles == []


def test_a_browser_shows_exactly_what_the_python_client_gets_also_after_its_gateway_was_restarted(
    overlay: Running, page: Page
) -> None:
    gateway = overlay.gateways[-1]
    address, elsewhere = overlay.addresses[gateway], overlay.addresses[overlay.gateways[0]]
    profile = "price >= 800 AND price < 900 AND symbol <> 'not me'"
    with BlockingClient(f"semcast://{elsewhere}") as client:
        subscription = client.subscribe("quotes", profile)
        subscription.live()
        page.open(f"http://{address}/?{urlencode({'stream': 'quotes', 'profile': profile})}")
        page.until("document.getElementById('how').textContent === 'live'")
        for first in (800, 850):
            rows = [{"symbol": "not me" if n % 3 == 0 else "<b>me</b>", "price": first + n} for n in range(30)]
            publish(elsewhere, "quotes", rows)
            publish(elsewhere, "quotes", {"symbol": "other", "price": 5})
            page.until(f"{SHOWN}.length === {20 if first == 800 else 40}")
            if first == 800:
                overlay.restart(gateway)
        theirs = sorted(subscription_ids(subscription, 40))
    assert sorted(page.run(SHOWN)) == theirs
    assert page.run("document.getElementById('count').textContent") == "40"
    assert page.run("document.querySelectorAll('#messages b').length") == 0  # text is text
    hosts = {request.split("/")[2] for request in page.requests if not request.startswith("data:")}
    assert hosts == {address}


def subscription_ids(subscription: object, count: int) -> list[str]:
    return [next(subscription).id for _ in range(count)]  # type: ignore[call-overload]


def test_a_person_types_a_profile_and_is_told_what_is_wrong_with_it(overlay: Running, address: str, page: Page) -> None:
    page.open(f"http://{address}/")
    page.until("document.querySelectorAll('#stream option').length > 0")
    page.run("stream.value = 'quotes'; profile.value = 'prise > 1'; document.getElementById('watch').click()")
    page.until("document.getElementById('trouble').textContent.includes(\"did you mean 'price'?\")")
    page.run("profile.value = 'price > 1'; document.getElementById('watch').click()")
    page.until("document.getElementById('how').textContent === 'live'")
    assert page.run("document.getElementById('trouble').textContent") == ""
    page.run("document.getElementById('watch').click()")
    assert page.run("document.getElementById('how').textContent") == "nothing is watched"


def test_who_is_no_gateway_shows_where_they_are_and_the_api_is_shown_to_people(overlay: Running, page: Page) -> None:
    page.open(f"http://{overlay.addresses['c0']}/")
    page.until("document.querySelectorAll('#state a').length > 0")
    links = page.run("[...document.querySelectorAll('#state a')].map(link => link.textContent)")
    assert sorted(links) == sorted(overlay.gateways)
    page.open(f"http://{overlay.addresses['c0']}/docs")
    page.until("document.querySelectorAll('section').length > 10")


def test_pages_need_nothing_from_anywhere_else(address: str) -> None:
    for path in ("/", "/docs"):
        text = ask(address, path).body.decode()
        script, _, rest = text.partition('id="about">')
        assert "://" not in script + rest.partition("</script>")[2]
        assert "default-src 'none'" in ask(address, path).headers["content-security-policy"]
