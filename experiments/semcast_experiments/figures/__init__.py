"""The papers' figures and ours: ``catalogue`` lists them, ``trials`` runs and keeps what they measure."""
