"""What the looks at one ledger leave in the process: memory, which may be lost, and a look that others share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.ledger.assess import Assessment, assess
from seawall.domain.ledger.mode import PruneMode
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.ledger.policy import Policy
from seawall.domain.ledger.read import Memory, Read
from seawall.observe.log_witnesses import LogWitnesses
from seawall.observe.recent_topics import RecentTopics

RUNS_REMEMBERED = 8
"""Runs of one WALCluster whose evidence is kept; a run that is forgotten waits again."""


@dataclass(slots=True)
class Remembered:
    """What the process knows of one WALCluster; `recorded_since` is the part of the memory that belongs to a run."""

    uid: str
    memory: Memory
    topics: RecentTopics = field(default_factory=RecentTopics)
    lock: threading.Lock = field(default_factory=threading.Lock)
    recorded_since: OrderedDict[str, Mapping[tuple[str, int], int]] = field(default_factory=OrderedDict)
    begun: int = 0
    """How many looks have begun."""
    waiting: int = 0
    """How many callers are in a look, or wait for it."""
    witnesses: LogWitnesses = field(default_factory=LogWitnesses)
    shared: Shared | None = None
    """The newest look for nobody in particular, kept only while others wait."""

    def decide(self, read: Read, prune_mode: PruneMode, policies: Sequence[Policy], run: WALPurge | None) -> Assessment:
        """Looks with the memory of all looks, and of this run's evidence only."""
        uid = None if run is None else run.metadata.uid
        since = {} if uid is None else self.recorded_since.get(uid, {})
        found = assess(replace(self.memory, recorded_since=since), read, prune_mode, policies)
        self.memory = replace(found.memory, recorded_since={})
        if uid is not None:
            self.recorded_since[uid] = found.memory.recorded_since
            self.recorded_since.move_to_end(uid)
            while len(self.recorded_since) > RUNS_REMEMBERED:
                self.recorded_since.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class Shared:
    """A look that others may share who asked before it began, for the same version of the WALCluster."""

    number: int
    version: str
    found: Observation | Unavailable

    def serves(self, asked: int, cluster: WALCluster) -> bool:
        """Whether it began after so many others, which had begun when somebody asked."""
        return self.number > asked and self.version == cluster.metadata.resource_version
