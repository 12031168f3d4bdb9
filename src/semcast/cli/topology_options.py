"""The options of `semcast topology` that belong to one kind only."""

from __future__ import annotations

from typing import Annotated

import typer

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
