"""Notes and the incarnation: what a broker knows of its earlier lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcast.storage.broker_store import BrokerStore
from semcast.storage.database import StoreError
from tests.unit.storage.written import on_disk


def test_a_note_is_seen_at_once_and_durable_after_a_commit(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=False)
    notes = store.notes
    assert not notes.dirty
    notes.put("session/b", b"2")
    notes.put("session/a", bytearray(b"1"))
    notes.put("term", b"7")
    assert notes.dirty
    assert notes.get("term") == b"7"
    assert notes.items("session/") == [("session/a", b"1"), ("session/b", b"2")]
    assert store.commit() == 0
    assert not notes.dirty
    notes.put("term", b"8")
    notes.put("session/a", None)
    assert (notes.get("session/a"), notes.dirty) == (None, True)
    store.close()
    store = BrokerStore(tmp_path, source=False)
    assert store.notes.items("") == [("session/a", b"1"), ("session/b", b"2"), ("term", b"7")]
    store.notes.put("session/a", None)
    store.notes.put("never", None)
    store.commit()
    store.close()
    store = BrokerStore(tmp_path, source=False)
    assert store.notes.items("session/") == [("session/b", b"2")]
    store.close()


def test_a_note_is_dirty_until_its_commit_is_done_and_the_newest_of_its_values_is_kept(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=False)
    notes = store.notes
    notes.put("a", b"1")
    notes.put("b", b"1")
    assert notes.take() == {"a": b"1", "b": b"1"}
    assert notes.dirty
    notes.put("a", b"2")
    notes.failed()
    assert notes.dirty
    store.commit()
    assert not notes.dirty
    store.close()
    store = BrokerStore(tmp_path, source=False)
    assert store.notes.items("") == [("a", b"2"), ("b", b"1")]
    store.close()


def test_every_opening_is_another_incarnation(tmp_path: Path) -> None:
    for incarnation in (1, 2, 3):
        store = BrokerStore(tmp_path, source=incarnation % 2 == 0)
        assert store.incarnation == incarnation
        assert on_disk(tmp_path, "SELECT value FROM facts WHERE name = 'incarnation'") == [(incarnation,)]
        store.close()


def test_a_note_that_has_rotted_is_not_believed(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=False)
    store.notes.put("term", b"7")
    store.commit()
    store.close()
    on_disk(tmp_path, "UPDATE notes SET value = x'38'")
    with pytest.raises(StoreError, match=r"broker.sqlite3 is damaged: the checksum of note 'term' is wrong"):
        BrokerStore(tmp_path, source=False)
