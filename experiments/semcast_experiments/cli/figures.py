"""`semcast figures`: the papers' figures, measured anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.model import SemcastError


def figures(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which ones; default: all.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller, with fewer seeds: minutes instead of hours.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for CSV, SVG, PNG and index.html.")] = Path("build/figures"),
    seed: Annotated[int, typer.Option(help="Another seed gives other workloads.")] = 1,
    jobs: Annotated[int | None, typer.Option(help="Processes; default: one per core.", show_default=False)] = None,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and make nothing.")] = False,
    json: Json = False,
) -> None:
    """Measure the papers' figures anew and draw them, with what each paper says beside it.

    A name is that of one figure (2005-fig3, trees), a paper's own (2005-fig10, topics-fig6, thesis-fig5.12), or what
    several begin with (2005, thesis, ours). The page index.html is made of all figures that are in the folder; trials
    that were done before, with the same parameters and the same code, are not done again.
    """
    from semcast_experiments.figures.page import write_page, write_result
    from semcast_experiments.figures.trials import Run

    if list_:
        _listed(json)
        return
    chosen = _chosen(names or [])
    results: dict[str, dict[str, Any]] = {}
    for figure in chosen:
        with render.step(f"measuring {figure.name}") as shown:
            run = Run(quick, seed, out, jobs or os.cpu_count() or 1, shown.note, shown.report)
            results[figure.name] = figure.make(run)
        options = f"{' --quick' if quick else ''}{f' --seed {seed}' if seed != 1 else ''}"
        write_result(out, figure.name, results[figure.name], f"semcast figures {figure.name}{options}")
        index = write_page(out)
    if json:
        render.data(results)
    render.say(f"{', '.join(results)}: written to {index}")


def _listed(json: bool) -> None:
    from semcast_experiments.figures.catalogue import FIGURES

    if json:
        render.data([{"name": f.name, "also": f.also, "paper": f.source, "title": f.title} for f in FIGURES])
    else:
        render.table(
            "Figures", ["name", "paper", "what"], [[f.name, f.source, f.title] for f in FIGURES], render.stdout
        )


def _chosen(names: list[str]) -> list[Any]:
    from semcast_experiments.figures.catalogue import BY_NAME, FIGURES

    found: dict[str, Any] = {}
    for name in names:
        some = [BY_NAME[name]] if name in BY_NAME else [f for f in FIGURES if f.called(name)]
        if not some:
            raise SemcastError(f"there is no figure {name!r}; there is {', '.join(BY_NAME)}")
        found |= {figure.name: figure for figure in some}
    return list(found.values()) if names else list(FIGURES)
