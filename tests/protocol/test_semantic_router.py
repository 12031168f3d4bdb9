"""Semantic routers: the network of Figure 4.1, updates that go no further than they must, leakage, cycles, privacy."""

from __future__ import annotations

import itertools

import pytest

from semcast.profiles.semantic import MAX_TEXT, NOTHING, parse
from semcast.protocol.contract import Note, Received, Send
from semcast.protocol.semnet.ports import Matching, acyclic
from semcast.protocol.semnet.router import ROLES, RouterSettings
from semcast.protocol.semnet.trees import router_trees, source_trees, tree_of
from semcast.protocol.wire.frames.semantic import Interest, Offer, Packet, Shed
from semcast.trees.topology import Broker, Link, Topology
from tests.protocol.semantic_network import FIGURE_4_1, SemanticNetwork, overlay, packet


def figure_4_1(**settings: RouterSettings) -> SemanticNetwork:
    return SemanticNetwork(overlay(FIGURE_4_1), settings)


def test_packets_reach_exactly_the_interested_and_routers_5_and_9_see_nothing() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A {x}")
    network.subscribe("Bob", "8", "or {A; B}")
    network.forget()
    network.offer("producer 1", "1", packet("A").replace("<A/>", "<A><x/></A>"))
    network.offer("producer 2", "2", packet("B"))
    network.offer("producer 1", "1", packet("C"))
    network.offer("producer 1", "1", packet("A"))
    assert {user: [(p.source, p.number) for p in got] for user, got in network.delivered.items()} == {
        "Alice": [("1", 1)],
        "Bob": [("1", 1), ("2", 1), ("1", 3)],
    }
    crossed = network.packets()
    assert crossed == {
        ("1", "3"): 2,
        ("2", "3"): 1,
        ("3", "4"): 3,
        ("4", "6"): 1,
        ("4", "7"): 3,
        ("7", "8"): 3,
    }
    assert all("5" not in link and "9" not in link for link in crossed)


def test_bobs_interest_absorbs_alices_at_router_4() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A {x}")
    network.subscribe("Bob", "8", "or {A; B}")
    said = {link: frame.profile for link, frame in network.sent if isinstance(frame, Interest)}
    assert said["6", "4"] == "A {x}"
    for link in (("8", "7"), ("7", "4"), ("4", "3"), ("3", "1"), ("3", "2"), ("4", "5")):
        assert said[link] == str(parse("or {A; B}")), link


def test_a_covered_profile_goes_no_further_than_the_router_that_absorbs_it() -> None:
    network = figure_4_1()
    network.subscribe("Bob", "8", "or {A; B}")
    network.forget()
    network.subscribe("Alice", "6", "A {x}")
    # Towards Bob she is news: nobody on that side of his routers wanted anything so far, and a producer might be there.
    assert set(network.updates()) == {("6", "4"), ("4", "7"), ("7", "8")}
    network.forget()
    network.subscribe("Carol", "8", "B {y}")
    network.subscribe("Dave", "6", "A {x; z}")
    assert not network.updates()
    network.unsubscribe("Dave", "6")
    network.unsubscribe("Carol", "8")
    assert not network.updates()


def test_a_profile_that_goes_uncovers_what_it_covered() -> None:
    network = figure_4_1()
    network.subscribe("Bob", "8", "or {A; B}")
    network.subscribe("Alice", "6", "A {x}")
    network.unsubscribe("Bob", "8")
    network.forget()
    network.offer("producer", "1", packet("A"))
    network.offer("producer", "1", packet("A").replace("<A/>", "<A><x/></A>"))
    assert network.got() == {"Alice": [2]}
    assert set(network.packets()) == {("1", "3"), ("3", "4"), ("4", "6")}


def test_a_packet_that_nobody_wants_is_dropped_at_the_first_router() -> None:
    network = figure_4_1()
    network.offer("producer", "1", packet("A"))
    assert not network.packets()
    assert network.routers["1"].counts["3"].filtered == 1


def test_a_user_can_move_its_interest_at_once() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    network.subscribe("Alice", "6", "B")
    network.offer("producer", "1", packet("A"))
    network.offer("producer", "1", packet("B"))
    assert network.got() == {"Alice": [2]}


