"""Every code block of the README and of docs/ is run, page by page, as a reader would try it."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from semcast.cli.demo import demo
from semcast.model import SemcastError
from tests.conftest import find_program
from tests.docs.blocks import NOT_RUN, Block, Command, as_shown, blocks, commands, pages, parsed
from tests.docs.readers import READERS, check_matches, check_options
from tests.docs.stage import Follower, Stage

pytestmark = [pytest.mark.spark, pytest.mark.system, pytest.mark.timeout(1800)]  # a page is many commands

AT_MOST_NOT_RUN = 12
PROGRAMS = ("curl", "mosquitto_sub")
ON_SPARK = re.compile(r"semcast (match|plan|cost|pipeline) |\bsession\(")
OVERLAY = re.compile(r"127\.0\.0\.1:740|-p 7402")
MADE = "docs/api.md"
"""Made from docstrings, and shows signatures: tests/docs/test_api.py compares it with them."""
WITH_BLOCKS = [page for page in pages() if page != MADE and any(block.mark != NOT_RUN for block in blocks(page))]


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """What ``make demo`` leaves behind, small."""
    folder = tmp_path_factory.mktemp("docs") / "demo"
    demo(messages=2000, profiles=200, seconds=0, out=folder)
    return folder


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_the_blocks_of_a_page_run(page: str, stage: Stage, request: pytest.FixtureRequest) -> None:
    found = [block for block in blocks(page) if block.mark != NOT_RUN]
    text = "".join(block.text for block in found)
    for program in PROGRAMS:
        if re.search(rf"^(\$ )?{program} ", text, re.MULTILINE):
            find_program(program)
    if "build/demo" in text:
        (stage.folder / "build").mkdir()
        (stage.folder / "build" / "demo").symlink_to(request.getfixturevalue("demo_data"))
    if ON_SPARK.search(text):
        request.getfixturevalue("spark")
    if OVERLAY.search(text) and "semcast up" not in text:
        stage.bring_up()
    for block in found:
        perform(block, stage)


def perform(block: Block, stage: Stage) -> None:
    if block.mark == "file":
        stage.write(block)
    elif block.mark == "output":
        stage.check_output(block)
    elif (block.language, block.mark) in READERS:
        READERS[block.language, block.mark](block, stage)
    elif block.language == "python":
        stage.python(block)
    elif block.language in ("sh", "console"):
        stage.shell(block)
    else:
        pytest.fail(f"{block}: nothing reads a block of {block.language or 'no language'!r}, marked {block.mark!r}")


def not_run() -> list[Block]:
    return [block for page in pages() for block in blocks(page) if block.mark == NOT_RUN]


def test_what_is_not_run_says_why_and_is_little() -> None:
    found = not_run()
    for block in found:
        print(f"{block} is not run: {block.about}")
    assert len(found) <= AT_MOST_NOT_RUN, "\n".join(f"{block}: {block.about}" for block in found)
    assert [str(block) for block in found if len(block.about.split()) < 3] == []


def test_commands_that_are_not_run_exist_with_their_options() -> None:
    for block in not_run():
        if block.language in ("sh", "console"):
            for command in commands(block):
                if command.line.startswith("semcast "):
                    check_options(command.line, str(block))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```python\nassert 1 == 2\n```\n", ""),
        ("```sh\nfalse\n```\n", "false"),
        ("```console\n$ echo found\nshown\n```\n", "printed:\nfound"),
        ("```python\nprint(7)\n```\n<!-- output -->\n```text\n8\n```\n", "printed:\n7"),
        ("<!-- part of a deployment -->\n```toml\nchanels = 4\n```\n", "chanels"),
        ('<!-- profile -->\n```json\n{"id": "p", "language": "relational", "text": "price >"}\n```\n', ""),
        ('<!-- topology -->\n```json\n{"brokers": [{"id": "a"}], "links": [{"a": "a", "b": "b"}]}\n```\n', "b"),
        ("<!-- unit -->\n```ini\n[Service]\nExecStart=/x/semcast broker b --nothing\n```\n", ""),
        ("```cobol\nSTOP RUN.\n```\n", "nothing reads a block of 'cobol'"),
        ("```\nwhat is this?\n```\n", "nothing reads a block of 'no language'"),
    ],
)
def test_a_block_that_is_wrong_is_noticed(tmp_path: Path, text: str, said: str) -> None:
    stage = Stage(tmp_path)
    *before, wrong = parsed(text)
    for block in before:
        perform(block, stage)
    with pytest.raises((AssertionError, SemcastError, pytest.fail.Exception)) as noticed:
        perform(wrong, stage)
    assert said in str(noticed.value)


def test_a_follower_that_never_prints_what_is_shown_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.stage.PATIENCE_S", 2.0)
    stage = Stage(tmp_path)
    stage._followers.append(
        Follower(Command("sleep 60", "shown\n"), subprocess.Popen(["sleep", "60"]), tmp_path / "examples" / "up.toml")
    )
    with pytest.raises(AssertionError, match="sleep 60"):
        stage.close()


def test_marks_and_ellipses() -> None:
    found = parsed(
        "text\n<!-- not run: no reason -->\n```sh\nx\n```\n<!-- file: a.json -->\n\nmore\n\n  ```json\n  {}\n  ```\n"
    )
    assert [(block.language, block.mark, block.about, block.text, block.line) for block in found] == [
        ("sh", "not run", "no reason", "x\n", 3),
        ("json", "", "", "{}\n", 10),
    ]
    assert as_shown("a … c\n…\nz\n", "a b  c\n1\n2\nz  \n")
    assert not as_shown("a … c\n", "a b d\n")
    with pytest.raises(ValueError, match=r"page\.md:1"):
        parsed("```sh\nnever ends\n")


def test_commands_with_options_that_do_not_exist_are_noticed() -> None:
    with pytest.raises(AssertionError, match="--nothing"):
        check_options("semcast plan --nothing 5 --out x  # said", "here")
    with pytest.raises(AssertionError, match="there is no semcast plans"):
        check_options("semcast plans", "here")


def test_a_table_that_is_wrong_about_a_profile_is_noticed() -> None:
    said = {f"a > {number}": True for number in range(9)} | {"a > 9": True, "a < 0": False}
    with pytest.raises(AssertionError, match="a > 9"):
        check_matches("relational", '{"a": 9}', said, "here")
    with pytest.raises(AssertionError, match="here"):
        check_matches("relational", '{"a": 9}', {"a > 1": True}, "here")


def test_a_follower_that_does_not_end_is_killed_and_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.stage.PATIENCE_S", 1.0)
    stage = Stage(tmp_path)
    deaf = subprocess.Popen(["bash", "-c", "trap '' INT; echo ready; sleep 60; true"], stdout=subprocess.PIPE)
    assert deaf.stdout is not None
    deaf.stdout.readline()
    stage._followers.append(Follower(Command("deaf"), deaf, tmp_path / "log"))
    with pytest.raises(AssertionError, match="deaf"):
        stage.close()
    assert deaf.returncode == -signal.SIGKILL
