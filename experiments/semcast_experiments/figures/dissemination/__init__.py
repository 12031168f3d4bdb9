"""The papers' evaluation of dissemination, as a model: overlays, clients, profiles that overlap, and what schemes cost.

Profiles (how they overlap), Population (who wants what where), Case and Cost (one trial: every scheme on the same
messages). Everything is counted by the code
of ``semcast plan`` and ``semcast cost``; chance comes from the case's seed.
"""

from semcast_experiments.figures.dissemination.trial import Case, Cost, disjoint, measure

__all__ = ["Case", "Cost", "disjoint", "measure"]
