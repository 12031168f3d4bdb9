"""What tests of commands share."""

from __future__ import annotations

import sys

import pytest

from semcast.cli import main
from tests.unit.cli.runs import Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process: (exit code, stdout, stderr)."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["semcast", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        code = ended.value.code
        assert "Traceback" not in err
        return int(code or 0), out, err

    return run
