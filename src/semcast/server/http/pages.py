"""Pages for people: one to watch a stream with, one that shows the API. They need nothing from anywhere else."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from semcast.server.broker import BrokerHost

if TYPE_CHECKING:
    from semcast.server.http.front import HttpFront

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Pages:
    """Read from the package once; who this is, and what streams there are, is put in at each request."""

    def __init__(self, front: HttpFront) -> None:
        self._front = front
        folder = files("semcast.server.http")
        self._page = folder.joinpath("page.html").read_text()
        self._docs = folder.joinpath("docs.html").read_text()

    async def watch(self, request: Request) -> Response:
        host = self._front.host
        view = host.view
        about = {
            "name": host.name,
            "role": host.role,
            "roles": host.roles if isinstance(host, BrokerHost) else [],
            "overlay": view.name,
            "gateway": self._front.feeds is not None,
            "gateways": {name: f"http://{view.members[name].address}/" for name in view.gateways},
            "streams": {name: {"language": stream.language} for name, stream in view.streams.items()},
        }
        text = msgspec.json.encode(about).decode().replace("<", "\\u003c")
        return _page(self._page.replace("{{about}}", text))

    async def docs(self, request: Request) -> Response:
        return _page(self._docs)


def _page(text: str) -> Response:
    return HTMLResponse(text, headers={"content-security-policy": _POLICY, "cache-control": "no-store"})
