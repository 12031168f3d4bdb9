"""Under which names a member may be asked for over HTTP.

A page of ``evil.example`` whose name suddenly leads to this machine is of one origin with this member, for a browser.
Only the Host header tells that the browser meant someone else: names that this member does not have are refused.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from semcast.server.http.answers import Problem


class KnownHosts:
    """Lets requests pass that name this server."""

    def __init__(self, app: ASGIApp, is_here: Callable[[str], bool], hint: str) -> None:
        self._app, self._is_here, self._hint = app, is_here, hint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = Headers(scope=scope).getlist("host")
        # Programs may name nobody, as HTTP/1.0 lets them; browsers always name somebody.
        if (len(named) == 1 and self._is_here(named[0])) or (not named and scope["http_version"] == "1.0"):
            await self._app(scope, receive, send)
            return
        where = ", ".join(named)[:200]
        await Problem(421, f"{where!r} is not here: {self._hint}").response()(scope, receive, send)


def known_host(header: str, given: str, bound: str, names: Collection[str] = ()) -> bool:
    """Is a Host header one of this member's?

    ``given`` is the address that it was told to listen at, ``bound`` the one that this came to, and ``names`` those of
    the deployment's file. The port is not looked at: it may be forwarded from another one.
    """
    name = _name(header)
    if name is None:
        return False
    address = _address(bound)
    if name in (_name(given), bound.lower()) or name in {other.lower().rstrip(".") for other in names}:
        return True
    asked = _address(name)
    if address is not None and address.is_unspecified:
        return asked is not None or name in ("localhost", socket.gethostname().lower())
    if address is not None and address.is_loopback:
        return name == "localhost" or (asked is not None and asked.is_loopback)
    return False


def _name(header: str) -> str | None:
    """The host of host:port; None where it is none."""
    text = header.strip().lower()
    if text.startswith("["):
        inside, found, port = text[1:].partition("]")
        return inside if found and (not port or port[1:].isdecimal()) else None
    name, _, port = text.partition(":")
    if not name or (port and not port.isdecimal()):
        return None
    return name.rstrip(".")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
