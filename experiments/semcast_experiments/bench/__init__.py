"""Benchmarks, side by side with peers.

A *contender* (ours or a peer with one of its plans) matches the first n messages of a workload; the
*race* times contenders in interleaved rounds; the *report* holds what was measured and which targets
that meets. A benchmark in which two contenders disagree about a match is no benchmark: it fails.
Nothing here draws: the command line turns a report into tables.
"""

from semcast_experiments.bench.clients import run_mqtt, run_publish
from semcast_experiments.bench.forward import run_forward
from semcast_experiments.bench.matching import Options, run_matching
from semcast_experiments.bench.mixed import run_mixed
from semcast_experiments.bench.pipeline import PIPELINE_PARTS, run_pipeline
from semcast_experiments.bench.schemes import run_schemes
from semcast_experiments.bench.semantic import run_semantic
from semcast_experiments.bench.subscriptions import SUBSCRIPTION_PARTS, run_subscriptions
from semcast_experiments.bench.topics import run_topics
from semcast_experiments.bench.trees import run_trees
from semcast_experiments.bench.xpath import run_xpath
from semcast_experiments.workloads.relational import WORKLOADS
from semcast_experiments.workloads.xml import SCHEMAS

BENCHMARKS = {
    "forward": run_forward,
    "matching": run_matching,
    "mixed": run_mixed,
    "mqtt": run_mqtt,
    "publish": run_publish,
    "schemes": run_schemes,
    "pipeline": run_pipeline,
    "semantic": run_semantic,
    "subscriptions": run_subscriptions,
    "topics": run_topics,
    "trees": run_trees,
    "xpath": run_xpath,
}
PARTS = {
    "matching": tuple(WORKLOADS),
    "pipeline": PIPELINE_PARTS,
    "subscriptions": SUBSCRIPTION_PARTS,
    "xpath": tuple(SCHEMAS),
}
"""The workloads or parts that a benchmark can be limited to, by name."""

__all__ = [
    "BENCHMARKS",
    "PARTS",
    "Options",
    "run_forward",
    "run_matching",
    "run_mixed",
    "run_mqtt",
    "run_pipeline",
    "run_publish",
    "run_schemes",
    "run_semantic",
    "run_subscriptions",
    "run_topics",
    "run_trees",
    "run_xpath",
]
