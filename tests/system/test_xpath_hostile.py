"""Payloads that are meant to do harm: nothing is loaded, nothing large is parsed or copied."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import semcast
from semcast.matching.xpath import XPathMatcher

language = semcast.language("xpath")

_PROGRAM = """
    import resource, sys
    import pyarrow as pa
    import semcast

    size, kind = int(sys.argv[1]), sys.argv[2]
    matcher = semcast.language("xpath").matcher([semcast.language("xpath").parse("a")])
    small = pa.table({"payload": ["<a/>"]})
    assert len(matcher.match(small)) == 1
    offsets = pa.py_buffer(__import__("numpy").array([0, 4, 4 + size, 8 + size], "int64"))
    data = pa.allocate_buffer(size + 8, resizable=False)
    view = memoryview(data).cast("B")
    view[:4] = view[-4:] = b"<a/>"
    for at in range(4, size + 4, 1 << 20):  # no temporary of that size, which would hide a copy
        view[at : at + (1 << 20)] = b"x" * (1 << 20)
    view[4:7], view[-8:-4] = b"<a>", b"</a>"
    column = pa.Array.from_buffers(getattr(pa, kind)(), 3, [None, offsets, data])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = matcher.read(pa.table({"payload": column}))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert found.matches.pairs().tolist() == [[0, 0], [2, 0]], found.matches.pairs()
    assert found.unreadable == {1: "too large"}, found.unreadable
    print(grown * 1024)
"""


def grown(size: int, kind: str) -> int:
    """Bytes that the process grew by while it matched one payload of ``size`` between two small ones."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_PROGRAM), str(size), kind], capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout)


@pytest.mark.parametrize("kind", ["large_string", "large_binary"])
def test_a_huge_payload_is_neither_parsed_nor_copied(kind: str) -> None:
    assert grown(64 << 20, kind) < 16 << 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["large_string", "large_binary"])
def test_a_payload_of_a_gigabyte_is_neither_parsed_nor_copied(kind: str) -> None:
    assert grown(1 << 30, kind) < 16 << 20


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


@pytest.mark.parametrize(
    "document",
    [
        "<!DOCTYPE a SYSTEM '{0}'><a/>",
        "<!DOCTYPE a PUBLIC '-//X//Y' '{0}'><a/>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM '{0}'>]><a>&e;</a>",
        "<!DOCTYPE a [<!ENTITY % e SYSTEM '{0}'> %e;]><a/>",
        "<!DOCTYPE a SYSTEM '{0}' [<!ENTITY e 'x'>]><a>&e;</a>",
        "<a xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='{0}'/></a>",
        "<a xmlns:x='http://www.w3.org/2001/XMLSchema-instance' x:noNamespaceSchemaLocation='{0}'/>",
        "<?xml-stylesheet href='{0}'?><a/>",
    ],
)
def test_no_document_makes_a_connection(listener: socket.socket, document: str) -> None:
    matcher = language.matcher([language.parse("a")])
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/x.dtd"
    matcher.match(pa.table({"payload": [document.format(url)]}))
    with pytest.raises(TimeoutError):
        listener.accept()


@pytest.mark.parametrize("where", ["<a>&e;</a>", "<a x='&e;'/>"])
def test_no_document_reads_a_file(tmp_path: Path, where: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    matcher = language.matcher([language.parse("//*[contains(., 'secret')]"), language.parse("//@*[. = 'secret']")])
    assert isinstance(matcher, XPathMatcher)
    document = f"<!DOCTYPE a [<!ENTITY e SYSTEM '{secret.as_uri()}'>]>{where}"
    found = matcher.read(pa.table({"payload": [document, "<a>secret</a>"]}))
    assert found.matches.pairs().tolist() == [[1, 0]]
    assert list(found.unreadable) == [0]


def test_many_bombs_in_one_batch_take_no_memory() -> None:
    entities = "".join(f"<!ENTITY e{i} '{f'&e{i - 1};' * 10}'>" for i in range(1, 10))
    bomb = f"<!DOCTYPE a [<!ENTITY e0 'ten bytes.'>{entities}]><a>&e9;</a>"
    deep = "<a>" * 100_000
    matcher = language.matcher([language.parse("a")])
    assert isinstance(matcher, XPathMatcher)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = matcher.read(pa.table({"payload": ["<a/>", bomb, deep] * 100}))
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 256 << 20
    assert len(found.matches) == 100
    assert len(found.unreadable) == 200
