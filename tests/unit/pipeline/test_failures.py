"""Errors of Java and of Python workers, told in one line."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from semcast import cli
from semcast.model import SemcastError
from semcast.pipeline.failures import cause, failing_at

CALL = "An error occurred while calling o85.text.\n"


class JavaError(Py4JJavaError):
    """As py4j's, whose text comes from a running Java."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.java_exception = SimpleNamespace()

    def __str__(self) -> str:
        return self._text


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        (
            ': java.io.IOException: Cannot run program "chmod": error=2, No such file or directory\n'
            "\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1170)\n"
            "Caused by: java.io.IOException: error=2, No such file or directory\n\t... 20 more\n",
            'IOException: Cannot run program "chmod": error=2, No such file or directory; '
            "is chmod installed, and on PATH?",
        ),
        (
            ": org.apache.spark.SparkException: Job aborted due to stage failure\n"
            "\tat org.apache.spark.A.b(A.scala:1)\nCaused by: org.apache.spark.SparkException: Task failed\n"
            "\tSuppressed: java.lang.Exception: not this one\n"
            "Caused by: java.nio.file.FileSystemException: /tmp/x: Permission denied\n\t... 1 more\n",
            "FileSystemException: /tmp/x: Permission denied",
        ),
        (": java.lang.NullPointerException\n\tat a.B.c(D.java:1)\n", "NullPointerException"),
        (": a.Outer$Inner: what\nand more\n", "Inner: what"),
        (
            ": java.io.IOException: No space left on device\n",
            "IOException: No space left on device; "
            "make room, or have SPARK_LOCAL_DIRS and --out name folders with room",
        ),
    ],
)
def test_a_java_error_is_its_deepest_cause_that_says_more(trace: str, told: str) -> None:
    assert cause(JavaError(CALL + trace)) == told


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ("ValueError: boom\nsecond line", "ValueError: boom"),
        ("semcast.client.subscription.Refused: a row does not fit", "a row does not fit"),
        ("AssertionError", "AssertionError"),
    ],
)
def test_an_error_of_a_worker_is_the_one_that_its_traceback_ends_with(last: str, told: str) -> None:
    text = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
    text += '  File "x.py", line 14, in bad\n    raise Error: no\n         ^^^^\n' + last
    assert cause(PySparkException(text)) == told


def test_what_spark_says_in_its_own_words_is_shown_by_its_first_line() -> None:
    assert (
        cause(AnalysisException("[PATH_NOT_FOUND] no such path.\n== SQL ==\nmore")) == "[PATH_NOT_FOUND] no such path."
    )


def test_whatever_it_is_it_is_one_line_that_is_not_too_long() -> None:
    for error in (JavaError(""), PySparkException(""), Py4JNetworkError("empty"), JavaError(": a.B: " + "x" * 10_000)):
        assert 0 < len(cause(error)) <= 500
        assert "\n" not in cause(error)


def test_a_block_that_fails_on_spark_names_where() -> None:
    with pytest.raises(SemcastError, match=r"^m\.jsonl: IOException: no$"), failing_at("m.jsonl"):
        raise JavaError(CALL + ": java.io.IOException: no\n")


def test_every_command_shows_an_error_of_spark_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(**_: object) -> None:
        raise JavaError(CALL + ": java.io.IOException: no\n")

    monkeypatch.setattr(cli, "app", failing)
    monkeypatch.setattr(cli, "_register", lambda only: None)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: Spark: IOException: no\n"
