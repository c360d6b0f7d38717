"""How long a replay takes, how far one is, and what a startup probe has to allow.

The speed is that of the last restart that was measured; before the first one it is a cautious guess. A replay reads
each topic once from the lowest start of the datanode's regions: bytes say how long that takes, entries do where no size
is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from seawall.api.v1alpha1.disruption import RestartedDatanode
from seawall.api.v1alpha1.rollout import MeasuredReplay
from seawall.domain.datanodes.facts import Datanode
from seawall.domain.times import ROLLOUT_SCHEDULING, ROLLOUT_START

GUESSED_BYTES_PER_SECOND = 20 * 2**20
"""Before anything was measured."""

GUESSED_ENTRIES_PER_SECOND = 5_000
"""Where Kafka does not say how large a topic is."""

MEASURABLE_BYTES = 64 * 2**20
MEASURABLE_ENTRIES = 50_000
"""A restart that reads less says more about the container's start than about the replay: it is no measure."""


MARGIN = 1.5
"""A startup probe should allow this many times the estimate."""


def replay_seconds(datanode: Datanode, measured: MeasuredReplay | None) -> int | None:
    """How long a restart would read, rounded up; None: nobody knows how much it is."""
    if datanode.size_bytes is not None:
        has_sizes = measured is not None and measured.bytes > 0
        speed = measured.bytes / measured.seconds if measured and has_sizes else GUESSED_BYTES_PER_SECOND
        return math.ceil(datanode.size_bytes / speed)
    if datanode.entries is not None:
        speed = GUESSED_ENTRIES_PER_SECOND if measured is None else measured.entries / measured.seconds
        return math.ceil(datanode.entries / speed)
    return None


def measure(before: RestartedDatanode, elapsed: timedelta) -> MeasuredReplay | None:
    """How fast this restart was; None: too little was read, or nobody knows how much.

    The time of the container's start is in it: the next estimate is rather too long than too short.
    """
    entries, size = before.entries or 0, before.bytes or 0
    if not entries or (size < MEASURABLE_BYTES and entries < MEASURABLE_ENTRIES):
        return None
    return MeasuredReplay(entries=entries, bytes=size, seconds=max(1, math.ceil(elapsed.total_seconds())))


def startup_seconds(replay: int) -> int:
    """What a startup probe has to allow for a replay that takes this long."""
    return math.ceil(replay * MARGIN) + int(ROLLOUT_START.total_seconds())


def restart_budget(limit: timedelta, replay: int | None) -> timedelta:
    """How long a restart may take before people are called.

    A person may have let through a replay longer than the limit: then it is what the estimate says, with a margin.
    """
    expected = timedelta(seconds=startup_seconds(replay or 0))
    return max(limit, expected) + ROLLOUT_SCHEDULING


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is.

    Attributes:
        done: entries, of those that were to be read when it began; by the regions that lead again.
        total: all of them.
        left: seconds to its end as far as one can tell; None: nobody can.
    """

    done: int
    total: int
    left: int | None


def progress(total: int, expected_seconds: int | None, elapsed: timedelta, datanode: Datanode | None) -> Progress:
    """How far it is by what the datanode reports; a datanode that is silent may be anywhere, and time alone tells.

    Args:
        total: entries to read when it began.
        expected_seconds: the estimate when it began.
        elapsed: since the old pod went.
        datanode: what the new process reports; None: nothing yet.
    """
    spent = elapsed.total_seconds()
    left = None if expected_seconds is None else max(0, math.ceil(expected_seconds - spent))
    if datanode is None or not datanode.regions:
        return Progress(0, total, left)
    share = datanode.leading / len(datanode.regions)
    if share and spent:
        left = math.ceil(spent / share - spent)
    return Progress(int(total * share), total, left)
