"""Plots of the demo and the benchmarks."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from semcast.model.palette import BLUE, ORANGE

Counts = NDArray[np.int64]


def plot_demand(messages_per_profile: Counts, messages_by_interest: Counts, out: Path) -> None:
    """How much each profile asks for, and how many messages are wanted by how many."""
    messages = int(messages_by_interest.sum())
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    share = np.sort(messages_per_profile)[::-1] / messages
    left.plot(np.arange(1, len(share) + 1), np.where(share > 0, share, np.nan), color=BLUE, linewidth=2)
    left.set(xscale="log", yscale="log", xlabel="profile, by rank", ylabel="share of the stream it gets")
    left.set_title(f"What each of {len(share):,} profiles asks for", loc="left", fontsize=10)
    wanted = messages_by_interest[::-1].cumsum()[::-1] / messages  # by at least k profiles
    right.step(np.arange(1, len(wanted)), wanted[1:], where="mid", color=ORANGE, linewidth=2)
    right.set(xscale="log", ylim=(0, 1), xlabel="profiles", ylabel="share of messages that this many want")
    right.set_title(f"How many want each of {messages:,} messages", loc="left", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(out, dpi=130)
    plt.close(figure)
