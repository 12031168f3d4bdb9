"""The coordinators' store in PostgreSQL: a real server, which is stopped, frozen and asked by several."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from semcast.protocol.stores import FencedError, UnreachableError
from semcast.storage.database import StoreError
from semcast.storage.postgres_store import PostgresCoordinatorStore
from tests.postgres import Postgres

pytestmark = pytest.mark.system


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.url()


@pytest.fixture
def store(url: str) -> Iterator[PostgresCoordinatorStore]:
    store = PostgresCoordinatorStore(url, timeout_s=20)
    yield store
    store.close()


def backend(store: PostgresCoordinatorStore) -> int:
    """The server's process behind a store's connection."""
    return store._idle[0].info.backend_pid


def test_the_lead_and_what_was_decided_outlive_everybody(store: PostgresCoordinatorStore, url: str) -> None:
    assert store.lead("c0", 3600) == 1
    store.commit(1, {"plan": b"p\x00\xff", "old": b"", "Z": b"z", "é": b"e"})
    store.commit(1, {"old": None, "never": None})
    assert list(store.read().items()) == [("Z", b"z"), ("plan", b"p\x00\xff"), ("é", b"e")]
    store.close()
    again = PostgresCoordinatorStore(url, timeout_s=20)
    assert again.lead("c1", 3600) is None
    assert again.lead("c0", 0) == 1
    assert again.lead("c1", 3600) == 2
    with pytest.raises(FencedError, match="term 1 is over, 2 is the newest"):
        again.commit(1, {"plan": None})
    assert again.read()["plan"] == b"p\x00\xff"
    again.close()


def test_the_databases_clock_judges_also_when_it_was_set_back(store: PostgresCoordinatorStore) -> None:
    assert store.lead("c0", 3600) == 1
    store._idle[0].execute("UPDATE semcast_lead SET granted = granted + 9e6, until = until + 9e6")
    assert store.lead("c1", 3600) is None
    held = (
        store._idle[0]
        .execute("SELECT until - extract(epoch FROM clock_timestamp()) BETWEEN 0 AND 3601 FROM semcast_lead")
        .fetchone()
    )
    assert held == (True,)


def test_a_connection_that_is_lost_makes_the_store_unreachable_once(store: PostgresCoordinatorStore, url: str) -> None:
    store.commit(store.lead("c0", 3600) or 0, {"a": b"1"})
    other = PostgresCoordinatorStore(url, timeout_s=20)
    other.read()
    other._idle[0].execute("SELECT pg_terminate_backend(%s)", (backend(store),))
    with pytest.raises(UnreachableError, match="does not answer"):
        store.read()
    assert store.read() == {"a": b"1"}
    other.close()


def test_a_server_that_is_down_is_unreachable_and_forgets_nothing(
    store: PostgresCoordinatorStore, postgres: Postgres
) -> None:
    store.commit(store.lead("c0", 3600) or 0, {"a": b"1"})
    postgres.stop()
    try:
        for call in (lambda: store.lead("c0", 1), lambda: store.commit(1, {"a": None}), store.read):
            with pytest.raises(UnreachableError, match="does not answer"):
                call()
    finally:
        postgres.start()
    assert store.lead("c0", 3600) == 1
    assert store.read() == {"a": b"1"}


def test_a_server_that_stands_still_is_hung_up_on(url: str, postgres: Postgres) -> None:
    store = PostgresCoordinatorStore(url, timeout_s=0.5)
    while True:  # a busy machine may be too slow for the timeout at first
        try:
            store.commit(store.lead("c0", 3600) or 0, {"a": b"1"})
            break
        except UnreachableError:
            continue
    frozen = backend(store)
    postgres.freeze(frozen)
    try:
        with pytest.raises(UnreachableError):
            store.read()
    finally:
        postgres.thaw(frozen)
    patient = PostgresCoordinatorStore(url, timeout_s=20)
    assert patient.read() == {"a": b"1"}
    patient.close()
    store.close()


def test_whoever_holds_the_lead_in_a_transaction_is_not_waited_for_forever(
    store: PostgresCoordinatorStore, url: str
) -> None:
    assert store.lead("c0", 3600) == 1
    with store._idle[0].transaction():
        store._idle[0].execute("SELECT * FROM semcast_lead FOR UPDATE")
        hasty = PostgresCoordinatorStore(url, timeout_s=0.5)
        with pytest.raises(UnreachableError):
            hasty.lead("c1", 1)
        hasty.close()
    assert store.lead("c0", 3600) == 1


def test_whoever_stands_still_in_a_transaction_is_thrown_out_by_the_server(
    store: PostgresCoordinatorStore, url: str
) -> None:
    still = PostgresCoordinatorStore(url, timeout_s=2)
    still.read()
    still._idle[0].execute("BEGIN")
    still._idle[0].execute("SELECT * FROM semcast_lead FOR UPDATE")
    assert store.lead("c1", 1) == 1
    still.close()


def test_tables_are_made_by_many_at_once_and_used_by_who_may_not_make_any(url: str) -> None:
    stores = [PostgresCoordinatorStore(url, timeout_s=60) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda store: store.read(), stores)) == [{}] * 6
    connection = stores[0]._idle[0]
    assert connection is not None
    row = connection.execute("SELECT current_schema()").fetchone()
    assert row is not None
    role = f"weak_{row[0]}"
    connection.execute(f"CREATE ROLE {role} LOGIN")
    connection.execute(f"GRANT USAGE ON SCHEMA {row[0]} TO {role}")
    connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON semcast_lead, semcast_state TO {role}")
    weak = PostgresCoordinatorStore(url.replace("user=semcast", f"user={role}"), timeout_s=20)
    assert weak.lead("c0", 1) == 1
    for store in (*stores, weak):
        store.close()


def test_threads_that_contend_for_the_lead_never_share_a_term_nor_overwrite_each_other(url: str) -> None:
    def contend(who: str) -> set[int]:
        store = PostgresCoordinatorStore(url, timeout_s=60)
        terms, written = set(), 0
        while written < 20:
            term = store.lead(who, 0.0 if written % 2 else 0.002)
            if term is None:
                continue
            terms.add(term)
            count = int(store.read().get("count", b"0"))
            try:
                store.commit(term, {"count": b"%d" % (count + 1)})
                written += 1
            except FencedError:
                continue
        store.close()
        return terms

    with ThreadPoolExecutor(4) as pool:
        terms = list(pool.map(contend, ("c0", "c1", "c2", "c3")))
    assert sum(map(len, terms)) == len(set.union(*terms))
    store = PostgresCoordinatorStore(url, timeout_s=20)
    assert store.read() == {"count": b"80"}
    assert store.lead("c9", 1) == max(set.union(*terms)) + 1
    store.close()


def test_what_the_database_refuses_is_told_as_it_is(url: str) -> None:
    store = PostgresCoordinatorStore(url + "_that_is_not_there", timeout_s=20)
    with pytest.raises(StoreError, match=r"PostgreSQL at /tmp/.*/postgres: no schema has been selected to create in"):
        store.read()


def test_an_address_that_is_none_is_refused_without_showing_it() -> None:
    with pytest.raises(StoreError, match="no address of a PostgreSQL database") as caught:
        PostgresCoordinatorStore("postgresql://me:secret@[host/db")
    assert "secret" not in str(caught.value)


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'semcast\[postgres\]'"):
        PostgresCoordinatorStore("postgresql:///x")
