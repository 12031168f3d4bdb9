"""Batches of a pipeline on Spark, from the progress that Structured Streaming reports."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from semcast.dashboard.snapshot import Json

_KEPT = 500


class Progress:
    """A file with one ``StreamingQueryProgress`` a line, as Spark writes its JSON; what is no such line is counted."""

    def __init__(self, file: Path | None) -> None:
        self._file = file

    def read(self) -> Json:
        """The last batches, the oldest first."""
        about: Json = {"file": None if self._file is None else str(self._file), "batches": [], "unreadable": 0}
        if self._file is None:
            return about
        try:
            with self._file.open("rb") as file:
                lines = deque(file, maxlen=_KEPT)
        except OSError as error:
            return about | {"trouble": f"{self._file}: {error.strerror}"}
        for line in lines:
            try:
                about["batches"].append(_batch(msgspec.json.decode(line)))
            except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError):
                about["unreadable"] += 1
        return about


def _batch(told: Any) -> Json:
    durations = told.get("durationMs") or {}
    return {
        "query": told.get("name") or told.get("id"),
        "batch": int(told["batchId"]),
        "at": datetime.fromisoformat(told["timestamp"].replace("Z", "+00:00")).timestamp(),
        "rows": int(told["numInputRows"]),
        "rows_s": _number(told.get("processedRowsPerSecond")),
        "arriving_s": _number(told.get("inputRowsPerSecond")),
        "took_ms": _number(durations.get("triggerExecution")),
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None
