"""`semcast topology`: overlays of brokers, drawn at random or taken from real networks."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.model import SemcastError

if TYPE_CHECKING:
    from semcast.trees.topology import Topology


_WAXMAN = "For waxman"
_TRANSIT_STUB = "For transit-stub (GT-ITM's parameters; sizes are means)"


def _option(panel: str, text: str) -> typer.models.OptionInfo:
    made: typer.models.OptionInfo = typer.Option(help=text, rich_help_panel=panel, show_default=False)
    return made


Alpha = Annotated[float | None, _option(_WAXMAN, "Instead of a degree: P(u, v) = alpha · exp(-d / (beta · L)).")]
Beta = Annotated[float | None, _option(_WAXMAN, "How far links reach. Default: 0.2.")]
TransitDomains = Annotated[int | None, _option(_TRANSIT_STUB, "Transit domains.")]
TransitNodes = Annotated[int | None, _option(_TRANSIT_STUB, "Nodes per transit domain.")]
Stubs = Annotated[int | None, _option(_TRANSIT_STUB, "Stub domains per transit node.")]
StubNodes = Annotated[int | None, _option(_TRANSIT_STUB, "Nodes per stub domain.")]
ExtraTransitStub = Annotated[int | None, _option(_TRANSIT_STUB, "Extra links from stubs to other transit nodes.")]
ExtraStubStub = Annotated[int | None, _option(_TRANSIT_STUB, "Extra links between stubs.")]
TopEdges = Annotated[
    float | None, _option(_TRANSIT_STUB, "Probability of a link between two transit domains, instead of a degree.")
]
TransitEdges = Annotated[
    float | None, _option(_TRANSIT_STUB, "Probability of a link inside a transit domain, instead of a degree.")
]
StubEdges = Annotated[
    float | None, _option(_TRANSIT_STUB, "Probability of a link inside a stub domain, instead of a degree.")
]


_KINDS = "random, waxman, transit-stub, power-law, topohub:NAME, graphml:FILE or json:FILE"
_IMPORTED = ("topohub", "graphml", "json")
# Which kinds an option is for, where it is not for all.
_ONLY = {
    "brokers": ("random", "waxman", "transit-stub", "power-law"),
    "degree": ("random", "waxman", "transit-stub", "power-law"),
    "alpha": ("waxman",),
    "beta": ("waxman",),
    "transit_domains": ("transit-stub",),
    "transit_nodes": ("transit-stub",),
    "stubs": ("transit-stub",),
    "stub_nodes": ("transit-stub",),
    "extra_transit_stub": ("transit-stub",),
    "extra_stub_stub": ("transit-stub",),
    "top_edges": ("transit-stub",),
    "transit_edges": ("transit-stub",),
    "stub_edges": ("transit-stub",),
    "largest_component": ("graphml",),
    "costs": ("random", "waxman", "transit-stub", "power-law", "topohub", "graphml"),
}


class Costs(StrEnum):
    """What a link costs."""

    unit = "unit"
    distance = "distance"


def topology(
    kind: Annotated[
        str | None,
        typer.Option(help=f"{_KINDS}. A path that ends in .graphml or .json will do too.", show_default=False),
    ] = None,
    brokers: Annotated[int | None, typer.Option(help="How many; for drawn kinds.", show_default=False)] = None,
    degree: Annotated[
        float | None,
        typer.Option(
            help="Mean number of links of a broker. Default: 4, or less where so few can't.", show_default=False
        ),
    ] = None,
    gateways: Annotated[
        float | None,
        typer.Option(
            help="Share of brokers that serve clients. Default: 0.2; with json:FILE those of the file, if any.",
            show_default=False,
        ),
    ] = None,
    sources: Annotated[
        int | None,
        typer.Option(
            help="How many brokers are sources. Default: none; with json:FILE those of the file.", show_default=False
        ),
    ] = None,
    costs: Annotated[
        Costs | None,
        typer.Option(help="Each link costs 1 (unit, the default), or its delay in ms.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same topology.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; - or none: stdout.", show_default=False, allow_dash=True)
    ] = None,
    draw: Annotated[Path | None, typer.Option(help="Draw it, as .svg or .png.", show_default=False)] = None,
    names: Annotated[bool, typer.Option("--list", help="Print the names for topohub:NAME and end.")] = False,
    largest_component: Annotated[
        bool, typer.Option("--largest-component", help="Of an unconnected GraphML, keep the largest part.")
    ] = False,
    json: Json = False,
    alpha: Alpha = None,
    beta: Beta = None,
    transit_domains: TransitDomains = None,
    transit_nodes: TransitNodes = None,
    stubs: Stubs = None,
    stub_nodes: StubNodes = None,
    extra_transit_stub: ExtraTransitStub = None,
    extra_stub_stub: ExtraStubStub = None,
    top_edges: TopEdges = None,
    transit_edges: TransitEdges = None,
    stub_edges: StubEdges = None,
) -> None:
    """Make an overlay of brokers: links, costs, delays, gateways and places.

    **random**, **waxman**, **transit-stub** and **power-law** are drawn, as GT-ITM does it, connected and with the
    degree that is asked for. **topohub:topozoo/Abilene** and 700 more are real networks (pip install
    'semcast[topohub]'; --list names them). **graphml:FILE** reads a file of the Topology Zoo, networkx or yEd, and
    **json:FILE** a topology that this command wrote, to give it other gateways. docs/topologies.md has the formulas.
    """
    if names:
        from semcast.networks import topohub_names

        sys.stdout.write("".join(f"{name}\n" for name in topohub_names()))
        return
    given = {
        name: value for name, value in locals().items() if name in _ONLY and value is not None and value is not False
    }
    chosen, of = _split(kind)
    _check(chosen, given, out, draw, json)
    begin = time.perf_counter()
    with render.step(f"making a topology: {kind}"):
        made, parameters = _make(chosen, of, given, gateways, sources, seed)
    seconds = time.perf_counter() - begin
    if draw is not None:
        with render.step(f"drawing {draw}"):
            _draw(made, draw, f"{kind}, {len(made.brokers):,} brokers")
    to_file = out is not None and str(out) != "-"
    if to_file:
        _write(made, Path(str(out)))
    elif not json:
        sys.stdout.write(made.to_json())
    summary = _summary(str(kind), made, seconds, parameters)
    if json:
        render.data({**summary, "out": str(out), "draw": draw and str(draw)})
    render.say(_closing(summary, [path for path in (out if to_file else None, draw) if path is not None]))


def _split(kind: str | None) -> tuple[str, str]:
    """The kind's first word, and what it is of."""
    from semcast.trees.generators import KINDS

    if kind is None:
        raise SemcastError(f"give --kind: {_KINDS}")
    first, colon, rest = kind.partition(":")
    if kind in KINDS or (colon and rest and first in _IMPORTED):
        return first, rest
    suffix = Path(kind).suffix.lower().removeprefix(".")
    if suffix in ("graphml", "json"):
        return suffix, kind
    if first in _IMPORTED:
        raise SemcastError(
            f"--kind {first}: needs a name after the colon" + ("; --list names them" if first == "topohub" else "")
        )
    raise SemcastError(f"there is no kind of topology {kind!r}; there is {_KINDS}")


