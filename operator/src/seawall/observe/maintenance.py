"""Asks whether a database is in maintenance, and which database it is that answers."""

from __future__ import annotations

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.rollout import Maintenance
from seawall.domain.clocks import TrustedTime
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.rollout.answers import Answers
from seawall.observe.database import DatabaseAnswers, read_database
from seawall.observe.opened_cluster import Blocked, OpenedCluster
from seawall.ports import MaintenanceSwitch

OTHER_DATABASE = frozenset(
    {UnavailableReason.CONTRADICTION, UnavailableReason.DATABASE_CHANGED, UnavailableReason.DATABASE_CLAIMED}
)
"""What a look finds of another database than the pinned one."""

BEFORE_THE_DATABASE = frozenset({UnavailableReason.POLICY_INVALID, UnavailableReason.KUBERNETES})
"""What may end a look before it has read the database."""


def lease_of(cluster: WALCluster) -> Maintenance | None:
    """The maintenance that the status remembers."""
    return None if cluster.status.restart is None else cluster.status.restart.maintenance


def ask_metasrv(switch: MaintenanceSwitch) -> bool | None:
    """Whether whoever answers there is in maintenance; None: nobody says."""
    try:
        return switch.in_maintenance()
    except (OutsideUnavailable, Refused):
        return None


def witnesses(
    cluster: WALCluster, observation: Observation | Unavailable, opened: OpenedCluster | Unavailable, time: TrustedTime
) -> Answers:
    """What a look that began after the metasrv's answer, and the store, say of whose that was."""
    cannot = observation if isinstance(observation, Unavailable) else None
    if lease_of(cluster) is None:
        return Answers(contradiction=cannot.message if cannot is not None and cannot.why in OTHER_DATABASE else None)
    if cannot is not None and cannot.why in BEFORE_THE_DATABASE:
        return ask_again(cluster, opened, time)
    is_contradiction = cannot is not None and cannot.why is UnavailableReason.CONTRADICTION
    return _with_store(opened, cannot.message if cannot is not None and is_contradiction else None)


def ask_again(cluster: WALCluster, opened: OpenedCluster | Unavailable, time: TrustedTime) -> Answers:
    """Without a look: right before the switch is turned, and where the look ended before it came to the database."""
    return _with_store(opened, _contradiction(cluster, opened, time))


def _contradiction(cluster: WALCluster, opened: OpenedCluster | Unavailable, time: TrustedTime) -> str | None:
    """Why the parts at the spec's addresses are not of one database; None: nothing says so, or nobody answers."""
    if isinstance(opened, Unavailable):
        return None
    try:
        read_database(cluster, opened, DatabaseAnswers(opened.parts), time, readopts=False)
    except Blocked as blocked:
        return blocked.found.message if blocked.found.why is UnavailableReason.CONTRADICTION else None
    except (PartUnavailable, PartRefused):
        return None
    return None


def _with_store(opened: OpenedCluster | Unavailable, contradiction: str | None) -> Answers:
    """A role that may not read the switch leaves it to the metasrv's answer."""
    if isinstance(opened, Unavailable):
        return Answers(contradiction)
    try:
        return Answers(contradiction, opened.parts.metadata_store.maintenance())
    except PartRefused:
        return Answers(contradiction)
    except PartUnavailable:
        return Answers(contradiction, is_store_silent=True)
