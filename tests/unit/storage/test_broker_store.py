"""Folders and files that cannot be used, and disks that are full: one clear error each, and nothing half-written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcast.storage.broker_store import FILE, BrokerStore
from semcast.storage.database import StoreError
from tests.unit.storage.written import check_after_full, fill, log_of, on_disk, records, write

NOBODY = 65534


def test_a_folder_is_made_with_its_parents_and_can_be_opened_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    BrokerStore(folder, source=True).close()
    store = BrokerStore(str(folder), source=True)
    assert sorted(path.name for path in folder.iterdir() if "-" not in path.name) == [FILE, "incarnation", "lock"]
    store.close()
    store.close()


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    with pytest.raises(StoreError, match=rf"in use by another process \({os.getpid()}\); two brokers cannot share"):
        BrokerStore(tmp_path, source=True)
    program = f"from semcast.storage.broker_store import BrokerStore; BrokerStore({str(tmp_path)!r}, source=True)"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == 1
    assert f"{tmp_path} is in use by another process ({os.getpid()})" in child.stderr
    log_of(store).append(records(1, 1))
    assert store.commit() == 1
    store.close()
    BrokerStore(tmp_path, source=True).close()


def test_a_broker_may_become_a_source_and_stop_being_one(tmp_path: Path) -> None:
    BrokerStore(tmp_path, source=False).close()
    write(tmp_path, [records(1, 3)])
    store = BrokerStore(tmp_path, source=False)
    assert store.log is None
    assert (store.unswept, store.dirty, store.commit(), store.verify()) == (False, False, 0, 0)
    store.close()
    store = BrokerStore(tmp_path, source=True)
    assert log_of(store).read(0, 9, 9) == records(1, 3)
    store.close()


def test_a_commit_with_nothing_to_do_does_not_touch_the_disk(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    before = (tmp_path / f"{FILE}-wal").stat()
    assert store.commit() == 0
    after = (tmp_path / f"{FILE}-wal").stat()
    assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    store.close()


def test_every_commit_is_synced(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("my diary\n" * 1000)
    with pytest.raises(StoreError, match=rf"{FILE} is no SQLite database, and was not touched"):
        BrokerStore(tmp_path, source=True)
    assert (tmp_path / FILE).read_text() == "my diary\n" * 1000
    (tmp_path / FILE).unlink()
    BrokerStore(tmp_path, source=True).close()


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    on_disk(tmp_path, "CREATE TABLE recipes (name TEXT)")
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(StoreError, match="is a database, but not a broker's store; it was not touched"):
        BrokerStore(tmp_path, source=True)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, [records(1, 1)])
    on_disk(tmp_path, "PRAGMA user_version = 3")
    with pytest.raises(StoreError, match=r"was written by a later SemCast .version 3 of its form, 2 is known here"):
        BrokerStore(tmp_path, source=True)


def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(StoreError, match="x cannot be used as a broker's folder: File exists"):
        BrokerStore(tmp_path / "x", source=True)


@pytest.fixture
def not_root() -> Iterator[None]:
    """Whoever is root is nobody for a while: root may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def written(open_folder: Path) -> Path:
    """A store that others may read and not write."""
    folder = open_folder / "b"
    write(folder, [records(1, 1)])
    (folder / FILE).chmod(0o444)
    (folder / "lock").chmod(0o666)
    folder.chmod(0o555)
    return folder


def test_a_store_that_cannot_be_written_is_refused(written: Path, not_root: None) -> None:
    with pytest.raises(StoreError, match=rf"{FILE} cannot be (written|opened) .look at the owner and the mode"):
        BrokerStore(written, source=True)


def test_a_folder_that_cannot_be_made_is_refused(open_folder: Path, not_root: None) -> None:
    open_folder_mode = open_folder.stat().st_mode & 0o777
    if open_folder.stat().st_uid == os.geteuid():
        open_folder.chmod(0o555)
    with pytest.raises(StoreError, match="cannot be used as a broker's folder: Permission denied"):
        BrokerStore(open_folder / "new", source=True)
    assert open_folder_mode == 0o755


def test_a_file_that_may_not_grow_fails_the_commit_and_a_later_one_makes_up_for_it(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    store._writer.execute("PRAGMA max_page_count = 400")
    committed = fill(store)
    check_after_full(store, tmp_path, committed)
    store._writer.execute("PRAGMA max_page_count = 100000")
    assert store.commit() == log_of(store).end == committed + 50
    store.close()
    store = BrokerStore(tmp_path, source=True)
    assert log_of(store).end == committed + 50
    assert store.notes.get("position") == b"%d" % (committed + 50)
    assert store.verify() == committed + 50
    store.close()


def test_whoever_holds_a_lock_on_the_file_is_waited_for_and_then_named(tmp_path: Path) -> None:
    store = BrokerStore(tmp_path, source=True)
    store._writer.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    log_of(store).append(records(1, 1))
    with pytest.raises(StoreError, match=rf"{FILE} is locked by another program"):
        store.commit()
    other.execute("ROLLBACK")
    other.close()
    assert store.commit() == 1
    store.close()
