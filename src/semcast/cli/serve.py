"""`semcast up`, `semcast coordinator`, `semcast broker`: a real deployment."""

from __future__ import annotations

import json as jsons
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from semcast.cli import render

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more.")]
ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="The deployment; see examples/up.toml.")]


def up(
    config: ConfigFile,
    embedded: Annotated[
        bool | None,
        typer.Option("--embedded/--processes", help="All in this process, or one each. Default: as the file says."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Bring a whole overlay up: coordinators and brokers, from one file, until Ctrl-C.

    Logs, subscriptions and ports are kept in the data folder that the file names, so that the next `up` goes on where
    this one ended. A process that dies is started again.

    The file's `scheme` says how messages travel: masked (the default), semcast and its variants, unicast and spt
    follow a coordinator's plan, and from "live" on no message is missed or comes twice. Under semnet every broker is
    a semantic router: nothing comes twice or unwanted, and while nothing fails all of it comes, but what a fault
    swallows is lost.
    """
    _starting(always=True)
    from semcast.server.config import read_config
    from semcast.server.embedded import Embedded
    from semcast.server.processes import Processes
    from semcast.server.serve import Ending, log_to_stderr, run, serve

    log_to_stderr(verbose)
    deployed = read_config(config)
    one = embedded if embedded is not None else not deployed.config.processes

    async def start(ending: Ending) -> Any:
        served: Embedded | Processes
        if one:
            served = whole = Embedded(deployed)
            whole.failure.add_done_callback(lambda done: ending.failed("", done.exception() or RuntimeError()))
        else:
            served = Processes(deployed, config.resolve(), verbose=verbose)
        try:
            await served.start()
        except BaseException:  # Ctrl-C too: what was started must not stay behind
            await served.stop()
            raise
        return served

    def ready(served: Any) -> None:
        addresses: dict[str, str] = served.addresses()
        roles = {broker.id: ", ".join(broker.roles) or "interior" for broker in deployed.topology.brokers}
        rows = [[name, roles.get(name, "coordinator"), address] for name, address in addresses.items()]
        render.table(f"{deployed.config.name}: {deployed.config.scheme}", ["", "role", "address"], rows)
        gateway = next(name for name, role in roles.items() if "gateway" in role)
        stream = next(iter(deployed.config.streams))
        render.say(f"try: semcast subscribe {stream} PROFILE --url semcast://{addresses[gateway]}")
        print(jsons.dumps({"ready": True, "addresses": addresses}), flush=True)

    run(serve(start, ready))
    render.say("stopped")


def coordinator(
    config: ConfigFile,
    name: Annotated[str, typer.Option(help="Which of the deployment's coordinators: c0, c1, …")] = "c0",
    verbose: Verbose = False,
) -> None:
    """Run one coordinator: it decides channels and trees, and is where brokers and clients find each other."""
    _starting()
    from semcast.model import SemcastError
    from semcast.server.config import read_config
    from semcast.server.embedded import start_coordinator
    from semcast.server.serve import Ending, log_to_stderr, run, serve

    log_to_stderr(verbose)
    deployed = read_config(config)
    if name not in deployed.config.coordinator_names():
        raise SemcastError(
            f"there is no coordinator {name!r}; there is {', '.join(deployed.config.coordinator_names())}"
        )

    async def start(ending: Ending) -> Any:
        return await start_coordinator(deployed, name, ending.failed, _waiting)

    run(serve(start, _ready))


def broker(
    name: Annotated[str, typer.Argument(help="Which of the overlay's brokers, for example b3.")],
    coordinator: Annotated[list[str], typer.Option(help="HOST:PORT of a coordinator; may be repeated.")],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: a free one, kept.")
    ] = "127.0.0.1:0",
    data: Annotated[
        Path | None, typer.Option(help="Its folder. Default: semcast-data/NAME.", show_default=False)
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="First give up what is damaged in its log, and say what that is.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Run one broker: it forwards, and takes messages in or serves clients where the topology says so."""
    _starting()
    from semcast.net.host import log
    from semcast.server.embedded import overlay_of, start_broker
    from semcast.server.serve import Ending, log_to_stderr, run, serve
    from semcast.server.warmup import GETTING_READY
    from semcast.storage.broker_store import repair_store

    log_to_stderr(verbose)
    folder = data if data is not None else Path("semcast-data") / name
    for warning in repair_store(folder) if repair else ():
        render.say(warning)

    async def start(ending: Ending) -> Any:
        view = await overlay_of(coordinator, folder, _waiting)
        log.info(GETTING_READY)
        return await start_broker(
            name, view, folder, listen, failed=ending.failed, coordinators=coordinator, troubled=_waiting
        )

    run(serve(start, _ready))


def _starting(*, always: bool = False) -> None:
    """A word before anything is imported: kernels are compiled while they are. Parts of an `up` leave it to that."""
    if always or sys.stdout.isatty():
        render.say(f"starting; {render.FIRST_TIME}")


def _waiting(reason: str) -> None:
    """Whoever started this process reads that it waits, and for what."""
    if not sys.stdout.isatty():
        print(jsons.dumps({"waiting": reason}), flush=True)


def _ready(host: Any) -> None:
    """Whoever started this process reads where it listens."""
    if not sys.stdout.isatty():
        print(jsons.dumps({"name": host.name, "address": host.address}), flush=True)
