"""The commands ``semcast bench`` and ``semcast figures``."""
