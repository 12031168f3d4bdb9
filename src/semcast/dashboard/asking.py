"""Asking brokers and coordinators for JSON, over HTTP at the port that they have anyway."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from semcast.model import SemcastError
from semcast.net.addresses import split_address

_PATIENCE_S = 5.0
_AT_A_TIME = 16
_MOST = 256 << 20


class NoAnswer(SemcastError):
    """Somebody could not be asked; the text says who, and why."""


class Asking:
    """A few questions at a time; each on a connection of its own, so that nobody's silence holds up another."""

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._free = asyncio.Semaphore(_AT_A_TIME)

    async def get(self, address: str, path: str) -> Any:
        """What a path answers, decoded; NoAnswer where there is none, or one that is no success."""
        async with self._free:
            try:
                async with asyncio.timeout(self._patience_s):
                    head, body = await _exchange(address, path)
            except TimeoutError:
                raise NoAnswer(f"{address} has not answered {path} for {self._patience_s:g} s") from None
            except OSError as error:
                raise NoAnswer(f"{address} cannot be reached ({error.strerror or error})") from None
        status = head.split(b" ", 2)[1:2]
        if status != [b"200"]:
            raise NoAnswer(f"{address} answers {path} with {b' '.join(status).decode(errors='replace') or 'nonsense'}")
        try:
            return msgspec.json.decode(body)
        except msgspec.DecodeError as error:
            raise NoAnswer(f"{address} answers {path} with no JSON: {error}") from None


async def _exchange(address: str, path: str) -> tuple[bytes, bytes]:
    reader, writer = await asyncio.open_connection(*split_address(address), limit=_MOST)
    try:
        request = f"GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\nconnection: close\r\n\r\n"
        writer.write(request.encode())
        answer = await reader.read(-1)
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body
