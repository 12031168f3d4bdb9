"""The benchmark of forwarding: an interior broker beside nats-server and mosquitto.

A *server* is a real process that passes messages on; *lines* are raw sockets to it, one that sends and up to ten that
receive; a *load* is bytes encoded beforehand, with what each line will receive of them. All servers are given the
same messages by the same loop, in turns.
"""

from semcast_experiments.bench.forward.run import run_forward

__all__ = ["run_forward"]
