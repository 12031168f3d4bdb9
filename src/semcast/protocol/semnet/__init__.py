"""Semantic networks: routers that aggregate, simplify and prefilter interests and forward hop by hop, with no plan."""
