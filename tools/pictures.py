"""Draw the pictures of the docs: `pictures.py FOLDER` writes an SVG for each; the same bytes every time.

Each stands on light paper of its own, so that it reads alike on light and dark pages, and uses the project's colours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path

from semcast.model.palette import BLUE, GREEN, GREY, ORANGE, RED, SKY

INK, PAPER, PALE = "#1b1f24", "#fbfbf9", "#c9ccd1"
PLACES = {
    "b0": (90, 190), "b1": (230, 105), "b2": (230, 275), "b3": (370, 190), "b4": (500, 105), "b5": (500, 275),
    "g0": (640, 50), "g1": (640, 150), "g2": (640, 240), "g3": (640, 330),
}  # fmt: skip
LINKS = [
    ("b0", "b1"), ("b0", "b2"), ("b1", "b2"), ("b1", "b3"), ("b2", "b3"), ("b3", "b4"), ("b3", "b5"), ("b1", "b4"),
    ("b2", "b5"), ("b4", "b5"), ("b4", "g0"), ("b4", "g1"), ("b5", "g2"), ("b5", "g3"), ("g0", "g1"), ("g2", "g3"),
]  # fmt: skip
TREE = [("b0", "b1"), ("b1", "b4"), ("b1", "b2"), ("b2", "b5"), ("b4", "g0"), ("b4", "g1"), ("b5", "g2"), ("b5", "g3")]
TREE_MASKS = {
    "b1": "1111",
    "b4": "1100",
    "b2": "0011",
    "b5": "0011",
    "g0": "1000",
    "g1": "0100",
    "g2": "0010",
    "g3": "0001",
}
CLIENTS = {"g0": "price > 90", "g1": "symbol = 'IBM'", "g2": "volume > 1000", "g3": "price < 10"}


class Picture:
    """An SVG that is drawn from back to front."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = width, height
        self._title = title
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, *, size: int = 15, colour: str = INK, anchor: str = "middle",
             bold: bool = False, mono: bool = False) -> None:  # fmt: skip
        family = "ui-monospace, Menlo, Consolas, monospace" if mono else "system-ui, Helvetica, Arial, sans-serif"
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-family="{family}" font-size="{size}" fill="{colour}" '
            f'text-anchor="{anchor}"{weight} xml:space="preserve">{escape(text)}</text>'
        )

    def line(self, a: tuple[float, float], b: tuple[float, float], *, colour: str = PALE, width: float = 2,
             dashed: bool = False, arrow: bool = False) -> None:  # fmt: skip
        more = ' stroke-dasharray="7 5"' if dashed else ""
        more += f' marker-end="url(#{_tip(colour)})"' if arrow else ""
        self._parts.append(
            f'<line x1="{a[0]:g}" y1="{a[1]:g}" x2="{b[0]:g}" y2="{b[1]:g}" stroke="{colour}" '
            f'stroke-width="{width:g}" stroke-linecap="round"{more}/>'
        )

    def path(
        self, steps: str, *, colour: str = INK, width: float = 2, arrow: bool = False, dashed: bool = False
    ) -> None:
        more = ' stroke-dasharray="7 5"' if dashed else ""
        more += f' marker-end="url(#{_tip(colour)})"' if arrow else ""
        self._parts.append(f'<path d="{steps}" fill="none" stroke="{colour}" stroke-width="{width:g}"{more}/>')

    def circle(self, x: float, y: float, radius: float, *, fill: str = "white", colour: str = INK) -> None:
        self._parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
        )

    def box(self, x: float, y: float, width: float, height: float, *, fill: str = "white", colour: str = INK) -> None:
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" fill="{fill}" '
            f'stroke="{colour}" stroke-width="1.6"/>'
        )

    def label(
        self, x: float, y: float, text: str, *, colour: str = INK, fill: str = "white", mono: bool = True
    ) -> None:
        """A text in a small box around (x, y)."""
        width = len(text) * (8.2 if mono else 7.6) + 16
        self.box(x - width / 2, y - 13, width, 25, fill=fill, colour=colour)
        self.text(x, y + 5, text, size=13, mono=mono, colour=INK)

    def svg(self) -> str:
        width, height = self._size
        tips = "".join(
            f'<marker id="{_tip(colour)}" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="6.5" markerHeight="6.5" '
            f'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
            for colour in (INK, GREY, BLUE, ORANGE, GREEN, RED)
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img">\n<title>{escape(self._title)}</title>\n<defs>{tips}</defs>\n'
            f'<rect width="{width}" height="{height}" rx="12" fill="{PAPER}"/>\n'
        )
        return head + "\n".join(self._parts) + "\n</svg>\n"


