"""What the seawall.dev/readopt of a WALCluster comes to right now: one answer, for all who follow it.

    standing   it is over by neither of two clocks that agree, and no restore makes logs: what it meets is marked
    followed   it expires within a day, too: it adopts a log whose record it has not met
    unused     it was not met when all was ours, either: it adopts a database and a claim, and begins records that are
               gone, which could not be marked

One that stands and is not followed never will be: the records and the database that it meets are marked as if it had
been, so that it does not come into force by waiting. A restore withholds it only from logs, which it adopts itself: a
database is adopted all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from seawall.api.meta import READOPT_ANNOTATION
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.clocks import TrustedTime
from seawall.domain.ledger.fence import Readoption, parse_readoption
from seawall.domain.ledger.intents import FenceRecord

EXPIRED = f"{READOPT_ANNOTATION} has expired: set a new one"


@dataclass(frozen=True, slots=True)
class ReadoptionNow:
    """A person's word, and how far it counts."""

    standing: Readoption | None = None
    problem: str | None = None
    """Why the annotation that is set is not followed, in one sentence."""
    is_used: bool = False
    """It was met when all was ours, as the status says."""

    @property
    def followed(self) -> Readoption | None:
        """The readoption, if it adopts logs."""
        return self.standing if self.problem is None else None

    @property
    def unused(self) -> Readoption | None:
        """The readoption, if it adopts a database and a claim, and begins records that are gone."""
        return None if self.is_used else self.followed

    @property
    def refused(self) -> Readoption | None:
        """The readoption, if it stands and never will be followed."""
        return None if self.problem is None else self.standing

    def adopts(self, record: FenceRecord) -> bool:
        """Whether it adopts the log of a record, or lets it be made anew: one annotation does so once."""
        found = self.followed
        return found is not None and record.readopted != found.token

    def withheld(self, problem: str) -> ReadoptionNow:
        """The same while it adopts and marks nothing, and will be followed later."""
        return replace(self, standing=None, problem=problem)


def read_readoption(cluster: WALCluster, time: TrustedTime) -> ReadoptionNow:
    """What the annotation comes to, restores aside."""
    text = cluster.metadata.annotations.get(READOPT_ANNOTATION)
    found = None if text is None else parse_readoption(text)
    if not isinstance(found, Readoption):
        return ReadoptionNow(problem=found)
    pinned = cluster.status.data_plane
    is_used = pinned is not None and pinned.readopted == found.token
    standing = found if found.stands(time) else None
    problem = found.problem_by(time) or (EXPIRED if standing is None else None)
    return ReadoptionNow(standing, problem, is_used)
