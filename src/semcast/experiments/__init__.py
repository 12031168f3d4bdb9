"""Workloads, benchmarks and, one file each, the papers' figures."""
