"""Coordinators in real processes that share a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from semcast.storage.coordinator_store import SqliteCoordinatorStore

PROGRAM = """
import json, sys
from semcast.storage.coordinator_store import SqliteCoordinatorStore
from semcast.protocol.stores import FencedError
path, who = sys.argv[1:]
store = SqliteCoordinatorStore(path, timeout_s=60)
terms, written, fenced = [], 0, 0
while written < 30:
    term = store.lead(who, 0.0 if written % 2 else 0.002)
    if term is None:
        continue
    terms.append(term)
    count = int(store.read().get("count", b"0"))
    try:
        store.commit(term, {"count": b"%d" % (count + 1), who: b"%d" % term})
        written += 1
    except FencedError:
        fenced += 1
print(json.dumps({"terms": terms, "fenced": fenced}))
"""


@pytest.mark.system
def test_processes_that_contend_for_the_lead_never_share_a_term_nor_overwrite_each_other(tmp_path: Path) -> None:
    path = tmp_path / "coordinator.sqlite3"
    pipe = subprocess.PIPE
    contenders = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, path, f"c{n}"], stdout=pipe, text=True) for n in range(4)
    ]
    told = [json.loads(each.communicate(timeout=200)[0]) for each in contenders]
    assert all(each.returncode == 0 for each in contenders)
    terms = [set(each["terms"]) for each in told]
    assert sum(map(len, terms)) == len(set.union(*terms))
    store = SqliteCoordinatorStore(path)
    assert store.read()["count"] == b"120"
    assert store.lead("c9", 1.0) == max(set.union(*terms)) + 1
    store.close()
