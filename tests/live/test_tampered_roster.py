"""A source whose roster is not the coordinator's: the digest tells at the next change, and a snapshot repairs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import semcast
from semcast.client import Client, Subscription
from semcast.model.message import ProfileText
from semcast.protocol.source.followed_plan import RosterFollowing
from semcast.protocol.source.followed_roster import FollowedRoster
from semcast.protocol.source.planned_outlet import PlannedOutlet
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from tests.live.keyed import STREAM, profile_of
from tests.live.overlays import CALM, overlay, until

pytestmark = pytest.mark.system
Tamper = Callable[[FollowedRoster, str], None]


def _forgets_one(roster: FollowedRoster, name: str) -> None:
    roster._set(name, None, 0)


def _sends_one_elsewhere(roster: FollowedRoster, name: str) -> None:
    profile, mask = roster._entries[name]
    roster._set(name, profile, (mask << 1) or 1)


def _keeps_one_that_nobody_wants(roster: FollowedRoster, name: str) -> None:
    roster._set("0/nobody", ProfileText(STREAM, "relational", "price < 0"), roster._entries[name][1])


@pytest.mark.parametrize("tamper", [_forgets_one, _sends_one_elsewhere, _keeps_one_that_nobody_wants])
def test_the_next_change_tells_and_everybody_gets_his_messages_again(tmp_path: Path, tamper: Tamper) -> None:
    run(_repaired(tmp_path, tamper, touched=False))


def test_an_entry_that_was_overwritten_in_place_is_found_when_it_changes(tmp_path: Path) -> None:
    def overwrite(roster: FollowedRoster, name: str) -> None:
        profile, mask = roster._entries[name]
        roster._entries[name] = profile, mask << 1

    run(_repaired(tmp_path, overwrite, touched=True))


async def _repaired(folder: Path, tamper: Tamper, *, touched: bool) -> None:
    """``touched``: the next change is one of the very entry that was tampered with."""
    async with overlay(folder, settings=CALM) as up:
        roster, gateways = _roster(up), [n for n, host in up.brokers.items() if host.node.gateway is not None]
        clients = [semcast.connect(up.addresses()[gateway]) for gateway in gateways[:2]]
        for client in clients:
            await client.open()
        there = {key: await clients[n % 2].subscribe(STREAM, profile_of(key)) for n, key in enumerate("abcd")}
        assert await _got(clients[0], there) == {key: [key] for key in there}
        assert (roster.astray, up.coordinators["c0"].notes["roster astray"]) == (0, 0)
        tamper(roster, next(name for name, profile, _ in roster.profiles() if profile.text == _text("a", roster)))
        following = _outlet(up).following
        assert isinstance(following, RosterFollowing)
        following.changed()  # it remembers the ways of messages
        spoilt = await _got(clients[0], there) != {key: [key] for key in there}
        assert spoilt == (tamper is not _keeps_one_that_nobody_wants)
        if touched:
            await there.pop("a").close()
        there["e"] = await clients[0].subscribe(STREAM, profile_of("e"))
        await until(lambda: roster.astray == 1)
        assert up.coordinators["c0"].notes["roster astray"] == 1
        assert up.coordinators["c0"].notes["roster sent"] >= 1
        await until(lambda: _same(up))
        assert await _got(clients[0], there) == {key: [key] for key in there}
        await there.pop("b").close()  # the changes that follow are followed
        await until(lambda: _same(up))
        assert await _got(clients[0], there) == {key: [key] for key in there}
        assert roster.astray == 1
        for client in clients:
            await client.close()


def _outlet(up: Embedded) -> PlannedOutlet:
    (source,) = [host.node.source for host in up.brokers.values() if host.node.source is not None]
    assert isinstance(source.outlet, PlannedOutlet)
    return source.outlet


def _roster(up: Embedded) -> FollowedRoster:
    return _outlet(up).roster


def _text(key: str, roster: FollowedRoster) -> str:
    (text,) = [profile.text for _, profile, _ in roster.profiles() if f"'{key}'" in profile.text]
    return text


def _same(up: Embedded) -> bool:
    """Do the source and the coordinator know of the same profiles, and who wants each?"""
    stored, followed = up.coordinators["c0"].machine.roster, _roster(up)
    entries = {entry.name: (entry.profile, set(entry.gateways)) for entry in stored.entries()}
    same = {name: (profile, set(gateways)) for name, profile, gateways in followed.profiles()} == entries
    return same and (stored.version, stored.digest) == (followed.version, followed.digest)


async def _got(client: Client, there: dict[str, Subscription]) -> dict[str, list[str]]:
    """Publish to each key, one after the other, and say what everybody gets."""
    got: dict[str, list[str]] = {key: [] for key in there}

    async def read(key: str, subscription: Subscription) -> None:
        async for message in subscription:
            got[key].append(message.json()["symbol"])

    reading = [asyncio.create_task(read(key, subscription)) for key, subscription in there.items()]
    for key in there:
        await client.publish(STREAM, {"symbol": key, "price": 1.0})
    await asyncio.sleep(0.7)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    return got
