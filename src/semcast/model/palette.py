"""The colours of the project: one per channel, the same on the terminal, the page and in every plot."""

from __future__ import annotations

BLUE, ORANGE, GREEN, RED, PINK, SKY, BLACK = COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
)
"""Okabe and Ito's colours, told apart by colour-blind people too; without their yellow, which is lost on white."""
GREY = "#666666"
DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.4), (1.2, 1.2), (6, 1.2, 1.2, 1.2))
"""Lengths of strokes and gaps, in widths of the line; () is solid."""


def style(number: int) -> tuple[str, tuple[float, ...]]:
    """Colour and dashes of channel ``number``: colours first, then the same ones dashed; 28 can be told apart."""
    return COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
