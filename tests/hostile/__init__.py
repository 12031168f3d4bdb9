"""Attacks with names: what one hostile client may cost."""
