"""Programs that people have: mosquitto_pub, mosquitto_sub and paho, beside the Python client."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import paho.mqtt.client as paho
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import semcast
from tests.conftest import find_program
from tests.live.mqtt.overlay import PATIENCE_S, Overlay, connected

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overlay]:
    overlay = Overlay(tmp_path_factory.mktemp("overlay"))
    yield overlay
    overlay.stop()


@pytest.fixture
def mosquitto(overlay: Overlay) -> Mosquitto:
    return Mosquitto(overlay.port("b2"))


class Mosquitto:
    def __init__(self, port: int) -> None:
        self._port = str(port)
        self._pub, self._sub = find_program("mosquitto_pub"), find_program("mosquitto_sub")

    def publish(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [self._pub, "-p", self._port, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def refused(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [self._sub, "-p", self._port, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    @contextmanager
    def subscribed(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A subscriber whose subscription is live."""
        command = ["stdbuf", "-oL", self._sub, "-d", "-p", self._port, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            while "Subscribed" not in (line := process.stdout.readline()):
                assert line, "it ended before it was subscribed"
            try:
                yield process
            finally:
                process.kill()


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """The next messages that it prints."""
    assert process.stdout is not None
    found: list[str] = []
    while len(found) < count:
        line = process.stdout.readline()
        assert line, found
        if not line.startswith(("Client ", "Subscribed")):
            found.append(line.rstrip("\n"))
    return found


@pytest.mark.parametrize("version", ["5", "311"])
@pytest.mark.parametrize("qos", ["0", "1"])
def test_mosquitto_sub_prints_what_mosquitto_pub_sends(mosquitto: Mosquitto, version: str, qos: str) -> None:
    with mosquitto.subscribed("-V", version, "-q", qos, "-v", "-t", "house/+/temperature", "-t", "end/#") as process:
        for topic in ("house/kitchen/temperature", "house/kitchen/light", "house/hall/temperature", "end"):
            assert mosquitto.publish("-V", version, "-q", qos, "-t", topic, "-m", topic).returncode == 0
        topics = {"house/kitchen/temperature", "house/hall/temperature", "end"}
        assert set(lines(process, 3)) == {f"{topic} {topic}" for topic in topics}


def test_mosquitto_sub_filters_by_content(mosquitto: Mosquitto) -> None:
    profile = ("-D", "subscribe", "user-property", "profile", "price > 10")
    with mosquitto.subscribed("-V", "5", "-q", "1", "-t", "quotes", *profile) as process:
        for price in (5, 15, 9, 19):
            mosquitto.publish("-V", "5", "-q", "1", "-t", "quotes", "-m", f'{{"price": {price}}}')
        assert lines(process, 2) == ['{"price": 15}', '{"price": 19}']


def test_mosquitto_is_told_why_it_is_refused(mosquitto: Mosquitto) -> None:
    unfit = mosquitto.publish("-V", "5", "-q", "1", "-t", "quotes", "-m", '{"price": "dear"}')
    assert "'price' should be a number, and is \"dear\"" in unfit.stderr
    profile = ("-D", "subscribe", "user-property", "profile", "prise > 10")
    assert "denied" in mosquitto.refused("-V", "5", "-t", "quotes", *profile).stderr
    assert "denied" in mosquitto.refused("-V", "311", "-t", "#").stderr


def test_mosquitto_sub_has_the_same_messages_as_the_python_client(overlay: Overlay, mosquitto: Mosquitto) -> None:
    async def subscribed() -> tuple[semcast.Client, object]:
        client = semcast.connect(overlay.address("b3"))
        await client.open()
        subscription = client.subscribe("sensors", "same/*/b", ordered=True)
        await subscription.live()
        return client, subscription

    async def received(subscription: object, count: int) -> list[str]:
        return [(await anext(subscription)).payload.decode() for _ in range(count)]  # type: ignore[call-overload]

    client, subscription = overlay.run(subscribed())
    with (
        mosquitto.subscribed("-V", "5", "-q", "1", "-t", "same/+/b/#") as process,
        connected(overlay.port("b0")) as writer,
    ):
        for number in range(200):
            writer.post(f"same/{number % 7}/{'ab'[number % 2]}", str(number))
        expected = [str(number) for number in range(200) if number % 2]
        assert lines(process, 100) == expected
        assert overlay.run(received(subscription, 100)) == expected
    overlay.run(client.close())


# --- paho


class Paho:
    """A paho client with its messages and acknowledgements."""

    def __init__(self, port: int, client_id: str, **options: object) -> None:
        self.messages: list[paho.MQTTMessage] = []
        self.present: list[bool] = []
        self._news = threading.Condition()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5)
        self.client.on_message = self._on_message
        self.client.on_connect = lambda client, data, flags, code, properties: self._told(
            self.present, flags.session_present
        )
        self.granted: list[int] = []
        self.client.on_subscribe = lambda client, data, number, codes, properties: self._told(
            self.granted, codes[0].value
        )
        self.client.connect("127.0.0.1", port, **options)
        self.client.loop_start()
        self.wait(lambda: bool(self.present))

    def _on_message(self, client: object, data: object, message: paho.MQTTMessage) -> None:
        self._told(self.messages, message)

    def _told(self, place: list, what: object) -> None:  # type: ignore[type-arg]
        with self._news:
            place.append(what)
            self._news.notify_all()

    def wait(self, until: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(until, PATIENCE_S)

    def subscribe(self, filter: str, qos: int = 1) -> int:
        self.client.subscribe(filter, qos)
        self.wait(lambda: bool(self.granted))
        return self.granted.pop()

    def stop(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def kept() -> dict[str, object]:
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 100
    return {"clean_start": False, "properties": properties}


def test_paho_publishes_and_subscribes_with_properties(overlay: Overlay) -> None:
    reader, writer = Paho(overlay.port("b2"), "reader"), Paho(overlay.port("b3"), "writer")
    assert reader.subscribe("paho/#") == 1
    properties = Properties(PacketTypes.PUBLISH)
    properties.ContentType, properties.UserProperty = "text/plain", [("a", "b")]
    for number in range(50):
        info = writer.client.publish("paho/x", str(number), qos=number % 2, properties=properties)
    info.wait_for_publish(PATIENCE_S)
    reader.wait(lambda: len(reader.messages) == 50)
    for qos in (0, 1):  # paho lets QoS 0 overtake QoS 1
        assert [int(m.payload) for m in reader.messages if m.payload[-1] % 2 == qos] == list(range(qos, 50, 2))
    assert reader.messages[0].properties.ContentType == "text/plain"
    assert reader.messages[0].properties.UserProperty == [("a", "b")]
    for client in (reader, writer):
        client.stop()


def test_paho_comes_back_to_its_session_across_a_restart_of_the_gateway(overlay: Overlay) -> None:
    reader = Paho(overlay.port("b2"), "durable", **kept())
    assert reader.present == [False]
    assert reader.subscribe("durable/#") == 1
    reader.stop()
    with connected(overlay.port("b3")) as writer:
        writer.publish("durable/a", "1")
        overlay.restart("b2")
        writer.publish("durable/a", "2")
    reader = Paho(overlay.port("b2"), "durable", **kept())
    assert reader.present == [True]
    reader.wait(lambda: len(reader.messages) == 2)
    assert [message.payload for message in reader.messages] == [b"1", b"2"]
    reader.stop()


def test_paho_asks_for_many_filters_in_one_packet_and_a_bad_one_spoils_no_other(overlay: Overlay) -> None:
    reader = Paho(overlay.port("b2"), "many")
    codes: list[int] = []
    reader.client.on_subscribe = lambda client, data, number, found, properties: reader._told(
        reader.granted, codes.extend(code.value for code in found) or 1
    )
    filters = [f"crowd/{number}" for number in range(60)]
    bad = {10: "quotes/deeper", 20: "$share/nothing", 30: "$SYS/#"}
    asked = [(bad.get(place, filter), place % 2) for place, filter in enumerate(filters)]
    reader.client.subscribe(asked)
    reader.wait(lambda: bool(reader.granted))
    assert codes == [0x8F if place in bad else place % 2 for place in range(60)]
    with connected(overlay.port("b3")) as writer:
        for place in (0, 10, 31, 59):
            writer.publish(filters[place], str(place))
        writer.publish("crowd/other", "other")
        writer.publish(filters[1], "last")
    reader.wait(lambda: len(reader.messages) >= 4)
    reader.wait(lambda: any(message.payload == b"last" for message in reader.messages))
    assert sorted(message.payload for message in reader.messages) == [b"0", b"31", b"59", b"last"]
    reader.stop()
