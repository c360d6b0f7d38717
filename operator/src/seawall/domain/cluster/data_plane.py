"""What a WALCluster's status says of its data plane.

Ready is about the topics, which are tended whether the database answers or not: a database that is away for an upgrade
must not look like a WAL that is broken. What needs the database (purges, rolls) waits for DataPlaneReachable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster, WALClusterSpec, WALClusterStatus
from seawall.domain.cluster.identity import Pin, next_pin, why_other_database
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import find_condition, loss_event
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.identity import reads_marker_at_open
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.events import EventReason
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.step import Event, EventType
from seawall.domain.topics.pool import TopicState

KIND = ConditionType.DATA_PLANE_REACHABLE


def data_plane_conditions(
    cluster: WALCluster, observed: Observed, build: Callable[..., Condition]
) -> tuple[Condition, ...]:
    """The condition DataPlaneReachable, or none where no data plane is declared.

    Before the first look ended, what was known of this generation stands: a restarted operator must not make it flap.
    """
    before = find_condition(cluster.status.conditions, KIND)
    if isinstance(cluster.spec, InvalidSpec):
        return (build(KIND, "Unknown", Reason.NOT_ASKED, cluster.spec.message),) if before else ()
    if cluster.spec.database is None:
        return ()
    return (_reachable(cluster, observed, before, build),)


def _reachable(
    cluster: WALCluster, observed: Observed, before: Condition | None, build: Callable[..., Condition]
) -> Condition:
    match observed.data_plane:
        case DataPlaneView() as view if (other := why_other_view(cluster, view)) is not None:
            return build(KIND, "False", other.why.value, other.message)
        case DataPlaneView() as view:
            return build(KIND, "True", Reason.CONNECTED, _connected(view))
        case NoDataPlane(why, message):
            return build(KIND, "False", why.value, message)
        case None if before is not None and before.observed_generation == cluster.metadata.generation:
            return before
        case None:
            return build(KIND, "Unknown", Reason.NOT_ASKED, "the first look at the data plane has not ended yet")


def _connected(view: DataPlaneView) -> str:
    """With what the database cannot do, which is no fault of it."""
    reporting = f"{view.reporting} of {view.datanodes} datanodes report"
    absent = () if view.wal is None or view.wal.capabilities is None else view.wal.capabilities.absent
    return f"{reporting}; the database has {', '.join(absent)}" if absent else reporting


def why_other_view(cluster: WALCluster, view: DataPlaneView) -> Unavailable | None:
    """Why the database that answers is not the one that is pinned; None: it is, or it is pinned by this tick."""
    if Pin.of(cluster.status.data_plane).identity is None:
        return None
    return why_other_database(cluster, view.store_id, view.claims)


def data_plane_status(cluster: WALCluster, observed: Observed) -> DataPlaneStatus | None:
    """The numbers of the last look that succeeded, and what is pinned, which outlives the declaration."""
    before, view = cluster.status.data_plane, observed.data_plane
    if isinstance(cluster.spec, InvalidSpec):
        return before
    if cluster.spec.database is None:
        return _without_database(cluster, observed)
    if not isinstance(view, DataPlaneView):
        return before
    pin = next_pin(cluster, view.store_id, view.claims, observed.time, is_whole=_is_whole(observed))
    if pin.identity != view.store_id:
        return None if before is None else before.model_copy(update={"readopted": pin.readopted})
    return _status(pin).model_copy(
        update={
            "version": view.version,
            "datanodes": view.datanodes,
            "reporting": view.reporting,
            "regions": view.regions,
            "topics_in_use": view.topics_in_use,
            "followers": view.followers or None,
            "silent_followers": view.silent_followers or None,
            "follower_lag": view.follower_lag,
            "reads_marker_at_open": _reads_marker(cluster.spec, observed, view),
        }
    )


def _without_database(cluster: WALCluster, observed: Observed) -> DataPlaneStatus | None:
    """What was pinned, and the readoption that stands, if no lost record waits for it, or it never will be followed.

    It begins records that are gone, too, and no database is there that could use it up.
    """
    before, readoption = cluster.status.data_plane, read_readoption(cluster, observed.time)
    standing, pin = readoption.standing, Pin.of(before)
    if standing is not None and (readoption.refused is not None or _is_recorded(observed)):
        return _status(replace(pin, readopted=standing.token))
    return None if before is None else _status(pin)


def _is_recorded(observed: Observed) -> bool:
    """Whether all topics have records; where nobody looked, nobody knows."""
    recorded, missing = observed.recorded, observed.missing
    return recorded is not None and not recorded.unknown and missing is not None and not missing.gone


def _is_whole(observed: Observed) -> bool:
    """Whether no lost record waits for a readoption: neither of a missing topic, nor of one that was made since."""
    page, missing, pool = observed.ledger, observed.missing, observed.pool
    if not isinstance(page, LedgerPage) or page.lost_shards or (missing is not None and missing.gone):
        return False
    states: Mapping[str, TopicState] = {} if pool is None else pool.states
    there = (name for name, state in states.items() if state is not TopicState.MISSING)
    return {line.name for line in page.lines}.issuperset(there)


def _reads_marker(spec: WALClusterSpec, observed: Observed, view: DataPlaneView) -> bool:
    """By its version; a database that serves the contract says it."""
    if spec.http is not None:
        return view.wal is not None and view.wal.capabilities is not None and view.wal.capabilities.markers
    return reads_marker_at_open(view.version or observed.declared_version(spec.declared_version) or "")


def _status(pin: Pin) -> DataPlaneStatus:
    return DataPlaneStatus(identity=pin.identity, claimed=pin.claimed, readopted=pin.readopted)


def readoption_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """Tells that another database is meant from now on, because a person said so."""
    before, now = Pin.of(cluster.status.data_plane).identity, Pin.of(status.data_plane).identity
    if before is None or now == before:
        return None
    return Event(
        EventType.WARNING, EventReason.DATABASE_READOPTED, f"The metadata store is {now} from now on, and was {before}"
    )


def data_plane_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when the data plane is lost, is lost for another reason, or is back."""
    return loss_event(cluster.status.conditions, status.conditions, KIND, "the data plane answers again")