def test_users_of_one_router_get_packets_that_never_leave_it() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    network.subscribe("Bob", "6", "A {x}")
    network.offer("Bob", "6", packet("A").replace("<A/>", "<A><x/></A>"))
    assert network.got() == {"Alice": [1]}
    assert not network.packets()


@pytest.mark.parametrize("how", ["shared", "prefilter", "each"])
def test_every_way_of_matching_finds_the_same_ports(how: Matching) -> None:
    network = SemanticNetwork(overlay(FIGURE_4_1), dict.fromkeys("123456789", RouterSettings(matching=how)))
    network.subscribe("Alice", "6", "A {x {y {z {w = 1}}}}")
    network.subscribe("Bob", "8", "A {x {y {z {w = 2}}}}")
    for value in (1, 2, 3):
        nested = f"<A><x><y><z><w>{value}</w></z></y></x></A>"
        network.offer("producer", "1", packet("A").replace("<A/>", nested))
    assert network.got() == {"Alice": [1], "Bob": [2]}
    assert network.packets() == {("1", "3"): 2, ("3", "4"): 2, ("4", "6"): 1, ("4", "7"): 1, ("7", "8"): 1}


def test_shedding_load_lets_more_through_and_users_get_the_same() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A {x = 1}")
    network.tell("4", Shed(1))
    for text in ("<A><x>1</x></A>", "<A><x>2</x></A>", "<B/>"):
        network.offer("producer", "4", packet("A").replace("<A/>", text))
    assert network.got() == {"Alice": [1]}
    assert network.packets() == {("4", "6"): 2}
    network.tell("4", Shed(None))
    network.offer("producer", "4", packet("A").replace("<A/>", "<A><x>2</x></A>"))
    assert network.packets() == {("4", "6"): 2}


def test_roles_are_settings_and_a_backbone_keeps_to_upper_concepts() -> None:
    network = figure_4_1(**{"3": ROLES["backbone"], "4": ROLES["network"]})
    network.subscribe("Alice", "6", "a {b {c {d {e {f = 1}}}}}")
    network.subscribe("Mallory", "4", "A")
    network.offer("Mallory", "4", packet("A"))
    assert [answer.refused for answer in network.answers["Mallory"]] == ["4 serves no users"]
    assert [note.what for note in network.notes] == ["refused offer"]
    said = {link: frame.profile for link, frame in network.sent if isinstance(frame, Interest)}
    assert said["4", "3"] == 'a {b {c {d {e {f = "1"}}}}}'
    assert said["3", "1"] == "a {b {c {d}}}"


def test_a_bad_profile_is_refused_with_its_reason() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A >")
    (answer,) = network.answers["Alice"]
    assert answer.refused is not None
    assert "a number is missing here" in answer.refused
    assert not network.updates()


def test_a_lost_update_is_said_again_and_copies_change_nothing() -> None:
    network = figure_4_1()
    network.lost = {("6", "4")}
    network.subscribe("Alice", "6", "A")
    network.lost = set()
    network.offer("producer", "1", packet("A"))
    assert not network.got()
    network.tick()
    network.twice = {("1", "3"), ("4", "6"), ("6", "4")}
    network.offer("producer", "1", packet("A"))
    assert network.got() == {"Alice": [2]}
    assert network.routers["6"].counts["4"].copies == 1
    network.forget()
    for _ in range(3):
        network.tick()
    assert not network.sent, "what is confirmed is not repeated"


def test_an_offer_that_comes_twice_is_one_packet() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    for _ in range(2):
        network.tell("1", Offer(7, packet("A").encode(), b""))
    assert network.got() == {"Alice": [1]}


def test_a_router_that_starts_anew_learns_everything_again() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    network.subscribe("Bob", "8", "B")
    network.restart("4")
    network.offer("producer", "1", packet("A"))
    network.offer("producer", "1", packet("B"))
    network.offer("producer", "1", packet("C"))
    assert network.got() == {"Alice": [1], "Bob": [2]}


