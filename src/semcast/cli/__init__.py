"""The command line: one file per command, all output through ``render``.

Exit codes: 0 fine, 1 failed, 2 usage, 3 unreachable, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

from semcast.model import SemcastError

_INTERRUPTED = 130

Command = Callable[..., None]

_MODULES = {
    "demo": "demo",
    "match": "match",
    "covers": "covers",
    "explain": "explain",
    "topology": "topology",
    "plan": "plan",
    "cost": "cost",
    "simulate": "simulate",
    "up": "serve",
    "coordinator": "serve",
    "broker": "serve",
    "pipeline": "pipeline",
    "planner": "planner",
    "publish": "publish",
    "subscribe": "subscribe",
    "status": "live",
    "dashboard": "dashboard",
    "doctor": "doctor",
}
"""Command → the module of this package that has it."""
_EXTRA = {
    "figures": "Measure and draw the papers' figures (needs semcast-experiments).",
    "bench": "Measure SemCast side by side with its peers (needs semcast-experiments).",
}
"""Commands that come with another package, and what they say of themselves without it."""
_COMMANDS = (*(name for name in _MODULES if name != "doctor"), *_EXTRA, "doctor")
"""In the order of the help."""

app = typer.Typer(
    name="semcast",
    help="Content-based dissemination of high-volume streams.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _register(only: str = "") -> None:
    """Add the commands to the application: all of them, or the one that was asked for, since each loads its own."""
    known = {command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    for name in (only,) if only in _COMMANDS else _COMMANDS:
        if name not in known:
            command, settings = _command(name)
            app.command(context_settings=settings)(command)


def _command(name: str) -> tuple[Command, dict[str, Any]]:
    """A command, and how its words are read."""
    if name in _MODULES:
        return getattr(import_module(f"semcast.cli.{_MODULES[name]}"), name), {}
    installed = [entry for entry in entry_points(group="semcast.commands") if entry.name == name]
    if installed:
        return installed[0].load(), {}
    return _absent(name, _EXTRA[name]), {"ignore_unknown_options": True}


def _absent(name: str, help: str) -> Command:
    def command(_: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
        raise SemcastError(
            f"semcast {name} is in the package semcast-experiments, which is not installed\n"
            "  in a checkout of SemCast: pip install ./experiments"
        )

    command.__name__, command.__doc__ = name, help
    return command


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from semcast import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command; errors end in one clear message and an exit code, never in a traceback."""
    from semcast.cli import render

    _register(sys.argv[1] if len(sys.argv) > 1 else "")
    try:
        app(prog_name="semcast")
    except SemcastError as error:
        render.fail(str(error))
        sys.exit(1)
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # typer turns Ctrl-C into this, without a word
            render.fail("interrupted")
        raise
    except BrokenPipeError:  # `semcast … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        reason = _spark_failure(error)
        if reason is None:
            raise
        render.fail(reason)
        sys.exit(1)


def _spark_failure(error: Exception) -> str | None:
    """Why Spark failed, in one line; None where something else did. Commands without Spark do not load it for that."""
    if "py4j" not in sys.modules:
        return None
    from semcast.pipeline.failures import SPARK_ERRORS, cause

    return f"Spark: {cause(error)}" if isinstance(error, SPARK_ERRORS) else None
