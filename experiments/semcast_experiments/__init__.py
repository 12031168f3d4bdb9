"""Benchmarks, and the papers' figures, one file each, measured with the product.

Not part of the ``semcast`` wheel: installed next to it, it registers ``semcast bench`` and ``semcast figures``.
"""