def test_a_hello_that_is_lost_is_said_again() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    network.lost = {("4", "6"), ("4", "3")}
    network.restart("4")
    network.lost = set()
    network.offer("producer", "1", packet("A"))
    assert not network.got()
    network.tick()
    network.offer("producer", "1", packet("A"))
    assert network.got() == {"Alice": [2]}
    network.wire = []
    network.tick()
    assert not network.wire, "a hello that was answered is not repeated"


def test_users_that_do_not_come_back_to_a_router_that_fell_are_forgotten() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    network.restart("6")
    network.offer("producer", "1", packet("A"))
    assert network.packets()["4", "6"] == 1, "too much is no loss, while they may come back"
    for _ in range(6):
        network.tick()
    network.forget()
    network.offer("producer", "1", packet("A"))
    assert not network.packets()


def test_streams_have_interests_of_their_own() -> None:
    network = SemanticNetwork({name: dict(acyclic(near, ["s", "t"])) for name, near in (("1", ["2"]), ("2", ["1"]))})
    network.subscribe("Alice", "2", "A", "s")
    network.subscribe("Bob", "2", "A", "t")
    network.subscribe("Carol", "2", "B", "t")
    network.forget()
    content = packet("A").encode()
    for number, tree in enumerate(("s", "t", "s"), 1):
        commands = network.routers["2"].handle(Received("1", Packet(tree, "1", 1, number, content, b"")), 1.0)
        assert [command.to for command in commands if isinstance(command, Send)] == ["Alice" if tree == "s" else "Bob"]
    network.subscribe("Alice", "2", "A", "t")
    (said,) = [frame for _, frame in network.sent if isinstance(frame, Interest)]
    assert (said.tree, parse(said.profile).expression) == ("s", NOTHING), (
        "she has left a stream for another, where A is wanted already"
    )


def test_an_older_version_does_not_roll_a_filter_back() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    network.subscribe("Alice", "6", "B")
    old = next(frame for link, frame in network.sent if link == ("6", "4") and isinstance(frame, Interest))
    network.routers["4"].handle(Received("6", old), 9.0)
    network.offer("producer", "1", packet("B"))
    assert network.got() == {"Alice": [1]}


def test_interests_from_where_no_packet_can_go_are_noted() -> None:
    network = figure_4_1()
    network.tell("4", Interest("", 1, 1, "A"))
    network.tell("4", Interest("elsewhere", 1, 1, "A"))
    assert network.notes == [
        Note("stray interest", {"sender": "operator", "tree": ""}),
        Note("stray interest", {"sender": "operator", "tree": "elsewhere"}),
    ]


def test_an_interest_too_long_to_travel_is_cut_and_leaks() -> None:
    network = figure_4_1()
    words = " | ".join(f'"{"x" * 900}{number}"' for number in range(1000))
    profile = f"a {{b {{c {{d = {words}}}}}}}"
    assert len(profile) < MAX_TEXT
    for user, value in (("Alice", profile), ("Bob", profile.replace("x", "y"))):
        network.subscribe(user, "6", value)
    said = [frame.profile for link, frame in network.sent if link == ("6", "4") and isinstance(frame, Interest)]
    assert said[-1] == "a {b {c}}"


# --- cycles


def ring() -> Topology:
    """Six routers around, and a chord."""
    names = [f"r{number}" for number in range(6)]
    pairs = [(names[at], names[(at + 1) % 6]) for at in range(6)] + [("r0", "r3")]
    return Topology.of([Broker(name) for name in names], [Link(a, b) for a, b in pairs])


def test_with_cycles_every_source_has_its_tree_and_everybody_gets_one_copy() -> None:
    topology = ring()
    trees = source_trees(topology, ["r0", "r2"])
    settings = {name: RouterSettings(source=name) for name in ("r0", "r2")}
    network = SemanticNetwork(trees, settings)
    for name in topology.ids(range(6)):
        network.subscribe(f"user of {name}", name, "A" if name != "r5" else "B")
    network.forget()
    network.offer("producer", "r0", packet("A"))
    network.offer("producer", "r2", packet("A"))
    network.offer("producer", "r2", packet("B"))
    wanted = {f"user of r{number}": [("r0", 1), ("r2", 1)] for number in range(5)}
    wanted["user of r5"] = [("r2", 2)]
    assert {user: [(p.source, p.number) for p in got] for user, got in network.delivered.items()} == wanted
    assert network.packets().total() == 4 + 4 + 3
    copies = sum(counts.copies for router in network.routers.values() for counts in router.counts.values())
    assert copies == 0


