"""Spark for a command: as the library starts it, and with Ctrl-C as a person at a terminal expects it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(name: str = "semcast", master: str | None = None, **conf: str | float) -> SparkSession:
    """The running session, else a new one. Ctrl-C ends a JVM that is starting, and cancels the jobs that run later.

    For that the whole process has another SIGINT handler and hears less of py4j: a command may do so, a library not.
    """
    from semcast.pipeline.interrupts import interruptible
    from semcast.pipeline.session import session

    with interruptible():
        return session(name, master, **conf)
