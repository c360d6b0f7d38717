"""Reads what bounds purges beside the database: policies, holds, verifications, and annotations, never from a cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seawall.api.meta import DEAD_ANNOTATION, READOPT_ANNOTATION, UNUSED_ANNOTATION, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import ALL_TOPICS, WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.clocks import TrustedTime
from seawall.domain.cluster.identity import pool_of
from seawall.domain.cluster.readoption import ReadoptionNow, read_readoption
from seawall.domain.cluster_name import cluster_name, of_cluster
from seawall.domain.errors import SeawallError
from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.declarations import DeadRegions, Unused, named_dead, parse_dead, parse_unused
from seawall.domain.ledger.declared import hold_of, level_of, policy_of, verified_by
from seawall.domain.ledger.held import Hold
from seawall.domain.ledger.observation import Licence, PolicyVersions, UnavailableReason, Verifying
from seawall.domain.ledger.policy import Policy
from seawall.domain.restore.others import is_at_work
from seawall.domain.restore.scratch_names import is_scratch
from seawall.observe.opened_cluster import Blocked
from seawall.ports import Clock, Kube


@dataclass(frozen=True, slots=True)
class Declarations:
    """All of them at one time. None: there is no such annotation, or it declares nothing and its problem says why."""

    readoption: ReadoptionNow
    unused: Unused | None
    unused_problem: str | None
    dead: DeadRegions | None
    dead_problem: str | None
    lapsed: frozenset[int]
    """The regions that it names all the same."""


def read_declarations(cluster: WALCluster, time: TrustedTime) -> Declarations:
    """Reads the annotations. One that is over by either clock counts for nothing, and none does while they disagree."""
    found = cluster.metadata.annotations
    unused, dead = (found.get(name) for name in (UNUSED_ANNOTATION, DEAD_ANNOTATION))
    topics = None if unused is None else parse_unused(unused, time)
    regions = None if dead is None else parse_dead(dead, time)
    return Declarations(
        readoption=read_readoption(cluster, time),
        unused=topics if isinstance(topics, Unused) else None,
        unused_problem=topics if isinstance(topics, str) else None,
        dead=regions if isinstance(regions, DeadRegions) else None,
        dead_problem=regions if isinstance(regions, str) else None,
        lapsed=named_dead(dead) if dead is not None and isinstance(regions, str) else frozenset(),
    )


def current_readoption(kube: Kube, cluster: WALCluster, clock: Clock) -> ReadoptionNow:
    """What a person's word about logs comes to right now. Who asks before the logs asks `why_restoring` after them.

    Raises:
        SeawallError: the API server did not answer, or refused.
    """
    found = without_restored(kube, cluster, read_readoption(cluster, clock.trusted()))
    return found if found.standing is None else read_readoption(cluster, clock.trusted())  # it may have taken long


def without_restored(kube: Kube, cluster: WALCluster, found: ReadoptionNow) -> ReadoptionNow:
    """The readoption; nothing of it while a restore makes logs, which are not whole: it adopts them itself.

    To be asked after the logs were: who made them had said so before.

    Raises:
        SeawallError: the API server did not answer, or refused.
    """
    problem = None if found.standing is None else why_not_readopted(kube, cluster)
    return found if problem is None else found.withheld(problem)


def why_not_readopted(kube: Kube, cluster: WALCluster) -> str | None:
    """Why nobody may readopt a log now, in one sentence; None: they may.

    Raises:
        SeawallError: the API server did not answer, or refused.
    """
    why = why_restoring(kube, cluster)
    return None if why is None else f"{READOPT_ANNOTATION} is not followed: {why}"


def why_restoring(kube: Kube, cluster: WALCluster) -> str | None:
    """Why a log may be one that a restore has not made whole yet, as a clause; None: none is.

    To be asked after the logs were: who made them had said so before.

    Raises:
        SeawallError: the API server did not answer, or refused.
    """
    listing = kube.list(WALRestore, cluster.metadata.namespace)
    found = of_cluster(listing.items, cluster.metadata.name)
    at_work = (each for each in found if is_at_work(each) and not is_scratch(each))
    busy = next((each.metadata.name for each in at_work), None)
    if busy is not None:
        return f"WALRestore {busy} is at work, and adopts its logs itself when they are whole (delete it to give it up)"
    return None if listing.complete else "the WALRestores of the namespace could not all be read"


def current_licence(cluster: WALCluster, clock: Clock, *, follows_readopt: bool) -> Licence:
    """The declarations that count now."""
    said = read_declarations(cluster, clock.trusted())
    return Licence(said.unused, said.dead, said.readoption.followed if follows_readopt else None)


@dataclass(frozen=True, slots=True)
class Policies:
    """What is declared of purges of a WALCluster, and by which version of each WALPurgePolicy."""

    declared: tuple[Policy, ...]
    """The policies, and the run, which counts as one more."""
    versions: PolicyVersions


def read_policies(kube: Kube, cluster: WALCluster, run: WALPurge | None) -> Policies:
    """All policies of the WALCluster, and the run.

    Raises:
        Blocked: one cannot be read, and might be the strictest.
        SeawallError: the API server did not answer, or refused.
    """
    objects: list[WALPurgePolicy | WALPurge] = [] if run is None else [run]
    policies = _list_policies(kube, cluster)
    objects += policies
    found: list[Policy] = []
    for each in objects:
        policy = policy_of(each)
        if isinstance(policy, InvalidSpec):
            message = f"{each.KIND.kind} {each.metadata.name} cannot be read, and may be strict: {policy.message}"
            raise Blocked(UnavailableReason.POLICY_INVALID, message)
        found.append(policy)
    return Policies(tuple(found), _versions(policies))


def policy_versions(kube: Kube, cluster: WALCluster) -> PolicyVersions:
    """Those that there are now.

    Raises:
        Blocked: not all can be read.
        SeawallError: the API server did not answer, or refused.
    """
    return _versions(_list_policies(kube, cluster))


def _list_policies(kube: Kube, cluster: WALCluster) -> list[WALPurgePolicy]:
    listing = kube.list(WALPurgePolicy, cluster.metadata.namespace)
    if not listing.complete:
        raise Blocked(UnavailableReason.KUBERNETES, "the WALPurgePolicies of the namespace could not all be read")
    return [policy for policy in listing.items if _is_of(policy, cluster)]


def _versions(policies: Iterable[WALPurgePolicy]) -> PolicyVersions:
    return frozenset((policy.metadata.uid, policy.metadata.generation) for policy in policies)


@dataclass(frozen=True, slots=True)
class Verifications:
    """What verifications of the WALCluster have shown, and those that are not over."""

    verified: tuple[Verified, ...] = ()
    verifying: tuple[Verifying, ...] = ()
    are_required: bool = True
    """Whether any policy asks for them."""

    @property
    def found_bad(self) -> frozenset[Verified] | None:
        """Verdicts of logs that do not replay; None: nobody asks for them."""
        return frozenset(each for each in self.verified if not each.replays) if self.are_required else None


def read_verifications(kube: Kube, cluster: WALCluster, policies: Iterable[Policy]) -> Verifications:
    """All of the WALCluster's, if any policy requires one; one that cannot be read shows nothing good.

    It may not even say which WALCluster it is about: what it found bad has the id of a log, and counts.

    Raises:
        SeawallError: the API server did not answer, or refused.
    """
    if all(policy.safety.verification is None for policy in policies):
        return Verifications(are_required=False)
    return list_verifications(kube, cluster)


def list_verifications(kube: Kube, cluster: WALCluster) -> Verifications:
    """All of the WALCluster's.

    Raises:
        SeawallError: the API server did not answer, or refused.
    """
    listing = kube.list(WALVerification, cluster.metadata.namespace)
    found = [each for each in listing.items if _is_of(each, cluster)]
    return Verifications(
        tuple(row for each in found for row in verified_by(each)),
        tuple(
            Verifying(each.metadata.name, each.spec.topics, level_of(each.spec.level))
            for each in found
            if not isinstance(each.spec, InvalidSpec) and not each.status.is_over and not _is_going(each)
        ),
    )


def read_holds(kube: Kube, cluster: WALCluster) -> list[Hold] | str:
    """All holds on the pool of the WALCluster; a sentence if any cannot be read: unreadable means no purge.

    Holds on a WALCluster that is gone count, too, if they may be on these topics: another one of another name may have
    taken them over.
    """
    try:
        listing = kube.list(WALHold, cluster.metadata.namespace)
        unfinished = [each for each in listing.items if not each.status.is_final]
        others = _others(kube, cluster, unfinished)
    except SeawallError as error:
        return str(error)
    if not listing.complete:
        return "not all WALHolds of the namespace could be read"
    holds: list[Hold] = []
    for each in unfinished:
        if not _may_hold_of(each, cluster, others):
            continue
        hold = hold_of(each)
        if isinstance(hold, InvalidSpec):
            return f"WALHold {each.metadata.name} cannot be read: {hold.message}"
        holds.append(hold)
    return holds


def _others(kube: Kube, cluster: WALCluster, holds: Iterable[WALHold]) -> Mapping[str, WALCluster]:
    """By name the other WALClusters; only looked up if a hold names another."""
    if {cluster_name(hold) for hold in holds} <= {None, cluster.metadata.name}:
        return {}
    return {each.metadata.name: each for each in kube.list(WALCluster, cluster.metadata.namespace).items}


def _may_hold_of(hold: WALHold, cluster: WALCluster, others: Mapping[str, WALCluster]) -> bool:
    """Whether it may keep topics of this WALCluster, although the one that it names has others, or is gone.

    A name is used again: one that was deleted may have had these topics when the hold was placed, or granted.
    """
    name, other = cluster_name(hold), others.get(cluster_name(hold) or "")
    if name in {None, cluster.metadata.name} or cluster.prefix is None:
        return True
    is_anothers = other is not None and _is_at_home(hold, other) and not _is_at_home(hold, cluster)
    if is_anothers or (other is not None and other.prefix in {None, cluster.prefix}):
        return not is_anothers
    claimed = None if isinstance(hold.spec, InvalidSpec) else hold.spec.topics
    named = hold.status.granted.keys() | (claimed or {}).keys()
    if any(name.rpartition("_")[0] == cluster.prefix for name in named):
        return True
    is_unreadable = claimed is None or bool(hold.KEPT & hold.unreadable.keys())
    is_on_any = is_unreadable or ALL_TOPICS in named
    if other is None and (claimed is None or (ALL_TOPICS in claimed and hold.status.granted != claimed)):
        return True  # what nobody has granted yet is on the topics that the one had which is gone: on any
    if hold.status.granted_prefix is not None:
        return hold.status.granted_prefix == cluster.prefix
    return is_on_any and (other is None or hold.metadata.creation_timestamp < other.metadata.creation_timestamp)


def _is_at_home(hold: WALHold, cluster: WALCluster) -> bool:
    """Whether all that it claims was granted on the topics that this WALCluster has: its prefix, on its Kafka."""
    found, pool = hold_of(hold), pool_of(cluster)
    if isinstance(found, InvalidSpec) or pool is None or found.granted != found.claim:
        return False
    return (found.granted_prefix, found.granted_cluster_id) == (pool.prefix, pool.cluster_id)


def _is_of(obj: WALPurgePolicy | WALVerification, cluster: WALCluster) -> bool:
    """One that does not say which WALCluster it is about may be about this one."""
    return cluster_name(obj) in {None, cluster.metadata.name}


def _is_going(obj: WALVerification) -> bool:
    return obj.metadata.deletion_timestamp is not None
