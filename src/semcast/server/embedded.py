"""Brokers and coordinators within this process, alone or all of an overlay."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from semcast.model import SemcastError
from semcast.model.extras import MissingExtra
from semcast.net.addresses import split_address
from semcast.net.host import Host, log
from semcast.net.view import OverlayView
from semcast.protocol.stores import CoordinatorStore
from semcast.server.broker import BrokerHost
from semcast.server.coordinator import CoordinatorHost
from semcast.server.warmup import GETTING_READY, load_broker, load_coordinator
from semcast.storage.coordinator_store import SqliteCoordinatorStore
from semcast.storage.database import explained_io
from semcast.storage.disk import Troubled, put_file, when_writable

if TYPE_CHECKING:
    from semcast.server.config import Deployed


_FILE = "overlay.json"
_PATIENCE_S, _SHORT_S = 60.0, 3.0


async def overlay_of(coordinators: list[str], folder: Path, troubled: Troubled | None = None) -> OverlayView:
    """What coordinators say of the overlay, or, when none answers for a while, what they said last time."""
    kept = folder / _FILE
    known = kept.exists()
    try:
        view = await ask_overlay(coordinators, patience_s=_SHORT_S if known else _PATIENCE_S)
    except SemcastError as error:
        if not known:
            raise
        log.warning("%s; starting with what was known last time", error)
        return OverlayView.decoded(kept.read_bytes())
    text = msgspec.json.format(view.encoded())
    if not known or kept.read_bytes() != text:
        await when_writable(folder.name, lambda: put_file(kept, text), troubled)
    return view


_ADDRESS, _PID = "address", "pid"
Failed = Callable[[str, BaseException], None]


async def started(
    host: BrokerHost | CoordinatorHost, address: str, folder: Path, troubled: Troubled | None = None
) -> None:
    """Start a host; where any port will do, at the one it had before, so that others find it again."""
    _open_fronts(host)
    where, port = split_address(address)
    kept = folder / _ADDRESS
    await when_writable(host.name, lambda: put_file(folder / _PID, b"%d\n" % os.getpid()), troubled)
    if port == 0:
        with contextlib.suppress(OSError, SemcastError):
            before = split_address(kept.read_text().strip())[1]
            try:
                await host.start(f"{where}:{before}")
                return
            except SemcastError as error:
                log.warning("%s; taking another port", error)
    await host.start(address)
    await when_writable(host.name, lambda: put_file(kept, f"{host.address}\n".encode()), troubled)


def _open_fronts(host: BrokerHost | CoordinatorHost) -> None:
    """Let others in at the host's port, as far as this installation can: HTTP, and MQTT at brokers."""
    try:
        if isinstance(host, BrokerHost):
            from semcast.server.mqtt import MqttFront

            host.fronts.append(MqttFront(host))
        from semcast.server.http import HttpFront

        host.fronts.append(HttpFront(host))
    except MissingExtra as error:
        log.warning("%s: only SemCast's own clients can connect: %s", host.name, error)


def coordinator_store(deployed: Deployed) -> CoordinatorStore:
    """What the coordinators of a deployment share."""
    url = deployed.config.coordinators.store
    if url is None:
        try:
            deployed.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise explained_io(error, deployed.folder) from error
        return SqliteCoordinatorStore(deployed.folder / "coordinator.db")
    if not url.startswith(("postgresql://", "postgres://")):
        raise SemcastError(f"coordinators.store: {url!r} is no postgresql://… address")
    from semcast.storage.postgres_store import PostgresCoordinatorStore

    return PostgresCoordinatorStore(url)


async def start_coordinator(
    deployed: Deployed, name: str, failed: Failed | None = None, troubled: Troubled | None = None
) -> CoordinatorHost:
    """Start one coordinator of a deployment; ``troubled`` hears why nothing can be written, while that is so."""
    number = deployed.config.coordinator_names().index(name)
    await asyncio.get_running_loop().run_in_executor(None, load_coordinator, deployed.view())
    store = await when_writable(name, lambda: coordinator_store(deployed), troubled)
    host = CoordinatorHost(name, deployed.view(), store, seed=deployed.config.seed + number, failed=failed)
    await started(host, deployed.listen(name), deployed.folder / name, troubled)
    return host