def _tip(colour: str) -> str:
    return f"tip{colour.strip('#')}"


def _between(a: str, b: str, back: float = 0.0) -> tuple[tuple[float, float], tuple[float, float]]:
    """The line between two brokers, ending ``back`` before the second and beginning as far behind the first."""
    (ax, ay), (bx, by) = PLACES[a], PLACES[b]
    length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
    dx, dy = (bx - ax) / length * back, (by - ay) / length * back
    return (ax + dx, ay + dy), (bx - dx, by - dy)


def _links(picture: Picture) -> None:
    for a, b in LINKS:
        picture.line(*_between(a, b))


def _brokers(picture: Picture, quiet: Iterable[str] = ()) -> None:
    for name, (x, y) in PLACES.items():
        kind = SKY if name == "b0" else "#bfe6d9" if name.startswith("g") else "white"
        picture.circle(x, y, 21, fill=PAPER if name in quiet else kind, colour=PALE if name in quiet else INK)
        picture.text(x, y + 5, name, colour=GREY if name in quiet else INK)


def overlay() -> str:
    picture = Picture(760, 410, "An overlay: a source, interior brokers, gateways with clients, and a coordinator")
    _links(picture)
    _brokers(picture)
    picture.label(90, 40, "publishers", mono=False)
    picture.line((90, 54), (90, 164), colour=INK, arrow=True)
    picture.text(90, 236, "source", bold=True)
    picture.text(365, 66, "interior brokers", bold=True)
    picture.text(640, 388, "gateways", bold=True)
    for name in CLIENTS:
        x, y = PLACES[name]
        for dy in (-13, 0, 13):
            picture.line((x + 22, y), (x + 70, y + dy), colour=INK, width=1.2)
            picture.circle(x + 74, y + dy, 4, fill=INK)
    picture.text(714, 20, "clients", size=14)
    picture.box(300, 345, 140, 42, fill="#fff3d6", colour=ORANGE)
    picture.text(370, 371, "coordinator")
    picture.text(202, 371, "decides channels and trees", size=13, colour=GREY)
    picture.text(513, 371, "carries no message", size=13, colour=GREY)
    return picture.svg()


def channel() -> str:
    picture = Picture(760, 400, "A channel is a tree over the overlay; another channel has another tree")
    _links(picture)
    other = [("b0", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "g1"), ("b2", "b5"), ("b5", "g3")]
    for a, b in other:
        (ax, ay), (bx, by) = _between(a, b)
        picture.line((ax, ay + 6), (bx, by + 6), colour=ORANGE, width=4, dashed=True)
    for a, b in TREE:
        picture.line(*_between(a, b), colour=BLUE, width=5)
    _brokers(picture)
    picture.line((36, 36), (86, 36), colour=BLUE, width=5)
    picture.text(98, 41, "channel 0: all four gateways", anchor="start")
    picture.line((36, 64), (86, 64), colour=ORANGE, width=4, dashed=True)
    picture.text(98, 69, "channel 1: g1 and g3, which often want the same", anchor="start")
    return picture.svg()


def mask() -> str:
    picture = Picture(
        760, 420, "A message with the mask 1010 passes a link if the link's mask has a bit in common with it"
    )
    wanted = {"b1": "1010", "b4": "1000", "b2": "0010", "b5": "0010", "g0": "1000", "g2": "0010"}
    for a, b in TREE:
        taken = b in wanted
        picture.line(*_between(a, b, 24), colour=BLUE if taken else PALE, width=5 if taken else 3, arrow=False)
    _brokers(picture, quiet={"b3", "g1", "g3"})
    for a, b in TREE:
        (ax, ay), (bx, by) = PLACES[a], PLACES[b]
        picture.label((ax + bx) / 2, (ay + by) / 2 - 4, TREE_MASKS[b], colour=BLUE if b in wanted else PALE)
    for name, bits in wanted.items():
        x, y = PLACES[name]
        side = 62 if name.startswith("g") else 0
        picture.text(
            x + side, y + (5 if side else -30 if name == "b1" else 42), bits, mono=True, colour=BLUE, bold=True, size=14
        )
    picture.text(90, 232, "1010", mono=True, colour=BLUE, bold=True, size=14)
    picture.text(28, 34, "Boxes: the gateways behind a link, a bit each (g0 g1 g2 g3).", anchor="start", size=14)
    picture.text(28, 396, "Blue: the message's own mask. It goes where both share a bit, and keeps only those bits.",
                 anchor="start", size=14)  # fmt: skip
    return picture.svg()


