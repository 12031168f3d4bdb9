"""Ctrl-C while Spark starts and while it works.

Spark by itself leaves a JVM behind for ever when it is interrupted while it starts, and prints pages of
Python stack when it is interrupted in a job: its handler calls the JVM over the very connection whose
answer it interrupted.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from pyspark import SparkContext
from pyspark.logger import PySparkLogger


@contextmanager
def interruptible() -> Iterator[None]:
    """Start Spark in this block: an interrupt ends its JVM; later ones cancel its jobs, then raise KeyboardInterrupt.

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
            signal.signal(signal.SIGINT, _cancel_and_raise if before is signal.default_int_handler else before)


def _kill_half_started(error: BaseException) -> None:
    """End a JVM that was waited for: nothing but the frame that waited knows it, so ask that frame."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, subprocess.Popen):
                value.kill()
                value.wait()


def _cancel_and_raise(number: int, frame: FrameType | None) -> NoReturn:
    context = SparkContext._active_spark_context
    if context is not None:
        # Another thread has a connection of its own; ours is in the middle of an answer.
        threading.Thread(target=_cancel, args=[context], daemon=True).start()
    raise KeyboardInterrupt


def _cancel(context: SparkContext) -> None:
    try:
        context.cancelAllJobs()
    except Exception:  # the process is ending and the JVM with it
        logging.getLogger(__name__).debug("jobs not cancelled", exc_info=True)


def _silence() -> None:
    """Keep two libraries from printing what reaches the caller as an exception anyway."""
    root = logging.getLogger()
    if _is_news not in root.filters:
        root.addFilter(_is_news)
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _is_news(record: logging.LogRecord) -> bool:
    """False for py4j's report, made to the root logger, that a call to the JVM was interrupted."""
    return not (record.module == "java_gateway" and "while sending command" in str(record.msg))
