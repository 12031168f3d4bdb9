"""`semcast doctor` as a person meets it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from semcast.cli import doctor
from tests.unit.cli.runs import Run


def states(text: str) -> dict[str, str]:
    return {found["what"]: found["state"] for found in json.loads(text)}


def test_a_machine_that_has_everything_is_told_so(run: Run, tmp_path: Path) -> None:
    code, text, _ = run("doctor", "--quick", "--json", "--folder", str(tmp_path))
    found = states(text)
    assert code == 0
    assert {found[what] for what in ("Python", "semcast", "pyspark", "Java", "loopback")} == {"fine"}
    assert "Spark" not in found
    assert list(tmp_path.iterdir()) == []


def test_what_is_broken_is_named_with_advice_and_ends_with_1(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_PACKAGES", ("no-such-package",))
    code, text, err = run("doctor", "--quick", "--folder", str(tmp_path / "nowhere"))
    assert code == 1
    assert "✗ no-such-package" in text
    assert "✗ disk" in text
    assert "disk: choose another folder" in err


def test_what_is_short_is_told_and_no_error(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_MEMORY", 1 << 60)
    monkeypatch.setattr(doctor, "_DISK", 1 << 60)
    monkeypatch.setattr(doctor, "_SLOW_SYNC_MS", 0.0)
    code, text, _ = run("doctor", "--quick", "--json", "--folder", str(tmp_path))
    found = states(text)
    assert code == 0
    assert {found["memory"], found["disk"], found["synced write"]} == {"poor"}


def test_the_overlay_that_the_environment_names_is_tried(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setitem(os.environ, "SEMCAST_URL", f"semcast://{address}")
        assert states(run("doctor", "--quick", "--json")[1])["SEMCAST_URL"] == "fine"
    assert states(run("doctor", "--quick", "--json")[1])["SEMCAST_URL"] == "poor"


def test_a_port_that_others_have_is_named_with_who_wants_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(doctor, "_PORTS", {port: "the page wants it"})
        _, text, err = run("doctor", "--quick", "--json")
        assert states(text)[f"port {port}"] == "poor"
        assert f"port {port}: the page wants it" in err
    assert states(run("doctor", "--quick", "--json")[1])[f"port {port}"] == "fine"


def test_a_container_has_what_is_left_of_its_share(tmp_path: Path) -> None:
    assert doctor._share(tmp_path / "none") == float("inf")
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 700\ninactive_file 300\nactive_file 5\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert doctor._share(tmp_path) == float("inf")
    (tmp_path / "memory.max").write_text("5000\n")
    assert doctor._share(tmp_path) == 4300
