"""`semcast figures`: the papers' figures, measured anew."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.model import SemcastError

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>SemCast: figures</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
img {{ max-width: 100%; background: white; }} li {{ margin: .4rem 0; }} pre {{ overflow: auto; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #181818; color: #ddd; }} a {{ color: #8cf; }} }}
</style>
<h1>Figures</h1>
<p>Made by <code>{command}</code></p>
{sections}
</html>
"""


def figures(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which ones; default: all.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller: seconds instead of minutes.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for CSV, SVG, PNG and index.html.")] = Path("build/figures"),
    seed: Annotated[int, typer.Option(help="Another seed gives other workloads.")] = 1,
    json: Json = False,
) -> None:
    """Measure the papers' figures anew and draw them.

    There are: topics (Figures 4 to 10 of the paper on hierarchical streaming), trees (low-cost joins against central
    Steiner trees, SemCast 2005 §5), delay-bounds (2005 Figure 10), oracle (what schemes cost above a tree per message),
    semantic (Figures 5.5 to 5.19 and Table 5.2 of the thesis on semantic networking, and its future work).
    """
    from semcast.experiments.oracle_figure import oracle
    from semcast.experiments.semantic import semantic
    from semcast.experiments.topics import topics
    from semcast.experiments.trees import delay_bounds, joins

    makers = {
        "topics": topics,
        "trees": joins,
        "delay-bounds": delay_bounds,
        "oracle": oracle,
        "semantic": semantic,
    }
    for name in names or []:
        if name not in makers:
            raise SemcastError(f"there is no figure {name!r}; there is {', '.join(makers)}")
    results: dict[str, dict[str, Any]] = {}
    for name in names or makers:
        with render.step(f"measuring {name}") as shown:
            results[name] = makers[name](quick, seed, out, shown.note)
    index = out / "index.html"
    index.write_text(_page(results, out, quick))
    if json:
        render.data(results)
    render.say(f"{', '.join(results)}: written to {index}")


def _page(results: dict[str, dict[str, Any]], out: Path, quick: bool) -> str:
    command = f"semcast figures {' '.join(results)}{' --quick' if quick else ''}"
    return _PAGE.format(
        command=html.escape(command), sections="\n".join(_section(*item, out) for item in results.items())
    )


def _section(name: str, result: dict[str, Any], out: Path) -> str:
    files = [Path(file).relative_to(out) if Path(file).is_relative_to(out) else Path(file) for file in result["files"]]
    notes = "".join(f"<li>{html.escape(line)}</li>" for line in result["note"])
    pictures = "".join(f'<p><img src="{f}" alt="{html.escape(f.stem)}"></p>' for f in files if f.suffix == ".svg")
    data = ", ".join(f'<a href="{f}">{f}</a>' for f in files if f.suffix not in (".svg", ".png"))
    return f"<h2>{html.escape(name)}</h2><ul>{notes}</ul>{pictures}<p>Data: {data}</p>"
