"""The page of a network of semantic routers, which have filters instead of channels."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from itertools import count, pairwise

import pytest

from tests.live.http.browser import Page
from tests.live.overlays import CALM
from tests.pipeline.overlays import running
from tests.web.pages import SAYS, SHOTS, js, opened, typed, walk
from tests.web.world import Served, clients_of

pytestmark = pytest.mark.system
CONFIG = f"""
name = "charts"
scheme = "semnet"

[topology]
brokers = 9
degree = 3
seed = 5
sources = ["b0", "b1"]
gateways = ["b2", "b4", "b6", "b8"]

[streams.charts]
language = "semantic"
namespaces = {{ m = "urn:maps" }}

[settings]
{CALM}
"""
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PROFILES = [
    'm:chart {m:region = "1"}', 'm:chart {m:region = "2"}', 'm:chart {m:region = "1"; m:scale = "2"}',
    'm:chart {m:scale = "3"}', 'm:chart {m:region = "1"}',
]  # fmt: skip
SAYS_THERE = SAYS | {
    "channels": """told('/api/channels', it => it.channels.length === 0 && same(rows(), it.routers.map(one => one.id))
        && it.routers.every(one => cell(one.id, 'filters') === String(one.filters))
        && it.routers.some(one => one.filters > 0) && document.querySelectorAll('.tree li').length > 0)""",
    "pipeline": """told('/api/pipeline', it => it.file === null
        && document.querySelector('.empty').innerText.includes('No pipeline reports'))""",
}


def chart(number: int) -> str:
    inner = f"<m:region>{1 + number % 4}</m:region><m:scale>{1 + number % 3}</m:scale>"
    about = f"<rdf:Description><m:chart>{inner}</m:chart></rdf:Description>"
    return f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:m="urn:maps">{about}</rdf:RDF>'


async def crowd(addresses: list[str], live: threading.Event, ended: threading.Event) -> None:
    """Readers at every gateway, and charts that are corrected without end."""
    async with clients_of(addresses) as clients:
        for place, profile in enumerate(PROFILES):
            await clients[place % len(clients)].subscribe("charts", profile, max_delay_ms=5000.0).live()
        live.set()
        for number in count():
            await clients[number % len(clients)].publish("charts", chart(number))
            await asyncio.sleep(0.05)
            if ended.is_set():
                return


@pytest.fixture(scope="module")
def routers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    file = tmp_path_factory.mktemp("routers") / "routers.toml"
    file.write_text(CONFIG)
    live, ended = threading.Event(), threading.Event()
    with running(file) as addresses:
        gateways = [addresses[name] for name in ("b2", "b4", "b6", "b8")]
        thread = threading.Thread(target=lambda: asyncio.run(crowd(gateways, live, ended)))
        thread.start()
        assert live.wait(120)
        made = Served("--url", f"semcast://{addresses['c0']}")
        yield made
        assert made.stop() == 0
        ended.set()
        thread.join()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_every_view_of_routers_shows_what_its_json_says(page: Page, routers: Served, width: int, dark: bool) -> None:
    walk(page, routers, SAYS_THERE, "routers-", width, dark=dark)


def test_routers_cost_what_shortest_path_trees_cost_and_no_more_than_unicast(routers: Served, page: Page) -> None:
    opened(page, routers, "cost")
    page.until(js("told('/api/cost', it => it.compared?.messages > 50)"))
    compared = routers.json("/api/cost")["compared"]
    assert compared["plan"] == pytest.approx(compared["spt"])
    assert compared["oracle"] <= compared["plan"] <= compared["unicast"]


def test_a_router_shows_what_is_wanted_behind_its_ports(page: Page, routers: Served) -> None:
    opened(page, routers, "overlay")
    page.until("document.querySelectorAll('[data-channel]').length === 3")
    page.run("document.querySelector('[data-channel=b0]').click()")
    tree = next(one["tree"] for one in routers.json("/api/overlay")["channels"] if one["id"] == "b0")
    assert page.run(js("graph.lit.links.length")) == len(tree) > 0
    page.run(typed("#broker", "b0", "change"))
    page.until("document.querySelectorAll('#broker-details details code').length > 0")
    told = next(one for one in routers.json("/api/brokers/b0")["trees"] if one["tree"] == "charts@b0")
    texts = page.run(js("all('#broker-details details code', one => one.textContent)"))
    assert set(told["filters"].values()) <= set(texts)
    assert not page.run("/undefined|NaN|\\[object/.test(document.body.innerText)")
    page.run("window.read = document.querySelector('#broker-details summary'); read.focus(); read.click()")
    page.until("!read.isConnected")  # shown anew, with the numbers of now
    assert page.run("document.querySelector('#broker-details details').open")
    assert page.run("document.activeElement === document.querySelector('#broker-details summary')")
    page.screenshot(SHOTS / "routers-broker-1280-light.png")


def test_a_reader_at_a_router_is_told_why_it_gets_a_chart_and_which_way_it_came(page: Page, routers: Served) -> None:
    opened(page, routers, "subscribers")
    page.until(js(f"rows().length === {len(PROFILES)}"))
    row = next(one for one in routers.json("/api/subscribers")["subscribers"] if 'scale = "3"' in one["profile"])
    page.run(typed("#filter", row["session"]))
    page.until(js("rows().length === 1"))
    page.run("document.querySelector('tbody button').click()")
    page.until("document.querySelectorAll('#why .panel').length > 0")
    links = {frozenset((link["a"], link["b"])) for link in routers.json("/api/overlay")["links"]}
    reasons = routers.json(f"/api/why?session={row['session']}")["messages"]
    assert reasons
    for reason in reasons:
        assert "<m:scale>3</m:scale>" in reason["message"]["payload"]
        path = reason["way"][0]["path"]
        assert (path[0], path[-1]) == (reason["message"]["id"].split(":")[0], row["gateway"])
        assert all(frozenset(link) in links for link in pairwise(path))
    assert "tree from" in page.run("document.querySelector('#why .path').textContent")
    page.screenshot(SHOTS / "routers-why-1280-light.png")


def test_a_profile_is_tried_on_what_routers_carry(page: Page, routers: Served) -> None:
    opened(page, routers, "try")
    page.until("document.querySelectorAll('#stream option').length === 1")
    page.run(typed("#profile", 'm:chart {m:region = "1"; m:scale = "3"}'))
    page.until("document.querySelector('#selectivity')?.textContent.includes('of the latest')")
    told = page.run("document.querySelector('#tried').textContent")
    assert "covered by2 live profiles" in told  # that of region 1, which two have, and that of scale 3
    page.run("document.querySelector('#watch').click()")
    page.until("document.querySelectorAll('#matching li[data-id]').length > 1")
    page.run("document.querySelector('#watch').click()")
