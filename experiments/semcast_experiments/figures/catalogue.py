"""Every figure there is: its name, where it comes from, and the function that makes it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from semcast_experiments.figures.trials import Run

Result = dict[str, Any]


class Figure(NamedTuple):
    """A figure by its name on the command line; its module is imported when it is made."""

    name: str
    source: str
    """The paper, as the page's heading."""
    title: str
    maker: str
    """Module and function below ``semcast_experiments.figures``."""
    also: tuple[str, ...] = ()
    """The figures of the paper that it shows, where its own name does not say so."""

    def called(self, name: str) -> bool:
        """Is this its name, one of its others, or what one of them begins with?"""
        return any(own == name or own.startswith(f"{name}-") for own in (self.name, *self.also))

    def make(self, run: Run) -> Result:
        module, _, function = self.maker.rpartition(".")
        found: Callable[[Run], Result] = getattr(import_module(f"semcast_experiments.figures.{module}"), function)
        return found(run)


_2005, _2004 = "SemCast 2005", "SemCast 2004"
_TOPICS, _THESIS, _OURS = "Hierarchical streaming (topics)", "Semantic networking (thesis)", "Ours"


def _thesis(first: int, last: int) -> tuple[str, ...]:
    return tuple(f"thesis-fig5.{number}" for number in range(first, last + 1))


FIGURES = (
    Figure("2005-fig3", _2005, "Figure 3: cost above SemCast-O, disjoint profiles", "semcast2005.fig3.fig3"),
    Figure("2005-fig4", _2005, "Figure 4: aggregated overlap by matching probability", "semcast2005.fig4.fig4"),
    Figure("2005-fig5", _2005, "Figure 5: cost against SPT by overlap", "semcast2005.fig5.fig5"),
    Figure("2005-fig6", _2005, "Figure 6: SemCast's variants", "semcast2005.fig6.fig6"),
    Figure("2005-fig7", _2005, "Figure 7: number of channels", "semcast2005.fig7.fig7"),
    Figure("2005-fig8", _2005, "Figure 8: selectivity factors", "semcast2005.fig8.fig8"),
    Figure("2005-fig9", _2005, "Figure 9: network size", "semcast2005.fig9.fig9"),
    Figure("delay-bounds", _2005, "Figure 10: the price of latency bounds", "trees.delay_bounds", ("2005-fig10",)),
    Figure("trees", _2005, "§5.1, §5.2: joins against central trees, and depth", "trees.joins", ("2005-depth",)),
    Figure("2005-table2", _2005, "Table 2: profiles in filtering tables", "semcast2005.table2.table2"),
    Figure(
        "2004-fig3", _2004, "Long version, Figure 3: saved against SPT by selectivity factor", "semcast2004.fig3.fig3"
    ),
    Figure("2004-fig4", _2004, "Long version, Figure 4: saved against SPT by network size", "semcast2004.fig4.fig4"),
    Figure("2004-fig3-short", _2004, "Short version, Figure 3: above the optimum", "semcast2004.fig3_short.fig3_short"),
    Figure("2004-fig4-short", _2004, "Short version, Figure 4: by network size", "semcast2004.fig4_short.fig4_short"),
    Figure("2004-thresholds", _2004, "§5: merging thresholds", "semcast2004.thresholds.thresholds"),
    Figure("topics-streaming", _TOPICS, "Figure 3: delay by payload", "topics.streaming.streaming", ("topics-fig3",)),
    Figure(
        "topics-fig4",
        _TOPICS,
        "Figures 4 to 6: computing destinations",
        "topics.fig4.fig4",
        ("topics-fig5", "topics-fig6"),
    ),
    Figure("topics-fig7", _TOPICS, "Figure 7: engines beside each other", "topics.fig7.fig7"),
    Figure("topics-fig8", _TOPICS, "Figure 8: nodes, edges and memory", "topics.fig8.fig8"),
    Figure("topics-fig9", _TOPICS, "Figures 9 and 10: adding and removing", "topics.fig9.fig9", ("topics-fig10",)),
    Figure("semantic-sizes", _THESIS, "Figures 5.3 and 5.4: sizes of packets", "semantic.sizes.sizes", _thesis(3, 4)),
    Figure(
        "semantic-selectivity",
        _THESIS,
        "Figures 5.5 to 5.9: load by selectivity",
        "semantic.selectivity.selectivity",
        _thesis(5, 9),
    ),
    Figure(
        "semantic-load", _THESIS, "Figures 5.10 to 5.19: load by packet rate", "semantic.rates.rates", _thesis(10, 19)
    ),
    Figure(
        "semantic-table2", _THESIS, "Table 5.2: lines through the load", "semantic.table2.table2", ("thesis-table5.2",)
    ),
    Figure(
        "semantic-ports", _THESIS, "§5.4, §3.5: ports, prefilter, leakage", "semantic.ports.ports", ("thesis-ports",)
    ),
    Figure(
        "semantic-network",
        _THESIS,
        "§6.1, future work: updates, settling, delay",
        "semantic.updates.updates",
        ("thesis-network",),
    ),
    Figure(
        "semantic-approaches",
        _THESIS,
        "Table 5.1: three approaches, measured",
        "semantic.approaches.approaches",
        ("thesis-table5.1",),
    ),
    Figure("oracle", _OURS, "Ten workloads, every scheme, certified bounds", "oracle_figure.oracle", ("ours-oracle",)),
    Figure("ours-overlap", _OURS, "By overlap", "ours.overlap.overlap"),
    Figure("ours-sparsity", _OURS, "By how many gateways want a message", "ours.sparsity.sparsity"),
    Figure("ours-channels", _OURS, "By the number of channels", "ours.channels.channels"),
    Figure("ours-size", _OURS, "By the number of brokers", "ours.size.size"),
    Figure("ours-sources", _OURS, "By the number of sources", "ours.sources.sources"),
    Figure("ours-drift", _OURS, "While interests drift", "ours.drift.drift"),
)
BY_NAME = {figure.name: figure for figure in FIGURES}
