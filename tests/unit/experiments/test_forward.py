"""The load generator of `semcast bench forward`: it counts what came, and encodes what servers expect."""

from __future__ import annotations

import selectors
import socket
import time

import numpy as np
import pytest

from semcast.protocol.wire.codec import Decoder, encode
from semcast.protocol.wire.frames import Beat, Data, Tally
from semcast_experiments.bench.forward.counting import ByBytes, ByFrames
from semcast_experiments.bench.forward.load import Line, all_have
from semcast_experiments.bench.forward.run import _targets
from semcast_experiments.bench.forward.wire import (
    GATEWAYS_PER_LINK,
    frames,
    masks,
    mqtt_connect,
    mqtt_publish,
    mqtt_subscribe,
    nats_message_bytes,
    nats_publish,
)


@pytest.mark.parametrize("piece", [1, 5, 16, 17, 100, 5000])
def test_messages_are_counted_wherever_the_stream_is_cut(piece: int) -> None:
    stream = encode(Beat(1.0)) + frames(("c", 1), "s", [b"x" * 30] * 37, [1] * 37, 5) + encode(Beat(2.0))
    buffer = bytearray(5000)
    counter = ByFrames(buffer)
    for first in range(0, len(stream), piece):
        part = stream[first : first + piece]
        buffer[: len(part)] = part
        counter.add(len(part))
    assert counter.messages == 37


def test_messages_of_one_length_are_counted_by_bytes() -> None:
    counter = ByBytes(nats_message_bytes(3, "fan01"))
    counter.add(len(b"MSG fan01 1 3\r\nabc\r\n"))
    assert counter.messages == 1


@pytest.mark.parametrize("room", [7, 64, 4096])
def test_a_message_is_there_when_every_line_has_it_whatever_comes_before_and_however_it_is_cut(room: int) -> None:
    message = frames(("c", 1), "s", [b"x" * 30], [1], 1)
    with selectors.DefaultSelector() as selector:
        lines, ends = _lines(selector, 3, room)
        for end, before in zip(ends, (b"", encode(Beat(1.0)), 2 * encode(Beat(1.0))), strict=True):
            end.sendall(before + message)
        wanted = {id(line): 1.0 for line in lines}
        all_have(selector, wanted, time.perf_counter() + 60)
        assert not wanted
        assert [line.counter.messages for line in lines] == [1, 1, 1]
        _close(lines, ends)


def test_a_line_that_gets_nothing_is_left_and_what_others_got_is_counted() -> None:
    with selectors.DefaultSelector() as selector:
        lines, ends = _lines(selector, 2, 4096)
        ends[0].sendall(frames(("c", 1), "s", [b"x"], [1], 1))
        wanted = {id(line): 1.0 for line in lines}
        all_have(selector, wanted, time.perf_counter() + 0.05)
        assert list(wanted) == [id(lines[1])]
        assert [line.counter.messages for line in lines] == [1, 0]
        _close(lines, ends)


def _lines(selector: selectors.BaseSelector, count: int, room: int) -> tuple[list[Line], list[socket.socket]]:
    pairs = [socket.socketpair() for _ in range(count)]
    lines = []
    for one, _ in pairs:
        buffer = bytearray(room)
        lines.append(Line(one, buffer, ByFrames(buffer)))
        selector.register(one, selectors.EVENT_READ, lines[-1])
    return lines, [other for _, other in pairs]


def _close(lines: list[Line], ends: list[socket.socket]) -> None:
    for end in (*ends, *(line.socket for line in lines)):
        end.close()


def test_every_message_goes_over_every_link_with_a_mask_of_its_own() -> None:
    found = masks(np.random.default_rng(1), 10, 200)
    assert len(set(found)) == 200
    for mask in found:
        for link in range(10):
            assert 1 <= (mask >> (link * GATEWAYS_PER_LINK) & (1 << GATEWAYS_PER_LINK) - 1).bit_count() <= 3


def test_frames_hold_all_messages_in_order_with_a_tally_behind_them() -> None:
    *found, last = Decoder().feed(frames(("c", 1), "s", [b"a", b"b", b"c"], [1, 2, 3], 2))
    assert [frame.numbers for frame in found if isinstance(frame, Data)] == [(1, 2), (3,)]
    assert isinstance(last, Tally)
    assert last.counts == {0: 2, 1: 2}


def test_packets_of_the_peers_are_as_their_protocols_say() -> None:
    assert nats_publish([b"ab", b"c"], "t") == b"PUB t 2\r\nab\r\nPUB t 1\r\nc\r\n"
    assert mqtt_connect("me") == b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x00\x00\x02me"
    assert mqtt_subscribe("t") == b"\x82\x06\x00\x01\x00\x01t\x00"
    assert mqtt_publish(bytes(200), "t")[:6] == b"\x30\xcb\x01\x00\x01t"


def test_targets_without_a_peer_are_not_judged() -> None:
    alone = {"semcast, 1 per frame": {"per_second": 5}}
    report = {
        "cells": [{"fan": 10, "bytes": 256, "contenders": alone}],
        "latency": [{"fan": 1, "p50_us": {}}],
        "stopped_child": {"ratio": 0.95},
    }
    assert [target["met"] for target in _targets(report, quick=False)] == [None] * 5 + [True]
