"""Ctrl-C while Spark starts and while it works, for commands; a library leaves that to the program that it is part of.

Spark by itself leaves a JVM behind for ever when it is interrupted while it starts. Interrupted in a job it prints
pages of stack and cancels nothing: its handler calls the JVM over the very connection whose answer it interrupts,
and py4j then has the connections of all threads closed, those that are made a moment later included. Stopped while
tasks of cancelled jobs still end, it prints what they find closed.
"""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from py4j.clientserver import ClientServerConnection
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

_ENDING_S = 20.0  # what tasks are given: Spark kills a Python worker that does not heed its task's end after 2 s
_STOPPED = re.compile(r"java\.(lang|io|nio)\.\S*Interrupt\w*|Job \S+ cancelled")


class BatchStopped(Exception):
    """A batch of a streaming query that was interrupted, or whose jobs were cancelled, in few words.

    Spark looks for an interrupt in what a batch raised with a pattern that takes a level of stack per letter. py4j's
    error brings Java's stack along, nine thousand letters: the query's thread dies of it, on a thousand lines.
    """

    def __init__(self) -> None:
        super().__init__(
            "py4j.protocol.Py4JJavaError: An error occurred while calling for a batch that was stopped: "
            "java.lang.InterruptedException"  # in the words by which Spark knows it
        )


def is_stopped(error: BaseException) -> bool:
    """Was a job ended by who stops its query or cancels it, and not by what it does?"""
    return isinstance(error, (Py4JJavaError, PySparkException)) and _STOPPED.search(str(error)) is not None


def stop(spark: SparkSession) -> None:
    """Stop Spark when the tasks of what was cancelled have ended, or do not end."""
    try:
        end = time.monotonic() + _ENDING_S
        while running_tasks(spark) and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        spark.stop()


def running_tasks(spark: SparkSession) -> int:
    """How many tasks run, those of cancelled jobs too.

    As the scheduler knows it: what Spark tells in public is up to seconds old.
    """
    counts = spark.sparkContext._jsc.sc().taskScheduler().runningTasksByExecutors().valuesIterator()
    found = 0
    while counts.hasNext():
        found += counts.next()
    return found


@contextmanager
def interruptible() -> Iterator[None]:
    """Start Spark in this block: an interrupt there ends its JVM, a later one cancels the jobs that run.

    A SIGINT handler that the caller had set before stays in place of ours.
    """
    before = signal.getsignal(signal.SIGINT)
    _silence()
    try:
        yield
    except BaseException as error:
        _kill_half_started(error)
        raise
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, _interrupt if before is signal.default_int_handler else before)


def _kill_half_started(error: BaseException) -> None:
    """End a JVM that was being waited for: only the frame that waited knows it, so ask that frame."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, subprocess.Popen):
                value.kill()
                value.wait()


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt at once, from a call to the JVM too; its jobs are cancelled in the background.

    A call that was still being planned may start its job after that, in a process that goes on.
    """
    context = SparkContext._active_spark_context
    if context is not None:
        _hang_up(frame)
        threading.Thread(target=_cancel, args=[context], daemon=True).start()
    raise KeyboardInterrupt


def _hang_up(frame: FrameType | None) -> None:
    """Close the connection whose answer is being read: it would come too late, and to another question.

    Finding it closed, py4j leaves the other threads' connections alone and makes a new one for the next call.
    """
    while frame is not None:
        connection = frame.f_locals.get("self")
        if isinstance(connection, ClientServerConnection):
            connection.close()
            return
        frame = frame.f_back


def _cancel(context: SparkContext) -> None:
    try:
        context.cancelAllJobs()
    except Exception:  # the JVM is ending, and its jobs with it
        logging.getLogger(__name__).debug("jobs not cancelled", exc_info=True)


def _silence() -> None:
    """Keep two libraries from printing what reaches the caller as an exception anyway."""
    for logger in (logging.getLogger(), logging.getLogger("py4j.clientserver")):
        if _is_news not in logger.filters:
            logger.addFilter(_is_news)
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _is_news(record: logging.LogRecord) -> bool:
    """False for py4j's reports that a call to the JVM was interrupted, made to the root logger, or a batch stopped."""
    if record.exc_info and record.exc_info[0] is BatchStopped:
        return False
    return not (record.module == "java_gateway" and "while sending command" in str(record.msg))
