"""MQTT at a broker's port: for clients that people already have.

A **front** recognises MQTT by its first bytes. A **connection** is one client's socket; its **session** has the
client's filters and what it has not acknowledged, and may outlive connection and process. A **feed** is one
subscription of the overlay with the sessions that it goes to: one, or the group that shares it. All clients publish
through one **intake**.
MQTT knows nothing of channels and trees, and the overlay nothing of packets: between them are local clients.
"""

from semcast.model.extras import needed

with needed("server", "MQTT at a broker's port"):
    from semcast.server.mqtt.front import MqttFront

__all__ = ["MqttFront"]
