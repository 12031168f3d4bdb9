"""MQTT packets that laws damage and read."""

from __future__ import annotations

import mqtt5

CONNECT = mqtt5.ConnectPacket("law", clean_start=True, session_expiry_interval=60, will=mqtt5.Will("a/b")).write()


PACKETS = [
    mqtt5.PublishPacket("law/a", b"x", qos=mqtt5.QoS(1), packet_id=1, user_properties=[("a", "b")]).write(),
    mqtt5.PublishPacket("quotes", b'{"price": 1}', topic_alias=1).write(),
    mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("law/#")], user_properties=[("profile", "a")]).write(),
    mqtt5.SubscribePacket(2, [mqtt5.TopicFilter("quotes")], user_properties=[("profile", "price > 1")]).write(),
    mqtt5.UnsubscribePacket(3, ["law/#"]).write(),
    mqtt5.PubAckPacket(1).write(),
    mqtt5.PingReqPacket().write(),
    mqtt5.DisconnectPacket(session_expiry_interval=5).write(),
    mqtt5.AuthPacket(authentication_method="x").write(),
]
