"""Profile languages, each a closed algebra: parse, canonical text, covers, overlaps.

A language says which messages a profile matches; it knows no channels, no networks and no I/O.
"""
