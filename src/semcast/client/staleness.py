"""How old messages are when they come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Staleness:
    """How old messages were when they came, against what was asked for."""

    bound_ms: float | None
    messages: int = 0
    late: int = 0
    """Messages that were older than the bound."""
    worst_ms: float = 0.0
    total_ms: float = 0.0
    error_ms: float = 0.0
    """Clocks differ: each figure is within so much."""

    @property
    def mean_ms(self) -> float:
        """Mean age; 0 before the first message."""
        return self.total_ms / self.messages if self.messages else 0.0

    def took(self, age_ms: float, error_ms: float) -> None:
        self.messages += 1
        self.total_ms += age_ms
        self.worst_ms = max(self.worst_ms, age_ms)
        self.error_ms = max(self.error_ms, error_ms)
        self.late += self.bound_ms is not None and age_ms > self.bound_ms
