"""Connections that say whatever they like."""

from __future__ import annotations

import asyncio
from types import TracebackType

from semcast.protocol.wire.codec import Decoder, encode
from semcast.protocol.wire.frames import AnyFrame, Greeting, Hello, Ping, ProtocolError


class Raw:
    """A connection to a member; it keeps what comes, but for pings."""

    def __init__(self, where: tuple[str, int]) -> None:
        self._where = where
        self.came: list[AnyFrame] = []
        self.over = asyncio.Event()

    async def __aenter__(self) -> Raw:
        self._reader, self._writer = await asyncio.open_connection(*self._where)
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._reading.cancel()

    async def _read(self) -> None:
        decoder = Decoder()
        try:
            while piece := await self._reader.read(1 << 16):
                self.came += [frame for frame in decoder.feed(piece) if not isinstance(frame, Ping)]
        except OSError:
            pass
        finally:
            self.over.set()

    def say(self, *frames: AnyFrame) -> None:
        self._writer.write(b"".join(map(encode, frames)))

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    async def ended(self) -> str:
        """Wait until the member has ended the connection; the reason that it gave."""
        async with asyncio.timeout(30):
            await self.over.wait()
        return next((frame.reason for frame in self.came if isinstance(frame, ProtocolError)), "")

    async def greeted(self) -> Greeting:
        async with asyncio.timeout(30):
            while True:
                for frame in self.came:
                    if isinstance(frame, Greeting):
                        return frame
                assert not self.over.is_set(), self.came
                await asyncio.sleep(0.005)


def client(name: str = "mallory") -> Hello:
    return Hello(name, "client", 1)
