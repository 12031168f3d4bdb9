"""What a broker does with a piece of a neighbour's connection, whatever drives it: sockets or a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from semcast.protocol.broker.forwarding import Passage
from semcast.protocol.contract import Command, Local, Passed, Received


class Gate(Protocol):
    """What the machine has said and is not done yet: nothing that is forwarded may overtake it."""

    @property
    def free(self) -> bool: ...

    @property
    def trouble(self) -> str: ...

    def also(self, command: Command) -> list[Command]: ...


def taken_in(
    passage: Passage,
    data: bytes,
    gate: Gate,
    feed: Callable[[Received | Local], None],
    drop: Callable[[Passed], None],
) -> Iterator[Command]:
    """Commands to carry out now, each before the next is asked for; ``feed`` gives the machine what is for it.

    While the machine's commands wait for a commit, what is forwarded waits behind them. While nothing can be written
    the broker stands still, and what comes to be forwarded is dropped: gateways fetch it later.
    """
    free = gate.free
    for found in passage.feed(data):
        if isinstance(found, Received | Local):
            feed(found)
            free = gate.free
        elif free:
            yield found
        elif gate.trouble and isinstance(found, Passed):
            drop(found)
        else:
            yield from gate.also(found)
            free = gate.free
