"""Machines in the middle of their work, for the playbooks."""

from __future__ import annotations

import pytest

from semcast.protocol.node import Node
from tests.protocol.gateways import attach, joined, live
from tests.protocol.playbook import BOTH, KEY, OTHER, entry, install, lease, planned, play, source_node, switch
from tests.protocol.reigns import Reign, World


@pytest.fixture
def gateway() -> Node:
    """``g0`` with one live session ``x`` on topic ``a``, behind 10."""
    node = joined()
    play(node, ("sub", attach()))
    play(node, ("c", live()))
    return node


@pytest.fixture
def source() -> Node:
    """A source that follows plan 1 over one tree and has a lease."""
    node = source_node()
    tables = install(1, entry(KEY, None, BOTH, acks=True), entry(OTHER, None, BOTH, acks=True))
    play(node, ("c", tables), ("c", switch(1, planned())), ("c", lease(1)))
    return node


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def reign(world: World) -> Reign:
    """A coordinator whose first plan is in force; nobody has subscribed yet."""
    made = Reign(world)
    made.settle()
    return made


@pytest.fixture
def planning(world: World) -> Reign:
    """The same of a scheme under which every change of who wants what is a change of plan."""
    made = Reign(world, scheme="unicast")
    made.settle()
    return made
