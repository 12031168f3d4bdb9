"""Overlays of brokers, dissemination trees over them, and what they cost.

Topology (brokers, links, roles), Graph (the same as arrays), trees (low-cost, delay-bounded, shortest-path,
Takahashi–Matsuyama, local search, a lower bound), evaluation (link transmissions of messages over trees).
Topologies come from ``generators`` (drawn at random), ``imports`` (networks as found) or a file.
Knows no profiles and no channels: a message is the set of gateways that want it.
"""
