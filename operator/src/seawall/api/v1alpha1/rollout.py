"""The restart of datanodes as a WALCluster's status has it (`status.restart`): all that a successor needs to go on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictBool, ValidationError

from seawall.api.meta import StatusModel
from seawall.api.resource import read_fitting
from seawall.api.stretch import Stretch
from seawall.api.v1alpha1.disruption import UID, Count, PodName, Restarting
from seawall.api.v1alpha1.metadata_store import SwitchURL


class RollStage(StrEnum):
    """How far a roll is."""

    WAITING = "Waiting"
    """The gate is shut for each datanode, or Kafka node, that is to be restarted, or the next one is chosen."""
    FLUSHING = "Flushing"
    """Regions of the next datanode were asked to flush."""
    MAINTENANCE = "Maintenance"
    """The database enters maintenance: nobody may take the datanode for dead."""
    RESTARTING = "Restarting"
    """The pod is in the status, and goes as soon as the gate is open."""
    REPLAYING = "Replaying"
    """The old pod went; the new one has to be Ready, and to lead all its regions."""
    STALLED = "Stalled"
    """The restart took too long, or its datanode is named no more: a person has to look. No other one is touched until
    this one serves again, or is gone for good."""
    COMPLETED = "Completed"
    """All that were to be restarted were."""


class PodIdentity(StatusModel):
    """One pod, and no later one of its name."""

    name: PodName
    """Its name."""
    uid: UID
    """Its UID."""


class RestartRequest(StatusModel):
    """What `seawall.dev/restart` on the WALCluster asked for."""

    value: Annotated[str, Field(max_length=253)]
    """The annotation's value."""
    pods: Annotated[tuple[PodIdentity, ...], Field(max_length=1000)]
    """The pods that were there then; one with another UID was restarted since."""


class AskedFlush(StatusModel):
    """A region that was asked to flush."""

    region_id: Annotated[str, Field(max_length=20)]
    """A u64: too large for a JSON number."""
    flushed_to: Count | None = None
    """Its flushed entry id before."""
    unlogged_bytes: Count | None = None
    """What it had in memory, if its rows are written without the log (skip_wal): its id never moves."""


class FlushBefore(StatusModel):
    """The flushes before the restart of one pod."""

    uid: UID
    """The pod's."""
    start_time: datetime
    """When these were asked for."""
    regions: Annotated[tuple[AskedFlush, ...], Field(max_length=1000)]
    """Who was asked: those whose rows no log has, a thousand at a time by their ids, then who would replay most."""


class Flushed(StatusModel):
    """A pod whose regions were asked to flush, and did or had the time to."""

    uid: UID
    """The pod's."""
    time: datetime
    """When they, or the last thousand of them, were asked. After some minutes they are asked anew."""


class Maintenance(StatusModel):
    """That the database is in maintenance for this roll. It is one switch for all who use it."""

    metasrv: SwitchURL | None = None
    """URL of the metasrv where it is turned on, and where it is turned off, whatever the spec says by then; that of a
    database of `http` ends with /seawall/v1. Absent: an older version of Seawall wrote this."""
    database: Annotated[str, Field(max_length=512)] | None = None
    """Which database is put into maintenance: the id of its metadata store, as `status.dataPlane.identity` was then.
    What another one says at that address ends no maintenance. Absent: an older version wrote this."""
    taken_time: datetime
    """When the roll began to want it."""
    expiry_time: datetime
    """When it is given back, whatever became of the restart."""
    seen_time: datetime | None = None
    """When the database first said that it is in maintenance."""
    leaving_time: datetime | None = None
    """When it began to be given back: a request to enter that is still on its way must not come after the end."""
    unanswered: Stretch | None = None
    """That the database cannot be asked while the WALCluster is being deleted, which goes on when that lasts; absent:
    it answered, or nothing is deleted."""
    was_on: StrictBool
    """Whether it was on before: then it is somebody else's, and stays on."""