def _check(kind: str, given: dict[str, Any], out: Path | None, draw: Path | None, json: bool) -> None:
    """Refuse what the kind has no use for, before anything is computed."""
    for name in given:
        if kind not in _ONLY[name]:
            what = f"--{name.replace('_', '-')}"
            raise SemcastError(f"{what} is for {', '.join(_ONLY[name])}, not for {kind}")
    if kind not in _IMPORTED and "brokers" not in given:
        raise SemcastError(f"--kind {kind} needs --brokers: how many")
    if json and (out is None or str(out) == "-"):
        raise SemcastError("--json prints a summary on stdout, so the topology needs a file: give --out")
    for path in (out, draw):
        if path is not None and not path.parent.is_dir():
            raise SemcastError(f"{path.parent}: no such folder")
    if draw is not None:
        from semcast.draw.overlay import check_format

        check_format(draw)


def _make(
    kind: str, of: str, given: dict[str, Any], gateways: float | None, sources: int | None, seed: int
) -> tuple[Topology, dict[str, float]]:
    """The topology, and the parameters that it was drawn with."""
    import numpy as np

    from semcast.trees.roles import DEFAULT_GATEWAYS, with_roles

    shape, roles = np.random.default_rng(seed).spawn(2)
    if kind in _IMPORTED:
        found = _imported(kind, of, given)
        if gateways is None and not found.gateways:
            gateways = DEFAULT_GATEWAYS
        return with_roles(found, roles, gateways=gateways, sources=sources), {}
    from semcast.trees.generators import furnish

    sketch = _sketch(kind, given, shape)
    share = DEFAULT_GATEWAYS if gateways is None else gateways
    made = furnish(sketch, roles, gateways=share, sources=sources or 0, costs=given.get("costs", Costs.unit).value)
    return made, dict(sketch.parameters)


