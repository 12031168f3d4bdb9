"""Files of ours, opened by several and written all or nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from semcast.storage.database import Kind, connect, transaction

KIND = Kind("a test's file", 7, 1, "CREATE TABLE held (name TEXT); INSERT INTO held VALUES ('first')")
ROUNDS, OPENERS = 40, 4


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    connection = connect(tmp_path / "x", KIND)

    def fail() -> None:
        with transaction(connection):
            connection.execute("INSERT INTO held VALUES ('second')")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with transaction(connection):
        connection.execute("INSERT INTO held VALUES ('third')")
    assert connection.execute("SELECT name FROM held").fetchall() == [("first",), ("third",)]
    connection.close()


def test_a_fresh_file_can_be_opened_by_many_at_once(tmp_path: Path) -> None:
    barrier = Barrier(OPENERS)

    def look(path: Path) -> list[tuple[str]]:
        barrier.wait()
        with closing(connect(path, KIND, busy_s=60)) as connection:
            return connection.execute("SELECT name FROM held").fetchall()

    with ThreadPoolExecutor(OPENERS) as pool:
        for number in range(ROUNDS):
            assert list(pool.map(look, [tmp_path / f"{number}"] * OPENERS)) == [[("first",)]] * OPENERS
