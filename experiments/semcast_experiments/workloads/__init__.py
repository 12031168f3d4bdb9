"""Profiles and messages that benchmarks and figures are measured with."""
