"""Commands as a person meets them: their output, errors and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from semcast.cli import _COMMANDS, app
from tests.unit.cli.runs import Run


def test_covers_prints_true_or_false(run: Run) -> None:
    assert run("covers", "--language", "relational", "price > 10", "price > 20")[:2] == (0, "true\n")
    assert run("covers", "price > 20", "price > 10")[:2] == (0, "false\n")
    _code, out, _ = run("covers", "--json", "price > 20", "price > 10")
    assert json.loads(out) == {"covers": False, "overlaps": True, "a": "price > 20", "b": "price > 10"}


def test_an_error_in_a_profile_has_a_caret(run: Run) -> None:
    code, out, err = run(
        "covers", "--schema", "symbol STRING, price DOUBLE", "price > 1", "symbol = 'IBM' AND prise > 90"
    )
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "error: in B: unknown attribute 'prise'",
        "  symbol = 'IBM' AND prise > 90",
        "                     ^^^^^ did you mean 'price'?",
    ]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (
            ["covers", "--language", "klingon", "a", "b"],
            1,
            "error: there is no profile language 'klingon'; there is relational",
        ),
        (["covers", "a > 1"], 2, "Missing argument 'B'"),
        (["nonsense"], 2, "No such command"),
        (["match"], 2, "Missing option '--profiles'"),
        (
            ["match", "--profiles", "none.jsonl", "--messages", "none.jsonl", "--out", "x"],
            1,
            "error: none.jsonl: no such file",
        ),
        (["match", "--profiles", "p", "--messages", "m", "--json"], 1, "give --out"),
        (["match", "--profiles", "p", "--messages", "m", "--out", "no/such/x"], 1, "error: no/such: no such folder"),
        (["explain", "x >"], 1, "error: the profile ends"),
        (["explain", "x > 1", "--sample", "none"], 1, "error: none: no such file"),
        (["explain", "x > 1", "--schema", "nope"], 1, "no such file, and no schema either"),
        (["explain", "x > 1", "--schema", "x WIDGET"], 1, "error: attribute 'x' has type 'WIDGET'"),
    ],
)
def test_errors_are_one_message_and_an_exit_code(
    run: Run, words: list[str], code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen, _, err = run(*words)
    assert seen == code
    assert text in " ".join(err.split())


def test_help_explains_every_command(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    registered = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert registered == set(_COMMANDS)
    for command in sorted(registered):
        assert re.search(rf"^\W*{command}\s+\w", out, re.MULTILINE), command
        about = run(command, "--help")[1]
        assert "Usage:" in about
        assert f"semcast {command}" in about
        assert len(about) > 300, command


def test_explain_shows_parts_selectivity_and_what_covers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text("".join(f'{{"price": {i}}}\n' for i in range(10)) + "bad\n")
    profiles = {"wide": "price > 0", "same": "price > 7", "other": "size > 1", "narrow": "price = 9"}
    lines = [json.dumps({"id": i, "language": "relational", "text": t}) for i, t in profiles.items()]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    words = ["explain", "7 < price", "--sample", str(tmp_path / "m.jsonl"), "--profiles", str(tmp_path / "p.jsonl")]
    code, out, _ = run(*words)
    assert code == 0
    assert "canonical    price > 7" in out
    assert "selectivity  20.0000% (2 of 10 messages)" in out
    assert "covered by   wide, same" in out
    assert "covers       same, narrow" in out
    found = json.loads(run(*words, "--json")[1])
    assert found["selectivity"] == {"messages": 10, "matched": 2, "share": 0.2, "unreadable": 1}
    assert found["attributes"] == {"price": ["number"]}


def test_explain_says_when_nothing_can_match(run: Run) -> None:
    assert "nothing, whatever the message" in run("explain", "x > 1 AND x < 0")[1]


def test_version(run: Run) -> None:
    import semcast

    assert run("--version")[:2] == (0, f"{semcast.__version__}\n")


def test_prefixes_are_given_with_namespace(run: Run, tmp_path: Path) -> None:
    words = ["-l", "xpath", "--namespace", "n=urn:x", "--namespace", "m=urn:x=y"]
    assert run("covers", "//n:a", "/m:b/n:a", *words)[:2] == (0, "true\n")
    (tmp_path / "p.jsonl").write_text('{"id": "p", "language": "xpath", "text": "n:a"}\n')
    code, out, _ = run("explain", "n:a/@m:b", *words, "--profiles", str(tmp_path / "p.jsonl"))
    assert code == 0
    assert "canonical    /Q{urn:x}a/@Q{urn:x=y}b" in out
    assert "covered by   p" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["covers", "n:a", "b", "-l", "xpath"], "give its namespace: parse"),
        (["covers", "n:a", "b", "-l", "xpath"], "--namespace n=..."),
        (["covers", "nn:a", "b", "-l", "xpath", "--namespace", "n=urn:x"], "did you mean 'n'?"),
        (["covers", "a", "b", "-l", "xpath", "--namespace", "n"], "write PREFIX=URI"),
        (["covers", "a", "b", "-l", "xpath", "--namespace", "n=u", "--namespace", "n=v"], "two namespaces"),
        (["covers", "x > 1", "x > 2", "--namespace", "n=u"], "names in relational profiles have no prefixes"),
    ],
)
def test_prefixes_that_cannot_be_used_are_told(run: Run, words: list[str], text: str) -> None:
    code, _, err = run(*words)
    assert code == 1
    assert text in err


def test_explain_counts_documents_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    for name, text in {"a": "<a/>", "b": "<b/>", "c": "<broken"}.items():
        (tmp_path / f"{name}.xml").write_text(text)
    for sample in (tmp_path, tmp_path / "*.xml"):
        found = json.loads(run("explain", "/a", "-l", "xpath", "--sample", str(sample), "--json")[1])
        assert found["selectivity"] == {"messages": 3, "matched": 1, "share": 1 / 3, "unreadable": 1}
