"""Forwarding along trees: frame by frame (``broker``), and in bytes, as sockets bring them (``forwarding``)."""
