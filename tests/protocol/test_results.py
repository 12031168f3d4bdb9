"""The contract of machines: results, what journals read of them, and nothing but ``handle`` that changes a machine."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import msgspec
import pytest

import semcast
from semcast.protocol.client.appender import Appender
from semcast.protocol.client.near import NearSubscriber
from semcast.protocol.client.publisher import Publisher
from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.results import Delivered, SessionEnded, SessionUnknown, SubscriptionRefused, TermRefused
from semcast.protocol.semnet.clients import SemanticProducer, SemanticUser
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import ProtocolError
from semcast.protocol.wire.frames.base import Frame
from semcast.protocol.wire.framing import CONTROL, PREFIX, prefix
from tests.protocol.playbook import SETTINGS, play, tick, topic


class FormerError(Frame, frozen=True, tag="error"):
    """An error as it was before it could say that a session is not known."""

    reason: str
    session: str = ""


def test_a_journal_reads_a_result_by_its_tag_and_fields() -> None:
    assert (Delivered("s", 7, b"x").name, Delivered("s", 7, b"x").details) == (
        "delivered", {"source": "s", "number": 7, "body": b"x"},
    )  # fmt: skip
    assert (SessionEnded().name, SessionEnded().details) == ("detached", {})
    assert TermRefused("Lease", "c0", 9, 2).details == {"frame": "Lease", "from": "c0", "term": 9, "known": 2}


def test_a_lost_session_and_a_refusal_differ_by_type_whatever_the_text_says() -> None:
    client = Subscriber("sub", "x", ("g0",), topic("a"), settings=SETTINGS)
    tick(client, 0)
    assert play(client, ("g0", ProtocolError("same words", "x", unknown=True))) == [SessionUnknown("same words")]
    assert play(client, ("g0", ProtocolError("same words", "x"))) == [SubscriptionRefused("same words")]


def test_errors_of_older_and_newer_peers_can_be_read() -> None:
    old = msgspec.msgpack.encode(FormerError("why", "x"))
    assert decode(prefix(len(old), CONTROL) + old) == ProtocolError("why", "x")
    new = encode(ProtocolError("why", "x", unknown=True))[PREFIX.size :]
    assert msgspec.msgpack.decode(new, type=FormerError) == FormerError("why", "x")


@pytest.mark.parametrize("machine", [Subscriber, NearSubscriber, Publisher, Appender, SemanticUser, SemanticProducer])
def test_a_client_machine_has_no_public_method_but_handle(machine: type) -> None:
    methods = [name for name, _ in inspect.getmembers(machine, inspect.isfunction) if not name.startswith("_")]
    assert methods == ["handle"]


def test_nobody_branches_on_the_name_of_a_note() -> None:
    """A journal's word may change without anybody acting otherwise."""
    found = []
    root = next(iter(semcast.__path__))
    for package in ("protocol", "net", "sim", "client", "server"):
        for path in Path(root, package).rglob("*.py"):
            found += [
                f"{path.name}:{node.lineno}" for node in ast.walk(ast.parse(path.read_bytes())) if _branches(node)
            ]
    assert found == []


def _branches(node: ast.AST) -> bool:
    """Does it compare ``.what`` of a note or a command, or match a note by its word?"""
    if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id == "Note":
        return any(isinstance(pattern, ast.MatchValue) for pattern in node.patterns)
    if isinstance(node, ast.Match):
        return _is_word(node.subject)
    return isinstance(node, ast.Compare) and any(_is_word(side) for side in (node.left, *node.comparators))


def _is_word(node: ast.AST) -> bool:
    named = isinstance(node, ast.Attribute) and node.attr == "what" and isinstance(node.value, ast.Name)
    return named and node.value.id in ("note", "command", "event")  # type: ignore[attr-defined]
