"""2004 (short) Figure 4: what unicast, SPT and SemCast cost above centralised trees, by the number of brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.semcast2004.setup import SIMILARITY, above_central, by_size, drawn
from semcast_experiments.figures.trials import Run

_SCHEMES = ("unicast", "spt", "semcast/destination", "semcast")


def fig4_short(run: Run) -> dict[str, Any]:
    rows = by_size(run)
    curves = {scheme: above_central(rows, scheme, _brokers) for scheme in _SCHEMES}
    picture = drawn([(f"{SIMILARITY:.0%} of the profiles distinct", curves)], "brokers", "% above centralised trees")
    return result(run, "2004-fig4-short", rows, picture, claims(rows), ["The trials of the long version's Figure 4."])


def claims(rows: Sequence[Cost]) -> list[Claim]:
    made = []
    for scheme, name in (("unicast", "Unicast"), ("spt", "SPT")):
        points = above_central(rows, scheme, _brokers)
        first, last = points[0][1], points[-1][1]
        made.append(
            judged(
                f"{name}'s degradation grows with the network.",
                f"From {first.value:.0f} ± {first.margin:.0f} to {last.value:.0f} ± {last.margin:.0f} %.",
                last.value - last.margin > first.value + first.margin,
                "No growth beyond the 95 % intervals.",
                partly=last.value > first.value,
            )
        )
    for scheme, rule in (("semcast", "broker"), ("semcast/destination", "destination")):
        worst = max(value.value for _, value in above_central(rows, scheme, _brokers))
        made.append(
            judged(
                "SemCast stays within 8.5 % of the optimum at all sizes.",
                f"At most {worst:.1f} %, joining the closest {rule}.",
                worst <= 8.5,
                "The text's rule is the dearer one; joining the closest broker on the tree keeps the promise.",
            )
        )
    return made


def _brokers(case: Any) -> float:
    return float(case.brokers)
