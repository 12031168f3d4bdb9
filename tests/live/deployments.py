"""``semcast up`` as a test runs it: real processes, of which some are killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import semcast
from semcast.client import Client, Receipt
from semcast.client.publishing import Publishing
from semcast.model.message import Message
from semcast.planning.plan import Plan
from semcast.server.config import read_config
from tests.history.records import Recorder
from tests.live.overlays import until

_REORGANISED = re.compile(r"plan \{'epoch': (\d+), .*'reorganised': True")


class Deployment:
    """All processes of an overlay; what is asked of the coordinator is asked until one answers."""

    def __init__(self, file: Path, addresses: dict[str, str]) -> None:
        self.deployed = read_config(file)
        self.addresses = addresses
        self.roles = {broker.id: broker.roles for broker in self.deployed.topology.brokers}
        self._said = file.parent / "up.log"

    def pid(self, name: str) -> int:
        return int((self.deployed.folder / name / "pid").read_text())

    async def kill(self, name: str) -> None:
        """kill -9, and wait until another one is there in its place."""
        before = self.pid(name)
        os.kill(before, signal.SIGKILL)
        await until(lambda: self.pid(name) != before)

    def having(self, role: str) -> list[str]:
        return [name for name, roles in self.roles.items() if role in roles]

    async def ask(self, what: str) -> Any:
        """Ask the coordinator; None where it is away, or does not lead."""
        try:
            async with semcast.connect(self.addresses["c0"]) as client:
                return await client.ask(what)
        except semcast.SemcastError:
            return None

    async def plan(self) -> Plan:
        """The plan in force."""
        found: list[object] = []

        async def asked() -> bool:
            found[:] = [await self.ask("plan")]
            return found[0] is not None

        await until(asked, every_s=0.3)
        return Plan.from_json(json.dumps(found[0]))

    async def reorganised(self) -> None:
        """Have whoever leads decide anew from statistics, and wait until that plan, or a later one, is in force."""
        before = len(self.reorganisations)

        async def asked() -> bool:
            return bool(await self.ask("reorganise"))

        async def in_force() -> bool:
            made = self.reorganisations[before:]
            status = await self.ask("status") if made else None
            return status is not None and status["epoch"] >= made[0]

        await until(asked, every_s=0.3)
        await until(in_force, every_s=0.3)

    @property
    def reorganisations(self) -> list[int]:
        """Epochs of the plans that were decided anew from statistics, as coordinators have logged them."""
        return [int(epoch) for epoch in _REORGANISED.findall(self._said.read_text())]


@asynccontextmanager
async def running(file: Path) -> AsyncIterator[Deployment]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "semcast", "up", str(file), "--processes",
        stdout=asyncio.subprocess.PIPE, stderr=(file.parent / "up.log").open("wb"), start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(120):
            line = await process.stdout.readline()
        assert line, (file.parent / "up.log").read_text()[-3000:]
        yield Deployment(file, json.loads(line)["addresses"])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(30):
                assert await process.wait() == 0
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            raise


async def opened(address: str) -> Client:
    client = semcast.connect(address)
    await client.open()
    return client


class Flow:
    """Messages on their way: a part of them at each source, not more under way than a busy publisher would have."""

    STEP, PAUSE_S, UNDER_WAY = 100, 0.02, 2_000

    def __init__(
        self, client: Client, sources: Sequence[str], messages: Sequence[Message], recorder: Recorder | None = None
    ) -> None:
        self.halfway = asyncio.Event()
        self._client = client
        self._recorder = recorder
        parts = [(source, messages[at :: len(sources)]) for at, source in enumerate(sources)]
        self.done = asyncio.gather(*(self._publish(source, part) for source, part in parts))
        """When all are durable."""

    async def _publish(self, source: str, messages: Sequence[Message]) -> None:
        publisher = self._client.publisher(source)
        under_way: list[asyncio.Future[Receipt]] = []
        for begin in range(0, len(messages), self.STEP):
            under_way += [await self._put(publisher, message) for message in messages[begin : begin + self.STEP]]
            if begin >= len(messages) // 2:
                self.halfway.set()
            await asyncio.sleep(self.PAUSE_S)
            while len(under_way) > self.UNDER_WAY:
                await under_way[0]
                under_way = [receipt for receipt in under_way if not receipt.done()]
        await asyncio.gather(*under_way)

    async def _put(self, publisher: Publishing, message: Message) -> asyncio.Future[Receipt]:
        """Messages are known by their payloads."""
        if self._recorder is None:
            return await publisher.put(message)
        recorder, name = self._recorder, message.payload.decode()
        recorder.publish(publisher.source, name)
        receipt = await publisher.put(message)

        def acknowledged(done: asyncio.Future[Receipt]) -> None:
            if not done.cancelled() and done.exception() is None:
                recorder.ack(publisher.source, name, done.result().source, done.result().number)

        receipt.add_done_callback(acknowledged)
        return receipt
