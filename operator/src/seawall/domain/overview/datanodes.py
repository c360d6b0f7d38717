"""The datanodes: how each is, how far its replay is, and what a restart of it would read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seawall.api.v1alpha1.cluster import WALClusterStatus
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, of_kind
from seawall.api.v1alpha1.rollout import DatanodeRow, RestartStatus, RollStage
from seawall.domain.overview.activities import Progress, end_of_replay, is_rolling

SERVES, DUE, RESTARTED_NEXT = "Serves", "Due", "Next"


@dataclass(frozen=True, slots=True)
class DatanodeLine:
    """One datanode.

    Attributes:
        pod: its pod.
        state: Serves, Due (to be restarted), Next, the stage of the roll if it is the one that is restarted, or what
            ails it.
        progress: how far its replay is.
        entries: what a restart would read now.
        replay_seconds: how long that would take.
        startup_seconds: what its startup probe should allow.
        probe_seconds: what it allows; None: it has none, and nothing kills a long replay.
    """

    pod: str
    state: str
    progress: Progress | None = None
    entries: int | None = None
    replay_seconds: int | None = None
    startup_seconds: int | None = None
    probe_seconds: int | None = None


def list_datanodes(status: WALClusterStatus) -> tuple[DatanodeLine, ...]:
    """Those that the database tells of, and the one that is restarted."""
    return (
        ()
        if status.restart is None
        else tuple(_lines(status.restart, of_kind(status.disruption, DisruptionKind.DATANODE_RESTART)))
    )


def _lines(restart: RestartStatus, entry: Disruption | None) -> Iterator[DatanodeLine]:
    if entry is not None and all(row.pod != entry.name for row in restart.datanodes):
        yield DatanodeLine(entry.name, _stage(restart), _progress(restart, entry))
    for row in restart.datanodes:
        is_its_turn = entry is not None and row.pod == entry.name
        yield DatanodeLine(
            pod=row.pod,
            state=_state(restart, row, is_its_turn=is_its_turn),
            progress=_progress(restart, entry) if is_its_turn else None,
            entries=row.entries,
            replay_seconds=row.replay_seconds,
            startup_seconds=row.startup_seconds,
            probe_seconds=row.probe_seconds,
        )


def _state(restart: RestartStatus, row: DatanodeRow, *, is_its_turn: bool) -> str:
    if is_its_turn:
        return _stage(restart)
    if row.ailment is not None:
        return row.ailment
    if is_rolling(restart) and restart.next is not None and row.pod == restart.next.name:
        return RESTARTED_NEXT if restart.stage is RollStage.WAITING else _stage(restart)
    return DUE if row.due else SERVES


def _stage(restart: RestartStatus) -> str:
    return "" if restart.stage is None else restart.stage.value


def _progress(restart: RestartStatus, entry: Disruption | None) -> Progress | None:
    if restart.progress is None:
        return None
    return Progress(restart.progress.done, restart.progress.total, "entries", end_of_replay(restart, entry))
