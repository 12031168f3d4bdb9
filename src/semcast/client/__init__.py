"""Clients of a running overlay: ``connect`` for asyncio, ``connect_blocking`` for everybody else."""

from semcast.client.blocking import BlockingClient, connect_blocking
from semcast.client.client import Client, OtherVersion, Unreachable
from semcast.client.many import Subscriptions
from semcast.client.messages import Gap, Receipt, Received
from semcast.client.publishing import Publishing
from semcast.client.staleness import Staleness
from semcast.client.subscription import Refused, Subscription

__all__ = [
    "BlockingClient",
    "Client",
    "Gap",
    "OtherVersion",
    "Publishing",
    "Receipt",
    "Received",
    "Refused",
    "Staleness",
    "Subscription",
    "Subscriptions",
    "Unreachable",
    "connect_blocking",
]
