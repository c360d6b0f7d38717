"""Everything that one tick of a WALCluster looks at, read in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import Key
from seawall.domain.clocks import ServerTime, TrustedTime
from seawall.domain.cluster.going import PoolNow
from seawall.domain.cluster.lost import MissingTopics
from seawall.domain.cluster.reasons import Reason
from seawall.domain.cluster.recorded import Recorded
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.greptimedb_cluster import Absence, GreptimeDBCluster
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.kafka import KafkaView, NoKafka
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.held import Hold
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.sharing import Sharing
from seawall.domain.topics.pool import Pool


@dataclass(frozen=True, slots=True)
class Needs:
    """What was read anew of those who may need the topics.

    Attributes:
        holds: a sentence if any cannot be read.
        observation: the ledger, or why nobody can look at it; None where no database is declared.
        contender: another WALCluster that claims the topics, or a sentence if not all WALClusters can be read.
        pool: the topics and their records, read after the ledger; None: not read.
        sharing: what of the Kafka is Strimzi's, or why nobody knows; None: nobody asks, or there is no Strimzi.
    """

    holds: Sequence[Hold] | str
    observation: Observation | Unavailable | None
    contender: Key | str | None = None
    pool: PoolNow | None = None
    sharing: Sharing | str | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees. `conflicting_owner` is an older WALCluster with the same pool.

    `unreadable` are namespaces whose WALClusters could not be read: then nobody knows that there is no rival.

    `kafka` is None when it was not asked, because the spec is invalid; `pool` is None unless Kafka answered.
    `data_plane` and `ledger` are None when there is none to look at, or no look at it has ended yet.
    `needs` is who may need the topics; None unless they are to be deleted.
    `missing` is what is recorded of the topics that the pool misses; None unless the pool is tended.
    `forming` is why no topics may be made in a managed Kafka yet.
    `obstacle` is the sentence by which Kafka or the API server refused to be looked at.
    """

    now: datetime
    kafka: KafkaView | NoKafka | None = None
    pool: Pool | None = None
    conflicting_owner: Key | None = None
    unreadable: tuple[str, ...] = ()
    namespace_terminating: bool = False
    config_map: ConfigMap | None = None
    obstacle: str | None = None
    forming: str | None = None
    data_plane: DataPlaneView | NoDataPlane | None = None
    ledger: LedgerPage | Unavailable | None = None
    needs: Needs | None = None
    contender: Key | None = None
    """Another WALCluster, younger or older, with the same pool."""
    missing: MissingTopics | None = None
    recorded: Recorded | None = None
    """What is recorded of the topics that Kafka shows; None: that is left to who looks at the database."""
    sharing: Sharing | str | None = None
    """What of the Kafka is Strimzi's, or why nobody knows; None: nobody asks, or there is no Strimzi."""
    named_cluster: GreptimeDBCluster | Absence | str | None = None
    """The GreptimeDBCluster that is named, or why there is none; None: none is named, or it was not read."""
    server: ServerTime | None = None
    """The API server's clock at `now`; None: nobody knows, and no annotation with an expiry counts."""

    def disaster(self) -> tuple[Reason, str] | None:
        """What happened to logs, whoever writes there: the reason, and what to do."""
        if self.missing is not None and self.missing.lost:
            return Reason.TOPIC_LOST, self.missing.lost_sentence()
        if self.recorded is not None and self.recorded.remade:
            return Reason.TOPIC_ID_CHANGED, self.recorded.remade_sentence()
        return None

    def may_stand(self, disaster: str) -> bool:
        """Whether nobody looked whether a disaster that was reported is over."""
        if disaster == Reason.TOPIC_ID_CHANGED:  # where a database can be looked at, its ledger says it
            return self.recorded is None and not isinstance(self.ledger, LedgerPage)
        return disaster == Reason.TOPIC_LOST and self.missing is None

    def declared_version(self, declared: str | None) -> str | None:
        """As a person declared it, or as the GreptimeDBCluster's image is called; None: neither says."""
        found = self.named_cluster
        return declared or (found.version if isinstance(found, GreptimeDBCluster) else None)

    @property
    def time(self) -> TrustedTime:
        """The time by both clocks."""
        return TrustedTime(self.now, self.server)
