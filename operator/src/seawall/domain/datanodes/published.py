"""What the status tells of restarts that are not: their cost by datanode, and how far a replay is.

Numbers change all the time. They are written when they tell people something new, and not oftener than that.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import DatanodeRow, ReplayProgress, RestartStatus
from seawall.domain.datanodes.diagnosis import diagnose
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.replay import progress, replay_seconds, startup_seconds
from seawall.domain.times import ROLLOUT_AT_MOST_EVERY, ROLLOUT_CHANGE_SECONDS, ROLLOUT_ETA_CHANGE

MAX_ROWS = 1_000


CHANGE_SHARE = 0.25

STEPS = 20
"""A replay's progress is told in steps of a twentieth."""


def with_costs(status: RestartStatus, facts: Facts, due: Collection[str]) -> RestartStatus:
    """The status with what a restart of each datanode would cost, what ails it and whether it is due, if that is news.

    Args:
        status: as it was.
        facts: what is known.
        due: the names of the pods that are to be restarted.
    """
    if facts.observation_problem is not None or not facts.statefulsets:
        return status  # nobody could look: what was known stays, and so does which pod is which datanode
    ailing = {found.pod: found.ailment.value for found in diagnose(facts, status.last_replay)}
    rows = (_row(status, facts, name, ailing.get(name)) for name in sorted(facts.datanodes))
    found = tuple(row.model_copy(update={"due": row.pod in due}) for row in rows)[:MAX_ROWS]
    if [_known(row) for row in status.datanodes] == [_known(row) for row in found]:
        is_fresh = status.published_time is not None and facts.now < status.published_time + ROLLOUT_AT_MOST_EVERY
        pairs = zip(status.datanodes, found, strict=True)
        if is_fresh or not any(_differs(*pair) for pair in pairs):
            return status
    return status.model_copy(update={"datanodes": found, "published_time": facts.now})


def _row(status: RestartStatus, facts: Facts, name: str, ailment: str | None) -> DatanodeRow:
    datanode, statefulset = facts.datanodes[name], facts.set_of(name)
    replay = replay_seconds(datanode, status.last_replay)
    return DatanodeRow(
        pod=name,
        datanode=datanode.id,
        entries=datanode.entries,
        replay_seconds=replay,
        startup_seconds=None if replay is None else startup_seconds(replay),
        ailment=ailment,
        probe_seconds=None if statefulset is None else statefulset.template.startup_seconds,
    )


def _known(row: DatanodeRow) -> tuple[str, int, int | None, str | None, bool]:
    """What is news at once."""
    return row.pod, row.datanode, row.probe_seconds, row.ailment, row.due


def _differs(before: DatanodeRow, now: DatanodeRow) -> bool:
    was, is_now = before.startup_seconds, now.startup_seconds
    if was is None or is_now is None:
        return was is not is_now
    return abs(was - is_now) > max(ROLLOUT_CHANGE_SECONDS, CHANGE_SHARE * was)


def with_progress(status: RestartStatus, entry: Disruption, facts: Facts) -> RestartStatus:
    """The status with how far the replay is, if that is news."""
    before = entry.datanode
    if entry.gone_time is None or before is None or before.entries is None:
        return status
    datanode = facts.datanodes.get(entry.name)
    is_new = datanode is not None and datanode.is_another_process(before)
    elapsed = facts.now - entry.gone_time
    found = progress(before.entries, before.expected_seconds, elapsed, datanode if is_new else None)
    step = max(1, before.entries // STEPS)
    eta = facts.now + timedelta(seconds=found.left) if found.left else None
    reported = ReplayProgress(done=found.done // step * step, total=found.total, eta=eta)
    return status.model_copy(update={"progress": reported}) if _says_more(status.progress, reported) else status


def _says_more(before: ReplayProgress | None, now: ReplayProgress) -> bool:
    if before is None or (before.done, before.total) != (now.done, now.total):
        return True
    if before.eta is None or now.eta is None:
        return before.eta is not now.eta
    return abs(before.eta - now.eta) > ROLLOUT_ETA_CHANGE