def _sketch(kind: str, given: dict[str, Any], rng: Any) -> Any:
    from semcast.trees.generators import KINDS, TransitStub, transit_stub, waxman

    number, degree = given["brokers"], given.get("degree")
    if kind == "waxman":
        return waxman(number, rng, **{name: given[name] for name in ("degree", "alpha", "beta") if name in given})
    if kind == "transit-stub":
        own = {name: value for name, value in given.items() if _ONLY[name] == ("transit-stub",)}
        return transit_stub(number, rng, degree, TransitStub(**own))
    return KINDS[kind](number, rng, degree)


def _imported(kind: str, of: str, given: dict[str, Any]) -> Topology:
    from semcast import networks

    if kind == "json":
        return networks.topology_file(Path(of))
    costs = given.get("costs", Costs.unit).value
    if kind == "topohub":
        made, changes = networks.topohub(of, costs=costs)
    else:
        made, changes = networks.graphml(Path(of), largest="largest_component" in given, costs=costs)
    for line in changes.lines():
        render.say(line)
    return made


def _draw(made: Topology, path: Path, title: str) -> None:
    from semcast.draw.overlay import draw

    draw(made, out=path, title=title)


def _write(made: Topology, path: Path) -> None:
    try:
        path.write_text(made.to_json(), encoding="utf-8")
    except OSError as error:
        raise SemcastError(f"{path}: {(error.strerror or 'cannot be written').lower()}") from None


def _summary(kind: str, made: Topology, seconds: float, parameters: dict[str, float]) -> dict[str, Any]:
    from semcast.trees.graph import hop_diameter
    from semcast.trees.roles import SOURCE

    diameter, exact = hop_diameter(made.graph)
    return {
        "kind": kind,
        "brokers": len(made.brokers),
        "links": len(made.links),
        "mean_degree": round(made.degree, 4),
        "diameter_hops": diameter,
        "diameter_exact": exact,
        "gateways": len(made.gateways),
        "sources": sum(SOURCE in broker.roles for broker in made.brokers),
        "parameters": {name: float(f"{value:.6g}") for name, value in parameters.items()},
        "seconds": round(seconds, 3),
        "peak_memory_mb": render.peak_memory_mb(),
    }


def _closing(summary: dict[str, Any], files: list[Path]) -> str:
    about = "" if summary["diameter_exact"] else "at least "
    text = (
        f"{summary['brokers']:,} brokers, {summary['links']:,} links (mean degree {summary['mean_degree']:.4g}, "
        f"diameter {about}{summary['diameter_hops']}), {summary['gateways']:,} gateways"
    )
    return text + (f", written to {' and '.join(map(str, files))}" if files else "")
