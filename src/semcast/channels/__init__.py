"""Channels: how a stream is split so that each gateway gets what its clients want and little else.

Selectivity (which sampled message matched which profile), Overlap (how much profiles share), Hierarchy (who
contains whom), Channel and its Expression, channelize (the papers' schemes).
Knows profiles by number and gateways by bit; knows no profile's text, no topology and no trees: what a tree
over some gateways costs arrives as a function.
"""
