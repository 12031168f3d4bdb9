"""SemCast: content-based dissemination of high-volume streams.

Consumers declare profiles, producers publish messages; each message is matched once and reaches every
consumer whose profile matches it. Start with ``semcast.language("relational")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semcast.matching import Language, language
from semcast.model import Kind, ProfileError, Schema, SemcastError
from semcast.model.version import __version__ as __version__

if TYPE_CHECKING:
    from semcast.client import BlockingClient, Client

__all__ = ["Kind", "Language", "ProfileError", "Schema", "SemcastError", "connect", "connect_blocking", "language"]


def connect(url: str | None = None, *, name: str | None = None) -> Client:
    """Client of a running overlay: ``async with semcast.connect("semcast://host:port") as c``. Default: SEMCAST_URL."""
    from semcast.client import Client

    return Client(url, name=name)


def connect_blocking(url: str | None = None) -> BlockingClient:
    """The same for programs without asyncio: ``with semcast.connect_blocking(url) as c``."""
    from semcast.client import BlockingClient

    return BlockingClient(url)
