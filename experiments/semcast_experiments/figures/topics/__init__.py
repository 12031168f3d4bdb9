"""The evaluation of the *topics* paper, a file per figure, with our default engine beside its three.

``costs`` and ``memory`` measure, on subscriptions from ``workload``; ``setup`` has the trials that figures share.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from semcast_experiments.figures.trials import Run

__all__ = ["topics"]


def topics(quick: bool, seed: int, out: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """Figures 4 to 10 for a benchmark: measured anew, whatever the folder holds, and drawn."""
    # Imported here: a module that is imported by name would be hidden by its function otherwise.
    from semcast_experiments.figures.topics.fig4 import fig4
    from semcast_experiments.figures.topics.fig7 import fig7
    from semcast_experiments.figures.topics.fig8 import fig8
    from semcast_experiments.figures.topics.fig9 import fig9
    from semcast_experiments.figures.topics.setup import all_costs, all_memory

    shutil.rmtree(out / ".cache", ignore_errors=True)
    run = Run(quick, seed, out, report=lambda done, total: progress(f"{done} of {total} trials"))
    made = [figure(run) for figure in (fig4, fig7, fig8, fig9)]
    return {
        "seed": seed,
        "quick": quick,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "topics_per_second": made[1]["topics_per_second"],
        "edges_of_100000_x_10_by_values": made[2]["edges"],
        "note": [line for one in made for line in (*(claim[1] for claim in one["claims"]), *one["note"])],
        "costs": [cost._asdict() for cost in all_costs(run)],
        "memory": [size._asdict() for size in all_memory(run)],
        "files": [file for one in made for file in one["files"]],
    }
