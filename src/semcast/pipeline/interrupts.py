"""Ctrl-C while Spark starts and while it works.

Spark by itself leaves a JVM behind for ever when it is interrupted while it starts. Interrupted in a job it
prints pages of stack and cancels nothing: its handler calls the JVM over the very connection whose answer it
interrupts, and py4j then closes the connections of all threads. So here an interrupt in a call to the JVM first
cancels the jobs, from another thread, and becomes a KeyboardInterrupt when that makes the call return.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from pyspark import SparkContext
from pyspark.errors.exceptions import captured
from pyspark.logger import PySparkLogger

_GRACE_SECONDS = 2.0  # for a cancelled call to return; one that waits for something else is then broken off
_asked = threading.Event()  # an interrupt has come and is not yet a KeyboardInterrupt
_convert_exception = captured.convert_exception


@contextmanager
def interruptible() -> Iterator[None]:
    """Start Spark in this block: interrupted there, it ends its JVM; later, it cancels its jobs.

    A SIGINT handler that the caller had set before stays in place of ours.
    """
    before = signal.getsignal(signal.SIGINT)
    _silence()
    captured.convert_exception = _converted
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


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle SIGINT, in the main thread; a second one does not wait for Spark."""
    first = not _asked.is_set()
    context = SparkContext._active_spark_context
    if first and context is not None:
        _asked.set()
        threading.Thread(target=_cancel, args=[context], daemon=True).start()
        if _calls_the_jvm(frame):
            return
    _asked.clear()
    raise KeyboardInterrupt


def _calls_the_jvm(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "send_command" and "py4j" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _cancel(context: SparkContext) -> None:
    """Cancel again and again: the interrupted call may still be planning and start its job only now."""
    deadline = time.monotonic() + _GRACE_SECONDS
    try:
        context.cancelAllJobs()
        while _asked.is_set() and time.monotonic() < deadline:
            time.sleep(0.05)
            context.cancelAllJobs()
    except Exception:  # the JVM is ending, and its jobs with it
        logging.getLogger(__name__).debug("jobs not cancelled", exc_info=True)
    if _asked.is_set():
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _converted(e: Any) -> captured.CapturedException:
    """Stand in for the function by which pyspark makes an exception of a Java one."""
    if _asked.is_set() and threading.current_thread() is threading.main_thread():
        _asked.clear()
        raise KeyboardInterrupt from None
    return _convert_exception(e)


def _silence() -> None:
    """Keep two libraries from printing what reaches the caller as an exception anyway."""
    root = logging.getLogger()
    if _is_news not in root.filters:
        root.addFilter(_is_news)
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _is_news(record: logging.LogRecord) -> bool:
    """False for py4j's report, made to the root logger, that a call to the JVM was interrupted."""
    return not (record.module == "java_gateway" and "while sending command" in str(record.msg))
