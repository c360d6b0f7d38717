"""One look at everything that the ledger decides from, shared by all who need it.

It reads in the order that `domain/ledger/read.py` demands, everything anew, and one look at a time of each WALCluster.
What is remembered between looks is memory: an operator that starts anew begins with nothing, and waits again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.dataplane.connection import NoDataPlane, PartRefused, PartUnavailable
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.errors import SeawallError
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.ledger.read import Memory
from seawall.domain.ledger.shards import IntentShard, PoolId
from seawall.observe.database import DatabaseAnswers
from seawall.observe.memory import Remembered, Shared
from seawall.observe.opened_cluster import Blocked, ClusterOpener, OpenedCluster
from seawall.observe.reading import Asked, LedgerReader
from seawall.ports import Clock, IntentStore, Stopwatch


@dataclass(frozen=True, slots=True)
class LedgerObserver:
    """Looks at the ledgers of WALClusters, for all controllers of one process."""

    clusters: ClusterOpener
    intents: IntentStore
    clock: Clock
    stopwatch: Stopwatch
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _remembered: dict[Key, Remembered] = field(default_factory=dict)

    def observe(
        self, cluster: WALCluster, run: WALPurge | None = None, *, readopts: bool = False
    ) -> Observation | Unavailable:
        """Looks; with a run, as that run: by its safety too, and with evidence for what it has seen.

        `readopts`: who looks follows seawall.dev/readopt, and tells of it. Only one does, so that there is one event.
        Blocks for as long as the database, Kafka and the API server take, and while another looks at the same cluster.
        Who waits meanwhile shares the next look, which begins after all of them asked: a hundred holds take two looks.
        """
        return self._in_turn(Asked(cluster, run, readopts), alone=run is not None or readopts)

    def observe_as(self, asked: Asked) -> Observation | Unavailable:
        """The same, not shared; what the database answered is in `asked` then, whatever ended it."""
        return self._in_turn(asked, alone=True)

    def database_of(self, asked: Asked) -> DataPlaneView | NoDataPlane | None:
        """What people see of the database; what was not asked of it then is asked now, with nobody waiting.

        None: the spec names no database, is invalid, or the API server does not answer.
        """
        try:
            parts = self.clusters.open_database(asked.cluster) if asked.answers is None else None
        except PartRefused as trouble:
            return NoDataPlane(trouble.why, str(trouble))
        except SeawallError:  # the API server's, which the observation tells
            return None
        if isinstance(parts, NoDataPlane):
            return parts
        answers = asked.answers if parts is None else DatabaseAnswers(parts)
        return None if answers is None else answers.view(asked.answered_at or self.clock.now())

    def _in_turn(self, asked: Asked, *, alone: bool) -> Observation | Unavailable:
        remembered = self._remember(asked.cluster)
        with self._lock:
            remembered.waiting += 1
            begun = remembered.begun
        try:
            with remembered.turn:
                if alone:
                    return self._begin(remembered, asked)
                return self._share(remembered, asked, begun)
        finally:
            with self._lock:
                remembered.waiting -= 1
                if not remembered.waiting:
                    remembered.shared = None

    def _share(self, remembered: Remembered, asked: Asked, begun: int) -> Observation | Unavailable:
        """One that began after so many others, which had begun when somebody asked."""
        shared = remembered.shared
        if shared is not None and shared.serves(begun, asked.cluster):
            return shared.found
        found = self._begin(remembered, asked)
        remembered.shared = Shared(remembered.begun, asked.cluster.metadata.resource_version, found)
        return found

    def _begin(self, remembered: Remembered, asked: Asked) -> Observation | Unavailable:
        with self._lock:
            remembered.begun += 1
        return self._try(remembered, asked)

    def preview(self, cluster: WALCluster, run: WALPurge) -> Observation | Unavailable | None:
        """Looks as a run would that begins now and that nobody made, and remembers nothing of it.

        None: nobody has looked at this WALCluster yet. Looking must not begin with a preview, which is not repeated.
        """
        with self._lock:
            remembered = self._remembered.get(cluster.metadata.key)
        if remembered is None or remembered.uid != cluster.metadata.uid:
            return None
        # A copy, and not the lock: whoever looks for a purge or a hold does not wait for a person who asks.
        copy = Remembered(remembered.uid, remembered.memory, remembered.topics.copy())
        return self._try(copy, Asked(cluster, run))

    def open(self, cluster: WALCluster) -> OpenedCluster | Unavailable:
        """The ports of a WALCluster, for those who act on what a look showed."""
        try:
            return self.clusters.open(cluster)
        except Blocked as blocked:
            return blocked.found
        except PartRefused as error:
            return Unavailable(UnavailableReason.DATA_PLANE, str(error))

    def write_shards(self, pool: PoolId, shards: Mapping[int, IntentShard]) -> None:
        """Writes intents and records by compare-and-swap, shard after shard.

        Raises:
            Conflict: somebody else wrote one: look again. Those before it are written.
        """
        for number, shard in shards.items():
            self.intents.write(pool, number, shard)

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._remembered.pop(key, None)
        self.clusters.data_planes.forget(key)

    def _remember(self, cluster: WALCluster) -> Remembered:
        with self._lock:
            found = self._remembered.get(cluster.metadata.key)
            if found is None or found.uid != cluster.metadata.uid:
                found = Remembered(cluster.metadata.uid, Memory.at_start(self.stopwatch.milliseconds()))
                self._remembered[cluster.metadata.key] = found
            return found

    def _try(self, remembered: Remembered, asked: Asked) -> Observation | Unavailable:
        reader = LedgerReader(self.clusters, self.intents, self.clock, self.stopwatch)
        try:
            return reader.read(remembered, asked)
        except Blocked as blocked:
            return blocked.found
        except (PartUnavailable, PartRefused) as error:
            return Unavailable(UnavailableReason.DATA_PLANE, str(error))
        except SeawallError as error:
            return Unavailable(UnavailableReason.KUBERNETES, str(error))
