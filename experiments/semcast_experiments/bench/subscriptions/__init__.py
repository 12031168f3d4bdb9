"""`semcast bench subscriptions`: how many subscriptions an overlay takes, how fast, and what each of them costs.

An *overlay* of real processes, as ``examples/up.toml`` describes it, gets its *population* in stages, from *workers*:
processes with clients, one for each gateway, and one that publishes. A *trial* is one population: loading it, single
subscriptions on top, publishing with and without *churn*, and members that are killed and come back. *Peers* are
nats-server and mosquitto with as many plain topics. Trials give raw measurements; ``figures`` makes rates, shares and
verdicts of them, so that a reader of the report can do the sums again.
"""

from semcast_experiments.bench.subscriptions.run import run_subscriptions
from semcast_experiments.bench.subscriptions.trial import PARTS as SUBSCRIPTION_PARTS

__all__ = ["SUBSCRIPTION_PARTS", "run_subscriptions"]
