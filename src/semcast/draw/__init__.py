"""Pictures of overlays, plans and demand, drawn without a window. The only package that imports matplotlib."""

from semcast.model.extras import needed

with needed("plots", "drawing"):
    import matplotlib

matplotlib.use("Agg")
