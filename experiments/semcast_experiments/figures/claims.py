"""What a paper says, what we measure, and whether the two agree: the judgement that stands beside a figure."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Verdict = Literal["agrees", "in part", "differs", "ours"]


class Claim(NamedTuple):
    """One sentence of a paper beside our measurement; ``ours`` for figures that no paper has."""

    paper: str
    measured: str
    verdict: Verdict
    why: str = ""
    """Where it differs: for what reason, or under which reading it would not."""


def judged(paper: str, measured: str, agrees: bool, why: str = "", *, partly: bool = False) -> Claim:
    """A claim whose verdict follows from the numbers; ``why`` is told only where it does not simply agree."""
    verdict: Verdict = "agrees" if agrees else "in part" if partly else "differs"
    return Claim(paper, measured, verdict, "" if agrees else why)


def told(result: dict[str, Any]) -> list[Claim]:
    """The claims of a result that came from a file."""
    return [Claim(*claim) for claim in result.get("claims", [])]
