"""Each view of the page shows what its JSON says, at two widths and in both themes; screenshots stay in build."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from semcast.pipeline.streaming import Batch
from tests.live.http.browser import Page
from tests.live.http.running import ask
from tests.web.pages import SAYS, SHOTS, js, opened, typed, walk
from tests.web.world import PROFILES, Served, World

pytestmark = pytest.mark.system


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_every_view_shows_what_its_json_says(page: Page, served: Served, width: int, dark: bool) -> None:
    walk(page, served, SAYS, "", width, dark=dark)
    bright = page.run("getComputedStyle(document.body).color.match(/\\d+/g).every(part => part > 128)")
    assert bright is dark


def test_figures_above_all_views_are_those_of_the_json(page: Page, served: Served) -> None:
    opened(page, served, "events")
    page.until("document.querySelectorAll('#figures dd').length === 6")
    figures = page.run(js("all('#figures dd', one => one.textContent)"))
    told = served.json("/api/summary")
    assert figures[0] == f"{told['up']} of {told['brokers']}"
    assert figures[1].startswith(f"{told['channels']} ")
    assert figures[2].strip() == str(told["sessions"]) == str(len(PROFILES))


def test_a_channel_lights_its_tree_and_a_broker_shows_its_tables(page: Page, served: Served) -> None:
    opened(page, served, "overlay")
    page.until("document.querySelectorAll('[data-channel]').length > 1")
    page.run("document.querySelectorAll('[data-channel]')[1].focus()")
    page.press("Enter")
    channel = served.json("/api/overlay")["channels"][0]
    assert page.run(js("graph.lit.links.length")) == len(channel["tree"])
    assert page.run("document.querySelector('[aria-pressed=true]').dataset.channel") == channel["id"]
    name = channel["rendezvous"]
    page.until(js("graph.xs?.length > 0"))
    x, y = page.run(js(f"[graph.xs[graph.place.get('{name}')], graph.ys[graph.place.get('{name}')]]"))
    left, top = page.run("(box => [box.x, box.y])(document.querySelector('canvas').getBoundingClientRect())")
    page.click(left + x, top + y)
    page.until("document.querySelectorAll('#broker-details table').length === 2")
    told = served.json(f"/api/brokers/{name}")
    cells = "[...table.tBodies[0].rows].map(row => row.cells[0].innerText)"
    links, tables = page.run(js(f"all('#broker-details table', table => {cells})"))
    assert links == [link["to"] for link in told["links"]]
    assert tables == [f"{tree['channel']} v{tree['version']}" for tree in told["trees"]]
    page.screenshot(SHOTS / "broker-1280-light.png")


def test_the_graph_is_moved_and_zoomed_by_keys(page: Page, served: Served) -> None:
    opened(page, served, "overlay")
    page.until(js("graph.xs?.length > 0"))
    page.run("document.querySelector('canvas').focus()")
    before = page.run(js("graph.view"))
    page.press("ArrowRight")
    assert page.run(js("graph.view.x")) == before["x"] - 60
    page.press("+")
    assert page.run(js("graph.view.scale")) > before["scale"]
    page.press("0")
    assert page.run(js("graph.view.scale")) == pytest.approx(before["scale"])


def test_loads_are_switched_to_other_schemes_on_one_scale(page: Page, served: Served) -> None:
    opened(page, served, "overlay")
    page.until(js("graph.most > 0"))
    page.run("document.querySelector('input[value=unicast]').click()")
    drawn = "same(graph.loads, it.expected.unicast) && graph.most >= Math.max(...it.expected.spt)"
    page.until(js(f"told('/api/loads', it => {drawn})"))


def test_a_person_who_tries_a_profile_is_told_what_is_wrong_what_it_means_and_what_matches(
    page: Page, served: Served
) -> None:
    opened(page, served, "try")
    page.until("document.querySelectorAll('#stream option').length > 0")
    page.run(typed("#stream", "quotes", "change"))
    page.run(typed("#profile", "symbol = 'IBM' AND prise > 90"))
    page.until("document.querySelector('#profile-error')?.textContent.includes(\"did you mean 'price'?\")")
    shown = page.run("document.querySelector('#profile-error').textContent").split("\n")
    assert shown[2].index("^") == shown[1].index("prise")
    page.screenshot(SHOTS / "try-error-1280-light.png")
    page.until(
        js("told('/api/try?stream=quotes&profile=price%20%3E%201', it => it.messages === 200)")
    )  # all that is kept
    page.run(typed("#profile", "NOT (price <= 90)"))
    page.until("document.querySelector('#canonical')?.textContent === 'price > 90'")
    assert "of the latest 200 messages" in page.run("document.querySelector('#selectivity').textContent")
    page.run("document.querySelector('#watch').click()")
    page.until("document.querySelectorAll('#matching li[data-id]').length > 2")
    prices = page.run(js("all('#matching code', one => JSON.parse(one.textContent).price)"))
    assert len(prices) > 2
    assert min(prices) > 90
    page.screenshot(SHOTS / "try-live-1280-light.png")
    page.run("document.querySelector('#watch').click()")
    page.until("document.querySelector('#watch').textContent === 'Watch live'")


def test_a_subscriber_is_told_why_it_gets_a_message_and_which_way_it_came(page: Page, served: Served) -> None:
    opened(page, served, "subscribers", 400)
    page.until(js("rows().length > 1"))
    page.run(typed("#filter", "plant/4"))
    page.until(js("rows().length === 1"))
    page.run("document.querySelector('tbody button').click()")
    page.until("document.querySelectorAll('#why .panel').length > 0")
    row = next(one for one in served.json("/api/subscribers")["subscribers"] if one["profile"] == "plant/4")
    told = served.json(f"/api/why?session={row['session']}")
    assert told["messages"][0]["way"][0]["path"][-1] == row["gateway"]
    assert all(message["message"]["topic"].startswith("plant/4/") for message in told["messages"])
    assert page.run("document.querySelector('#why .path b:last-child').textContent") == row["gateway"]
    assert page.run("document.querySelector('#why .panel p code').textContent") == "plant/4"
    page.screenshot(SHOTS / "why-400-light.png")


def test_the_page_goes_on_when_a_broker_dies_and_comes_back(world: World, page: Page, served: Served) -> None:
    overlay = served.json("/api/overlay")
    used = {broker for channel in overlay["channels"] for link in channel["tree"] for broker in link}
    victim = next(broker["id"] for broker in overlay["brokers"] if broker["id"] not in used)
    opened(page, served, "overlay")
    page.until(js("graph.xs?.length > 0"))
    world.overlay.call(lambda: world.overlay.whole.brokers[victim].stop())
    page.until("document.querySelector('#figures dd').textContent === '9 of 10'")
    page.until(js(f"graph.up['{victim}'] === false"))
    page.run(typed("#broker", victim, "change"))
    page.until("document.querySelector('#broker-details')?.textContent.includes('down')")
    page.screenshot(SHOTS / "broker-down-1280-light.png")
    page.run("location.hash = 'events'")
    page.until(f"document.querySelector('#events')?.textContent.includes('{victim} is gone')")
    world.overlay.call(lambda: world.overlay.whole.start_broker(victim))
    page.until("document.querySelector('#figures dd').textContent === '10 of 10'")
    assert page.run("document.querySelector('#state').dataset.state") == "live"


def test_a_reorganisation_is_marked_and_its_channels_are_shown(world: World, page: Page, served: Served) -> None:
    opened(page, served, "cost")
    page.until("document.querySelectorAll('.chart path').length > 3")
    assert ask(world.coordinator, "/reorganise", method="POST").status == 202
    page.until("document.querySelectorAll('.chart .mark.reorganised').length > 0")
    page.run("location.hash = 'channels'")
    page.until(js(f"document.querySelector('main').dataset.view === 'channels' && {SAYS['channels']}"))
    page.screenshot(SHOTS / "channels-reorganised-1280-light.png")


def test_batches_of_a_pipeline_are_shown_as_they_come(page: Page, served: Served, batches: Path) -> None:
    opened(page, served, "pipeline")
    page.until("document.querySelector('.empty')?.innerText.includes('holds no batch yet')")
    done = [Batch(number, 1000 + number, 700, 2, 5, 0.5, 0.1, 0.2, 0.0)._asdict() for number in range(3)]
    lines = [json.dumps({"at": 1000.0 + batch["number"], "stream": "quotes", **batch}) for batch in done]
    batches.write_text("\n".join(lines) + "\n")
    page.until(js("same(rows(), ['quotes 2', 'quotes 1', 'quotes 0']) && cell('quotes 2', 'rows') === '1,002'"))
    page.screenshot(SHOTS / "pipeline-batches-1280-light.png")
    batches.write_text("")


def test_a_port_that_is_taken_is_told_in_a_sentence(served: Served) -> None:
    command = [sys.executable, "-m", "semcast", "dashboard", "--url", "127.0.0.1:9"]
    port = served.address.rpartition(":")[2]
    done = subprocess.run([*command, "--port", port], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is taken" in done.stderr
    assert "Traceback" not in done.stderr


def test_who_chooses_a_theme_finds_it_again(page: Page, served: Served) -> None:
    opened(page, served, "pipeline")
    page.run("document.querySelector('#theme').click()")
    assert page.run("getComputedStyle(document.documentElement).colorScheme") == "dark"
    opened(page, served, "pipeline")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    page.run("localStorage.clear()")


def test_an_overlay_that_does_not_answer_is_named_and_asked_again(page: Page) -> None:
    alone = Served("--url", "semcast://127.0.0.1:9")
    try:
        page.open(f"http://{alone.address}/")
        page.until("document.querySelector('#state').dataset.state === 'broken'")
        page.until("document.querySelector('#trouble').textContent.includes('127.0.0.1:9 cannot be reached')")
        assert page.run("document.querySelector('main').innerText") == "Waiting for the overlay …"
        page.screenshot(SHOTS / "unreached-1280-light.png")
        assert ask(alone.address, "/api/overlay").status == 503
        page.open("about:blank")
    finally:
        alone.stop()


def test_the_page_needs_nothing_from_anywhere_else_and_says_so(page: Page, served: Served) -> None:
    page.requests.clear()
    opened(page, served, "cost")
    page.until("document.querySelectorAll('.chart path').length > 3")
    assert {request.split("/")[2] for request in page.requests if request.startswith("http")} == {served.address}
    assert "default-src 'none'" in ask(served.address, "/").headers["content-security-policy"]
