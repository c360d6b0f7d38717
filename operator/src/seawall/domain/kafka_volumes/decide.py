"""What the controller of the sizes of volumes decides: a pure function of the object and of what was observed.

    a claim                                  what happens
    ---------------------------------------  ----------------------------------------------------------------
    asks for less than is declared           it asks for what is declared; the storage driver does the rest
    asks for it, and its volume has less     told, until the volume has it
    asks for more than is declared           left alone, and told: a volume does not shrink
    is not bound, or not the recorded one    left alone

Nothing here waits for a node, for Kafka or for the gate of restarts: a broker that is down because its disk is full is
mended by it. Pods and templates stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seawall.api.meta import PAUSED_ANNOTATION, Condition, ConditionType
from seawall.api.quantity import format_bytes
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.clocks import TrustedTime
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict, as_status, loss_event, of_kinds, with_own
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.kafka_volumes.reasons import VolumesReason
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundObject, VolumeSize
from seawall.domain.step import Event, EventType
from seawall.domain.times import MANAGED_KAFKA_SIZED_SECONDS, MANAGED_KAFKA_SIZING_SECONDS

KIND = ConditionType.KAFKA_VOLUMES_SIZED


@dataclass(frozen=True, slots=True)
class GrowVolume:
    """Let the claim of a volume ask for so many bytes, if it is still as it was read."""

    volume: FoundObject
    size: int

    def event(self) -> Event:
        """What the event says."""
        said = f"{self.volume.kind} {self.volume.name} asks for {format_bytes(self.size)} from now on"
        return Event(EventType.NORMAL, EventReason.KAFKA_VOLUME_GROWS, said)


VolumesDecision = Decision[WALClusterStatus, GrowVolume]


@dataclass(frozen=True, slots=True)
class VolumesObserved:
    """What one tick sees.

    Attributes:
        case: all that is known of nodes and volumes; a sentence: why it is not.
        is_managed: whether there is a managed Kafka that stays, and that this operator may run.
    """

    time: TrustedTime
    case: Case | str
    is_managed: bool = True


@dataclass(frozen=True, slots=True)
class _Sized:
    """A volume that the identity knows, and the bytes that are declared."""

    volume: FoundObject
    has: VolumeSize
    declared: int


def decide(cluster: WALCluster, observed: VolumesObserved) -> VolumesDecision:
    """What one tick decides."""
    if not observed.is_managed:
        return silent(cluster, "there is no managed Kafka, or the WALCluster goes")
    actions = () if isinstance(observed.case, str) else tuple(_actions(observed.case))
    verdict = _verdict(observed.case)
    is_paused = cluster.metadata.is_paused and bool(actions)
    if is_paused:
        said = f"{PAUSED_ANNOTATION} is set; {verdict.message}"
        verdict = Verdict(Outlook.PAUSED, VolumesReason.PAUSED, said, MANAGED_KAFKA_SIZED_SECONDS)
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.time.now)

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        is_unknown = found.reason in {VolumesReason.NOT_KNOWN, VolumesReason.PAUSED}
        holds = "Unknown" if is_unknown else as_status(found.outlook is Outlook.READY)
        own = build(KIND, holds, found.reason, found.message)
        conditions = with_own(cluster.status.conditions, (own,), (KIND,))
        event = loss_event(cluster.status.conditions, conditions, KIND, "volumes have grown")
        is_silent = own.reason in {VolumesReason.GROWING, VolumesReason.NOT_KNOWN}
        status = cluster.status.model_copy(update={"conditions": conditions})
        return Published(status, () if event is None or is_silent else (event,))

    done = () if is_paused else actions
    return Decision(cluster.status, verdict, done, publish, publishes_first=True, published_in=KIND)


def _sized(case: Case) -> Iterator[_Sized]:
    """By node. One that leaves needs no more, and what the identity does not know may be somebody else's."""
    for node in case.nodes:
        volume, record = case.volume(node), case.identity.nodes.get(node.id)
        if volume is None or record is None or record.volume != volume.uid:
            continue
        if volume.size is not None and not node.is_leaving:
            yield _Sized(volume, volume.size, node.pool.storage.size)


def _actions(case: Case) -> Iterator[GrowVolume]:
    """All at once: each is a claim of its own. Kubernetes lets only claims that are bound ask for more."""
    for each in _sized(case):
        if each.has.capacity is not None and each.has.requested < each.declared:
            yield GrowVolume(each.volume, each.declared)


def _verdict(case: Case | str) -> Verdict:
    if isinstance(case, str):
        return Verdict(Outlook.PROGRESSING, VolumesReason.NOT_KNOWN, case, MANAGED_KAFKA_SIZED_SECONDS)
    sized = list(_sized(case))
    smaller = [each for each in sized if (each.has.capacity or 0) < each.declared]
    after = MANAGED_KAFKA_SIZING_SECONDS
    if failed := [f"{each.volume.name}: {each.has.trouble}" for each in smaller if each.has.trouble]:
        return Verdict(Outlook.STALLED, VolumesReason.FAILED, "; ".join(failed), after)
    if waits := [each.volume.name for each in smaller if each.has.waits_for_pod]:
        said = f"file systems grow when pods begin anew: {', '.join(waits)}"
        return Verdict(Outlook.STALLED, VolumesReason.POD_NEEDED, said, after)
    if smaller:
        return Verdict(Outlook.PROGRESSING, VolumesReason.GROWING, "; ".join(map(_of_smaller, smaller)), after)
    larger = [each for each in sized if each.has.requested > each.declared]
    parts = [f"{len(sized)} volumes are as large as declared", *map(_of_larger, larger), *_unknown(case)]
    return Verdict(Outlook.READY, VolumesReason.ALL, "; ".join(parts), MANAGED_KAFKA_SIZED_SECONDS)


def _unknown(case: Case) -> Iterator[str]:
    """Claims that may be somebody else's."""
    for node in case.nodes:
        volume, record = case.volume(node), case.identity.nodes.get(node.id)
        if volume is not None and record is not None and record.volume != volume.uid:
            yield f"{volume.name} is another one than the identity knows, and is left alone"


def _of_smaller(each: _Sized) -> str:
    if each.has.capacity is None:
        return f"{each.volume.name} is not bound to a volume yet"
    return f"{each.volume.name} has {format_bytes(each.has.capacity)} of {format_bytes(each.declared)}"


def _of_larger(each: _Sized) -> str:
    asks, declared = format_bytes(each.has.requested), format_bytes(each.declared)
    return f"{each.volume.name} asks for {asks}, more than the {declared} that are declared, and stays so"


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of the sizes of volumes, as it was written."""
    return of_kinds(status.conditions, KIND)
