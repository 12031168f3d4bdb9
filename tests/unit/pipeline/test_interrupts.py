"""A batch that is stopped: known as such, and told to Spark in words that it finds."""

from __future__ import annotations

import logging
import re

import pytest
from pyspark.errors import PySparkException

from semcast.model import SemcastError
from semcast.pipeline.interrupts import BatchStopped, _silence, is_stopped


def test_a_cancelled_or_interrupted_job_is_stopped_and_one_that_fails_is_not() -> None:
    assert is_stopped(PySparkException("[SPARK_JOB_CANCELLED] Job 5 cancelled as part of cancellation of all jobs"))
    assert is_stopped(PySparkException("java.lang.InterruptedException\n\tat java.base/java.util"))
    assert is_stopped(PySparkException("java.nio.channels.ClosedByInterruptException"))
    assert not is_stopped(PySparkException("Job aborted due to stage failure: java.lang.NullPointerException"))
    assert not is_stopped(SemcastError("Job 5 cancelled"))


def test_spark_finds_an_interrupt_in_it_without_a_deep_stack() -> None:
    sought = (
        r"py4j.protocol.Py4JJavaError: An error occurred while calling((.|\r\n|\r|\n)*)(java.lang.InterruptedException)"
    )
    told = str(BatchStopped())
    assert re.search(sought, told)
    assert len(told) < 200


def test_py4j_does_not_report_it_and_reports_others(caplog: pytest.LogCaptureFixture) -> None:
    _silence()
    logger = logging.getLogger("py4j.clientserver")
    for error in (BatchStopped(), ValueError("news")):
        try:
            raise error
        except Exception:
            logger.exception("There was an exception while executing the Python Proxy on the Python Side.")
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError]
