"""``semcast pipeline`` as people run it: it tells what it does, ends at Ctrl-C, and goes on where it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from semcast.dashboard.pipeline import Progress
from tests.pipeline.overlays import client, overlay

pytestmark = [pytest.mark.spark, pytest.mark.system]


def test_it_runs_until_ctrl_c_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    incoming = tmp_path / "in"
    incoming.mkdir()
    with overlay(tmp_path) as url, client(url) as here:
        quotes = here.subscribe("quotes", "price >= 0", ordered=True)
        for turn in range(2):
            command = [
                sys.executable, "-m", "semcast", "pipeline", "--source", str(incoming), "--format", "json",
                "--stream", "quotes", "--coordinator", url, "--checkpoint", str(tmp_path / "checkpoint"),
                "--progress", str(tmp_path / "progress.jsonl"), ["--plan", "--no-plan"][turn],
            ]  # fmt: skip
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert process.stdout is not None
            assert json.loads(process.stdout.readline()) == {"ready": True}
            assert len(here.ask("status", of="c0")["planners"]) == (turn == 0)
            (incoming / f"{turn}.json").write_text(f'{{"symbol": "T", "price": {turn}}}\n' * 3)
            found = [quotes.next(120) for _ in range(3)]
            assert [m.json()["price"] for m in found if m] == [turn] * 3
            told_of(tmp_path / "progress.jsonl", [3] * (turn + 1))
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
            assert process.returncode == 0, told[-3000:]
            assert "3 messages, 3 matched" in told
            assert "0 files behind" in told
            assert "Traceback" not in told
        assert quotes.next(1) is None
    assert Progress(tmp_path / "progress.jsonl").read()["unreadable"] == 0


@pytest.mark.timeout(1200)
def test_ctrl_c_in_the_midst_of_a_batch_ends_it_without_a_word_and_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = 300_000
    (tmp_path / "in" / "0.json").write_text("".join(f'{{"symbol": "T", "price": {row}}}\n' for row in range(rows)))
    command = [
        sys.executable, "-m", "semcast", "pipeline", "--source", str(tmp_path / "in"), "--stream", "quotes",
        "--checkpoint", str(tmp_path / "checkpoint"),
    ]  # fmt: skip
    with overlay(tmp_path) as url, client(url) as here:
        quotes = here.subscribe("quotes", "price < 3 OR price >= 299990", ordered=True)
        command += ["--coordinator", url]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"ready": True}
        first = quotes.next(300)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told[-3000:]
        assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")), "the batch was through before the signal"
        assert [line for line in told.splitlines() if line.startswith(("\t", " ", "Traceback", "Exception"))] == []
        done = subprocess.run([*command, "--once"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        prices = [message.json()["price"] for message in [first, *(quotes.next(60) for _ in range(12))] if message]
        assert prices == [0, 1, 2, *range(rows - 10, rows)]
        assert quotes.next(1) is None


def told_of(file: Path, rows: list[int]) -> None:
    """Wait until batches of so many messages were told of: clients have them before a batch is done."""
    end = time.monotonic() + 120
    while (found := [batch["rows"] for batch in Progress(file).read()["batches"] if batch["rows"]]) != rows:
        assert time.monotonic() < end, found
        time.sleep(0.1)
