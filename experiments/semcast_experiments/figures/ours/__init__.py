"""What no paper has: every scheme against a tree per message, over overlap, sparsity, channels, size, sources and time.

Costs are link transmissions from the source on, legs included; "the least" is local search for each message's own
gateways, with a certified bound below it.
"""
