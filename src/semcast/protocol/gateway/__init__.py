"""Where clients are served: sessions, what is missing from which source (``inbox``), and what the gateway asks for."""
