"""What the options of Spark's readers and writers say: which overlay, which stream."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from semcast.client import connect_blocking
from semcast.client.overlay import URL
from semcast.model import SemcastError
from semcast.protocol.streams import Stream


class Where(NamedTuple):
    """A stream of a running overlay."""

    url: str
    stream: str

    @staticmethod
    def of(options: Mapping[str, str]) -> Where:
        url = url_of(options.get("url"))
        stream = options.get("stream") or options.get("path")
        if not stream:
            raise SemcastError('no stream is named: .option("stream", "quotes")')
        return Where(url, stream)


def url_of(given: str | None) -> str:
    """The overlay that is named, here or in the environment."""
    url = given or os.environ.get(URL)
    if not url:
        raise SemcastError(
            f'no overlay is named: --coordinator HOST:PORT, .option("url", "semcast://HOST:PORT"), or set {URL}'
        )
    return url


class Found(NamedTuple):
    """What the overlay says of a stream, and which sources it has."""

    declared: Stream
    sources: list[str]


def overlay_of(where: Where) -> Found:
    """Ask the overlay; SemcastError where nobody answers, or there is no such stream."""
    with connect_blocking(where.url) as client:
        streams, view = client.connection.streams, client.connection.view
        declared = streams.declared.get(where.stream)
        if declared is None or view is None:
            raise SemcastError(streams.unknown(where.stream))
        return Found(declared, view.sources)
