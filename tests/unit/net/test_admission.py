"""Who may go by which name: proofs, calls back, and claims that nobody can prove."""

from __future__ import annotations

import asyncio

import pytest

from semcast.net.admission import Callbacks, Proofs, unfit
from semcast.protocol.wire.frames import Hello, Vouch
from semcast_experiments.bench.forward.stage import Voucher


def test_a_proof_counts_only_for_the_member_it_was_shown_to() -> None:
    proofs = Proofs()
    shown = proofs.show("127.0.0.1:1", "b1")
    assert proofs.vouch(Vouch("b1", shown))
    assert not proofs.vouch(Vouch("b2", shown))
    assert not proofs.vouch(Vouch("b1", b""))
    assert not Proofs().vouch(Vouch("b1", shown))


def test_a_proof_is_the_same_for_one_address_and_differs_between_addresses_and_parties() -> None:
    proofs = Proofs()
    assert proofs.show("127.0.0.1:1", "") == proofs.show("127.0.0.1:1", "b1")
    assert proofs.show("127.0.0.1:1", "b1") != proofs.show("127.0.0.1:2", "b1")
    assert Proofs().show("127.0.0.1:1", "b1") != proofs.show("127.0.0.1:1", "b1")
    assert not proofs.vouch(Vouch("b2", proofs.show("127.0.0.1:1", "")))  # by now it is known who is there


@pytest.mark.parametrize(
    ("name", "role", "reason"),
    [
        ("b1", "broker", None),
        ("somebody", "client", None),
        ("somebody", "newcomer", None),
        ("me", "client", "own name"),
        ("c0", "coordinator", "coordinators are dialled"),
        ("b1", "client", "is a member"),
        ("b1", "newcomer", "is a member"),
        ("x", "broker", "no broker x"),
        ("x", "king", "unknown role"),
        ("", "client", "printable"),
        ("a\nb", "client", "printable"),
        ("a" * 201, "client", "printable"),
    ],
)
def test_some_hellos_are_refused_whatever_is_proved(name: str, role: str, reason: str | None) -> None:
    found = unfit(Hello(name, role), "me", {"b1", "b2", "c0"}.__contains__)
    assert found is None if reason is None else reason in (found or "")


async def _free() -> bool:
    return False


async def _taken() -> bool:
    return True


def refusal(hello: Hello, known: str | None, *, taken: bool = False) -> str | None:
    return asyncio.run(Callbacks("me").refusal(hello, known, _taken if taken else _free))


def test_a_broker_is_believed_when_its_known_address_vouches_also_in_place_of_an_older_connection() -> None:
    voucher = Voucher()
    try:
        assert refusal(Hello("b1", "broker", 1, "", b"b1"), voucher.address, taken=True) is None
        assert "does not know" in (refusal(Hello("b2", "broker", 1, "", b"b1"), voucher.address) or "")
    finally:
        voucher.close()


def test_the_address_in_a_hello_counts_only_where_nobody_is_at_the_known_one_and_nobody_has_the_name() -> None:
    voucher, elsewhere = Voucher(), Voucher()
    elsewhere.close()
    hello = Hello("b1", "broker", 1, voucher.address, b"b1")
    try:
        assert refusal(hello, elsewhere.address) is None
        assert refusal(hello, None) is None
        assert "connected already" in (refusal(hello, elsewhere.address, taken=True) or "")
        assert "nobody answers" in (
            refusal(Hello("b1", "broker", 1, elsewhere.address, b"b1"), elsewhere.address) or ""
        )
        assert "names no address" in (refusal(Hello("b1", "broker", 1, "", b"b1"), None) or "")
        assert "nobody at" in (refusal(Hello("b1", "broker", 1, "no address", b"b1"), None) or "")
    finally:
        voucher.close()


def test_few_calls_are_under_way_for_one_name() -> None:
    async def many() -> list[str | None]:
        callbacks, over = Callbacks("me"), asyncio.Event()

        async def slow() -> bool:
            await over.wait()
            return True

        hello = Hello("b1", "broker", 1, "127.0.0.1:1")
        asking = [asyncio.create_task(callbacks.refusal(hello, None, slow)) for _ in range(10)]
        await asyncio.sleep(0)
        over.set()
        return list(await asyncio.gather(*asking))

    assert sum("too many" in (reason or "") for reason in asyncio.run(many())) == 8
