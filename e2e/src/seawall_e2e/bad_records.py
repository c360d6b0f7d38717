"""A record in a WAL topic that the database cannot read: how a datanode comes to crash at it, and how people end that.

What the person does is what docs/restarting.md says: no row is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall_e2e.cluster import WALCluster
from seawall_e2e.commands import Object
from seawall_e2e.refdb import RefDb
from seawall_e2e.toolbox import Toolbox

DIAGNOSIS = "MissingKey"
"""The reason of `DatanodesHealthy`."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region, the datanode that leads it, and the topic that it writes to."""

    number: int
    datanode: int
    topic: str


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record without a key, in front of which a region has rows that are only in the log."""

    region: Region
    first: int
    """The first entry that the region would read."""
    offset: int

    @property
    def where(self) -> str:
        """As the diagnosis names it."""
        return f"offset {self.offset} of {self.region.topic}"


def region_of(database: RefDb, wrote: Object) -> Region:
    """The region that took a row, by what the database answered to the INSERT."""
    number = wrote["region_id"]
    return Region(number, database.leaders()[number], wrote["topic"])


def crash(database: RefDb, toolbox: Toolbox, region: Region, *behind: str) -> BadRecord:
    """Somebody writes the record, which a datanode that lives does not read; whenever it starts now, it crashes.

    `behind`: what is written by SQL after it.
    """
    first = database.flushed(region.number) + 1
    bad = BadRecord(region, first, toolbox.spoil(region.topic))
    database.execute(*behind)
    database.kill(region.datanode)
    database.let_go(f"datanode-{region.datanode}")
    return bad


def wait_for_diagnosis(wal: WALCluster, *, within: float = 120) -> Object:
    """Waits until the WALCluster says it; the condition."""
    found = wal.wait(DIAGNOSIS, kind="DatanodesHealthy", within=within)
    return next(each for each in found["status"]["conditions"] if each["type"] == "DatanodesHealthy")


def copy_rows(toolbox: Toolbox, bad: BadRecord) -> int:
    """What only the log has of the region goes once more to its end, behind the record too; how many records.

    Else those behind it would be older than the copies, and an older value of a row the newest.
    """
    topic = bad.region.topic
    _, end = toolbox.offsets(topic)[topic]
    return toolbox.repeat(topic, range(bad.first, end), bad.region.number)


def step_over(database: RefDb, bad: BadRecord) -> None:
    """The region begins behind the record, and its datanode starts without waiting for its back-off."""
    database.set_checkpoint(bad.region.topic, bad.region.number, bad.offset)
    database.restart(bad.region.datanode)
