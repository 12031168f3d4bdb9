"""The command line: one file per command, all output through ``render``.

Exit codes: 0 fine, 1 failed, 2 usage, 3 unreachable, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

from semcast.model import SemcastError

_INTERRUPTED = 130

Command = Callable[..., None]

_EXTRA = {
    "figures": "Measure and draw the papers' figures (needs semcast-experiments).",
    "bench": "Measure SemCast side by side with its peers (needs semcast-experiments).",
}
"""Commands that come with another package, and what they say of themselves without it."""

app = typer.Typer(
    name="semcast",
    help="Content-based dissemination of high-volume streams.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _register() -> None:
    if app.registered_commands:  # main() runs again in tests, and every repetition would make all commands slower
        return
    from semcast.cli.cost import cost
    from semcast.cli.covers import covers
    from semcast.cli.dashboard import dashboard
    from semcast.cli.demo import demo
    from semcast.cli.doctor import doctor
    from semcast.cli.explain import explain
    from semcast.cli.live import status, subscribe
    from semcast.cli.match import match
    from semcast.cli.pipeline import pipeline
    from semcast.cli.plan import plan
    from semcast.cli.planner import planner
    from semcast.cli.publish import publish
    from semcast.cli.serve import broker, coordinator, up
    from semcast.cli.simulate import simulate
    from semcast.cli.topology import topology

    live = (up, coordinator, broker, pipeline, planner, publish, subscribe, status, dashboard)
    commands: tuple[Command, ...] = (demo, match, covers, explain, topology, plan, cost, simulate, *live)
    for command in (*commands, *_experiments(), doctor):
        app.command()(command)


def _experiments() -> list[Command]:
    """The commands of semcast-experiments, or, where that is not installed, ones that say so."""
    installed = {entry.name: entry for entry in entry_points(group="semcast.commands")}
    return [installed[name].load() if name in installed else _absent(name, help) for name, help in _EXTRA.items()]


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

    _register()
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
