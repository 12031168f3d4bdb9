"""Batches on Spark, as ``semcast pipeline --progress`` or any query of Structured Streaming tells of them."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from semcast.dashboard.snapshot import Json

_KEPT = 500


class Progress:
    """A file with a batch a line: ours, or Spark's ``StreamingQueryProgress`` in JSON. What is neither is counted."""

    def __init__(self, file: Path | None) -> None:
        self._file = file

    def read(self) -> Json:
        """The last batches, the oldest first. One that was run again, after a restart, is there as it was run last."""
        about: Json = {"file": None if self._file is None else str(self._file), "batches": [], "unreadable": 0}
        if self._file is None:
            return about
        try:
            with self._file.open("rb") as file:
                lines = deque(file, maxlen=_KEPT)
        except OSError as error:
            return about | {"trouble": f"{self._file}: {error.strerror}"}
        found: dict[tuple[Any, int], Json] = {}
        for line in lines:
            try:
                told = msgspec.json.decode(line)
                batch = _ours(told) if "route_s" in told else _sparks(told)
                found.pop((batch["query"], batch["batch"]), None)
                found[batch["query"], batch["batch"]] = batch
            except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError):
                about["unreadable"] += 1
        return about | {"batches": list(found.values())}


def _ours(told: Any) -> Json:
    messages, seconds = int(told["messages"]), float(told["seconds"])
    return {
        "query": told["stream"],
        "batch": int(told["number"]),
        "at": float(told["at"]),
        "rows": messages,
        "rows_s": messages / seconds if seconds else None,
        "arriving_s": None,
        "took_ms": 1000 * seconds,
        "matched": int(told["matched"]),
        "dead": int(told["dead"]),
        "epoch": int(told["epoch"]),
        "behind": None if told.get("behind") is None else int(told["behind"]),
        "behind_of": str(told.get("behind_of", "")),
    }


def _sparks(told: Any) -> Json:
    durations = told.get("durationMs") or {}
    return {
        "query": told.get("name") or told.get("id"),
        "batch": int(told["batchId"]),
        "at": datetime.fromisoformat(told["timestamp"].replace("Z", "+00:00")).timestamp(),
        "rows": int(told["numInputRows"]),
        "rows_s": _number(told.get("processedRowsPerSecond")),
        "arriving_s": _number(told.get("inputRowsPerSecond")),
        "took_ms": _number(durations.get("triggerExecution")),
        **dict.fromkeys(("matched", "dead", "epoch", "behind")),
        "behind_of": "",
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None
