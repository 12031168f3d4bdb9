"""Write the reference of what programs may call, from docstrings: `api_page.py > docs/api.md`.

What is public is what ``semcast``, ``semcast.client`` and ``semcast.pipeline`` list in ``__all__``, the objects that
these hand out, and the commands. The page is kept in the repository; a test says when it is out of date.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

MODULES = {
    "semcast": "Languages, and the way to an overlay.",
    "semcast.client": "What `connect` and `connect_blocking` hand out.",
    "semcast.matching": "What `language(…).matcher(…)` hands out.",
    "semcast.pipeline": "Spark: the only part that imports pyspark.",
}
NAMES = {
    "semcast.matching": ["semcast.matching.matchers.Matcher", "semcast.matching.matches.Matches"],
    "semcast.client": [
        "*",
        "semcast.client.blocking.BlockingSubscription",
        "semcast.client.blocking.BlockingSubscriptions",
    ],
}
MEMBERS = {
    "Language": "parse canonical covers overlaps parts wanted witnesses matcher",
    "Schema": "from_ddl nearest",
    "Client": "publish publisher message subscribe subscribe_many gateways ask close",
    "BlockingClient": "publish subscribe subscribe_many ask run close",
    "Publishing": "publish put publish_all drained",
    "Receipt": "id",
    "Received": "id stream topic key headers time_ms payload json",
    "Staleness": "mean_ms",
    "Subscription": "live replace close is_live session durable cursor",
    "Subscriptions": "live close",
    "BlockingSubscription": "next live replace close",
    "BlockingSubscriptions": "ids errors messages next close",
    "Matcher": "add extend remove match",
    "Matches": "of pairs counts rows",
}
"""Class → what of it is public. Machines call more than that on clients and subscriptions."""
_HEAD = """# Python reference

What programs may call. Everything else may change without notice. Made from the docstrings by `tools/api_page.py`.
"""


def public(module: str) -> dict[str, Any]:
    """Name → object, of what a module offers; each object stands where it is offered first."""
    found = importlib.import_module(module)
    names = [each for name in NAMES.get(module, ["*"]) for each in (found.__all__ if name == "*" else [name])]
    return {name.rpartition(".")[2]: _named(found, name) for name in names}


def _named(module: Any, name: str) -> Any:
    where, _, last = name.rpartition(".")
    return getattr(importlib.import_module(where) if where else module, last)


def members(kind: type) -> dict[str, Any]:
    """The methods and properties of a class that programs may use."""
    return {name: inspect.getattr_static(kind, name) for name in MEMBERS.get(kind.__name__, "").split()}


def text_of(thing: Any) -> str:
    """A docstring as Markdown; empty where there is none of our own."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    return re.sub(r"``(.+?)``", r"`\1`", text)


def signature(name: str, thing: Any, *, method: bool = False) -> str:
    """As it would be written, with annotations as they stand in the source."""
    inner = thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing
    found = inspect.signature(inner)
    taken = list(found.parameters.values())[int(method and not isinstance(thing, staticmethod)) :]
    shown, starred = [], False
    for parameter in taken:
        starred |= parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
        text += f": {parameter.annotation}"
        shown.append(text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}")
    prefix = "async " if inspect.iscoroutinefunction(inner) else ""
    return f"{prefix}{name}({', '.join(shown)}) -> {found.return_annotation}"


def page() -> str:
    return _HEAD + "".join(f"\n{part}\n" for module in MODULES for part in _module(module)) + "".join(_commands())


def _module(module: str) -> Iterator[str]:
    yield f"## {module}\n\n{MODULES[module]}"
    before = {name for other in list(MODULES)[: list(MODULES).index(module)] for name in public(other)}
    for name, thing in public(module).items():
        if name not in before:
            yield from _entry(name, thing)


def _entry(name: str, thing: Any) -> Iterator[str]:
    if not isinstance(thing, type):
        yield f"### {name}\n\n```text\n{signature(name, thing)}\n```\n\n{text_of(thing)}"
        return
    yield f"### {name}\n\n{text_of(thing)}"
    if issubclass(thing, Enum):
        yield ", ".join(f"`{member.name}`" for member in thing)
    for inner, member in members(thing).items():
        shown = inner if isinstance(member, property) else signature(inner, member, method=True)
        yield f"**`{shown}`**\n\n{text_of(member)}"


def _commands() -> Iterator[str]:
    from semcast.cli import _register, app

    _register()
    group: Any = typer.main.get_command(app)
    yield "\n## Commands\n\n`semcast COMMAND --help` tells all of each; every command that reads has `--json`.\n\n"
    yield "| command | what it does | options |\n|---|---|---|\n"
    for name, command in group.commands.items():
        about = text_of(command.callback).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        options = ", ".join(f"`{option.opts[0]}`" for option in command.params if option.opts[0].startswith("--"))
        taken = " ".join(option.name.upper() for option in command.params if not option.opts[0].startswith("-"))
        yield f"| `semcast {name} {taken}".rstrip() + f"` | {about} | {options} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
