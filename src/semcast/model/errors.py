"""Errors that speak to the person who can mend the cause."""

from __future__ import annotations

_WINDOW = 72  # characters of a long text shown around the caret


class SemcastError(Exception):
    """Anything that SemCast refuses or cannot do; its text is fit to be shown to a user as it is."""


class ProfileError(SemcastError):
    """A profile that cannot be accepted: what is wrong, where, and what to try.

    ``str(error)`` shows the offending line with a caret; ``position`` is a 0-based offset into ``text``.
    """

    def __init__(
        self, message: str, text: str = "", position: int = 0, *, length: int = 1, hint: str | None = None
    ) -> None:
        super().__init__(message, text, position)
        self.message = message
        self.text = text
        self.position = position
        self.length = length
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.message, self.text, self.position, self.length, self.hint)

    def __str__(self) -> str:
        if not self.text:
            return f"{self.message} ({self.hint})" if self.hint else self.message
        line, column = _line_at(self.text, self.position)
        shown, column = _window(line, column)
        marks = "^" * max(1, min(self.length, len(shown) - column))
        caret = " " * column + marks + (f" {self.hint}" if self.hint else "")
        return f"{self.message}\n  {shown}\n  {caret}"


def _rebuild(message: str, text: str, position: int, length: int, hint: str | None) -> ProfileError:
    return ProfileError(message, text, position, length=length, hint=hint)


def _line_at(text: str, position: int) -> tuple[str, int]:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return (text[start:] if end < 0 else text[start:end]), position - start


def _window(line: str, column: int) -> tuple[str, int]:
    line = "".join(c if c.isprintable() else " " for c in line[: column + 4 * _WINDOW])
    if len(line) <= 2 * _WINDOW:
        return line, column
    start = max(0, column - _WINDOW)
    head, tail = ("…" if start else ""), ("…" if start + 2 * _WINDOW < len(line) else "")
    return head + line[start : start + 2 * _WINDOW] + tail, column - start + len(head)