async def ask_overlay(addresses: list[str], *, patience_s: float) -> OverlayView:
    """What coordinators say of the overlay, as soon as one answers; all that answer are in it."""
    asking = _Asking()
    loop = asyncio.get_running_loop()
    until = loop.time() + patience_s
    try:
        while True:
            for address in addresses:
                with contextlib.suppress(OSError):
                    await asking.dial(address)
            if asking.view is not None:
                return asking.view
            if loop.time() >= until:
                raise SemcastError(f"no coordinator answers at {', '.join(addresses)}")
            await asyncio.sleep(0.2)
    finally:
        await asking.stop()


class _Asking(Host):
    """Says hello to coordinators and hears what they say."""

    role = "newcomer"

    def __init__(self) -> None:
        super().__init__(f"newcomer-{uuid.uuid4().hex[:12]}")
        self.view: OverlayView | None = None

    async def dial(self, address: str) -> None:
        await self._dial("", address)

    def greeted(self, peer: object, greeting: object) -> None:
        told = OverlayView.decoded(greeting.overlay)  # type: ignore[attr-defined]
        known = self.view.coordinators if self.view is not None else {}
        self.view = msgspec.structs.replace(told, coordinators=known | told.coordinators)


async def start_broker(
    name: str,
    view: OverlayView,
    folder: Path,
    address: str,
    executor: ThreadPoolExecutor | None = None,
    failed: Failed | None = None,
    coordinators: Sequence[str] = (),
    troubled: Troubled | None = None,
) -> BrokerHost:
    """Start one broker of an overlay of which a coordinator is known; others may come up at these addresses.

    Where nothing can be written it waits until something can; ``troubled`` hears why.
    """
    view.roles(name)  # who is none of the overlay's brokers is told so before it waits
    await asyncio.get_running_loop().run_in_executor(None, load_broker, view, name)
    host = await when_writable(
        name,
        lambda: BrokerHost(name, view, folder, coordinators=coordinators, executor=executor, failed=failed),
        troubled,
    )
    for warning in host.store.warnings:
        log.warning("%s: %s", name, warning)
    await started(host, address, folder, troubled)
    return host


class Embedded:
    """A whole deployment in one process; parts of it can be stopped and started."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.coordinators: dict[str, CoordinatorHost] = {}
        self.brokers: dict[str, BrokerHost] = {}
        self._executor = ThreadPoolExecutor(4, thread_name_prefix="semcast-store")
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Raises when a part cannot go on."""

    async def start(self) -> None:
        for name in self.deployed.config.coordinator_names():
            self.coordinators[name] = await start_coordinator(self.deployed, name, self._failed)
        log.info(GETTING_READY)
        for broker in self.deployed.topology.brokers:
            await self.start_broker(broker.id)

    async def start_broker(self, name: str) -> BrokerHost:
        known = {c: host.address for c, host in self.coordinators.items()}
        members = next(iter(self.coordinators.values())).view.members
        view = msgspec.structs.replace(self.deployed.view(), coordinators=known, members=members)
        host = await start_broker(
            name, view, self.deployed.folder / name, self.deployed.listen(name), self._executor, self._failed
        )
        self.brokers[name] = host
        return host

    async def stop(self) -> None:
        await asyncio.gather(*(host.stop() for host in self.brokers.values()))
        await asyncio.gather(*(host.stop() for host in self.coordinators.values()))
        self._executor.shutdown()

    def _failed(self, name: str, error: BaseException) -> None:
        if not self.failure.done():
            self.failure.set_exception(SemcastError(f"{name}: {error}"))

    def addresses(self) -> dict[str, str]:
        return {name: host.address for name, host in (*self.coordinators.items(), *self.brokers.items())}
