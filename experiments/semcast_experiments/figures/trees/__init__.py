"""Dissemination trees measured: joins against a central Steiner tree, depth, and the price of delay bounds.

JoinTrial and BoundTrial are single trees; the figures show means over networks, channels and seeds.
"""

from semcast_experiments.figures.trees.bounds import delay_bounds
from semcast_experiments.figures.trees.joins import joins

__all__ = ["delay_bounds", "joins"]