def gateway() -> str:
    picture = Picture(760, 330, "A gateway matches each message with the profiles of its own clients")
    picture.label(92, 165, "{IBM, 95.5}", fill="#dbeefb", colour=BLUE)
    picture.line((150, 165), (232, 165), colour=BLUE, width=4, arrow=True)
    picture.box(240, 70, 190, 190, fill="#e6f5ef")
    picture.text(335, 98, "gateway g0", bold=True)
    picture.text(335, 132, "seen before? drop", size=14)
    picture.text(335, 162, "match, for all", size=14)
    picture.text(335, 182, "clients at once", size=14)
    picture.text(335, 222, "fewer than counted?", size=14)
    picture.text(335, 242, "fetch from the log", size=14)
    rows = [("price > 90", True), ("symbol = 'IBM'", True), ("symbol = 'SAP'", False), ("price < 10", False)]
    for number, (profile, yes) in enumerate(rows):
        y = 48 + number * 78
        colour = BLUE if yes else PALE
        picture.line((430, 165), (540, y), colour=colour, width=3 if yes else 2, dashed=not yes, arrow=yes)
        picture.box(548, y - 24, 180, 48, colour=colour)
        picture.text(638, y + 5, profile, mono=True, size=14, colour=INK if yes else GREY)
    return picture.svg()


def reorganisation() -> str:
    picture = Picture(
        760, 420, "A new tree is installed from its leaves up; the source switches; the old tree is drained"
    )
    steps = ["1  install, leaves first", "2  the source switches", "3  drain, then remove"]
    small = {"s": (60, 80), "m": (120, 40), "n": (120, 120), "x": (190, 30), "y": (190, 130)}
    old = [("s", "m"), ("m", "x"), ("m", "y")]
    new = [("s", "n"), ("n", "y"), ("n", "x")]
    shown = [
        ((BLUE, 5, False), (GREEN, 3, True)),
        ((BLUE, 3, False), (GREEN, 5, False)),
        ((PALE, 2, True), (GREEN, 5, False)),
    ]
    for number, step in enumerate(steps):
        left, top = 8 + number * 250, 70
        picture.text(left + 122, 44, step, bold=True)
        for tree, (colour, width, dashed) in zip((old, new), shown[number], strict=True):
            for a, b in tree:
                (ax, ay), (bx, by) = small[a], small[b]
                picture.line((left + ax, top + ay), (left + bx, top + by), colour=colour, width=width, dashed=dashed)
        for name, (x, y) in small.items():
            fill = SKY if name == "s" else "#bfe6d9" if name in "xy" else "white"
            picture.circle(left + x, top + y, 15, fill=fill)
    picture.text(24, 270, "the source's log", anchor="start", bold=True)
    for number in range(14):
        colour = BLUE if number < 8 else GREEN
        picture.box(24 + number * 50, 288, 44, 34, fill="#dbeefb" if number < 8 else "#e6f5ef", colour=colour)
        picture.text(46 + number * 50, 310, str(number + 41), size=13)
    picture.line((421, 278), (421, 336), colour=RED, width=3)
    picture.text(421, 356, "the switch is a position in the log", colour=RED, size=14)
    picture.text(24, 396, "Before it the old plan counts, also for what is synced later; behind it the new one.",
                 anchor="start", size=13)  # fmt: skip
    return picture.svg()


def overview() -> str:
    picture = Picture(900, 430, "From publisher to clients: match once, forward by bits, filter again at the gateway")
    picture.label(86, 215, "IBM  95.5", fill="#dbeefb", colour=BLUE)
    picture.text(86, 192, "message", size=14, colour=GREY)
    picture.line((136, 215), (176, 215), colour=INK, width=3, arrow=True)
    picture.box(184, 120, 150, 190, fill="#dbeefb", colour=BLUE)
    for y, text in ((146, "source"), (178, "match: once, with"), (197, "all profiles"), (229, "log: synced, then"),
                    (248, "acknowledged"), (280, "channel and mask")):  # fmt: skip
        picture.text(259, y, text, size=14 if y > 146 else 15, bold=y == 146)
    places = {
        "r": (412, 215),
        "u": (500, 130),
        "d": (500, 300),
        "g0": (612, 62),
        "g1": (612, 165),
        "g2": (612, 265),
        "g3": (612, 368),
    }
    gone = {("r", "u"), ("u", "g0"), ("r", "d"), ("d", "g2")}
    picture.line((334, 215), (392, 215), colour=BLUE, width=5)
    for a, b in [("r", "u"), ("r", "d"), ("u", "g0"), ("u", "g1"), ("d", "g2"), ("d", "g3"), ("u", "d")]:
        used = (a, b) in gone
        picture.line(places[a], places[b], colour=BLUE if used else PALE, width=5 if used else 2)
    for name, (x, y) in places.items():
        picture.circle(x, y, 18, fill="#bfe6d9" if name.startswith("g") else "white")
    picture.label(364, 186, "1010", colour=BLUE)
    picture.label(444, 158, "1000", colour=BLUE)
    picture.label(444, 274, "0010", colour=BLUE)
    picture.text(425, 384, "brokers forward by bits", size=14)
    picture.text(425, 403, "and never look inside", size=14)
    profiles = [("g0", "price > 90", True), ("g0", "symbol = 'SAP'", False), ("g1", "price < 10", False),
                ("g2", "symbol = 'IBM'", True), ("g3", "volume > 5000", False)]  # fmt: skip
    for (name, profile, yes), y in zip(profiles, (38, 92, 165, 265, 368), strict=True):
        x, at = places[name]
        picture.line((x + 19, at), (704, y), colour=BLUE if yes else PALE, width=3 if yes else 2, arrow=yes)
        picture.box(712, y - 20, 166, 40, colour=BLUE if yes else PALE)
        picture.text(795, y + 5, profile, mono=True, size=14, colour=INK if yes else GREY)
    picture.text(612, 418, "gateways filter for their clients", size=14)
    return picture.svg()


