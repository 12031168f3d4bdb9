"""Answers: JSON, and errors that say what to do."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from semcast.model import ProfileError, SemcastError


class Problem(SemcastError):
    """An answer that is none: a status, and what to tell."""

    def __init__(self, status: int, reason: str, *, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = headers
        self.more = more

    def response(self) -> Response:
        return answer({"error": str(self), **self.more}, self.status, self.headers)


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON, written so that people can read it too."""
    body = msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
    return Response(body, status, headers, media_type="application/json")


async def refused(request: Request, error: Exception) -> Response:
    """Any error that speaks to a user, as an answer."""
    return problem_of(error).response()


def problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, ProfileError):
        return Problem(400, str(error), message=error.message, position=error.position, hint=error.hint)
    return Problem(400, str(error))
