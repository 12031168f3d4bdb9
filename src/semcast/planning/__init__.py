"""Planning: from who wants what to channels and trees, and from a message's matches to its channels.

Plan (immutable, versioned), Subscriptions (distinct profiles and their gateways), make_plan (one per scheme),
Router (matches → channel batches), cost (what a plan costs, counted).
Knows profiles by id and matches by number; looks at no message.
"""
