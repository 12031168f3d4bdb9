"""The page of a recorded run: the same views, at any moment of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from semcast.dashboard import views
from semcast.dashboard.recording import Crossing, Recording
from semcast.dashboard.serving import EVENTS, Serving, event, json
from semcast.dashboard.snapshot import Json
from semcast.model import SemcastError
from semcast.model.palette import style
from semcast.trees.topology import GATEWAY, natural

_WINDOW_S = 1.0
"""Loads and rates are of the last second."""
_SPOKEN_S = 2.0
"""A tree that no tally went over for so long is there no more."""
_POINTS = 240


class Replay(Serving):
    """Serves a recording. Every path takes ``at``, in seconds of the run; without it the run's end."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def routes(self) -> Sequence[BaseRoute]:
        shown: dict[str, Callable[[float], Json]] = {
            "summary": self.summary,
            "overlay": self.overlay,
            "loads": self.loads,
            "channels": self.channels,
            "overlaps": lambda at: {"messages": 0, "profiles": [], "matrix": []},
            "subscribers": self.subscribers,
            "cost": self.cost,
            "events": self.events,
        }
        found: list[BaseRoute] = [Route(f"/api/{name}", self._shows(view)) for name, view in shown.items()]
        return [*found, Route("/api/brokers/{broker}", self._broker), Route("/api/live", self._live)]

    def _shows(self, view: Callable[[float], Json]) -> Callable[[Request], Any]:
        async def show(request: Request) -> Response:
            return json(await asyncio.to_thread(view, self._at(request)))

        return show

    def _at(self, request: Request) -> float:
        given = request.query_params.get("at")
        try:
            return self._recording.end if given is None else max(0.0, min(self._recording.end, float(given)))
        except ValueError:
            raise SemcastError(f"at: {given!r} is no moment of the run") from None

    async def _live(self, request: Request) -> Response:
        async def told() -> AsyncIterator[bytes]:
            end = self._recording.end
            yield event("summary", {"revision": 1, "trouble": None, "replay": {"end": end}, **self.summary(end)})
            while not self.over:
                await asyncio.sleep(1.0)
                yield b": nothing new\n\n"

        return StreamingResponse(told(), media_type="text/event-stream", headers=EVENTS)

    # --- views

    def summary(self, at: float) -> Json:
        run, up = self._recording, self._recording.up(at)
        plan: Json = next((told["details"] for told in reversed(run.known(at)) if told["what"] == "plan"), {})
        leader = next((told for told in reversed(run.known(at)) if told["what"] == "leads"), None)
        begin = at - _WINDOW_S
        sent, published = self._sent(begin, at), run.published_by(at) - run.published_by(begin)
        delivered = sum(run.delivered_by(at).values()) - sum(run.delivered_by(begin).values())
        return {
            "name": run.name,
            "scheme": run.scheme,
            "at": at,
            "coordinator": leader["who"] if leader else None,
            "leads": leader is not None,
            "term": leader["details"]["term"] if leader else 0,
            "epoch": plan.get("epoch", 0),
            "phase": "settled",
            "brokers": len(up),
            "up": sum(up.values()),
            "channels": len(run.trees(at, _SPOKEN_S)),
            "profiles": None,
            "sessions": sum(live <= at for live in run.live.values()),
            "published_s": published / _WINDOW_S,
            "delivered_s": delivered / _WINDOW_S,
            "transmissions_s": sum(sent.values()) / _WINDOW_S,
            "measured": sum(sent.values()) / published if published else None,
            **dict.fromkeys(("plan", "spt", "unicast", "oracle")),
        }

    def _sent(self, begin: float, end: float) -> Counter[tuple[str, str]]:
        """Messages over each link, by direction."""
        sent: Counter[tuple[str, str]] = Counter()
        for crossing in self._recording.between(begin, end):
            sent[crossing.sender, crossing.receiver] += len(crossing.numbers)
        return sent

    def overlay(self, at: float) -> Json:
        graph = views.graph(self._recording.topology)
        roles = {broker.id: broker.roles for broker in self._recording.topology.brokers}
        channels = []
        for number, ((name, version), links) in enumerate(self._recording.trees(at, _SPOKEN_S).items()):
            colour, dashes = style(number)
            nodes = dict.fromkeys(broker for link in links for broker in link)
            channels.append(
                {
                    "id": f"{name} v{version}",
                    "colour": colour,
                    "dashes": list(dashes),
                    "rendezvous": links[0][0],
                    "tree": [list(link) for link in links],
                    "gateways": [broker for broker in nodes if GATEWAY in roles[broker]],
                }
            )
        return {"epoch": self.summary(at)["epoch"], **graph, "channels": channels}

    def loads(self, at: float) -> Json:
        run, sent, up = self._recording, self._sent(at - _WINDOW_S, at), self._recording.up(at)
        names = [(link.a, link.b) for link in run.topology.links]
        now = [[sent[a, b] / _WINDOW_S, sent[b, a] / _WINDOW_S] for a, b in names]
        return {"now": now, "expected": {}, "costs": {}, "up": up, "links_up": [up[a] and up[b] for a, b in names]}

    async def _broker(self, request: Request) -> Response:
        run, at, name = self._recording, self._at(request), request.path_params["broker"]
        sent, up = self._sent(at - _WINDOW_S, at), run.up(at)
        around = sorted((b for a, b in run.links if a == name), key=natural)
        links = [
            {"to": other, "up": up[other], "rtt_ms": None, "out_s": sent[name, other], "in_s": sent[other, name]}
            for other in around
        ]
        trees = []
        for (channel, version), spoken in run.trees(at, _SPOKEN_S).items():
            parent = next((a for a, b in spoken if b == name), None)
            children = [b for a, b in spoken if a == name]
            if parent is not None or children:
                place = {"parent": parent, "children": children, "gateway_here": False, "forwards_by": run.scheme}
                trees.append({"channel": channel, "version": version, **place})
        roles = next((broker.roles for broker in run.topology.brokers if broker.id == name), None)
        if roles is None:
            raise SemcastError(f"there is no broker {name!r}")
        return json({"id": name, "up": up[name], "roles": list(roles), "address": None, "links": links, "trees": trees})

    def channels(self, at: float) -> Json:
        run, rows = self._recording, []
        before, lately = run.between(-1.0, at), run.between(at - _WINDOW_S, at)
        for channel in self.overlay(at)["channels"]:
            carried, now = (_carried(part, channel["id"]) for part in (before, lately))
            unknown = dict.fromkeys(("share", "reach", "noise", "profiles"))
            told = {"expression": "not in the journal", "links": len(channel["tree"]), "carried": carried}
            rows.append({**channel, **unknown, **told, "rate_s": now / _WINDOW_S, "received": 0, "useful": 0})
        return {"epoch": self.summary(at)["epoch"], "scheme": run.scheme, "channels": rows}

    def subscribers(self, at: float) -> Json:
        run = self._recording
        counts, before = run.delivered_by(at), run.delivered_by(at - _WINDOW_S)
        names = ("language", "mean_ms", "last_ms", "worst_ms", "max_delay_ms", "expected_delay_ms", "waiting")
        rows = [
            {
                **dict.fromkeys(names),
                "session": party,
                "client": party,
                "gateway": run.gateways.get(party, "–"),
                "stream": "–",
                "profile": f"of {party}, not in the journal",
                "live": live <= at,
                "durable": False,
                "delivered": counts.get(party, 0),
                "delivered_s": (counts.get(party, 0) - before.get(party, 0)) / _WINDOW_S,
            }
            for party, live in sorted(run.live.items(), key=lambda item: natural(item[0]))
            if live <= at
        ]
        return {"subscribers": rows}

    def cost(self, at: float) -> Json:
        run, points = self._recording, []
        window = max(_WINDOW_S, run.end / 40)
        for number in range(1, _POINTS + 1):
            moment = at * number / _POINTS
            begin = moment - window
            published = run.published_by(moment) - run.published_by(begin)
            sent = sum(len(crossing.numbers) for crossing in run.between(begin, moment))
            delivered = sum(run.delivered_by(moment).values()) - sum(run.delivered_by(begin).values())
            rates = {"published_s": published / window, "transmissions_s": sent / window}
            measured = sent / published if published else None
            points.append({"at": moment, **rates, "delivered_s": delivered / window, "measured": measured})
        return {"now": at, "compared": None, "points": points, "marks": views.marks(run.known(at))}

    def events(self, at: float) -> Json:
        return {"events": [{**told, "text": views.sentence(told)} for told in reversed(self._recording.known(at))]}


def _carried(crossings: Sequence[Crossing], channel: str) -> int:
    """Messages that went over a tree, each once, however many links it took."""
    on_tree = [
        crossing for crossing in crossings if crossing.key and f"{crossing.key[0]} v{crossing.key[1]}" == channel
    ]
    return len({(crossing.source, number) for crossing in on_tree for number in crossing.numbers})
