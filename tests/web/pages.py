"""What a test does with the page: opens a view, fills fields in, compares it with its JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tests.live.http.browser import Page
from tests.web.world import Served

SHOTS = Path("build/screenshots")


HELPERS = """
    const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
    const all = (what, part) => [...document.querySelectorAll(what)].map(part);
    const told = (path, holds) => fetch(path).then(answer => answer.json()).then(holds);
    const cell = (key, label) => document.querySelector(`tr[data-key="${key}"] td[data-label="${label}"]`)?.textContent;
    const rows = () => all('tbody tr', row => row.dataset.key);
    const graph = document.querySelector('canvas')?.graph;
"""


SAYS = {
    "overlay": """told('/api/overlay', it => graph.brokers.length === it.brokers.length
        && same(all('[data-channel]', chip => chip.dataset.channel), ['', ...it.channels.map(channel => channel.id)])
        && document.querySelectorAll('#broker option').length === it.brokers.length + 1)""",
    "channels": """told('/api/channels', it => same(rows(), it.channels.map(channel => channel.id))
        && cell(it.channels[0].id, 'profiles') === String(it.channels[0].profiles)
        && document.querySelectorAll('.tree li').length > 0)""",
    "subscribers": """told('/api/subscribers', it => it.subscribers.length === rows().length
        && it.subscribers.every(one => cell(one.gateway + ' ' + one.session, 'profile') === one.profile))""",
    "cost": """told('/api/cost', it => ['plan', 'spt', 'unicast', 'oracle'].every(name =>
            cell(name, 'links per message') === it.compared[name].toFixed(2))
        && document.querySelector('[data-series=measured]')?.getAttribute('d').length > 10)""",
    "events": """told('/api/events', it =>
        same(all('#events li', row => row.lastChild.textContent), it.events.map(event => event.text)))""",
    "pipeline": """told('/api/pipeline', it => it.batches.length === 0
        && document.querySelector('.empty').innerText.includes('holds no batch yet'))""",
    "try": """told('/api/streams', it => same(all('#stream option', one => one.value), Object.keys(it)))""",
}


def js(expression: str) -> str:
    return f"(() => {{ {HELPERS} return {expression}; }})()"


def typed(field: str, value: str, event: str = "input") -> str:
    """A person fills a field in."""
    there = f"document.querySelector('{field}')"
    return f"{there}.value = {json.dumps(value)}; {there}.dispatchEvent(new Event('{event}'))"


def opened(page: Page, served: Served, view: str, width: int = 1280, *, dark: bool = False) -> None:
    page.open(f"http://{served.address}/#{view}")
    page.look(width, 900, dark=dark)
    page.until("document.querySelector('#state').dataset.state === 'live'")


def walk(page: Page, served: Served, says: dict[str, str], shot: str, width: int, *, dark: bool) -> None:
    """Through all views: each shows what its JSON says, fits the screen, and has no hole in its text."""
    opened(page, served, "overlay", width, dark=dark)
    for view, told in says.items():
        page.run(f"location.hash = '{view}'")
        page.until(js(f"document.querySelector('main').dataset.view === '{view}' && {told}"))
        assert page.run("document.documentElement.scrollWidth") <= width, view
        assert not page.run("/undefined|NaN|\\[object/.test(document.body.innerText)"), view
        page.screenshot(SHOTS / f"{shot}{view}-{width}-{'dark' if dark else 'light'}.png")