class ForbiddenEviction(StatusModel):
    """That a PodDisruptionBudget forbids to evict the pod that is in `status.disruption`."""

    message: Annotated[str, Field(max_length=1024)]
    """What the API server answered last."""
    from_time: datetime
    """When it first forbade it."""
    next_time: datetime
    """When it is tried again. Until then the database is not kept in maintenance."""


class MeasuredReplay(StatusModel):
    """The last restart that was measured: how fast replays are here."""

    entries: Count
    """Entries that it read."""
    bytes: Count
    """The same in bytes; 0: not known."""
    seconds: Count
    """From when the old pod went until all regions led again."""


class DatanodeRow(StatusModel):
    """What a restart of one datanode would cost."""

    pod: PodName
    """Its pod."""
    datanode: Count
    """Its id."""
    entries: Count | None = None
    """Entries that a restart would read."""
    replay_seconds: Count | None = None
    """How long that would take."""
    startup_seconds: Count | None = None
    """What its startup probe should allow."""
    ailment: Annotated[str, Field(max_length=64)] | None = None
    """Why it does not come up, in one word; absent: it serves."""
    probe_seconds: Count | None = None
    """What its startup probe allows; absent: it has none, and nothing kills a long replay."""
    due: StrictBool = False
    """Whether it is to be restarted, and was not yet."""


class ReplayProgress(StatusModel):
    """How far the replay of the datanode is that was restarted."""

    done: Count
    """Entries that are read, by the regions that lead again."""
    total: Count
    """Entries that were to be read."""
    eta: datetime | None = None
    """When it should be done; absent: nobody can tell."""


class RollStatus(StatusModel):
    """A roll: members that are restarted one by one."""

    stage: RollStage | None = None
    """How far the roll is; absent: there was none."""
    reason: Annotated[str, Field(max_length=64)] = ""
    """Why it is there, in one word."""
    message: Annotated[str, Field(max_length=1024)] = ""
    """The same in one sentence."""
    start_time: datetime | None = None
    """When the roll began."""
    completion_time: datetime | None = None
    """When it ended."""
    restarted: Count = 0
    """How many it restarted."""
    request: RestartRequest | None = None
    """What the annotation asked for, until it is done."""
    done_request: Annotated[str, Field(max_length=253)] | None = None
    """The value of the annotation that was done last."""
    next: PodIdentity | None = None
    """The pod whose turn it is."""


class RestartStatus(RollStatus):
    """The restart of datanodes."""

    config_hash: Annotated[str, Field(max_length=64)] | None = None
    """The configuration that Seawall first saw, or rolled out last: another one is a change."""
    requested_config_hash: Annotated[str, Field(max_length=64)] | None = None
    """The configuration of the moment in which `request` was first seen: pods that it restarts have that one, or a
    later one."""
    flush: FlushBefore | None = None
    """The flushes before the next restart."""
    flushed: Annotated[tuple[Flushed, ...], Field(max_length=1000)] = ()
    """The pods of this roll that were flushed in the last minutes and are not restarted yet."""
    maintenance: Maintenance | None = None
    """That the database is in maintenance for this roll."""
    forbidden: ForbiddenEviction | None = None
    """That a PodDisruptionBudget forbids the restart that has begun; absent: none did when it was last tried."""
    restarting: Restarting | None = None
    """What an older version wrote. It is read as `status.disruption`, and no longer written."""
    drives_partition: StrictBool = False
    """Whether the roll lowers the StatefulSet's partition, and puts it back at its end."""
    progress: ReplayProgress | None = None
    """How far the replay is."""
    last_replay: MeasuredReplay | None = None
    """The last restart that was measured."""
    published_time: datetime | None = None
    """When `datanodes` was written; it is at most a minute old while a roll is on."""
    datanodes: Annotated[tuple[DatanodeRow, ...], Field(max_length=1000)] = ()
    """What each restart would cost."""


def read_restart(raw: object) -> RestartStatus | None:
    """What can be read of it, of a status in which something of it does not fit: also that there is maintenance."""
    try:
        return read_fitting(RestartStatus, raw)[0] if isinstance(raw, Mapping) else None
    except ValidationError:
        return None
