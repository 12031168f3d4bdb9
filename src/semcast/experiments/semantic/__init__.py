"""The evaluation of the *thesis*: chart corrections, and what routers that filter them cost."""
