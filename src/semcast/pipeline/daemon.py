"""The process that Spark forks its Python workers from, made ready before the first fork.

A worker that starts from nothing needs seconds of CPU: pyspark's worker is compiled from a zip file each
time, numba is imported, and each kernel's first call loads its machine code. A fork inherits all of it.
Spark runs this module in place of ``pyspark.daemon`` (setting ``spark.python.daemon.module``), with the
module that its workers shall run as the first argument.

Importing pyarrow starts one thread, jemalloc's; jemalloc and Arrow restart their own threads in a child.
Nothing that is imported here may start any other: a fork copies only the thread that forks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import daemon


def main() -> None:
    """Prepare, then serve forks until Spark closes our stdin."""
    if sys.argv[1:2] in ([], ["pyspark.worker"]):  # others plan a data source or parse a schema: no kernels there
        with _stdout_on_stderr():
            prepare()
    daemon.worker = _leaving_quietly(daemon.worker)
    daemon.manager()


def _leaving_quietly(worker: Callable[..., int]) -> Callable[..., int]:
    """Let a worker whose task was cancelled before it began end as any other: by itself it prints a traceback.

    Spark has hung up, so there is nobody to tell. What fails later, in the task, pyspark reports itself.
    """

    def quiet(*args: Any) -> int:
        try:
            return worker(*args)
        except (BrokenPipeError, ConnectionResetError):
            return 1

    return quiet


def prepare() -> None:
    """Import what workers import and call each kernel once; a failure costs speed, never the job."""
    try:
        import pyarrow  # noqa: F401
        import pyspark.worker  # noqa: F401

        from semcast.matching.relational import kernels

        kernels.warm()
    except Exception as error:  # the worker will raise it again where it matters, with its context
        print(f"semcast: Python workers start cold ({type(error).__name__}: {error})", file=sys.stderr)


@contextmanager
def _stdout_on_stderr() -> Iterator[None]:
    """Keep stdout clean: its first bytes must be the port number that the manager tells Spark."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


if __name__ == "__main__":
    main()
