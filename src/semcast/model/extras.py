"""Parts of SemCast that need more than its base: which extra of the package has what they import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from semcast.model.errors import SemcastError

EXTRAS = {
    "spark": ("pyspark", "pandas"),
    "plots": ("matplotlib",),
    "server": ("starlette", "uvicorn", "httptools", "websockets", "mqtt5"),
    "postgres": ("psycopg",),
    "topohub": ("topohub",),
}


class MissingExtra(SemcastError, ImportError):
    """Something was asked for that this installation lacks."""


@contextmanager
def needed(extra: str, what: str) -> Iterator[None]:
    """Import in this block what an extra has; MissingExtra, with the way to install it, where that is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS[extra]:
            raise
        raise MissingExtra(
            f"{what} needs {missing}, which is not installed\n  pip install 'semcast[{extra}]'", name=missing
        ) from None
