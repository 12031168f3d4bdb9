"""The fenced blocks of a page, with what the comments above them say about running them.

A comment right above a block is a *mark*; readers of the page do not see it.

=======================  ==============================================================================================
``not run: why``         the block cannot run here; the reasons are listed, and there may be few
``file: NAME``           the block is a file that the page's later blocks use
``output``               the block shows what the one before it printed; ``…`` stands for what varies
``deployment``           the block is a whole deployment's file
``part of a deployment`` the same, of which the page shows only a part
``several hosts``        commands of hosts of their own, which tests/docs/test_deployment.py runs
``message``              a message; the table below it says which profiles match it
``profile``, ``topology``, ``websocket``, ``interest``, ``descriptor``  what reads the block
=======================  ==============================================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_RUN = "not run"
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<language>[\w-]*)[^\n]*$")
_MARK = re.compile(r"^\s*<!-- (?P<mark>.+?) -->\s*$")


@dataclass(frozen=True)
class Block:
    """One fenced block; ``line`` is that of its fence, counted from 1."""

    page: str
    line: int
    language: str
    text: str
    mark: str = ""
    about: str = ""
    """What stands behind the mark's colon: a reason, the name of a file."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A line for the shell, and what the page shows as its output, if it shows any."""

    line: str
    shown: str = ""


def pages() -> list[str]:
    """The README and every page of docs/, by path from the root."""
    return ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


def blocks(page: str) -> list[Block]:
    return parsed((ROOT / page).read_text(), page)


def parsed(text: str, page: str = "page.md") -> list[Block]:
    """All fenced blocks of a text, in order; an unfinished one is an error."""
    found, mark, lines = [], "", iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if fence := _FENCE.match(line):
            body = []
            for _, inner in lines:
                if inner.strip() == fence["fence"]:
                    break
                body.append(inner.removeprefix(fence["indent"]))
            else:
                raise ValueError(f"{page}:{number}: the block does not end")
            name, _, about = mark.partition(": ")
            content = "".join(f"{inner}\n" for inner in body)
            found.append(Block(page, number, fence["language"], content, name, about))
            mark = ""
        elif given := _MARK.match(line):
            mark = given["mark"]
        elif line.strip():
            mark = ""
    return found


def commands(block: Block) -> list[Command]:
    """What a block of commands asks for: each line of ``sh``, each ``$`` of ``console`` with what follows it."""
    if block.language == "sh":
        whole = block.text.replace("\\\n", " ").splitlines()
        return [Command(line) for line in whole if line.strip() and not line.lstrip().startswith("#")]
    found: list[Command] = []
    for line in block.text.replace("\\\n", " ").splitlines(keepends=True):
        if line.startswith("$ "):
            found.append(Command(line[2:].rstrip("\n")))
        elif not found:
            raise ValueError(f"{block}: output stands before the first command")
        else:
            found[-1] = Command(found[-1].line, found[-1].shown + line)
    return found


def as_shown(shown: str, printed: str) -> bool:
    """Does a page show what was printed? ``…`` stands for anything, also lines; blanks at line ends do not count."""
    pattern = ".*?".join(re.escape(_trimmed(part)) for part in _trimmed(shown).split("…"))
    return re.fullmatch(pattern, _trimmed(printed), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip("\n")
