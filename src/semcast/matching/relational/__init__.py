"""Matching of relational profiles.

Space (an attribute's codes) ← points of all profiles; Shape → Block → Arrays (the index); kernels run
over them; Columns turn Arrow batches into codes. RelationalEngine puts them together, and
BruteForceEngine is the oracle that knows none of it.
"""