def test_with_cycles_an_interest_that_ends_leaves_nothing_behind() -> None:
    network = SemanticNetwork(source_trees(ring(), ["r0", "r2"]), {"r0": RouterSettings(source="r0")})
    network.subscribe("Alice", "r4", "A")
    network.unsubscribe("Alice", "r4")
    network.forget()
    network.offer("producer", "r0", packet("A"))
    assert not network.packets()


def test_towards_a_source_a_covered_profile_stops_where_it_is_absorbed() -> None:
    topology = Topology.of([Broker(str(number)) for number in range(1, 10)], [Link(a, b) for a, b in FIGURE_4_1])
    network = SemanticNetwork(source_trees(topology, ["1"]), {"1": RouterSettings(source="1")})
    network.subscribe("Bob", "8", "or {A; B}")
    assert set(network.updates()) == {("8", "7"), ("7", "4"), ("4", "3"), ("3", "1")}
    network.forget()
    network.subscribe("Alice", "6", "A {x}")
    assert network.updates() == {("6", "4"): 1}


def test_an_overlay_without_cycles_is_one_tree() -> None:
    line = Topology.of([Broker("a"), Broker("b"), Broker("c")], [Link("a", "b"), Link("b", "c")])
    assert router_trees(line, ["a", "c"]) == overlay([("a", "b"), ("b", "c")])
    assert router_trees(ring(), ["r0"]) == source_trees(ring(), ["r0"])
    many = router_trees(ring(), ["r0", "r2"], ["s", "t"])
    assert set(many["r4"]) == {"s@r0", "s@r2", "t@r0", "t@r2"}
    assert [tree_of(many["r2"], "t", source) for source in ("r2", "r4")] == ["t@r2", None]
    assert tree_of(router_trees(line, ["a"], ["s"])["c"], "s", "c") == "s"


# --- privacy (thesis §4.3)


def test_beyond_the_first_router_nobody_can_tell_whose_a_profile_is() -> None:
    """Whoever of the users behind a router holds which profile, the same bytes cross every link."""
    profiles = ["A {x = 1}", "A {x = 2}", "B"]
    seen = []
    for order in itertools.permutations(["Alice", "Bob", "Carol"]):
        network = figure_4_1()
        for user, profile in zip(order, profiles, strict=True):
            network.subscribe(user, "6", profile)
        network.offer("producer", "1", packet("B"))
        network.unsubscribe(order[1], "6")
        seen.append(network.wire)
        assert len(network.delivered[order[2]]) == 1
    assert all(wire == seen[0] for wire in seen)
    crossed = b"".join(data for _, data in seen[0])
    assert len(seen[0]) > 10
    for user in (b"Alice", b"Bob", b"Carol"):
        assert user not in crossed


def test_beyond_an_aggregating_router_nobody_can_tell_behind_which_port_it_is() -> None:
    """Router 4 joins 6 and 5: beyond it, towards 3, the last word is the same whoever of the two asked for what."""
    last = []
    for alice, bob in (("6", "5"), ("5", "6")):
        network = figure_4_1()
        network.subscribe("Alice", alice, "A")
        network.subscribe("Bob", bob, "B")
        said = [frame for link, frame in network.sent if link == ("4", "3") and isinstance(frame, Interest)]
        last.append(said[-1].profile)
    assert last[0] == last[1] == str(parse("or {A; B}"))


def test_a_packet_names_its_source_router_and_no_user() -> None:
    network = figure_4_1()
    network.subscribe("Alice", "6", "A")
    network.offer("secret producer", "1", packet("A"))
    for link, frame in network.sent:
        if isinstance(frame, Packet):
            assert frame.source == "1", link
            assert isinstance(frame.descriptor, bytes)
    assert b"secret producer" not in b"".join(data for _, data in network.wire)
