"""A roll of certificates dies at every call to the outside, and Secrets change before every call.

Judged as each node goes: those that stay believe what it comes back with, and it believes them (S4), beside all that a
roll is judged by. In the end all nodes run with what is in the Secret. ADVERSARY=all lives all calls times moves;
without it each so-manieth of them.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest

from tests.managed_kafka.test_certificate_roll import BROUGHT_UP
from tests.managed_kafka.test_kafka_roll_crash import another_operator_acts, end_state, ends, is_paused
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.support.moves import calls_with, of
from tests.worlds.certificate_roll_world import OTHER, OWN, CertificateRollWorld
from tests.worlds.kafka_roll_world import CHANGES
from tests.worlds.purge_world import Calls
from tests.worlds.secured_world import NODES

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 401
MOVES = (
    of("renew"),
    of("trust", OWN, OTHER),
    of("renew", OTHER, OWN, OTHER),
    of("renew", OTHER),
    of("lose_secret", NODES),
    *(of("kill", node) for node in (1, 100)),
    of("forget_status"),
    of("go_on"),
    another_operator_acts,
    is_paused,
)


def is_renewed() -> CertificateRollWorld:
    """Only the active controller has not read it yet."""
    world = copy.deepcopy(BROUGHT_UP)
    world.renew()
    world.live(until=lambda: len(world.evicted) == 5 and world.entry() is None)
    world.evicted.clear()
    return world


def test_a_death_at_any_call_restarts_it_once() -> None:
    world = is_renewed()
    worlds = die_at_every_call(world, ends, end_state, CHANGES)
    assert world.evicted == [100]
    assert worlds > 8


def lived(start: CertificateRollWorld, at: int, move: Any) -> CertificateRollWorld:
    """One life, with one move right before a call; then somebody mends what is in the Secrets."""
    world = copy.deepcopy(start)
    younger = {"partitions": "is_unseen", "get": "is_unread", "get_secret": "is_secret_unread"}
    world.live(calls_with(move, at, world, CHANGES, younger), ticks=60)
    world.is_unseen = world.is_unread = world.is_secret_unread = False
    world.annotate(paused="false")
    if world.held_now.signer != OWN or NODES in move.__name__:
        world.renew(OWN, OWN, OTHER)
    world.live(until=lambda: world.has_newest() and world.entry() is None)
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
def test_no_change_of_secrets_before_any_call_lets_a_node_come_back_as_a_stranger() -> None:
    start = is_renewed()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    ends(calm, calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    tried = [lived(start, at, move) for at, move in pairs[::EVERY]]
    print(f"calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {len(tried)}, 0 violations")  # noqa: T201 - the count is the evidence
    compare_counts("certificate roll adversary", "is_renewed", {"pairs": len(pairs), "moves": len(MOVES)})
