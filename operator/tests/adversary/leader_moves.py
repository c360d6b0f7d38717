"""Leaders of regions that move: migrations, failovers, promotions, and those who say to lead and do not.

What a region needs is known to its database alone (`network.Database`): what a former leader reports is no part of it,
and is as high as can be. A leader that is away opens the region elsewhere after a while.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from seawall.domain.dataplane.metadata import LeaderState
from tests.adversary.lives import Move
from tests.adversary.moves import move
from tests.adversary.world_moves import TOPIC, region_of
from tests.fakes.dataplane import FakeRegion
from tests.worlds.purge_world import REGIONS

AWAY = timedelta(seconds=200)
"""How long nobody leads: some looks."""
HOLDS_BACK = region_of(TOPIC, REGIONS - 1)
"""The region that has flushed the least: who does not count it deletes what it needs."""


def _led(arena: Any, region: int = HOLDS_BACK) -> FakeRegion | None:
    """A region that has a leader; None: it is gone."""
    found: FakeRegion | None = arena.data_plane.regions.get(region)
    return found if region in arena.store._now.routes else None


def _hand_over(arena: Any, region: int, state: FakeRegion, node: int) -> None:
    """The former leader goes on to report, and may have flushed all that it had: for itself."""
    arena.data_plane.former[region, state.datanode] = state.last
    arena.data_plane.former.pop((region, node), None)
    state.datanode = node


def _next(state: FakeRegion) -> int:
    return (state.datanode + 1) % 3


def leader_moves(arena: Any) -> None:
    """A migration: only the route says so, and the next one opens where the last report was."""
    state = _led(arena)
    if state is not None:
        _hand_over(arena, HOLDS_BACK, state, _next(state))
        arena.store.put_route(HOLDS_BACK, state.datanode)


def leader_opens_older(arena: Any) -> None:
    """The next leader of a region that had flushed opens it from an older manifest, and says so."""
    region = region_of(TOPIC)
    state = _led(arena, region)
    if state is None:
        return
    rows = [offset for _, offset in arena.prod.rows.get(region, []) if offset <= state.flushed]
    _hand_over(arena, region, state, _next(state))
    arena.store.put_route(region, state.datanode)
    state.flushed = rows[-3] if len(rows) > 2 else 0
    state.memtable_bytes += 100


def another_says_to_lead(arena: Any) -> None:
    """The route does not name it; its ids are higher."""
    state = _led(arena)
    if state is not None:
        arena.data_plane.former[HOLDS_BACK, _next(state)] = state.last


def _opens_later(arena: Any) -> None:
    """Where the route leads, or where somebody was found."""
    state = _led(arena)
    if state is None:
        return
    arena.data_plane.unopened.discard(HOLDS_BACK)
    if arena.store._now.routes[HOLDS_BACK].leader != state.datanode:
        _hand_over(arena, HOLDS_BACK, state, _next(state))
    arena.store.put_route(HOLDS_BACK, state.datanode)
    arena.data_plane.epochs[state.datanode] = arena.data_plane.epochs.get(state.datanode, 1) + 1


def leader_is_gone(arena: Any) -> None:
    """Its datanode died: the route names nobody, and nobody reports the region."""
    if _led(arena) is not None:
        arena.store.put_route(HOLDS_BACK, None)
        arena.data_plane.unopened.add(HOLDS_BACK)


def leader_is_lost(arena: Any) -> None:
    """It is gone, until another one has opened the region."""
    leader_is_gone(arena)
    arena.later(AWAY, _opens_later)


def leader_is_taken_for_dead(arena: Any) -> None:
    """The route still names it, Downgrading, and its last report says that it leads."""
    state = _led(arena)
    if state is not None:
        arena.store.put_route(HOLDS_BACK, state.datanode, LeaderState.DOWNGRADING)
        arena.later(AWAY, leader_moves)


def new_leader_is_silent(arena: Any) -> None:
    """It replays, and reports nothing of the region; the former one does."""
    state = _led(arena)
    if state is not None:
        leader_moves(arena)
        arena.data_plane.unopened.add(HOLDS_BACK)
        arena.later(AWAY, _opens_later)


def leader_comes_back(arena: Any) -> None:
    """It leads again after another one did for a while, and wrote."""
    state = _led(arena)
    if state is not None:
        home = state.datanode
        leader_moves(arena)
        arena.later(AWAY, lambda later: _back_to(later, home))


def _back_to(arena: Any, node: int) -> None:
    arena.prod.write(TOPIC, 2 * REGIONS)
    state = _led(arena)
    if state is not None:
        _hand_over(arena, HOLDS_BACK, state, node)
        arena.store.put_route(HOLDS_BACK, node)


def standby_is_promoted(arena: Any) -> None:
    """It goes on from where it is itself, which may be long before its leader."""
    for (region, node), position in list(arena.data_plane.followers.items()):
        state = _led(arena, region)
        if state is not None and node in arena.store._now.routes[region].followers:
            del arena.data_plane.followers[region, node]
            _hand_over(arena, region, state, node)
            state.flushed, state.memtable_bytes = min(position, state.flushed), state.memtable_bytes + 100
            arena.store.put_route(region, node)


def standby_goes(arena: Any) -> None:
    """Somebody takes all of them out of the routes: from now on nobody needs what they lacked."""
    for region, _ in arena.data_plane.followers:
        arena.store.put_followers(region)
    arena.data_plane.followers.clear()


def standby_is_silent(arena: Any) -> None:
    """The routes name it; its datanode reports nothing of it."""
    arena.data_plane.silent_followers = True


MOVES: tuple[Callable[[Any], None], ...] = (
    leader_moves,
    another_says_to_lead,
    leader_is_lost,
    leader_is_taken_for_dead,
    new_leader_is_silent,
    leader_comes_back,
)
OF_LEADERS: tuple[Move, ...] = (
    *(move(make, "database", "etcd") for make in MOVES),
    move(leader_opens_older, "database", "etcd", shown_by="reports", is_evidence=True),
)
OF_READERS: tuple[Move, ...] = tuple(
    move(make, "database", "etcd") for make in (leader_moves, another_says_to_lead, leader_is_gone)
)
"""Where nothing is deleted: of who reads the log."""
OF_STANDBYS: tuple[Move, ...] = (
    move(standby_is_promoted, "database", "etcd", shown_by="reports", is_evidence=True),
    *(move(make, "database", "etcd") for make in (standby_goes, standby_is_silent)),
)
