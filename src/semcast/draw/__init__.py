"""Pictures of overlays, plans and demand. The only package that imports matplotlib."""
