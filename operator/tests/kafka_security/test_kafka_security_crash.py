"""The operator of a secured Kafka dies at every call, and before each call the world moves: nobody is let in by it.

One life of each kind ends at the same place after a death at any call. ADVERSARY=all lives all calls times moves;
without it each so-manieth of them.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import pytest

from seawall.api.meta import ConditionType
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.worlds.managed_moves import all_is_applied_again, another_operator_acts, status_goes
from tests.worlds.managed_world import CHANGES
from tests.worlds.purge_world import Calls, Guard
from tests.worlds.secured_world import NODES, OPERATOR, SecuredWorld

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 401
ENDS = {"AllOnline", "CertificatesUnusable", "RollingNodes", "NotAsked"}
"""Nobody restarts in this world: that nodes have not read a certificate that fits stands as RollingNodes. An operator
that has lost its Secret asks nobody."""
Move = Callable[[SecuredWorld], object]


def new() -> SecuredWorld:
    return SecuredWorld()


def user_leaves() -> SecuredWorld:
    world = new()
    world.live(until=world.is_served)
    world.check("")
    world.drop_reader()
    return world


def end_state(world: SecuredWorld) -> Any:
    return (
        world.condition(),
        world.told(ConditionType.KAFKA_USERS_READY),
        world.told(ConditionType.CERTIFICATES_VALID),
        world.users(),
        sorted(world.kafka.users.acls),
        world.kafka.users.may_log_in("greptimedb", "horse"),
        world.kafka.users.may_log_in("verifier", "staple"),
        world.tokens(),
    )


@pytest.mark.parametrize("begin", [new, user_leaves])
def test_a_death_at_any_call_lets_in_the_same_users(begin: Callable[[], SecuredWorld]) -> None:
    def live(world: SecuredWorld, guard: Guard | None) -> None:
        world.live(guard)

    world = begin()
    assert die_at_every_call(world, live, end_state, CHANGES) > 5
    assert world.is_served()
    assert world.kafka.users.may_log_in("verifier", "staple") == (begin is new)


def secrets_go(world: SecuredWorld) -> None:
    world.lose_secret(NODES)


def operators_secret_goes(world: SecuredWorld) -> None:
    world.lose_secret(OPERATOR)


def password_changes(world: SecuredWorld) -> None:
    world.change_password()


def password_goes(world: SecuredWorld) -> None:
    world.lose_secret("user-verifier")


def another_authority(world: SecuredWorld) -> None:
    world.change_authority()


def user_goes(world: SecuredWorld) -> None:
    world.drop_reader()


def another_kafka_answers(world: SecuredWorld) -> None:
    """At its own addresses, from now on."""
    world.kafka.cluster_id = "another"


MOVES: tuple[Move, ...] = (
    secrets_go,
    operators_secret_goes,
    another_authority,
    password_changes,
    password_goes,
    user_goes,
    another_kafka_answers,
    all_is_applied_again,
    status_goes,
    another_operator_acts,
)


def lived(start: SecuredWorld, at: int, move: Move) -> SecuredWorld:
    """One life, with one move right before a call; then somebody puts all Secrets, and its own Kafka, back."""
    world = copy.deepcopy(start)
    calls = Calls(world.check, CHANGES)
    calls.make_before(at, lambda: move(world))
    world.live(calls, ticks=90)
    if world.kafka.cluster_id == "another":
        world.kafka.cluster_id = world.pinned()
    world.live(ticks=30)
    assert (world.condition() or ("", ""))[1] in ENDS, (at, move.__name__, world.condition())
    world.put_secrets()
    world.live(until=world.is_served)
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
@pytest.mark.parametrize("begin", [new, user_leaves])
def test_no_move_before_any_call_starts_a_node_or_lets_in_a_stranger(begin: Callable[[], SecuredWorld]) -> None:
    start = begin()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    calm.live(calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    for at, move in pairs[::EVERY]:
        world = lived(start, at, move)
        if begin is user_leaves and move is status_goes:
            continue  # who has left is known by the status alone (docs/kafka.md#users)
        declared = {user.name for user in world.nodes[0].kafka.security.users}
        assert set(world.users()) == declared, (at, move.__name__)
        assert world.kafka.users.may_log_in("verifier", "staple") == ("verifier" in declared), (at, move.__name__)
    print(  # noqa: T201 - the count is the evidence
        f"{begin.__name__}: calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, "
        f"lived {len(pairs[::EVERY])}, 0 violations"
    )
    compare_counts("kafka security adversary", begin.__name__, {"pairs": len(pairs), "moves": len(MOVES)})
