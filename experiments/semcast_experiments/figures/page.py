"""The page of all figures in a folder: what a paper says, what we measure, whether they agree, and why not.

Each figure leaves its result in ``results/`` beside its files, with the command that made it; the page is made of
what is there, so that figures may be made one by one.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from semcast_experiments.figures.catalogue import BY_NAME, FIGURES, Figure
from semcast_experiments.figures.claims import told

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>SemCast: figures</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }}
img {{ max-width: 100%; background: white; }} .picture {{ overflow-x: auto; }}
li {{ margin: .3rem 0; }} code {{ font-size: .9em; }}
table {{ border-collapse: collapse; margin: .6rem 0; font-size: .93em; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8884; }}
.verdict {{ white-space: nowrap; font-weight: 600; }}
.agrees {{ color: #00745a; }} .differs {{ color: #b34700; }} .part {{ color: #7a5c00; }}
.made {{ color: #666; font-size: .88em; overflow-wrap: anywhere; }}
@media (max-width: 44rem) {{
  .picture img {{ max-width: none; width: 46rem; }}
  table, tbody, tr, td {{ display: block; }} th {{ display: none; }}
  td {{ border: 0; padding: .1rem 0; }} td:empty {{ display: none; }}
  tr {{ border-bottom: 1px solid #8884; padding: .4rem 0; }} td:first-child {{ font-style: italic; }}
}}
@media (prefers-color-scheme: dark) {{
  body {{ background: #181818; color: #ddd; }} a {{ color: #8cf; }} .made {{ color: #aaa; }}
  .agrees {{ color: #4cd6ae; }} .differs {{ color: #ff9d5c; }} .part {{ color: #e0bb4a; }}
}}
</style>
<h1>Figures</h1>
{summary}
{choices}
{sections}
</html>
"""
_CHOICES = (
    "A selectivity factor of x giving “1/x % distinct profiles” is read in two ways: D = P/100x, as it is written, and "
    "D = P/x. Only the second lets two gateways have as little in common as 2 % (Table 2), and brings unicast "
    "near the average "
    "of Figure 3; only the first fits 2004's “profile similarity of 1 %”. Figures show both.",
    "A profile's matching probability p: “independent” profiles match each message with probability p, whatever "
    "others do; "
    "“arcs” are intervals of random place and length (mean p) on a circle of values, so that some contain "
    "others. The average "
    "overlap of two profiles is p in both.",
    "Aggregated profile overlap: the mean over ordered pairs of gateways of |i ∧ j| / |i|, i and j being the "
    "messages that "
    "any client of a gateway wants. With k of D profiles at each gateway it is never below k/D.",
    "Overlays: flat random and Waxman graphs of mean degree 4 unless said otherwise, connected; transit-stub by "
    "GT-ITM's own "
    "parameters. 20 % of the brokers are gateways. The papers say “random graphs generated with GT-ITM” and no degree.",
    "A cost is the mean number of link transmissions of a message, counted by the code of semcast plan and "
    "semcast cost on "
    "messages that no plan has seen. For comparisons with the papers it is without the leg from the source to "
    "the rendezvous "
    "point, which theirs cannot have had; in ours the leg is counted. Eight sources (small: three), unless "
    "said otherwise.",
    "Ours: “a tree per message” is a Steiner tree by local search for each message's own gateways, with a certified "
    "bound below it. The thesis' scheme, semnet, carries what SPT carries, to the packet, and is not drawn apart.",
    "Bars are 95 % intervals over seeds (Student's t): five or more, three or five where figures are small.",
    "A verdict is computed: the numbers beside it are compared with the paper's by a rule that stands in the figure's "
    "module. Where they differ, the reason is ours.",
)


def write_result(out: Path, name: str, result: dict[str, Any], command: str) -> None:
    """Keep a figure's result for the page; files are named relative to the folder."""
    files = [str(Path(file).relative_to(out)) if Path(file).is_relative_to(out) else file for file in result["files"]]
    kept = {key: result[key] for key in ("seed", "quick", "note", "cpu_s") if key in result} | {
        "claims": result.get("claims", []),
        "files": files,
    }
    folder = out / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(kept | {"command": command}, indent=1, ensure_ascii=False) + "\n")


def write_page(out: Path) -> Path:
    """Write index.html from all results in the folder, in the catalogue's order."""
    found = {path.stem: json.loads(path.read_text()) for path in (out / "results").glob("*.json")}
    made = [figure for figure in FIGURES if figure.name in found]
    sections = []
    for source, figures in groupby(made, lambda figure: figure.source):
        sections.append(f"<h2>{html.escape(source)}</h2>")
        sections += [_section(figure, found[figure.name]) for figure in figures]
    page = out / "index.html"
    choices = "<h2>What is modelled</h2>" + _list(_CHOICES)
    page.write_text(_PAGE.format(summary=_summary(made, found), choices=choices, sections="\n".join(sections)))
    return page


def _summary(made: Sequence[Figure], found: dict[str, dict[str, Any]]) -> str:
    verdicts = [claim.verdict for figure in made for claim in told(found[figure.name])]
    counts = {verdict: verdicts.count(verdict) for verdict in ("agrees", "in part", "differs")}
    told_ = f"Of {sum(counts.values())} comparisons with statements of the papers, {counts['agrees']} agree, "
    told_ += f"{counts['in part']} in part, and {counts['differs']} differ; a statement counts once for each reading."
    small = [figure.name for figure in made if found[figure.name]["quick"]]
    sizes = "All in full size: semcast figures."
    if len(small) == len(made):
        sizes = "All made small, by semcast figures --quick."
    elif small:
        sizes = f"Made small (--quick): {', '.join(small)}."
    links = " · ".join(f'<a href="#{figure.name}">{figure.name}</a>' for figure in made)
    return f"<p>{html.escape(told_)} {html.escape(sizes)}</p><p>{links}</p>"


def _section(figure: Figure, result: dict[str, Any]) -> str:
    files = [html.escape(file) for file in result["files"]]
    pictures = "".join(
        f'<p class="picture"><a href="{f}"><img src="{f}" alt="{html.escape(BY_NAME[figure.name].title)}"></a></p>'
        for f in files
        if f.endswith(".svg")
    )
    data = ", ".join(f'<a href="{f}">{f}</a>' for f in files if not f.endswith((".svg", ".png")))
    size = "small (--quick)" if result["quick"] else "full size"
    spent = f", {result['cpu_s']:,.0f} s of CPU" if "cpu_s" in result else ""
    made = f'<p class="made">Made by <code>{html.escape(result["command"])}</code>, {size}{spent}. Data: {data}</p>'
    head = f'<h3 id="{figure.name}">{html.escape(figure.title)}</h3>'
    return head + pictures + _claims(result) + _list(result["note"]) + made


def _claims(result: dict[str, Any]) -> str:
    claims = told(result)
    if not claims:
        return ""
    classes = {"agrees": "agrees", "differs": "differs", "in part": "part", "ours": ""}
    rows = "".join(
        f"<tr><td>{html.escape(claim.paper)}</td><td>{html.escape(claim.measured)}</td>"
        f'<td class="verdict {classes[claim.verdict]}">{claim.verdict if claim.verdict != "ours" else ""}</td>'
        f"<td>{html.escape(claim.why)}</td></tr>"
        for claim in claims
    )
    return f"<table><tr><th>The paper</th><th>Measured</th><th></th><th>Why</th></tr>{rows}</table>"


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"