def message() -> str:
    parties = ["Publisher", "Source", "Log", "Broker", "Gateway", "Subscriber"]
    steps = [
        (0, 1, "Publish (origin, number)", False), (1, 1, "lease? match, route, append", False), (1, 2, "sync", False),
        (2, 1, "synced", True), (1, 0, "Published", True), (1, 3, "Data (key, masks), or Leg", False),
        (3, 4, "Data, fewer bits", False), (4, 4, "new? filter for each session", False), (4, 5, "Deliver", False),
        (5, 4, "Taken", True), (4, 1, "Ack, put together on the way up", True), (1, 1, "trim the log", False),
    ]  # fmt: skip
    picture = Picture(880, 110 + 44 * len(steps), "The way of a message, from Publish to the trimming of the log")
    at = [80 + 144 * number for number in range(len(parties))]
    for x, party in zip(at, parties, strict=True):
        picture.line((x, 60), (x, 84 + 44 * len(steps)), colour=PALE)
        picture.box(x - 52, 22, 104, 36)
        picture.text(x, 45, party, bold=True)
    for number, (a, b, text, back) in enumerate(steps):
        y = 96 + 44 * number
        if a == b:
            width = len(text) * 7.2 + 20
            picture.box(at[a] - width / 2, y - 18, width, 30, fill="#fff3d6", colour=ORANGE)
            picture.text(at[a], y + 2, text, size=13)
            continue
        picture.line((at[a], y + 4), (at[b], y + 4), colour=GREY if back else INK, dashed=back, arrow=True, width=1.8)
        picture.text((at[a] + at[b]) / 2, y - 4, text, size=13 if len(text) < 20 else 12)
    return picture.svg()


def plan_states() -> str:
    picture = Picture(880, 330, "The states of a change of plan: settled, planning, installing, switching")
    states = {"settled": 100, "planning": 330, "installing": 560, "switching": 780}
    for name, x in states.items():
        picture.box(x - 62, 128, 124, 44, fill="#e6f5ef" if name == "settled" else "white")
        picture.text(x, 155, name, bold=True)
    notes = [
        (215, "interests, brokers or", "statistics changed"),
        (445, "the plan", "is made"),
        (670, "every broker", "has its tables"),
    ]
    for (x, first, second), left, right in zip(notes, (162, 392, 622), (266, 496, 716), strict=True):
        picture.line((left, 150), (right, 150), colour=INK, arrow=True)
        picture.text(x, 112, first, size=12)
        picture.text(x, 126, second, size=12)
    picture.path("M780 128 C780 40 100 40 100 126", colour=GREEN, arrow=True)
    picture.text(440, 52, "every source under a lease follows it: subscriptions are live", size=13, colour=INK)
    picture.path("M330 172 C330 222 130 222 112 175", colour=GREY, arrow=True, dashed=True)
    picture.text(290, 230, "a broker that it needs has gone, or the lead was lost", size=12)
    picture.path("M560 172 C560 330 56 330 62 175", colour=GREY, arrow=True, dashed=True)
    picture.text(330, 314, "a broker that it needs has gone: abandoned", size=12)
    return picture.svg()


PICTURES = {
    "overview": overview, "overlay": overlay, "channel": channel, "mask": mask, "gateway": gateway,
    "reorganisation": reorganisation, "message": message, "plan-states": plan_states,
}  # fmt: skip


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
