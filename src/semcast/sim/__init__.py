"""The protocol on a virtual clock: the machines of ``protocol``, a network that fails as it is told, and laws.

Scenario (what is run), Driver (clock, parties, commands), Network (lanes and their faults), Journal (what happened, to
be run again), Meters (what it cost), laws (what must hold whatever happens). One seed, one run, byte for byte.
Knows no wall clock, no thread and no socket.
"""
