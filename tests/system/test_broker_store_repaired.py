"""A damaged log, given up from the command line."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from semcast.storage.broker_store import BrokerStore
from semcast.storage.database import StoreError
from tests.unit.storage.written import flip, records, write


@pytest.mark.system
def test_a_broker_that_is_started_with_repair_gives_up_what_is_broken_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, [records(1, 3), records(4, 2), records(6, 4)])
    flip(tmp_path, 4)
    with pytest.raises(StoreError, match="--repair"):
        BrokerStore(tmp_path, source=True)
    command = [sys.executable, "-m", "semcast", "broker", "b0", "--coordinator", "127.0.0.1:9", "--data", str(tmp_path)]
    with subprocess.Popen([*command, "--repair"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.terminate()
    assert "records 4 to 5 are lost" in said
    with closing(BrokerStore(tmp_path, source=True)) as store:
        assert store.verify() == 7
