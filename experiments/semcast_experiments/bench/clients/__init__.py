"""Benchmarks of what clients see of one broker that is source and gateway in one.

**mqtt**: QoS 0 from one publisher to many subscribers, beside mosquitto. **publish**: durable publishing, beside
JetStream. Both are given the same messages over raw sockets by the same loop, in turns.
"""

from semcast_experiments.bench.clients.mqtt import run_mqtt
from semcast_experiments.bench.clients.publish import run_publish

__all__ = ["run_mqtt", "run_publish"]
