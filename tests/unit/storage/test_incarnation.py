"""The incarnation never falls, whatever becomes of the files that have it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from semcast.storage.broker_store import FILE, INCARNATION, BrokerStore

KILLED = """
import os, signal, sys
from semcast.storage.broker_store import BrokerStore
store = BrokerStore(sys.argv[1], source=False)
print(store.incarnation, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(folder: Path) -> int:
    """The incarnation of a process that opened the store and was killed with it open."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    return int(done.stdout)


@pytest.mark.parametrize("lost", [f"{FILE}-wal", FILE, INCARNATION])
def test_it_rises_when_a_file_was_deleted_after_a_crash(tmp_path: Path, lost: str) -> None:
    known = [killed(tmp_path) for _ in range(3)]
    for path in tmp_path.glob(f"{lost}*"):
        path.unlink()
    known.append(killed(tmp_path))
    assert known == sorted(set(known))


@pytest.mark.parametrize("text", [b"", b"x", b"-7", b"\xff\xfe", b"9" * 400])
def test_a_file_that_makes_no_sense_counts_for_nothing(tmp_path: Path, text: bytes) -> None:
    BrokerStore(tmp_path, source=False).close()
    (tmp_path / INCARNATION).write_bytes(text)
    store = BrokerStore(tmp_path, source=False)
    assert store.incarnation == 2
    store.close()


def test_it_is_never_below_the_least_and_goes_on_from_there(tmp_path: Path) -> None:
    for least, incarnation in ((1, 1), (100, 100), (50, 101)):
        store = BrokerStore(tmp_path, source=False, least_incarnation=least)
        assert store.incarnation == incarnation
        store.close()


def test_what_cannot_be_written_leaves_the_old_number(tmp_path: Path) -> None:
    BrokerStore(tmp_path, source=False).close()
    os.mkdir(tmp_path / f"{INCARNATION}.new")
    with pytest.raises(Exception, match="cannot be written"):
        BrokerStore(tmp_path, source=False)
    assert (tmp_path / INCARNATION).read_text() == "1\n"
